"""What a wrong version of the rule is tried on.

First **histories**: the worked cases, those that failed once, and simulated ones with every feature and fault, the
shortest first. The answer expected of each is the oracle's (`tests/evidence/oracle.py`), computed once; a version is
noticed if the analyzer's answer differs in any set, or if the swarm's quick check counts otherwise. "Expired early" is
the analyzer's own reading of losses, which the oracle does not repeat: there the answer expected is that of the version
as it stands, and the unit tests tell whether it is right.

Then, if all of that agrees, the **unit tests** that are written for the module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.evidence.faults import compound
from tests.evidence.histories import History, load_cases
from tests.evidence.kept import KEPT
from tests.evidence.oracle import Verdict, judge
from tests.evidence.product import analyzed, live
from tests.evidence.simulator import simulate

RULE = [
    f"goldfish.rule.{name}" for name in ("excuses", "expiry", "message", "missing", "room", "shown", "size", "terms")
]
CHECKING = [f"analysis.{name}" for name in ("check", "early", "elements", "fates", "guarantees", "listed", "order")]
MODULES = (*RULE, *CHECKING)
COMPOUND = 2_000
SOUND = 400
SETS = ("checked", "lossy", "missing", "unnamed", "unretrieved", "other", "detail", "flags", "fate")
ROOT = Path(__file__).parent.parent
RULE_TESTS = tuple(
    f"kernel/{name}.py"
    for name in (
        "test_rule",
        "test_rule_expiry",
        "test_rule_promises",
        "test_rule_shown",
        "test_rule_edges",
        "test_rule_size",
    )
)
CHECKING_TESTS = tuple(
    f"analysis/{name}.py"
    for name in (
        "test_check",
        "test_check_edges",
        "test_classes",
        "test_expiry",
        "test_fates",
        "test_guarantees",
        "test_order",
        "test_retries",
    )
)


@dataclass(slots=True)
class Trial:
    """A history and the answer expected."""

    name: str
    history: History
    verdict: Verdict
    early: set[tuple[int, int | None, int | None]]


def histories() -> Iterable[tuple[str, History]]:
    """The corpus, in the order in which it is tried first."""
    yield from ((case.name, case.history) for case in load_cases())
    yield from ((kept.name, kept.history) for kept in KEPT)
    drawn = [(f"compound({seed})", compound(seed)) for seed in range(3_000_000, 3_000_000 + COMPOUND)]
    drawn += [(f"simulate({seed})", simulate(seed).history) for seed in range(3_000_000, 3_000_000 + SOUND)]
    yield from sorted(drawn, key=lambda entry: len(entry[1].ops))


def trials() -> list[Trial]:
    """The corpus with its answers; those of the version as it stands are held against them first.

    Raises:
        AssertionError: the version as it stands is noticed.
    """
    made = [Trial(name, history, _plain(judge(history)), analyzed(history).early) for name, history in histories()]
    for trial in made:
        assert not differs(trial), trial.name
        assert not counts_otherwise(trial), trial.name
    return made


def _plain(verdict: Verdict) -> Verdict:
    """Of a list out of order the product does not tell what gave it away."""
    verdict.detail = {(*row[:4], "certain" if row[1] == "reordered" else row[4]) for row in verdict.detail}
    return verdict


def differs(trial: Trial) -> bool:
    """Whether the analyzer, as it is in this process, answers otherwise."""
    verdict, answer = trial.verdict, analyzed(trial.history)
    future = any(anomaly == "from the future" for _, anomaly, *_ in verdict.other)
    if answer.doubted or future:  # no stamp can be trusted, and nothing is judged
        return not (answer.doubted and future) or bool(answer.missing or answer.lossy)
    return any(getattr(answer, name) != getattr(verdict, name) for name in SETS) or answer.early != trial.early


def counts_otherwise(trial: Trial) -> bool:
    """Whether the quick check, as it is in this process, counts otherwise."""
    if any(anomaly == "from the future" for _, anomaly, *_ in trial.verdict.other):
        return False
    return live(trial.history) not in (None, (trial.verdict.checked, trial.verdict.lossy))


def tests_of(module: str) -> list[str]:
    """The files of unit tests for a module."""
    names = RULE_TESTS if module in RULE else CHECKING_TESTS
    return [str(ROOT / name) for name in names]


def unit_tests_fail(module: str) -> bool:
    """Whether the unit tests of a module fail in this process."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.argv = ["pytest"]
    options = ["-x", "-q", "-n", "0", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    return pytest.main([*options, *tests_of(module)]) != 0
