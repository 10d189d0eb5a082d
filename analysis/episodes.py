"""When was something done to the deployment? Faults that overlap in time are one *episode*.

What a kill loses it loses in one blow, however many users it strikes. So recalls that meet a fault are not as many
pieces of evidence as there are recalls, or users, but as there are episodes. A few episodes, fewer than
``EPISODES_MIN``, are *incidents*: they are told, with what they cost, but no interval is made of them.

A recall **meets** an episode if it was under way at some moment of it, or if it lacks a message that was lost then: one
that was last known to be there before the end of the episode, and first known to be gone after its beginning.

An episode begins when its first fault was asked for and ends when the last part was seen to be well again; without
that it lasts to the end of the run. Stamps of load processes on other hosts are brought to the conductor's clock by the
wall clocks that both recorded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from goldfish.faults import Fault
from goldfish.oplog import LINE_BYTES_MAX, Header
from goldfish.rule import NEVER
from goldfish.run import TRANSCRIPT, Run

Stamps = NDArray[np.int64]
EPISODES_MIN = 5
SAME_HOST_NS = 1_000_000_000
"""Clocks that differ by less are one clock: the wall clock that is the measure may be set under way."""


class Window(NamedTuple):
    """A stretch of the conductor's time, both ends included."""

    start_ns: int
    end_ns: int


def window(fault: Fault) -> Window:
    """From when the fault was asked for until its part was well again."""
    return Window(fault.requested_ns, NEVER if fault.healthy_ns is None else fault.healthy_ns)


class Episodes:
    """The episodes of a run, in order; they do not overlap."""

    def __init__(self, faults: Sequence[Fault], ahead_ns: dict[str, int]) -> None:
        """Put faults together that overlap.

        Args:
            faults: in the order they were asked for.
            ahead_ns: load process → by how much its clock is ahead of the conductor's.
        """
        self.windows: list[Window] = []
        self.of_fault: list[int] = []
        """The episode of each fault."""
        self._ahead_ns = ahead_ns
        self._faults = [window(fault) for fault in faults]
        for start_ns, end_ns in self._faults:
            if self.windows and start_ns <= self.windows[-1].end_ns:
                last = self.windows.pop()
                self.windows.append(Window(last.start_ns, max(last.end_ns, end_ns)))
            else:
                self.windows.append(Window(start_ns, end_ns))
            self.of_fault.append(len(self.windows) - 1)
        self._starts = [each.start_ns for each in self.windows]

    def met(self, process: str, start_ns: int, end_ns: int) -> int | None:
        """The last episode that shares a moment with a stretch of a process's time; None if none does."""
        ahead_ns = self._ahead_ns.get(process, 0)
        at = bisect_right(self._starts, end_ns - ahead_ns) - 1
        return at if at >= 0 and self.windows[at].end_ns >= start_ns - ahead_ns else None

    def met_by(self, ahead_ns: Stamps, start_ns: Stamps, end_ns: Stamps) -> Stamps:
        """The same for many stretches at once; -1 where no episode is met."""
        windows = _stamps(self.windows)
        at = np.searchsorted(windows[:, 0], end_ns - ahead_ns, side="right") - 1
        return np.where((at >= 0) & (windows[at, 1] >= start_ns - ahead_ns), at, -1)

    def faults_met_by(self, ahead_ns: Stamps, start_ns: Stamps, end_ns: Stamps) -> Iterator[NDArray[np.bool_]]:
        """Fault by fault, which of many stretches share a moment with it."""
        for first_ns, last_ns in _stamps(self._faults):
            yield (first_ns <= end_ns - ahead_ns) & (last_ns >= start_ns - ahead_ns)

    def since_all(self, ahead_ns: Stamps, end_ns: Stamps) -> Stamps:
        """How many episodes had begun at each of many stamps."""
        return np.searchsorted(_stamps(self.windows)[:, 0], end_ns - ahead_ns, side="right")

    def ahead_ns(self, process: str) -> int:
        """By how much the clock of a load process is ahead of the conductor's."""
        return self._ahead_ns.get(process, 0)

    def faults_met(self, episode: int, process: str, start_ns: int, end_ns: int) -> list[int]:
        """The faults of an episode that share a moment with a stretch of a process's time."""
        ahead_ns = self._ahead_ns.get(process, 0)
        return [
            at
            for at, (fault, own) in enumerate(zip(self._faults, self.of_fault, strict=True))
            if own == episode and fault.start_ns <= end_ns - ahead_ns and fault.end_ns >= start_ns - ahead_ns
        ]

    def since(self, process: str, end_ns: int) -> int:
        """How many episodes had begun at a stamp of a process."""
        return bisect_right(self._starts, end_ns - self._ahead_ns.get(process, 0))


def _stamps(windows: Sequence[Window]) -> Stamps:
    """Start and end of each, the latest stamp there is for those that never ended."""
    return np.array([(start_ns, min(end_ns, NEVER - 1)) for start_ns, end_ns in windows], np.int64).reshape(-1, 2)


NONE = Episodes([], {})
"""Nothing was done to the deployment."""


def clocks(directory: Path, run: Run) -> dict[str, int]:
    """By how much the clock of each load process is ahead of the conductor's, as the heads of their logs tell."""
    found: dict[str, int] = {}
    if run.started is None or run.start_ns is None:
        return found
    for process in run.processes:
        try:
            with (directory / TRANSCRIPT / f"{process}.jsonl").open("rb") as log:
                header = msgspec.json.decode(log.readline(LINE_BYTES_MAX), type=Header)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            continue  # whoever reads the log says what is wrong with it
        ahead_ns = header.monotonic_ns - run.start_ns - round((header.wall - run.started) * 1e9)
        found[process] = ahead_ns if abs(ahead_ns) > SAME_HOST_NS else 0
    return found
