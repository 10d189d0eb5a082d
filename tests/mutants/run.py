"""Forks a process for each wrong version, two at a time, and learns what noticed it."""

from __future__ import annotations

import gc
import os
import resource
import select
import sys
from collections.abc import Callable
from contextlib import suppress

from .mutate import Mutant, install, mutants
from .suite import RULE, Trial, counts_otherwise, differs, trials, unit_tests_fail

PROCESSES = 2
SECONDS_MAX = 60
"""Computing time of one process: ten times what all histories take."""
MEMORY_MAX = 4 << 30
NICE = 10
LIVE_MAX = 600
"""So many histories are also counted as the swarm does; the analyzer has judged them all."""


def run(modules: list[str], told: Callable[[Mutant, str], None]) -> None:
    """Tell the fate of every mutant: what noticed it, or "survived".

    A history that noticed one is tried first on the next ones.
    """
    os.nice(NICE - min(os.nice(0), NICE))
    order = trials()
    import tests.analysis.runs  # noqa: F401 - loaded once, for the unit tests of all children

    gc.collect()
    gc.freeze()
    waiting = [mutant for module in modules for mutant in mutants(module)]
    for module in modules:
        assert _forked(lambda module=module: "tests" if unit_tests_fail(module) else "survived") == "survived", module

    def learned(number: int, fate: str) -> None:
        told(waiting[number], fate)
        kind, _, name = fate.partition(": ")
        if kind == "history":
            at = next(at for at, trial in enumerate(order) if trial.name == name)
            order.insert(0, order.pop(at))

    running: dict[int, tuple[int, int]] = {}
    for number, mutant in enumerate(waiting):
        if len(running) == PROCESSES:
            _take(running, learned)
        pid, pipe = _fork(lambda mutant=mutant: try_out(mutant, order))
        running[pipe] = pid, number
    while running:
        _take(running, learned)


def try_out(mutant: Mutant, order: list[Trial]) -> str:
    """What notices a mutant; only in a process of its own, which it spoils."""
    install(mutant)
    for trial in order:
        if _noticed(differs, trial):
            return f"history: {trial.name}"
    if mutant.module in RULE:
        for trial in order[:LIVE_MAX]:
            if _noticed(counts_otherwise, trial):
                return f"history: {trial.name}"
    return "tests" if unit_tests_fail(mutant.module) else "survived"


def _noticed(told: Callable[[Trial], bool], trial: Trial) -> bool:
    try:
        return told(trial)
    except Exception:  # noqa: BLE001 - whatever it is, it is noticed
        return True


def _fork(work: Callable[[], str]) -> tuple[int, int]:
    """Start it in a process of its own; returns its id and where its answer can be read."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_MAX, SECONDS_MAX))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
        os.write(writing, work().encode())
    except BaseException as error:  # noqa: BLE001 - it must not go on as a second parent
        with suppress(OSError):
            os.write(writing, f"error: {type(error).__name__}".encode())
    finally:
        os._exit(0)


def _forked(work: Callable[[], str]) -> str:
    pid, reading = _fork(work)
    answers: list[str] = []
    _take({reading: (pid, 0)}, lambda _, answer: answers.append(answer))
    return answers[0]


def _take(running: dict[int, tuple[int, int]], learned: Callable[[int, str], None]) -> None:
    """Wait until one of them is done; one that was ended gave no answer."""
    for pipe in select.select(list(running), [], [])[0]:
        pid, number = running.pop(pipe)
        answer = os.read(pipe, 4096).decode()
        os.close(pipe)
        os.waitpid(pid, 0)
        learned(number, answer or "endless")
