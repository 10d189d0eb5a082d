"""Runs that end in different ways at random moments: what a load process recorded is what it did.

    python -m tests.evidence.endings [RUNS] [SEED]

Each run is a real one against a real deployment that is sound: one to three load processes, users at their own pace or
with open arrivals, ended by time, turns, a signal, the death of a worker, of the master or of the command, at a moment
drawn at random. Then, whatever happened:

- for every load process that closed its log, rows equal the footer's and the counters' numbers exactly, and rows
  without those cut off equal the requests that Locust was shown;
- if nobody was lost, all op logs together equal Locust's own statistics;
- the sound memory is accused of nothing;
- a run that lost a load process, or whose conductor was killed, does not exit with 0;
- no process is left.

The record of a long proof is kept in ``benchmarks/results/endings.json``.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import psutil

from benchmarks.record import save
from goldfish.oplog import Footer, Operation
from stress.deployment import Deployment, Plan
from tests.cli.command import alive, descendants, recording, run_directories, started, until
from tests.oplogs import rows_of_log

WAYS = (
    "time",
    "turns",
    "interrupt",
    "interrupt twice",
    "terminate",
    "worker killed",
    "worker killed, then interrupt",
    "worker hangs, then interrupt",
    "worker leaves, then interrupt",
    "master killed",
    "command killed",
)
MOMENT_S_MAX = 4.0
PATIENT_S = 300
"""On a busy machine a run that ends by turns takes its time."""
CONTRACT = "[contract]\nsettle_ms = {settle}\n[budget]\nmin_conversations = 1\n"


class EndedBadlyError(Exception):
    """A run did not end as it should."""


def prove(seed: str, memory: Deployment, folder: Path) -> dict[str, Any]:
    """One run, ended in a way and at a moment that ``seed`` draws.

    Raises:
        EndedBadlyError: it left something behind, accused the memory, or its numbers differ.
    """
    draw = Random(seed)
    way = draw.choice(WAYS)
    processes = draw.randint(2, 3) if "worker" in way or "master" in way else draw.randint(1, 3)
    contract = folder / "goldfish.toml"
    contract.write_text(CONTRACT.format(settle=draw.choice((0, 300, 2000))))
    arguments: list[object] = ["run", "--host", memory.url, "-u", draw.randint(6, 30), "--contract", contract]
    arguments += ["--processes", processes, "--connection", draw.choice(("kept", "session", "request"))]
    arguments += ["--turns-per-second", draw.choice((30, 200))] if draw.random() < 0.3 else []
    arguments += ["-t", draw.randint(2, 6)] if way == "time" else ["-t", 600]
    arguments += ["--turns", draw.randint(50, 600)] if way == "turns" else []
    with started(*arguments, cwd=folder) as process:
        below: list[psutil.Process] = []
        if way not in ("time", "turns"):
            until(lambda: recording(folder, processes), f"rows of {processes} load processes ({seed})")
            time.sleep(draw.uniform(0, MOMENT_S_MAX))
            below = descendants(process.pid)
            end(way, process.pid, draw)
        output, _ = process.communicate(timeout=PATIENT_S)
        until(lambda: not alive(below), f"the end of {alive(below)} ({seed})")
    (directory,) = run_directories(folder)
    try:
        rows = examine(directory, way, process.returncode)
    except EndedBadlyError as error:
        raise EndedBadlyError(f"{seed}, {way}: {error}; {' '.join(map(str, arguments))}\n{output}") from error
    return {"seed": seed, "way": way, "processes": processes, "exit_code": process.returncode, **rows}


def end(way: str, command: int, draw: Random) -> None:
    """Do to a run what ``way`` says."""
    (master,) = psutil.Process(command).children()
    workers = master.children()
    act: dict[str, Callable[[], None]] = {
        "terminate": lambda: send(command, signal.SIGTERM),
        "master killed": master.kill,
        "command killed": lambda: send(command, signal.SIGKILL),
    }
    if way in act:
        act[way]()
        return
    if way.startswith("worker"):
        victim = draw.choice(workers)
        {"killed": victim.kill, "hangs": victim.suspend, "leaves": victim.terminate}[way.split()[1].rstrip(",")]()
        time.sleep(draw.uniform(0, 2))
    send(command, signal.SIGINT)
    if way == "interrupt twice":
        time.sleep(draw.uniform(0, 1))
        send(command, signal.SIGINT)


def send(pid: int, number: int) -> None:
    try:
        psutil.Process(pid).send_signal(number)
    except psutil.NoSuchProcess:
        return


def examine(directory: Path, way: str, code: int) -> dict[str, Any]:
    """Check what a run left behind; returns what was counted."""
    record = json.loads((directory / "run.json").read_text())
    whole = {}
    total: Counter[tuple[str, str]] = Counter()
    appends = 0
    for path in sorted((directory / "transcript").glob("*.jsonl")):
        kinds, requests, footer = read(path)
        appends += kinds["append"]
        total += requests
        whole[path.stem] = footer is not None
        if footer is None:
            continue
        expect(f"{path.stem}: rows and footer", dict(kinds), {k: n for k, n in footer.counts.items() if k in kinds})
        counters = record["counters"].get(path.stem)
        if counters is not None and path.stem not in record["lost"]:
            own = {k: n for k, n in counters["rows"].items() if k in kinds}
            expect(f"{path.stem}: rows and counters", dict(kinds), own)
            expect(f"{path.stem}: rows and Locust's requests", dict(requests), flat(counters["requests"]))
    lost = bool(record["lost"]) or not all(whole.values()) or len(whole) < len(record["processes"])
    if not lost and record["statistics"] is not None:
        expect("all rows and Locust's statistics", dict(total), flat(record["statistics"]))
    if code == 0 and (lost or record["ended"] is None):
        raise EndedBadlyError("exit 0 although a load process or the conductor was lost")
    if ("killed" in way and way != "command killed") or "hangs" in way:
        expect("the exit code", code, 4)
    results = directory / "results.json"
    lossy = 0
    if results.exists():
        lossy = sum(
            s["recalls"]["lossy"] + sum(s["anomalies"].values()) for s in json.loads(results.read_text())["scenarios"]
        )
    expect("findings against a sound memory", lossy, 0)
    return {"logs": len(whole), "closed": sum(whole.values()), "rows": sum(total.values()), "judged": results.exists()}


def read(path: Path) -> tuple[Counter[str], Counter[tuple[str, str]], Footer | None]:
    """Rows per kind, requests per scenario and kind, and the footer."""
    kinds: Counter[str] = Counter()
    requests: Counter[tuple[str, str]] = Counter()
    footer: Footer | None = None
    try:
        for row in rows_of_log(path):
            if isinstance(row, Footer):
                footer = row
            elif isinstance(row, Operation):
                kind = str(row.__struct_config__.tag)
                kinds[kind] += 1
                requests[row.scenario, kind] += row.reason != "killed"
    except Exception:  # noqa: BLE001 - a killed process may leave half a line; without a footer nothing is claimed
        footer = None
    return kinds, requests, footer


def flat(nested: dict[str, dict[str, int]]) -> dict[tuple[str, str], int]:
    return {(scenario, kind): n for scenario, kinds in nested.items() for kind, n in kinds.items() if n}


def expect(what: str, found: object, expected: object) -> None:
    if isinstance(found, dict):
        found = {key: number for key, number in found.items() if number}
    if found != expected:
        raise EndedBadlyError(f"{what}: found {found}, expected {expected}")


def main(runs: int = 60, seed: str = "1") -> None:
    """Prove many, two at a time, and keep the record."""
    rows: list[dict[str, Any]] = []
    failures: list[str] = []
    with Deployment.start(Plan()) as memory, tempfile.TemporaryDirectory() as top, ThreadPoolExecutor(2) as pool:

        def one(number: int) -> None:
            folder = Path(top) / str(number)
            folder.mkdir()
            try:
                rows.append(prove(f"{seed}/{number}", memory, folder))
                print(rows[-1], flush=True)
            except (EndedBadlyError, AssertionError, subprocess.TimeoutExpired) as error:
                failures.append(str(error))
                print(f"FAILED {error}", flush=True)

        list(pool.map(one, range(runs)))
    ways = Counter(row["way"] for row in rows)
    codes: dict[str, dict[str, int]] = {}
    for row in rows:
        counts = codes.setdefault(row["way"], {})
        counts[str(row["exit_code"])] = counts.get(str(row["exit_code"]), 0) + 1
    summary = {
        "runs": runs,
        "seed": seed,
        "failures": len(failures),
        "ways": dict(ways),
        "exit_codes": codes,
        "logs": sum(row["logs"] for row in rows),
        "closed_logs": sum(row["closed"] for row in rows),
        "rows": sum(row["rows"] for row in rows),
    }
    print(json.dumps(summary, indent=1))
    print(save("endings", summary, sorted(rows, key=lambda row: int(row["seed"].partition("/")[2]))))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main(*(int(sys.argv[1]),) if len(sys.argv) == 2 else (int(sys.argv[1]), sys.argv[2]) if len(sys.argv) > 2 else ())
