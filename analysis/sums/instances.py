"""Pairs of message and recall that shows or lacks it, by the instance that wrote and the instance that read."""

from __future__ import annotations

from collections import Counter

from analysis.check import Checked

Pair = tuple[str, str]
"""Writing and reading instance."""


class Instances:
    """Pairs in checked recalls, where both instances are known."""

    def __init__(self) -> None:
        self.shown: Counter[Pair] = Counter()
        self.missing: Counter[Pair] = Counter()

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        written_by = {sent.message: sent.append.instance for sent in checked.sent.values()}
        for entry in checked.listed:
            read_by = entry.row.instance
            if read_by is None or not entry.judgement.checked:
                continue
            for instance, number in Counter(map(written_by.__getitem__, entry.shown)).items():
                if instance is not None:
                    self.shown[instance, read_by] += number
            for lost in entry.judgement.missing:
                instance = written_by[lost.message]
                if instance is not None:
                    self.missing[instance, read_by] += 1

    def merge(self, other: Instances) -> None:
        """Take in another share."""
        self.shown += other.shown
        self.missing += other.missing
