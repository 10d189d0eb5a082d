"""Checked and lossy recalls by the time they started, finely enough for every picture."""

from __future__ import annotations

from collections import Counter

import numpy as np

from analysis.check import Checked
from analysis.proof.proven import Proven

TICK_NS = 100_000_000
"""Pictures have bins of whole ticks."""


class OverTime:
    """Recalls by scenario and tick since the start of the run."""

    def __init__(self, start_ns: int) -> None:
        self.start_ns = start_ns
        self.checked: Counter[tuple[str, int]] = Counter()
        self.lossy: Counter[tuple[str, int]] = Counter()

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        for entry in checked.listed:
            if entry.judgement.checked:
                key = checked.conversation.scenario, (entry.row.start_ns - self.start_ns) // TICK_NS
                self.checked[key] += 1
                if entry.judgement.lossy:
                    self.lossy[key] += 1

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        tick = (proven.start - self.start_ns) // TICK_NS
        for number, scenario in enumerate(proven.scenarios):
            own = proven.checked & (proven.scenario[proven.recall_conversation] == number)
            ticks, recalls = np.unique(tick[own], return_counts=True)
            for at, count in zip(ticks.tolist(), recalls.tolist(), strict=True):
                self.checked[scenario, at] += count

    def merge(self, other: OverTime) -> None:
        """Take in another share."""
        self.checked += other.checked
        self.lossy += other.lossy
