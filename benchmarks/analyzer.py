"""The analyzer's time and memory on synthetic runs, beside the script one would write otherwise.

That script (``naive.py``) loads the same op logs and asks of every recall whether everything acknowledged before it is
in the list. It knows no windows and no overlap; on these runs, which have none, it finds the same losses.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.record import median, save
from goldfish.contract import Budget, Contract
from goldfish.oplog import Append, Recall, Said
from goldfish.run import TRANSCRIPT, Run, write_run
from stress.swarm.recorder import Recorder

SIZES = (10_000, 100_000)
ROUNDS = 5
TURNS = 20
LOSSES = 0.001


def synthetic(directory: Path, operations: int, seed: int) -> int:
    """A run of one device per conversation, each turn an append of two messages and a recall; tells planted losses."""
    rng = Random(seed)
    (directory / TRANSCRIPT).mkdir(parents=True)
    recorder = Recorder(directory / TRANSCRIPT / "w0.jsonl", "bench", "w0", 0)
    planted = 0
    now = 0
    for number in range(operations // (2 * TURNS)):
        shared: dict[str, Any] = {
            "scenario": "bench",
            "user": f"gf-bench-0.{number}",
            "session": f"gf-bench-0.{number}-s0",
            "conversation": f"0.{number}.s0",
            "device": "phone",
            "outcome": "ok",
            "status": 200,
        }
        for turn in range(TURNS):
            said = [
                Said(seq=2 * turn + half, turn=turn, role=role, text="What was my order number again?" * 2, bytes=64)
                for half, role in enumerate(("user", "assistant"))
            ]
            recorder.write(_stamped(Append, recorder, now, rng, messages=said, **shared))
            seen = [("phone", 0, 2 * turn + 1)]
            if turn and rng.random() < LOSSES:
                planted += 1
                seen = [("phone", 0, 2 * turn - 1)]
            phase = "final" if turn == TURNS - 1 else "load"
            recorder.write(_stamped(Recall, recorder, now + 20, rng, view="session", seen=seen, phase=phase, **shared))
            now += 40
    recorder.close()
    counters = {"w0": {"rows": recorder.counts, "scenarios": {}}}
    write_run(
        directory,
        Run(
            run="bench", contract=Contract(), budget=Budget(), processes=["w0"], scenarios=["bench"], counters=counters
        ),
    )
    return planted


def _stamped(kind: type[Any], recorder: Recorder, now: int, rng: Random, **fields: Any) -> Any:
    instance = f"m{rng.randrange(3) + 1}"
    return kind(id=recorder.next_id(), start_ns=now, end_ns=now + 10, instance=instance, **fields)


def timed(command: list[str]) -> dict[str, float]:
    """Wall and CPU seconds and peak memory of one process with its children."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return {
        "wall_s": time.monotonic() - began,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mib": usage.ru_maxrss / (1 if sys.platform == "darwin" else 1024),
    }


def main() -> None:
    """Measure, interleaved, and print the medians."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rounds: list[dict[str, Any]] = []
    summary: dict[str, Any] = {}
    naive = str(Path(__file__).with_name("naive.py"))
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            directory = Path(folder) / str(size)
            planted = synthetic(directory, size, seed=size)
            here: list[dict[str, Any]] = []
            for number in range(ROUNDS):
                ours = timed([sys.executable, "-P", "-m", "analysis", str(directory)])
                theirs = timed([sys.executable, "-P", naive, str(directory)])
                here.append(
                    {"operations": size, "round": number}
                    | ours
                    | {f"naive_{key}": value for key, value in theirs.items()}
                )
            found = json.loads((directory / "results.json").read_text())["scenarios"][0]["recalls"]["lossy"]
            assert found == planted, f"{planted} losses were planted, {found} found"
            keys = [key for key in here[0] if key not in ("operations", "round")]
            summary[str(size)] = {"planted": planted, "found": found} | {
                key: round(median(here, key), 3) for key in keys
            }
            print(size, summary[str(size)])
            rounds += here
    print(save("analyzer", summary, rounds))


if __name__ == "__main__":
    main()
