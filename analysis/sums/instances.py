"""Pairs of message and recall that shows or lacks it, by the instance that wrote and the instance that read."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from analysis.check import Checked
from analysis.columns import Codes
from analysis.proof.proven import Proven

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
        shown: defaultdict[str, list[str | None]] = defaultdict(list)
        """By reading instance: who wrote what it showed, of all its recalls together, which is quicker to count."""
        for entry in checked.listed:
            read_by = entry.row.instance
            if read_by is None or not entry.judgement.checked:
                continue
            shown[read_by] += map(written_by.__getitem__, entry.shown)
            for lost in entry.judgement.missing:
                instance = written_by[lost.message]
                if instance is not None:
                    self.missing[instance, read_by] += 1
        for read_by, writers in shown.items():
            for instance, number in Counter(writers).items():
                if instance is not None:
                    self.shown[instance, read_by] += number

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        instances = Codes()
        of_manner = np.array([instances[manner.instance] for manner in proven.manners], np.int64)
        written = of_manner[proven.written]
        read = of_manner[proven.read[proven.run_recall]]
        checked = proven.checked[proven.run_recall]
        names: list[str | None] = list(instances)
        for reader in np.unique(read[checked]):
            read_by = names[reader]
            if read_by is None:
                continue
            own = checked & (read == reader)
            # By message: in how many of these recalls it is listed.
            steps = np.zeros(len(written) + 1, np.int64)
            np.add.at(steps, proven.run_first[own], 1)
            np.add.at(steps, proven.run_last[own] + 1, -1)
            pairs = np.bincount(written, weights=np.cumsum(steps)[:-1], minlength=len(names))
            for writer in np.flatnonzero(pairs):
                written_by = names[writer]
                if written_by is not None:
                    self.shown[written_by, read_by] += int(pairs[writer])

    def merge(self, other: Instances) -> None:
        """Take in another share."""
        self.shown += other.shown
        self.missing += other.missing
