"""Harm, latency and failed requests against budgets. Those of loss are in test_verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.analyze import analyze
from analysis.results import Results
from goldfish.contract import Budget
from goldfish.headline import headline
from goldfish.oplog import Sample
from goldfish.run import Lateness

from .runs import MS, UNMARKED, Process, many, reasons, sound, write

SMALL = {"min_conversations": 10}


def verdict(directory: Path, process: Process, budget: dict[str, Any], **run: Any) -> Results:
    return analyze(write(directory, process, budget=Budget(**SMALL | budget), **run))


def odd(users: int, harmed: int, scenario: str = "rapid-switch") -> Process:
    """Users with one conversation each; so many of them list an element that nobody stored."""
    process = many(users - harmed, scenario=scenario)
    for number in range(harmed):
        process.talk(f"{scenario} odd {number}", scenario=scenario).append("phone", 0, 1, 0)
        process.recall("phone", 2, 3, ("phone", 0), UNMARKED).recall("phone", 8, 9, ("phone", 0), final=True)
    return process


# harm ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("harmed", "most", "outcome", "codes"),
    [
        (0, 0.0, "pass", []),
        (1, 0.0, "fail", ["conversations-harmed"]),
        (20, 0.05, "fail", ["conversations-harmed"]),
        (1, 0.2, "pass", []),
        (5, 0.05, "inconclusive", ["rate-unproven"]),
        (0, 0.01, "inconclusive", ["rate-unproven"]),
        (20, None, "pass", []),
    ],
)
def test_harmed_conversations_are_held_against_their_budget(
    tmp_path: Path, harmed: int, most: float | None, outcome: str, codes: list[str]
) -> None:
    results = verdict(tmp_path, odd(100, harmed), {"disorder": "report", "conversations_harmed": most})
    assert results.verdict == outcome
    assert [code for code in reasons(results) if code != "phantom"] == codes
    if outcome == "fail":
        (reason,) = [reason for reason in results.reasons if reason.code == "conversations-harmed"]
        assert f"{harmed} of 100 checked conversations were harmed" in reason.text
        assert "lists it. See: goldfish show" in reason.text


def test_both_loss_budgets_share_one_level(tmp_path: Path) -> None:
    # Alone, 6 harmed of 100 are over 2 % at 2 % significance; beside a second budget that holds they are not.
    few = {"disorder": "report", "confidence": 0.98, "conversations_harmed": 0.02}
    alone = verdict(tmp_path, odd(100, 6), few)
    both = verdict(tmp_path, odd(100, 6), few | {"context_loss": 0.5})
    assert alone.verdict == "fail"
    assert both.verdict == "inconclusive"


# runs that end when something is proven -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("users", "harmed", "alone", "stopped"),
    [
        (40, 0, "pass", "inconclusive"),  # 36 users without a loss suffice for 10 %, 44 if one may look at any time
        (50, 0, "pass", "pass"),
        (50, 1, "inconclusive", "inconclusive"),
        (80, 1, "pass", "pass"),
        (12, 4, "fail", "inconclusive"),
        (20, 8, "fail", "fail"),
    ],
)
def test_a_run_that_ends_when_something_is_proven_has_tests_of_its_own(
    tmp_path: Path, users: int, harmed: int, alone: str, stopped: str
) -> None:
    budget = {"disorder": "report", "conversations_harmed": 0.1}
    assert verdict(tmp_path, odd(users, harmed), budget).verdict == alone
    results = verdict(tmp_path, odd(users, harmed), budget, until_proven=True)
    assert results.verdict == stopped
    assert results.until_proven
    if stopped == "inconclusive":
        (reason,) = [reason for reason in results.reasons if reason.code == "rate-unproven"]
        assert "40 times would prove it kept" in reason.text


# latency -------------------------------------------------------------------------------------------------------------


def slow(users: int, took_ms: int) -> Process:
    """Users of three turns whose recalls take so long, after the memory was seen to be quick once."""
    process = Process()
    for number in range(users):
        process.talk(f"0.{number}.s0")
        for turn in range(3):
            at = 1_000 * turn
            process.append("phone", at, at + 2, turn)
            process.recall("phone", at + 4, at + 4 + took_ms, *(("phone", seq) for seq in range(turn + 1)))
        process.recall("phone", 9_000, 9_001, *(("phone", seq) for seq in range(3)), final=True)
    return process


@pytest.mark.parametrize(
    ("budget", "outcome", "codes"),
    [
        ({"recall_p95_ms": 100}, "pass", []),
        ({"recall_p95_ms": 99}, "fail", ["latency"]),
        ({"append_p95_ms": 2}, "pass", []),
        ({"append_p95_ms": 1, "recall_p95_ms": 1}, "fail", ["latency", "latency"]),
        ({}, "pass", []),
    ],
)
def test_the_95th_percentile_is_held_against_its_budget(
    tmp_path: Path, budget: dict[str, float], outcome: str, codes: list[str]
) -> None:
    results = verdict(tmp_path, slow(40, 100), budget)
    assert (results.verdict, reasons(results)) == (outcome, codes)
    assert results.exit_code == {"pass": 0, "fail": 3}[outcome]
    if codes == ["latency"]:
        assert "95th percentile of 120 answered recalls is 100.0 ms" in results.reasons[0].text
        assert "expected at most 99 ms" in results.reasons[0].text


def test_a_few_requests_have_no_95th_percentile(tmp_path: Path) -> None:
    results = verdict(tmp_path, slow(30, 100), {"recall_p95_ms": 1})
    assert (results.exit_code, reasons(results)) == (4, ["latency-unproven"])
    assert "90 answered recalls" in results.reasons[0].text


def busy(process: Process) -> Process:
    for second in range(10):
        sample = Sample(at_ns=second * 1_000 * MS, users=9, in_flight=3, cpu_pct=100.0, lag_ms=1.0)
        process.samples.append(sample)
    return process


@pytest.mark.parametrize("took_ms", [1, 100])
def test_latencies_of_a_swarm_that_was_late_itself_tell_nothing(tmp_path: Path, took_ms: int) -> None:
    results = verdict(tmp_path, busy(slow(40, took_ms)), {"recall_p95_ms": 50})
    assert (results.exit_code, reasons(results)) == (4, ["latency-unreliable", "load-saturated"])
    assert not results.latency_reliable
    assert verdict(tmp_path, busy(slow(40, took_ms)), {}).exit_code == 0


def test_late_arrivals_make_latencies_unreliable_as_well(tmp_path: Path) -> None:
    process = slow(40, 1)
    rows = {"append": 120, "recall": 160}
    late = Lateness(begun=120, waiting=0, p50_ms=200, p95_ms=900, max_ms=999)
    counters = {"0": {"rows": rows, "lateness": late}}
    results = verdict(tmp_path, process, {"recall_p95_ms": 50}, turns_per_second=9.0, counters=counters)
    assert results.exit_code == 4
    assert "latency-unreliable" in reasons(results)


# unsettled -----------------------------------------------------------------------------------------------------------


def test_scenarios_that_cancel_requests_may_leave_messages_unsettled(tmp_path: Path) -> None:
    process = many(10)
    for number in range(5):
        process.talk(f"x{number}").append("phone", 0, 1, 0, outcome="info").recall("phone", 2, 3, final=True)
    sound(process, 99, scenario="two-devices")
    loose = {"request_failures": 1.0, "min_conversations": 1}
    assert reasons(verdict(tmp_path, process, loose)) == ["unsettled"]
    assert verdict(tmp_path, process, loose, cancelling=["rapid-switch"]).exit_code == 0
    assert reasons(verdict(tmp_path, process, loose, cancelling=["two-devices"])) == ["unsettled"]


def test_the_headline_of_such_a_run_does_not_rest_on_an_interval(tmp_path: Path) -> None:
    budget = {"disorder": "report", "conversations_harmed": 0.1}
    told = headline(msgspec.to_builtins(verdict(tmp_path, odd(80, 1), budget, until_proven=True)))
    assert "Every budget is proven to be kept" in told
    assert "confidence" not in told
    told = headline(msgspec.to_builtins(verdict(tmp_path, odd(80, 0), {}, until_proven=True)))
    assert "With 95% confidence" in told


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (
            {"conversations_harmed": 0.01, "disorder": "report"},
            "20 of 200 conversations are harmed, more than the 1.00 % tolerated.",
        ),
        ({"append_p95_ms": 0.5, "disorder": "report"}, "Requests took longer than tolerated."),
    ],
)
def test_the_headline_names_the_budget_that_is_exceeded(tmp_path: Path, budget: dict[str, Any], words: str) -> None:
    assert headline(msgspec.to_builtins(verdict(tmp_path, odd(200, 20), budget))) == (
        f"FAIL: {words} Within the budget: Something was shown that nobody stored in 20 of 200 conversations. "
        "No message was missing (760 checked recalls of 200 conversations)."
    )


def test_a_refusal_that_the_contract_allows_is_no_failure(tmp_path: Path) -> None:
    process = many(10).talk("busy")
    for at in range(5):
        process.append("phone", 10 * at, 10 * at + 1, at, outcome="fail", reason="status", status=409)
    write(tmp_path, process, budget=Budget(min_conversations=10))
    assert analyze(tmp_path).exit_code == 1
    contract = tmp_path / "reject.toml"
    contract.write_text('[contract]\nconcurrency = "reject"\n[budget]\nmin_conversations = 10\n')
    assert analyze(tmp_path, contract).exit_code == 0
