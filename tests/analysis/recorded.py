"""Simulated histories as run directories: each a conversation, their rows interleaved as load processes write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import msgspec

from analysis.episodes import Episodes
from analysis.judging import Assignment, judge
from analysis.outputs import outputs
from analysis.publish import Outputs
from analysis.reading import read
from analysis.worker import Worker
from goldfish.contract import Budget, Contract
from goldfish.faults import Fault
from goldfish.oplog import Footer, Header, Operation
from goldfish.run import TRANSCRIPT, Run, read_run, write_run
from tests.evidence import histories, simulator
from tests.evidence.designs import draw_store
from tests.evidence.faults import FAULTS as EVERY_FAULT
from tests.evidence.faults import compound, plant_loss
from tests.evidence.histories import History
from tests.evidence.product import conversation_of
from tests.evidence.simulator import simulate

ENCODER = msgspec.json.Encoder()
SCENARIOS = ("rapid-switch", "two-devices", "shared")
INSTANCES = ("m1", "m2", None)


def record(directory: Path, histories: Iterable[History], processes: int = 1, **run: Any) -> Path:
    """Write a run directory of histories; ``run`` sets further fields of run.json."""
    logs: list[list[Operation]] = [[] for _ in range(processes)]
    for number, history in enumerate(histories):
        conversation = conversation_of(history)
        log = logs[number % processes]
        for _, row in conversation.operations():
            log.append(
                msgspec.structs.replace(
                    row,
                    conversation=f"c{number}",
                    scenario=SCENARIOS[number % len(SCENARIOS)],
                    user=f"user {number // 2}",
                    instance=INSTANCES[(number + row.id) % len(INSTANCES)],
                    # Stories begin one after the other.
                    start_ns=row.start_ns + number * 3_000_000,
                    end_ns=row.end_ns + number * 3_000_000,
                )
            )
    (directory / TRANSCRIPT).mkdir(parents=True, exist_ok=True)
    names = [f"w{number}" for number in range(processes)]
    for name, log in zip(names, logs, strict=True):
        log.sort(key=lambda row: row.end_ns)
        rows = [msgspec.structs.replace(row, id=number) for number, row in enumerate(log)]
        counts: dict[str, int] = {}
        for row in rows:
            kind = type(row).__name__.lower()
            counts[kind] = counts.get(kind, 0) + 1
        whole = [Header(run="r", process=name, worker=0, monotonic_ns=0, wall=0.0), *rows]
        whole.append(Footer(lines=len(whole) + 1, counts=counts))
        (directory / TRANSCRIPT / f"{name}.jsonl").write_bytes(b"".join(ENCODER.encode(row) + b"\n" for row in whole))
    fields: dict[str, Any] = {"contract": Contract(), "budget": Budget()} | run
    write_run(directory, Run(run="r", processes=names, scenarios=list(SCENARIOS), **fields))
    return directory


class Several:
    """Several shares in this process."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.shares = [Worker(lambda _: None) for _ in range(number)]

    def begin(self, step: str, arguments: Sequence[tuple[Any, ...]]) -> Callable[[], list[Any]]:
        """Take a step, once the answer is called for."""
        return lambda: self.call(step, arguments)

    def call(self, step: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Take a step."""
        return [getattr(share, step)(*own) for share, own in zip(self.shares, arguments, strict=True)]


def judged(directory: Path, contract: Contract, shares: int = 1, faults: Sequence[Fault] = ()) -> Outputs:
    """Everything that is written about a run, judged by several shares under a contract."""
    several, run = Several(shares), read_run(directory)
    outline = read(directory, several, run, contract)
    episodes = Episodes(faults, {})
    sums = judge(several, Assignment.of(outline, contract, episodes))
    return outputs(outline, sums, contract, run.budget, list(faults), None, episodes)


def of_contract(promised: histories.Contract, seed: int, number: int) -> Iterator[History]:
    """Histories of a store that promises just this: sound ones, and after each the same with one kind of fault."""
    kinds = cycle(EVERY_FAULT)
    with patch.object(simulator, "draw_design", lambda draw: draw_store(draw, promised)):
        sound = [simulate(at).history for at in range(seed, seed + number)]
    for history in sound:
        yield history
        kind = next(kinds)
        lists = {at: list(recall.items) for at, recall in history.ok_recalls()}
        EVERY_FAULT[kind](Random(seed), history, lists)
        ops = [replace(op, items=tuple(lists[at])) if at in lists else op for at, op in enumerate(history.ops)]
        yield replace(history, ops=tuple(ops), faults=frozenset({kind}))


def of_any(seed: int, number: int) -> Iterator[History]:
    """Histories of all kinds of stores: sound ones, ones with a single loss, and ones with several kinds of fault."""
    for at in range(seed, seed + number):
        simulated = simulate(at)
        planted = plant_loss(simulated, at)
        yield simulated.history
        yield compound(at)
        if planted is not None:
            yield planted.history
