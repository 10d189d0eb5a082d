"""Tries one mutant in a process of its own: first on histories that an oracle has judged, then on the tests."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType

import pytest

from tests.evidence.faults import compound, plant_loss
from tests.evidence.histories import History
from tests.evidence.kept import KEPT
from tests.evidence.oracle import Verdict, judge
from tests.evidence.simulator import simulate
from tests.evidence.small_histories import small_history

from .mutations import Mutant

TESTS = (
    "tests/kernel/test_rule.py",
    "tests/kernel/test_rule_promises.py",
    "tests/kernel/test_rule_expiry.py",
    "tests/kernel/test_rule_shown.py",
    "tests/kernel/test_content.py",
    "tests/analysis/test_order.py",
    "tests/analysis/test_fates.py",
    "tests/analysis/test_guarantees.py",
    "tests/analysis/test_retries.py",
    "tests/analysis/test_expiry.py",
    "tests/analysis/test_classes.py",
    "tests/analysis/test_check.py",
    "tests/analysis/test_worked_cases.py",
    "tests/evidence/test_kept.py",
    "tests/conversation",
)
SETS = ("checked", "lossy", "missing", "unnamed", "unretrieved", "other", "detail", "flags", "fate")
PATIENCE_S = 180
"""A mutant may never end."""

Judged = list[tuple[History, Verdict]]
SURVIVED, BY_HISTORY, BY_TEST, BY_TIME = 0, 1, 2, 3


def histories(number: int) -> Judged:
    """Histories of every kind, as an independent oracle judges them."""
    made = [kept.history for kept in KEPT]
    made += [compound(seed) for seed in range(number)]
    made += [simulate(seed).history for seed in range(number // 3)]
    made += [small_history(seed, faulty=True) for seed in range(number // 3)]
    made += [planted.history for seed in range(number // 3) if (planted := plant_loss(simulate(seed), seed))]
    judged = []
    for history in made:
        verdict = judge(history)
        verdict.detail = {(*row[:4], "certain" if row[1] == "reordered" else row[4]) for row in verdict.detail}
        judged.append((history, verdict))
    return judged


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the changed module in place of the original."""

    def __init__(self, mutant: Mutant, path: Path) -> None:
        self.mutant = mutant
        self.path = path

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.mutant.module:
            return None
        package = self.path.name == "__init__.py"
        spec = importlib.machinery.ModuleSpec(name, self, origin=str(self.path), is_package=package)
        if package:
            spec.submodule_search_locations = [str(self.path.parent)]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.mutant.tree, str(self.path), "exec"), module.__dict__)


def trial(mutant: Mutant, path: Path, judged: Judged) -> int:
    """Try one mutant in a child process; how it ended."""
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE_S)
        os._exit(_tried(mutant, path, judged))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else BY_TIME


def _tried(mutant: Mutant, path: Path, judged: Judged) -> int:
    sys.meta_path.insert(0, _Loader(mutant, path))
    sys.dont_write_bytecode = True
    try:
        if _differs(judged):
            return BY_HISTORY
    except BaseException:  # noqa: BLE001 - whatever it raises, it is noticed
        return BY_HISTORY
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", *TESTS])
    return BY_TEST if code else SURVIVED


def _differs(judged: Judged) -> bool:
    from tests.evidence.product import analyzed, live

    for history, verdict in judged:
        answer = analyzed(history)
        if answer.doubted:
            if not any(anomaly == "from the future" for _, anomaly, *_ in verdict.other):
                return True
            continue
        if any(getattr(answer, name) != getattr(verdict, name) for name in SETS):
            return True
        counted = live(history)
        if counted is not None and counted != (answer.checked, answer.lossy):
            return True
    return False


def source(tree: ast.Module) -> str:
    """The changed module as text."""
    return ast.unparse(tree)
