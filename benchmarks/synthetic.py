"""Op logs of a run that never was, as the swarm writes them, with losses planted in it.

    python -m benchmarks.synthetic DIRECTORY --operations 1000000 [--devices 2] [--losses 0.3]

Every conversation is a story of its own user on a sound store that serves the newest twenty messages: fifty turns, each
an append of a question and its answer, and a recall. Several hundred stories go on at a time, and their rows are
interleaved in the order of their ends. With two devices, both talk at the same time, so that appends and recalls
overlap and lists are made of short runs.

A planted loss is a recall that lacks a message which was acknowledged before it began, and lists everything around it;
half of them list one older message more, as a store does that lost it before it cut the window. ``planted.json`` beside
the run directory names them by request.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from goldfish.contract import Budget, Contract, Window
from goldfish.oplog import Append, Recall, Said, encode_runs
from goldfish.run import TRANSCRIPT, Checks, Counters, Run, write_run
from stress.swarm.recorder import Recorder

WINDOW = 20
TURNS = 50
AT_A_TIME = 250
LOGS = 4
MS = 1_000_000
SAID = (
    "I ordered a kettle on Monday and the parcel says delivered, but nothing came. The order number is 7847 7609 15.",
    "Thanks! I have found it: one electric kettle, dark green, 95.90 euros. It left our warehouse on Monday.",
)


@dataclass
class Operation:
    """One request of a story: when it is sent, takes effect and is answered."""

    device: str
    turn: int
    start: int
    effect: int
    end: int
    append: bool
    final: bool = False


def write_synthetic(
    directory: Path,
    operations: int,
    *,
    devices: int = 1,
    losses: float = 0.001,
    window: int | None = WINDOW,
    seed: int = 1,
) -> set[str]:
    """Write a run directory; the request ids of the recalls with a planted loss.

    Args:
        directory: the run directory, to be made.
        operations: about how many; half of them are appends.
        devices: how many talk in each conversation at the same time.
        losses: share of recalls that lack a message.
        window: how many messages are served; None: the whole history.
        seed: of everything.
    """
    (directory / TRANSCRIPT).mkdir(parents=True)
    stories = operations // (2 * TURNS)
    shares = [stories // LOGS + (number < stories % LOGS) for number in range(LOGS)]
    work = [(directory, number, share, devices, losses, window, seed) for number, share in enumerate(shares)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        written = list(pool.map(_write_log, work))
    names = [f"w{number}" for number in range(LOGS)]
    counters = {name: counted for name, (counted, _) in zip(names, written, strict=True)}
    write_run(
        directory,
        Run(
            run="synthetic",
            contract=Contract(window=Window(messages=window)),
            budget=Budget(),
            processes=names,
            scenarios=["synthetic"],
            start_ns=0,
            counters=counters,
        ),
    )
    return {request for _, planted in written for request in planted}


def _write_log(work: tuple[Path, int, int, int, float, int | None, int]) -> tuple[Counters, list[str]]:
    directory, number, stories, devices, losses, window, seed = work
    rng = Random(seed * 1_000 + number)
    recorder = Recorder(directory / TRANSCRIPT / f"w{number}.jsonl", "synthetic", f"w{number}", number)
    checks = Checks()
    planted: list[str] = []
    for first in range(0, stories, AT_A_TIME):
        rows: list[tuple[Any, bool]] = []
        for story in range(first, min(first + AT_A_TIME, stories)):
            begin = (first // AT_A_TIME * TURNS * 250 + rng.randrange(10_000)) * MS
            rows += _story(rng, f"{number}.{story}", begin, devices, losses, window)
        rows.sort(key=lambda row: row[0].start_ns)
        for row, _ in rows:
            row.id = recorder.next_id()
        rows.sort(key=lambda row: row[0].end_ns)
        for row, lost in rows:
            recorder.write(row)
            if isinstance(row, Recall):
                checks.checked += 1
                checks.lossy += lost
            if lost:
                planted.append(recorder.request_id(row.id))
    recorder.close()
    return Counters(rows=recorder.counts, scenarios={"synthetic": checks}), planted


def _story(
    rng: Random, name: str, begin: int, devices: int, losses: float, window: int | None
) -> Iterator[tuple[Any, bool]]:
    """The rows of one conversation, and whether each is a recall with a planted loss."""
    newest = slice(-window if window else None, None)
    stored: list[tuple[str, int]] = []
    acknowledged: dict[tuple[str, int], int] = {}
    shared: dict[str, Any] = {
        "id": 0,
        "scenario": "synthetic",
        "user": f"gf-synthe-{name}",
        "session": f"gf-synthe-{name}-s0",
        "conversation": f"{name}.s0",
        "outcome": "ok",
    }
    operations = sorted(_operations(rng, begin, devices), key=lambda operation: operation.effect)
    for operation in operations:
        fields = shared | {
            "device": operation.device,
            "start_ns": operation.start,
            "end_ns": operation.end,
            "instance": f"m{rng.randrange(3) + 1}",
            "connection": "new" if rng.random() < 0.2 else "kept",
            "phase": "final" if operation.final else "load",
        }
        if operation.append:
            seqs = [2 * operation.turn, 2 * operation.turn + 1]
            said = [
                Said(
                    seq=seq,
                    turn=operation.turn,
                    role=role,
                    text=f"[gfsynthe-{name}-s0-{seq}-x7k] {text}",
                    bytes=140,
                )
                for seq, role, text in zip(seqs, ("user", "assistant"), SAID, strict=True)
            ]
            stored += [(operation.device, seq) for seq in seqs]
            acknowledged |= {(operation.device, seq): operation.end for seq in seqs}
            yield Append(messages=said, status=201, **fields), False
            continue
        shown = stored[newest]
        # A message in the newer half was certainly sent after something in the older half was stored.
        owed = [key for key in shown[len(shown) // 2 :] if acknowledged[key] < operation.start]
        lost = bool(owed) and rng.random() < losses
        if lost:
            gone = rng.choice(owed)
            refilled = [key for key in stored if key != gone][newest]
            shown = refilled if rng.random() < 0.5 else [key for key in shown if key != gone]
        yield Recall(view="session", limit=window, seen=encode_runs(shown), status=200, **fields), lost


def _operations(rng: Random, begin: int, devices: int) -> Iterator[Operation]:
    """Devices talk each at its own pace; every turn is an append and a recall."""
    ends = []
    for number in range(devices):
        device = ("phone", "laptop", "tablet")[number]
        now = begin + rng.randrange(100) * MS
        for turn in range(TURNS // devices):
            for append in (True, False):
                last = turn == TURNS // devices - 1 and not append
                if last and devices > 1:
                    ends.append((device, now))
                    continue
                start, now = now, now + rng.randrange(2 * MS, 80 * MS)
                yield Operation(device, turn, start, rng.randrange(start, now), now, append, final=last)
                now += rng.randrange(1 * MS, 40 * MS)
    if ends:
        settled = max(now for _, now in ends) + 2_000 * MS
        for device, _ in ends:
            yield Operation(device, 0, settled, settled + MS, settled + 5 * MS, False, final=True)


def main() -> None:
    """Write a run directory, and ``planted.json`` beside it."""
    parser = argparse.ArgumentParser(description="Write a synthetic run.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--losses", type=float, default=0.001)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    planted = write_synthetic(
        options.directory, options.operations, devices=options.devices, losses=options.losses, seed=options.seed
    )
    options.directory.with_name(f"{options.directory.name}-planted.json").write_text(json.dumps(sorted(planted)))
    print(f"{options.directory}: {len(planted)} recalls with a planted loss")


if __name__ == "__main__":
    main()
