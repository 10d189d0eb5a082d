"""The analyzer's time and memory on synthetic runs, from op logs on disk to all outputs.

    python -m benchmarks.analyzer [SET]…

The peak is the largest sum of the resident memory of all its processes at one moment, looked at fifty times a second;
pages that they share count once for each. Of every run all recalls with a planted loss must be found, and nothing else.
The second analysis of a run finds what the first one sealed.

The smallest set is judged beside the script one would write otherwise. That script (``naive.py``) loads the same op
logs and asks of every recall whether everything acknowledged before it is in the list. It knows no windows and no
overlap; on that run, which has none, it finds the same losses.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.record import median, save
from benchmarks.synthetic import WINDOW, write_synthetic

LOOK_S = 0.02


class Set(NamedTuple):
    """A synthetic run, and what analyzing it may take."""

    operations: int
    rounds: int
    wall_s_max: float
    devices: int = 1
    losses: float = 0.001
    window: int | None = WINDOW
    peak_gib_max: float = 6.0
    beside_naive: bool = False


SETS = {
    "10 k beside a naive script": Set(10_000, 3, 3, window=None, beside_naive=True),
    "100 k": Set(100_000, 5, 3),
    "1 M": Set(1_000_000, 3, 8),
    "10 M": Set(10_000_000, 1, 60),
    "10 M, overlapping devices": Set(10_000_000, 1, 120, devices=2),
    "10 M, 30 % lossy": Set(10_000_000, 1, 180, losses=0.3),
}


def timed(command: list[str]) -> dict[str, float]:
    """Wall and CPU seconds and peak memory of one process and all below it."""
    began = time.monotonic()
    process = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    over = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(LOOK_S):
            total = 0
            for each in _family(process):
                try:
                    total += each.memory_info().rss
                except psutil.Error:
                    continue
            peak = max(peak, total)

    watcher = threading.Thread(target=watch)
    watcher.start()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process.wait()
    wall_s = time.monotonic() - began
    over.set()
    watcher.join()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = usage.ru_utime + usage.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": wall_s, "cpu_s": cpu_s, "peak_mib": peak / 2**20}


def _family(process: psutil.Popen) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def verify(directory: Path, planted: set[str]) -> int:
    """How many lossy recalls were found; they must be the planted ones, and there must be no other finding."""
    findings = pq.read_table(directory / "findings.parquet", columns=["anomaly", "request_id"])
    anomalies = set(pc.unique(findings["anomaly"]).to_pylist())
    found = set(pc.unique(findings["request_id"]).to_pylist())
    assert anomalies <= {"missing"}, anomalies
    assert found == planted, f"{len(planted)} planted, {len(found)} found, {len(found ^ planted)} differ"
    (scenario,) = json.loads((directory / "results.json").read_text())["scenarios"]
    assert scenario["recalls"]["lossy"] == len(planted)
    return len(found)


def measure(name: str, run: Set, folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """All rounds of one set, and their medians."""
    directory = folder / "run"
    planted = write_synthetic(
        directory, run.operations, devices=run.devices, losses=run.losses, window=run.window, seed=run.operations
    )
    size = sum(log.stat().st_size for log in (directory / "transcript").iterdir())
    analyze = [sys.executable, "-P", "-m", "analysis", str(directory)]
    rounds: list[dict[str, Any]] = []
    for number in range(run.rounds):
        shutil.rmtree(directory / "sealed", ignore_errors=True)
        here = {"set": name, "round": number} | timed(analyze)
        found = verify(directory, planted)
        here |= {f"again_{key}": value for key, value in timed(analyze).items()}
        verify(directory, planted)
        if run.beside_naive:
            naive = [sys.executable, "-P", str(Path(__file__).with_name("naive.py")), str(directory)]
            here |= {f"naive_{key}": value for key, value in timed(naive).items()}
        rounds.append(here)
    keys = [key for key in rounds[0] if key not in ("set", "round")]
    summary: dict[str, Any] = {
        "operations": run.operations,
        "bytes_per_operation": round(size / run.operations),
        "planted": len(planted),
        "found": found,
        "wall_s_max": run.wall_s_max,
        "peak_mib_max": run.peak_gib_max * 1024,
    } | {key: round(median(rounds, key), 3) for key in keys}
    shutil.rmtree(directory)
    return summary, rounds


def ratios(summary: dict[str, Any]) -> dict[str, float]:
    """Ten times the work: how many times the time and the memory?"""
    if not {"1 M", "10 M"} <= set(summary):
        return {}
    return {key: round(summary["10 M"][key] / summary["1 M"][key], 2) for key in ("wall_s", "cpu_s", "peak_mib")}


def main() -> None:
    """Measure, print, and save."""
    parser = argparse.ArgumentParser(description="Measure the analyzer on synthetic runs.")
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)}; all if none is given")
    parser.add_argument("--folder", type=Path, help="where the runs are written; 6 GB for the largest")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    chosen = {name: run for name, run in SETS.items() if not options.sets or name in options.sets}
    summary: dict[str, Any] = {}
    rounds: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name, run in chosen.items():
            summary[name], here = measure(name, run, Path(folder))
            rounds += here
            told = summary[name]
            print(
                f"{name}: {told['wall_s']:.1f} s (at most {run.wall_s_max:g}), {told['peak_mib'] / 1024:.2f} GiB "
                f"(at most {run.peak_gib_max:g}), again {told['again_wall_s']:.1f} s; {told['found']:,} of "
                f"{told['planted']:,} planted losses found, nothing else accused",
                flush=True,
            )
    if told := ratios(summary):
        summary["10 M : 1 M"] = told
        print(f"10 M : 1 M: {told['wall_s']} times the time, {told['peak_mib']} times the memory")
    if not options.sets:
        print(save("analyzer", summary, rounds))


if __name__ == "__main__":
    main()
