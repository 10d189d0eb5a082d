"""The proof against the slow path: whatever it proves must be exactly what looking closely would have found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis import judging
from goldfish.contract import Contract, Window
from tests.evidence.faults import compound, plant_loss
from tests.evidence.histories import History
from tests.evidence.simulator import simulate

from .recorded import judged, record

CONTRACTS = [
    Contract(),
    Contract(unmarked="allow"),
    Contract(visibility_ms=30),
    Contract(window=Window(messages=1)),
    Contract(window=Window(messages=4), unmarked="allow"),
    Contract(window=Window(messages=8), visibility_ms=12),
    Contract(scope=("session",)),
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
        return judged(directory, contract)[1]


@pytest.mark.parametrize("contract", CONTRACTS, ids=repr)
def test_the_proof_comes_to_what_the_slow_path_comes_to(
    tmp_path: Path, contract: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, histories(7_000_000, 1_000))
    assert judged(tmp_path, contract)[1] == slowly(monkeypatch, tmp_path, contract)
