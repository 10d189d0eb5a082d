"""The proof against the slow path: whatever it proves must be exactly what looking closely would have found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis import judging
from goldfish.contract import Contract, Page, Window
from goldfish.faults import Fault
from tests.evidence.faults import compound, plant_loss
from tests.evidence.histories import History
from tests.evidence.simulator import simulate

from .recorded import judged, record

MS = 1_000_000
FAULTS = [
    Fault(kind="pause", part="m1", requested_ns=100 * MS, effective_ns=110 * MS, healthy_ns=400 * MS),
    Fault(kind="kill", part="m2", requested_ns=350 * MS, effective_ns=350 * MS, healthy_ns=500 * MS),
    Fault(kind="kill", part="redis", requested_ns=900 * MS, effective_ns=901 * MS, healthy_ns=950 * MS),
]
CONTRACTS = [
    Contract(),
    Contract(unmarked="allow"),
    Contract(visibility_ms=30),
    Contract(window=Window(messages=1)),
    Contract(window=Window(messages=4), unmarked="allow"),
    Contract(window=Window(messages=8), visibility_ms=12),
    Contract(scope=("session",), page=Page(default=3, max=6)),
]


def histories(first: int, number: int) -> Iterator[History]:
    """Sound ones, ones with a single loss, and ones with several kinds of fault."""
    for seed in range(first, first + number):
        simulated = simulate(seed)
        planted = plant_loss(simulated, seed)
        yield simulated.history
        yield compound(seed)
        if planted is not None:
            yield planted.history


def slowly(monkeypatch: pytest.MonkeyPatch, directory: Path, contract: Contract) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(judging, "prove", lambda *_: None)
        return judged(directory, contract, faults=FAULTS)


@pytest.mark.parametrize("contract", CONTRACTS, ids=repr)
def test_the_proof_comes_to_what_the_slow_path_comes_to(
    tmp_path: Path, contract: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, histories(7_000_000, 1_000))
    assert judged(tmp_path, contract, faults=FAULTS) == slowly(monkeypatch, tmp_path, contract)
