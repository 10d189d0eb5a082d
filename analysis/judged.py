"""What the conversations of a record come to: everything that verdict and outputs need, as sums.

Conversations are independent, so they are judged in shares, and the shares are merged. Nothing later looks at single
conversations again; whatever an output wants to know about them is an accumulator of ``analysis.sums`` that is named
here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Protocol

from analysis.check import Checked
from analysis.episodes import NONE, Episodes
from analysis.proof.proven import Proven
from analysis.record import Cited
from analysis.sums.by_process import ByProcess
from analysis.sums.counts import Counts
from analysis.sums.doubted import Doubted
from analysis.sums.examples import Examples
from analysis.sums.exposure import Exposure
from analysis.sums.found import Found
from analysis.sums.gravest import Gravest
from analysis.sums.instances import Instances
from analysis.sums.over_time import OverTime
from analysis.sums.requests import Requests
from analysis.sums.sampled import Sampled
from analysis.sums.unproven import Unproven
from analysis.symptoms.symptoms import Symptoms


class Sum(Protocol):
    """The form of every accumulator."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""

    def merge(self, other: Any) -> None:
        """Take in what another share came to."""


class Judged:
    """The sums over some conversations; picklable."""

    def __init__(self, start_ns: int = 0, cited: Collection[Cited] = (), episodes: Episodes = NONE) -> None:
        """Sums over no conversation.

        Args:
            start_ns: the stamp that times of the run are told relative to.
            cited: messages that foreign elements of the record name, to be looked up where they were said.
            episodes: when something was done to the deployment.
        """
        self.start_ns = start_ns
        self.counts = Counts()
        self.requests = Requests()
        self.found = Found(cited)
        self.examples = Examples()
        self.doubted = Doubted()
        self.by_process = ByProcess()
        self.over_time = OverTime(start_ns)
        self.instances = Instances()
        self.gravest = Gravest()
        self.unproven = Unproven()
        self.exposure = Exposure(episodes)
        self.sampled = Sampled()
        self.symptoms = Symptoms(start_ns)

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        for _, part in self._sums():
            part.add(checked)

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound; accumulators of what is not sound have no use for them."""
        for part in (
            self.counts,
            self.requests,
            self.by_process,
            self.over_time,
            self.instances,
            self.unproven,
            self.exposure,
            self.symptoms,
        ):
            part.add_proven(proven)

    def merge(self, other: Judged) -> None:
        """Take in what another share of the same record came to."""
        theirs = dict(other._sums())
        for name, part in self._sums():
            part.merge(theirs[name])

    def _sums(self) -> Iterator[tuple[str, Sum]]:
        return ((name, part) for name, part in vars(self).items() if name != "start_ns")
