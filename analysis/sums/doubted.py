"""Conversations whose losses could not be judged, and why."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from analysis.check import Checked
from analysis.record import Doubt
from analysis.sums.place import Place, place


class Doubtful(NamedTuple):
    """The first doubtful conversation of its kind."""

    place: Place
    conversation: str
    doubt: Doubt


class Doubted:
    """Doubts by scenario and code."""

    def __init__(self) -> None:
        self.number: Counter[tuple[str, str]] = Counter()
        self.first: dict[tuple[str, str], Doubtful] = {}
        self.texts: Counter[str] = Counter()
        """How often each doubt was raised, in its words."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        if checked.doubt is None:
            return
        key = checked.conversation.scenario, checked.doubt.code
        self.number[key] += 1
        self.texts[checked.doubt.text] += 1
        self._offer(key, Doubtful(place(checked.conversation), checked.conversation.name, checked.doubt))

    def merge(self, other: Doubted) -> None:
        """Take in another share."""
        self.number += other.number
        self.texts += other.texts
        for key, theirs in other.first.items():
            self._offer(key, theirs)

    def _offer(self, key: tuple[str, str], doubtful: Doubtful) -> None:
        if key not in self.first or doubtful.place < self.first[key].place:
            self.first[key] = doubtful
