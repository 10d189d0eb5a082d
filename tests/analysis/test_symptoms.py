"""Symptoms of conversations that are proven by columns are those of conversations that are looked at one by one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.check import check
from analysis.crew import Alone
from analysis.episodes import NONE
from analysis.judged import Judged
from analysis.judging import Assignment, judge
from analysis.load import load
from analysis.proof.proven import Proven
from analysis.reading import read
from analysis.symptoms.overlap import latest_so_far, overlapped_columns
from analysis.symptoms.symptoms import Symptoms
from analysis.symptoms.vanishing import Vanishing
from goldfish.contract import Contract
from goldfish.run import read_run

from . import faulty
from .faulty import Memory, Swarm, play
from .runs import UNMARKED, Process, many, write


def by_columns(directory: Path, contract: Contract) -> Judged:
    run = read_run(directory)
    with Alone(lambda _: None) as shares:
        outline = read(directory, shares, run, contract)
        return judge(shares, Assignment.of(outline, contract, NONE))


def one_by_one(directory: Path, contract: Contract) -> Judged:
    record = load(directory)
    judged = Judged(record.start_ns, record.cited)
    for conversation in record.conversations.values():
        judged.add(check(conversation, contract))
    return judged


def plainly(part: Any) -> Any:
    """What an accumulator holds, so that it can be compared; zeros are the same as nothing."""
    if isinstance(part, Mapping):
        return {key: value for key, held in part.items() if (value := plainly(held)) not in (0, [], {})}
    if isinstance(part, np.ndarray):
        return part.tolist() if part.any() else []
    return part


def symptoms(judged: Judged) -> dict[str, Any]:
    losses = judged.symptoms.losses()
    parts: list[Any] = [judged.symptoms.by_class, judged.symptoms.failures, judged.symptoms.disorder]
    parts += [losses, losses.pairs, losses.traits, losses.lists, losses.vanishing, losses.stored]
    return {
        f"{type(part).__name__}.{field}": plainly(held)
        for part in parts
        for field, held in vars(part).items()
        if isinstance(held, int | Mapping)
    }


def odd_moments(directory: Path) -> None:
    """Failures, appends without an answer, empty histories, elements of the memory's own, another process."""
    process = many(3)
    process.talk("a").append("phone", 0, 1, 0, outcome="info", status=None, reason="timeout", instance=None)
    process.recall("phone", 5, 6, ("phone", 0)).append("phone", 7, 8, 1, outcome="fail", status=413, reason="status")
    process.recall("phone", 2_000, 2_001, ("phone", 0), UNMARKED, final=True, instance="m2")
    process.talk("b").recall("phone", 0, 1, status=404).append("laptop", 2, 30, 0).append("phone", 3, 9, 0, 1)
    process.recall(
        "phone", 40, 41, ("phone", 0), ("phone", 1), ("laptop", 0), outcome="fail", status=503, reason="status"
    )
    process.recall("phone", 42, 43, ("phone", 0), ("phone", 1), ("laptop", 0), instance=None)
    process.recall("laptop", 42, 44, ("phone", 0), ("phone", 1), ("laptop", 0), final=True)
    process.talk("c").append("phone", 5, 5, 0).append("laptop", 5, 5, 0).recall(
        "phone", 9, 9, ("phone", 0), ("laptop", 0)
    )
    other = Process("1").talk("d").append("phone", 0, 1, 0).recall("laptop", 9, 10, ("phone", 0), reason=None)
    write(directory, process, other, contract=Contract(unmarked="allow"))


SWARMS = [Swarm(), Swarm(together=1.0), Swarm(pause=0.5), Swarm(limit=4), Swarm(named=False), Swarm(retries=0.2)]


@pytest.mark.parametrize("swarm", SWARMS, ids=range(len(SWARMS)))
def test_symptoms_of_sound_runs_are_the_same_by_columns(
    tmp_path: Path, swarm: Swarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    proven: list[int] = []
    add_proven = Symptoms.add_proven

    def counting(self: Symptoms, some: Proven) -> None:
        proven.append(some.size)
        add_proven(self, some)

    monkeypatch.setattr(Symptoms, "add_proven", counting)
    write(tmp_path, play(Memory(1), swarm))
    assert symptoms(by_columns(tmp_path, Contract())) == symptoms(one_by_one(tmp_path, Contract()))
    assert sum(proven) >= (0 if swarm.retries else 0.8 * swarm.users)  # resends are looked at one by one


@pytest.mark.parametrize("memory", [faulty.LostUpdate(1), faulty.OwnCopies(1), faulty.Crash(1), faulty.Swallow(1)])
def test_symptoms_of_runs_that_lose_are_the_same_by_columns(tmp_path: Path, memory: Memory) -> None:
    write(tmp_path, play(memory, Swarm(users=20), Swarm(users=20, together=0.5, scenario="pairs")))
    assert symptoms(by_columns(tmp_path, Contract())) == symptoms(one_by_one(tmp_path, Contract()))


def test_symptoms_of_odd_moments_are_the_same_by_columns(tmp_path: Path) -> None:
    odd_moments(tmp_path)
    contract = Contract(unmarked="allow")
    found = symptoms(by_columns(tmp_path, contract))
    assert found == symptoms(one_by_one(tmp_path, contract))
    assert {(failure.kind, failure.why) for failure in found["Failures.number"]} == {
        ("append", "timeout"), ("append", "413"), ("recall", "503"),
    }  # fmt: skip


def test_a_running_maximum_does_not_reach_into_the_next_group() -> None:
    group = np.array([0, 0, 0, 1, 1, 4])
    assert latest_so_far(group, np.array([5, 9, 7, -3, -8, 2])).tolist() == [5, 9, 9, -3, -3, 2]


def test_appends_overlap_within_their_conversation_only() -> None:
    conversation = np.array([0, 1, 0, 0, 1])
    start, end = np.array([0, 0, 30, 10, 50]), np.array([20, 40, 40, 15, 60])
    assert overlapped_columns(conversation, start, end).tolist() == [True, False, False, True, False]


def vanished(*spans: tuple[int, int]) -> Vanishing:
    """Messages that had been shown and vanished between two ticks each, in a run of 100 ticks."""
    when = Vanishing(0)
    when.vanished = len(spans)
    when.acknowledged.update({0: 50, 100: 50})
    for first, last in spans:
        when.turns[first] += 1
        when.turns[last + 1] -= 1
    return when


def test_a_moment_that_explains_all_that_vanished_is_taken_whole_however_seldom_one_looked() -> None:
    beyond, together, at_s = vanished(*[(10 + n, 39 + n) for n in range(10)]).together()
    assert (beyond, together) == (10, 10)
    assert 1.9 <= at_s <= 4.5
    # One that went at another time: then the others may have gone one by one as well.
    beyond, together, _ = vanished(*[(10 + n, 39 + n) for n in range(10)], (80, 85)).together()
    assert together == 10
    assert beyond < 5
    # So long in the dark that any moment explains them all.
    beyond, _, _ = vanished(*[(0, 95)] * 10).together()
    assert beyond == 0
