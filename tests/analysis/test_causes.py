"""The right cause is among the first two, and a sound run has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.causes.cause import Cause
from analysis.causes.effective import EffectiveContract, effective_contract
from analysis.causes.likely import likely_causes
from analysis.check import check
from analysis.judged import Judged
from analysis.load import load
from goldfish.contract import Contract

from . import faulty
from .faulty import Memory, Swarm, play
from .runs import Process, window, write

ALONE = Swarm()
PAIRS = Swarm(together=1.0, scenario="pairs", users=30)
PAUSES = Swarm(pause=0.5)


def diagnosed(
    directory: Path, process: Process, contract: Contract | None = None
) -> tuple[list[Cause], EffectiveContract | None]:
    contract = contract or Contract()
    record = load(write(directory, process, contract=contract))
    judged = Judged(record.start_ns, record.cited)
    for conversation in record.conversations.values():
        judged.add(check(conversation, contract))
    effective = effective_contract(judged.symptoms.sample, contract)
    return likely_causes(judged, contract, effective), effective


FAULTS: list[tuple[str, Any, dict[str, Any], tuple[Swarm, ...]]] = [
    ("own-copies", faulty.OwnCopies, {}, (ALONE,)),
    ("own-copies", faulty.OwnCopies, {"only": "m2"}, (ALONE, PAIRS)),
    ("own-copies", faulty.OwnCopies, {}, (Swarm(named=False),)),
    ("split-memory", faulty.SplitMemory, {}, (ALONE,)),
    ("split-memory", faulty.SplitMemory, {"only": "m2"}, (ALONE, PAIRS)),
    ("late-reads", faulty.ReplicaLag, {}, (ALONE,)),
    ("late-reads", faulty.ReplicaLag, {"lag_ms": 40}, (ALONE, PAIRS)),
    ("late-reads", faulty.ReplicaLag, {}, (Swarm(named=False),)),
    ("lost-update", faulty.LostUpdate, {}, (PAIRS, ALONE)),
    ("lost-update", faulty.LostUpdate, {}, (PAIRS,)),
    ("smaller-window", faulty.SmallWindow, {}, (ALONE,)),
    ("smaller-window", faulty.SmallWindow, {"messages": 3}, (ALONE, PAIRS)),
    ("smaller-window", faulty.TokenWindow, {}, (ALONE,)),
    ("lost-at-once", faulty.Crash, {}, (ALONE, PAIRS)),
    ("lost-at-once", faulty.Flush, {}, (ALONE,)),
    ("never-stored", faulty.Swallow, {}, (ALONE,)),
    ("never-stored", faulty.Swallow, {"instance": "m2", "share": 1.0}, (ALONE, PAIRS)),
    ("never-stored", faulty.Swallow, {"role": "assistant", "share": 1.0}, (ALONE,)),
    ("never-stored", faulty.Swallow, {"size": 4_000, "share": 1.0}, (ALONE, PAIRS)),
    ("expired-early", faulty.IdleExpiry, {}, (PAUSES,)),
    ("expired-early", faulty.AgeExpiry, {}, (PAUSES,)),
    ("disappearing", faulty.Eviction, {}, (ALONE,)),
    ("order-by-timestamp", faulty.ClockOrder, {}, (ALONE,)),
    ("shared-state", faulty.SharedState, {}, (ALONE,)),
    ("key-too-short", faulty.SharedState, {"only": None}, (ALONE,)),
    ("length-limit", faulty.Cut, {}, (ALONE,)),
]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("code", "fault", "parameters", "swarms"),
    FAULTS,
    ids=[f"{c}-{f.__name__}-{n}" for n, (c, f, _, _) in enumerate(FAULTS)],
)
def test_the_right_cause_is_among_the_first_two(
    tmp_path: Path, code: str, fault: Any, parameters: dict[str, Any], swarms: tuple[Swarm, ...], seed: int
) -> None:
    causes, _ = diagnosed(tmp_path, play(fault(seed, **parameters), *swarms, seed=seed))
    told = [
        f"{cause.explains:.2f} {cause.code}: {cause.title} + {cause.evidence_for} - {cause.evidence_against}"
        for cause in causes
    ]
    print("\n".join(told))
    assert code in [cause.code for cause in causes[:2]], told


@pytest.mark.parametrize("swarm", [ALONE, PAIRS, PAUSES, Swarm(limit=4)])
def test_a_sound_run_has_no_cause(tmp_path: Path, swarm: Swarm) -> None:
    assert diagnosed(tmp_path, play(Memory(1), swarm)) == ([], None)


# the contract that is kept -------------------------------------------------------------------------------------------


def test_a_smaller_window_is_told_beside_the_declared_one(tmp_path: Path) -> None:
    swarm = Swarm(turns=14)
    causes, effective = diagnosed(tmp_path, play(faulty.SmallWindow(1, messages=12), swarm), window(20))
    assert effective is not None
    assert (effective.window_messages, effective.visibility_ms) == (12, None)
    assert causes[0].title == "The window is smaller than promised: declared 20, behaves like 12 messages"


def test_a_lag_is_told_as_a_visibility(tmp_path: Path) -> None:
    causes, effective = diagnosed(tmp_path, play(faulty.ReplicaLag(1, lag_ms=331), ALONE))
    assert effective is not None
    assert effective.window_messages is None
    # A recall shows what is known by the middle of it, so the youngest missing one may be a few ms short of the lag.
    assert effective.visibility_ms is not None
    assert 310 <= effective.visibility_ms <= 340
    assert causes[0].title == f"Reads are behind writes: behaves like {effective.visibility_ms:g} ms visibility"


@pytest.mark.parametrize("memory", [faulty.LostUpdate(1), faulty.Swallow(1), faulty.Flush(1), faulty.SplitMemory(1)])
def test_no_other_promise_explains_what_never_comes(tmp_path: Path, memory: Memory) -> None:
    _, effective = diagnosed(tmp_path, play(memory, PAIRS))
    assert effective is not None
    assert (effective.window_messages, effective.visibility_ms) == (None, None)


def test_a_promise_under_which_nothing_would_be_owed_explains_nothing(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0)
    process.recall("phone", 50, 51).recall("phone", 60, 61, ("phone", 0)).recall("phone", 400, 401, final=True)
    _, effective = diagnosed(tmp_path, process)
    assert effective is not None
    assert effective.visibility_ms is None


def test_the_sample_is_bounded_and_the_same_however_the_work_is_shared(tmp_path: Path) -> None:
    process = play(faulty.Swallow(1, share=1.0), Swarm(users=90, turns=2))
    record = load(write(tmp_path, process))
    checked = [check(conversation, Contract()) for conversation in record.conversations.values()]
    drawn = []
    for first in (0, 45, 89):
        whole, rest = Judged(), Judged()
        for at, one in enumerate(checked):
            (whole if at < first else rest).add(one)
        rest.merge(whole)
        drawn.append([conversation.name for conversation in rest.symptoms.sample.conversations])
    assert drawn[0] == drawn[1] == drawn[2]
    assert len(drawn[0]) == 40
    assert rest.symptoms.sample.harmed == 90
