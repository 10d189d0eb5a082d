"""A swarm that was out of breath says so: its latencies are marked, its verdict is not bent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.analyze import analyze
from analysis.results import Results
from goldfish.contract import Budget
from goldfish.oplog import Footer, Sample
from goldfish.run import TRANSCRIPT

from .runs import ENCODER, Process, many, reasons, write


def sampled(directory: Path, samples: list[Sample], **run: Any) -> Results:
    """Judge a sound run whose load process was sampled."""
    process = many(10)
    write(directory, process, budget=Budget(min_conversations=10), **run)
    samples = [msgspec.structs.replace(sample, at_ns=at * 1_000_000_000) for at, sample in enumerate(samples)]
    rows = process.rows()
    footer = rows.pop()
    assert isinstance(footer, Footer)
    footer = msgspec.structs.replace(
        footer, lines=footer.lines + len(samples), counts=footer.counts | {"sample": len(samples)}
    )
    lines = [ENCODER.encode(row) + b"\n" for row in [*rows, *samples, footer]]
    (directory / TRANSCRIPT / "0.jsonl").write_bytes(b"".join(lines))
    return analyze(directory)


def seconds(number: int, cpu_pct: float = 20, lag_ms: float = 1) -> list[Sample]:
    return [Sample(at_ns=0, users=10, in_flight=2, cpu_pct=cpu_pct, lag_ms=lag_ms) for _ in range(number)]


@pytest.mark.parametrize(
    ("busy", "saturated"),
    [
        (seconds(2, cpu_pct=95), False),
        (seconds(4, cpu_pct=95), True),
        (seconds(4, cpu_pct=89.9), False),
        (seconds(4, lag_ms=100), True),
        (seconds(4, lag_ms=99), False),
        (seconds(2, lag_ms=150) + seconds(2, cpu_pct=90), True),
    ],
)
def test_more_than_a_tenth_of_busy_seconds_is_saturation(tmp_path: Path, busy: list[Sample], saturated: bool) -> None:
    results = sampled(tmp_path, seconds(20) + busy)
    assert results.exit_code == 0
    assert results.latency_reliable is not saturated
    assert reasons(results) == (["load-saturated"] if saturated else [])
    (process,) = results.load_processes
    assert (process.process, process.seconds, process.users_max) == ("0", 20 + len(busy), 10)
    page = (tmp_path / "report.html").read_text()
    assert ("not reliable" in page) is saturated


def test_a_hiccup_of_a_short_run_is_no_saturation(tmp_path: Path) -> None:
    assert sampled(tmp_path, [*seconds(5), *seconds(2, lag_ms=150)]).latency_reliable


def test_one_long_stall_counts_for_as_long_as_it_lasted(tmp_path: Path) -> None:
    process = many(10)
    write(tmp_path, process, budget=Budget(min_conversations=10))
    stamps = [(1, 1.0), (2, 1.0), (17, 14_000.0), (18, 1.0), (19, 1.0)]
    samples = [
        Sample(at_ns=at * 1_000_000_000, users=10, in_flight=2, cpu_pct=10, lag_ms=lag_ms) for at, lag_ms in stamps
    ]
    rows = process.rows()
    footer = msgspec.structs.replace(rows.pop(), lines=len(rows) + 6, counts=rows_of(process) | {"sample": 5})
    lines = [ENCODER.encode(row) + b"\n" for row in [*rows, *samples, footer]]
    (tmp_path / TRANSCRIPT / "0.jsonl").write_bytes(b"".join(lines))
    results = analyze(tmp_path)
    assert not results.latency_reliable
    assert (results.load_processes[0].seconds, results.load_processes[0].busy) == (19, 15)


def rows_of(process: Process) -> dict[str, int]:
    footer = process.rows()[-1]
    return dict(footer.counts)


def test_turns_that_never_fell_due_are_told(tmp_path: Path) -> None:
    counters = {"0": {"rows": {"append": 30, "recall": 40, "sample": 30}, "lateness": {"begun": 100}}}
    counters["0"]["scenarios"] = {"rapid-switch": {"checked": 40, "lossy": 0}}
    results = sampled(tmp_path, seconds(30), counters=counters, turns_per_second=50.0)
    assert reasons(results) == ["late-arrivals"]
    assert "Only 100 turns fell due in 30 seconds" in results.reasons[0].text


def test_the_remedy_fits_the_cause(tmp_path: Path) -> None:
    own = sampled(tmp_path / "own", seconds(20, cpu_pct=97, lag_ms=300))
    others = sampled(tmp_path / "others", seconds(20, cpu_pct=12, lag_ms=300))
    assert "more --processes" in own.reasons[0].text
    assert "The machine gave it no more CPU" in others.reasons[0].text


def test_a_run_without_samples_claims_nothing(tmp_path: Path) -> None:
    write(tmp_path, sampled_by_nobody := many(10), budget=Budget(min_conversations=10))
    assert isinstance(sampled_by_nobody, Process)
    results = analyze(tmp_path)
    assert results.load_processes == []
    assert results.latency_reliable
    assert results.arrivals is None


@pytest.mark.parametrize(
    ("lateness", "late"),
    [
        ({"begun": 100, "p50_ms": 1, "p95_ms": 100, "max_ms": 300}, False),
        ({"begun": 100, "p50_ms": 1, "p95_ms": 101, "max_ms": 300}, True),
        ({"begun": 100, "waiting": 1, "p50_ms": 1, "p95_ms": 2, "max_ms": 3}, True),
    ],
)
def test_late_arrivals_are_told_and_bar_nothing(tmp_path: Path, lateness: dict[str, float], late: bool) -> None:
    counters = {"0": {"rows": {"append": 30, "recall": 40}, "lateness": lateness}}
    counters["0"]["scenarios"] = {"rapid-switch": {"checked": 40, "lossy": 0}}
    results = sampled(tmp_path, [], counters=counters, turns_per_second=50.0)
    assert results.exit_code == 0
    assert reasons(results) == (["late-arrivals"] if late else [])
    assert results.arrivals is not None
    assert results.arrivals.begun == 100
    assert "Open arrivals" in (tmp_path / "report.html").read_text()
