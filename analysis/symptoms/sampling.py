"""Of a disaster a sample is enough: circumstances of losses are counted in all conversations, or in a part of them.

Causes are told by shares, and some thousand conversations with a loss tell a share as well as a million do. Every
conversation has a level that its name decides: three in four have level 0, three in four of the rest level 1, and so
on. What is counted is kept by level, and as soon as more conversations lost something than are needed, the lowest level
is dropped and no longer looked at. Sound conversations are dropped with lossy ones, so that shares stay true.

In the end the dropped levels are the fewest that leave no more lossy conversations than wanted: so many as it takes
for the whole record, however it was shared out, for a share never drops more than all together do.
"""

from __future__ import annotations

import numpy as np

from analysis.check import Checked
from analysis.proof.proven import Proven
from analysis.sums.sampled import digest
from analysis.symptoms.losses import Losses

LOSSY_MAX = 2_000
"""Conversations with a loss that are looked at; if there are more, at least about a quarter of so many are."""
LEVELS = 8
"""The last one is never dropped: it holds one conversation in sixteen thousand."""


def level_of(name: str) -> int:
    """The level of a conversation: how many pairs of zeros its digest ends in."""
    bits = digest(name) | 1 << (2 * (LEVELS - 1))
    return ((bits & -bits).bit_length() - 1) // 2


class Sampling:
    """Circumstances of losses by level."""

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._lowest = 0
        """Levels below are dropped."""
        self._levels: dict[int, Losses] = {}

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        level = level_of(checked.conversation.name)
        if level >= self._lowest:
            self._level(level).add(checked)
            self._drop()

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        levels = np.array([level_of(name) for name in proven.names], np.int64)
        for level in np.unique(levels[levels >= self._lowest]).tolist():
            self._level(level).add_proven(proven.part(levels == level))

    def merge(self, other: Sampling) -> None:
        """Take in another share."""
        for level, theirs in other._levels.items():
            self._level(level).merge(theirs)
        self._lowest = max(self._lowest, other._lowest)
        self._forget()
        self._drop()

    def losses(self) -> Losses:
        """The circumstances in all conversations of the levels that were kept."""
        total = Losses(self._start_ns)
        for _, losses in sorted(self._levels.items()):
            total.merge(losses)
        return total

    def _level(self, level: int) -> Losses:
        if level not in self._levels:
            self._levels[level] = Losses(self._start_ns)
        return self._levels[level]

    def _drop(self) -> None:
        while self._lowest < LEVELS - 1 and sum(kept.lossy for kept in self._levels.values()) > LOSSY_MAX:
            self._lowest += 1
            self._forget()

    def _forget(self) -> None:
        self._levels = {level: losses for level, losses in self._levels.items() if level >= self._lowest}
