"""The mutator makes the changes it names, what notices them works, and the list of survivors is about this code."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import mutate
from .mutate import Mutant, install, mutants
from .run import _forked, try_out
from .suite import MODULES, Trial, trials
from .survivors import key, survivors

SAMPLE = '''
"""A docstring with 0 and not."""
LIMIT = 1


class Box:
    size: int = 0

    @property
    def empty(self) -> bool:
        return self.size == 0


def smaller(a: int, b: int = 0) -> bool:
    """Not 1."""
    assert a > 0
    if not a:
        return False
    return min(a, b) + 1 < 3 and any(x for x in (a, b) if x)


def skip(numbers):
    found = []
    for number in numbers:
        if number < 0:
            continue
        found.append(number)
    return found
'''


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = f"sample_of_mutants_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(SAMPLE)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)
    mutate._parsed.cache_clear()


def changed(module: str, change: str) -> Mutant:
    (mutant,) = [mutant for mutant in mutants(module) if mutant.change == change]
    return mutant


def test_every_operator_is_used_and_declarations_are_left_alone(sample: str) -> None:
    assert [mutant.change for mutant in mutants(sample)] == [
        "self.size == 0 -> self.size != 0",
        "return self.size == 0 -> return not ...",
        "0 -> 1",
        "not a -> a",
        "if not a -> if True",
        "if not a -> if False",
        "False -> True",
        "min(a, b) + 1 < 3 and any((x for x in (a, b) if x)) -> min(a, b) + 1 < 3 or any((x for x in (a, b) if x))",
        "return min(a, b) + 1 < 3 and any((x for x in (a, b) if x)) -> return not ...",
        "min(a, b) + 1 < 3 -> min(a, b) + 1 <= 3",
        "min(a, b) + 1 -> min(a, b) - 1",
        "min -> max",
        "1 -> 0",
        "any -> all",
        "if x -> if True",
        "number < 0 -> number <= 0",
        "if number < 0 -> if True",
        "if number < 0 -> if False",
        "0 -> 1",
        "continue -> break",
    ]


def test_a_mutant_runs_in_place_of_what_it_changes(sample: str) -> None:
    module = importlib.import_module(sample)
    function, method = module.skip, module.Box.empty.fget
    assert function([-1, 5]) == [5]
    install(changed(sample, "continue -> break"))
    assert function([-1, 5]) == []
    install(changed(sample, "return self.size == 0 -> return not ..."))
    assert not module.Box().empty
    assert module.Box.empty.fget is method


def test_one_mutant_leaves_the_next_alone(sample: str) -> None:
    for mutant in mutants(sample):
        install(mutant)
    module = importlib.import_module(sample)
    install(changed(sample, "continue -> break"))
    assert module.skip([3, -1, 5]) == [3], "only the last change of a function is in place"


def test_an_endless_mutant_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.mutants.run.SECONDS_MAX", 1)

    def forever() -> str:
        while True:
            pass

    assert _forked(forever) == "endless"


@pytest.fixture(scope="module")
def few() -> list[Trial]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.mutants.suite.COMPOUND", 60)
        patch.setattr("tests.mutants.suite.SOUND", 20)
        return trials()


def test_a_planted_mutant_is_noticed_by_a_history(few: list[Trial]) -> None:
    mutant = next(m for m in mutants("goldfish.rule.missing") if m.change == "if not candidates -> if True")
    assert _forked(lambda: try_out(mutant, few)).startswith("history: ")


def test_an_equivalent_mutant_survives(few: list[Trial]) -> None:
    equivalent = "self.acked_ns < self.shown_ns -> self.acked_ns <= self.shown_ns"
    mutant = changed("goldfish.rule.message", equivalent)
    assert _forked(lambda: try_out(mutant, few)) == "survived"


def test_the_list_of_survivors_is_about_this_code() -> None:
    possible = {key(mutant) for module in MODULES for mutant in mutants(module)}
    listed = [entry.key for entry in survivors()]
    assert len(listed) == len(set(listed)), "an entry stands twice"
    assert set(listed) <= possible, sorted(set(listed) - possible)
    assert all(entry.reason for entry in survivors())
