"""The circumstances of losses in some conversations: how messages that went missing differ from those that did not."""

from __future__ import annotations

from collections import Counter
from typing import Any

from analysis.check import Checked
from analysis.fates import LOST
from analysis.proof.proven import Proven
from analysis.symptoms.lists import Lists
from analysis.symptoms.pairs import Pairs
from analysis.symptoms.stored import Stored
from analysis.symptoms.traits import Traits
from analysis.symptoms.vanishing import Vanishing

MISSED = LOST | {"stale", "flicker"}


class Losses:
    """See the modules of the parts."""

    def __init__(self, start_ns: int) -> None:
        self.conversations = 0
        """How many were looked at."""
        self.lossy = 0
        """How many of them have a lossy recall."""
        self.cases = 0
        """How many of them lack something in a history."""
        self.missed: Counter[str] = Counter()
        """Messages that were ever missing, by fate."""
        self.pairs = Pairs()
        self.traits = Traits()
        self.lists = Lists()
        self.vanishing = Vanishing(start_ns)
        self.stored = Stored()

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        self.conversations += 1
        if checked.recalls_lossy:
            self.lossy += 1
            self.cases += any(finding.anomaly == "missing" for finding in checked.findings)
            self.missed.update([fate.name for fate in checked.fates.values() if fate.name in MISSED])
        for part in self._parts():
            part.add(checked)

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        self.conversations += proven.size
        for part in (self.pairs, self.traits, self.lists, self.vanishing):
            part.add_proven(proven)

    def merge(self, other: Losses) -> None:
        """Take in another share."""
        self.conversations += other.conversations
        self.lossy += other.lossy
        self.cases += other.cases
        self.missed.update(other.missed)
        for part, theirs in zip(self._parts(), other._parts(), strict=True):
            part.merge(theirs)

    def _parts(self) -> tuple[Any, ...]:
        return self.pairs, self.traits, self.lists, self.vanishing, self.stored
