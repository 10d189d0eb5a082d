"""A share that judges, and the one share of a process that does everything itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from analysis.judged import Judged
from analysis.judging import Assignment, judge_share
from analysis.share import Share


class Worker(Share):
    """A share that judges what it holds."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        super().__init__()
        self._progress = progress

    def judge(self, assignment: Assignment) -> Judged:
        """The last step; see ``analysis.judging``."""
        return judge_share(self, assignment, self._progress)


class Alone:
    """One share, in this process."""

    number = 1

    def __init__(self, progress: Callable[[int], None]) -> None:
        self.share = Worker(progress)

    def call(self, step: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Take a step."""
        return [getattr(self.share, step)(*own) for own in arguments]
