"""The proof against the slow path: whatever it proves must be exactly what looking closely would have found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis import judging
from analysis.proof.features import understood
from analysis.proof.prove import Proof
from analysis.publish import Outputs
from goldfish.contract import Content, Contract, Page, Ttl, Window
from goldfish.faults import Fault
from tests.evidence import histories
from tests.evidence.faults import FAULTS as EVERY_FAULT
from tests.evidence.histories import History
from tests.evidence.product import contract_of
from tests.evidence.scale import rare, scaled, told

from .recorded import judged, of_any, of_contract, record

MS = 1_000_000
FAULTS = [
    Fault(kind="pause", part="m1", requested_ns=100 * MS, effective_ns=110 * MS, healthy_ns=400 * MS),
    Fault(kind="kill", part="m2", requested_ns=350 * MS, effective_ns=350 * MS, healthy_ns=500 * MS),
    Fault(kind="kill", part="redis", requested_ns=900 * MS, effective_ns=901 * MS, healthy_ns=950 * MS),
]
OWN = [
    histories.Contract(),
    histories.Contract(unmarked="allow"),
    *(histories.Contract(window=number) for number in (1, 4, 7)),
    histories.Contract(visibility_ns=20 * MS),
    histories.Contract(window=5, page_default=3, page_max=4, visibility_ns=8 * MS),
]
"""By these contracts the histories of such stores are judged, and those of all stores."""
OTHERS = [
    Contract(visibility_ms=30),
    Contract(window=Window(messages=8), visibility_ms=12, unmarked="allow"),
    Contract(scope=("session",), page=Page(default=3, max=6), isolation=("tenant",)),
    Contract(scope=("user",), window=Window(messages=5), page=Page(default=2), content=Content(max_bytes=9)),
]
NOT_UNDERSTOOD = [
    Contract(ttl=Ttl(seconds=0.05)),
    Contract(ttl=Ttl(seconds=0.05, unit="user")),
    Contract(window=Window(turns=3)),
    Contract(window=Window(tokens=30)),
    Contract(window=Window(messages=5, pinned=1)),
    Contract(order="unspecified"),
    Contract(order_slack_ms=5),
    Contract(dedupe="none"),
    Contract(concurrency="last-writer"),
    Contract(roles=("user",)),
]


def slowly(
    monkeypatch: pytest.MonkeyPatch, directory: Path, contract: Contract, faults: Sequence[Fault] = ()
) -> Outputs:
    """Without any proof."""
    with monkeypatch.context() as patch:
        patch.setattr(judging, "prove", lambda *_: None)
        return judged(directory, contract, faults=faults)


def watched(monkeypatch: pytest.MonkeyPatch, tried: Sequence[History]) -> Counter[str]:
    """Counts what becomes of conversations: by outcome, and by feature and fault of the proven ones."""
    counts: Counter[str] = Counter()
    prove: Callable[..., Proof | None] = judging.prove

    def watching(batch: Any, conversations: Any, *rest: Any) -> Proof | None:
        proof = prove(batch, conversations, *rest)
        if proof is not None:
            for at in range(batch.size):
                history = tried[int(conversations.names[batch.first + at][1:])]
                outcome = "proven" if not proof.suspect[at] else "partly" if proof.plain[at] else "not at all"
                counts[outcome] += 1
                if outcome != "not at all":
                    counts.update(f"{outcome}: {name}" for name in history.features | history.faults)
        return proof

    monkeypatch.setattr(judging, "prove", watching)
    return counts


@pytest.mark.parametrize("promised", OWN, ids=range(len(OWN)))
def test_it_comes_to_what_the_slow_path_comes_to(
    tmp_path: Path, promised: histories.Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = [*of_contract(promised, 7_000_000, scaled(1_500)), *of_any(7_500_000, scaled(1_000))]
    record(tmp_path, tried, processes=2)
    contract = contract_of(promised)
    slow = slowly(monkeypatch, tmp_path, contract, FAULTS)
    counts = watched(monkeypatch, tried)
    assert judged(tmp_path, contract, faults=FAULTS) == slow
    print(told("conversations", counts))
    assert not rare(counts, frozenset({"proven", "partly", "not at all"}))


@pytest.mark.parametrize("contract", OTHERS, ids=range(len(OTHERS)))
def test_so_it_does_where_the_store_promises_something_else(
    tmp_path: Path, contract: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, of_any(8_000_000, scaled(1_500)))
    assert understood(contract)
    assert judged(tmp_path, contract, faults=FAULTS) == slowly(monkeypatch, tmp_path, contract, FAULTS)


def test_it_reaches_every_corner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = [*of_contract(OWN[0], 9_000_000, 900), *of_contract(OWN[3], 9_000_000, 450)]
    counts = watched(monkeypatch, tried)
    record(tmp_path, tried)
    for contract in (Contract(), contract_of(OWN[3]), OTHERS[0]):
        judged(tmp_path, contract)
    print(told("conversations", counts))
    features = {
        f"{outcome}: {name}"
        for outcome in ("proven", "partly")
        for name in ("window", "no-window", "batch", "several-devices", "overlapping-writers", "rejected", "user-scope")
    }
    losses = {"lose-once", "lose-for-good", "amnesia", "flicker", "serve-stale"}
    assert not rare(counts, frozenset(features | {f"partly: {fault}" for fault in losses}))
    # What is no loss is never proven, nor proven in part; an element in its place, or a list nobody changed, may be.
    assert not {f"partly: {fault}" for fault in EVERY_FAULT if fault in ("corrupt", "insert-foreign")} & set(counts)


@pytest.mark.parametrize("contract", NOT_UNDERSTOOD, ids=range(len(NOT_UNDERSTOOD)))
def test_a_promise_it_does_not_know_is_left_to_the_slow_path(
    tmp_path: Path, contract: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = list(of_any(8_500_000, 10))
    record(tmp_path, tried)
    counts = watched(monkeypatch, tried)
    assert judged(tmp_path, contract) == judged(tmp_path, contract, shares=3)
    assert not counts


def test_every_key_of_the_contract_is_understood_or_not() -> None:
    """A key that is added must be decided upon: is it plain, or for the slow path?"""
    contracts = [*map(contract_of, OWN), *OTHERS, *NOT_UNDERSTOOD]
    decided = {key for contract in contracts for key in changed(contract)}
    assert decided | {"settle_ms"} == set(Contract.__struct_fields__)
    window = {key for contract in contracts for key in changed(contract.window)}
    assert window | {"keep_at_least", "chars_per_token"} == set(Window.__struct_fields__)  # only beside tokens


def changed(settings: Contract | Window) -> set[str]:
    return {key for key in settings.__struct_fields__ if getattr(settings, key) != getattr(type(settings)(), key)}


@pytest.mark.parametrize("shares", [2, 3, 7])
def test_it_does_not_matter_how_many_share_the_work(tmp_path: Path, shares: int) -> None:
    record(tmp_path, of_any(8_700_000, 40), processes=2)
    contract = Contract(window=Window(messages=4))
    assert judged(tmp_path, contract, shares) == judged(tmp_path, contract)


def test_most_of_a_sound_run_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rare = {"delete", "delete-indeterminate", "search", "resend"}
    tried = [each for each in of_contract(OWN[0], 9_500_000, 400) if not each.faults and not rare & each.features]
    counts = watched(monkeypatch, tried)
    judged(record(tmp_path, tried), Contract())
    assert counts["proven"] > 0.4 * len(tried), counts
