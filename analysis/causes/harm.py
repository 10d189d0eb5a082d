"""The harm of a run in the figures that causes are weighed by."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analysis.judged import Judged
from analysis.symptoms.pairs import KINS, Kin
from analysis.symptoms.scale import BINS
from analysis.symptoms.traits import SaidTraits

Numbers = NDArray[np.int64]
_NOTHING: Numbers = np.zeros(BINS, dtype=np.int64)


class Harm:
    """What the sums over a run say of its harm, scenarios added up.

    What is told of losses is told of the conversations in which their circumstances were counted: all of them, or of a
    disaster a sample.
    """

    def __init__(self, judged: Judged) -> None:
        self.judged = judged
        self.symptoms = judged.symptoms
        self.losses = judged.symptoms.losses()

    @cached_property
    def harmed_by(self) -> Counter[str]:
        """Conversations of the run with a finding of a class."""
        total: Counter[str] = Counter()
        for scenario in self.judged.counts.scenarios.values():
            total.update(scenario.harmed_by)
        return total

    @property
    def cases(self) -> int:
        """Conversations that lack something among those that were looked at: as many cases are independent at most."""
        return self.losses.cases

    @property
    def fates(self) -> Counter[str]:
        """Messages that were ever missing, by fate."""
        return self.losses.missed

    @property
    def gone(self) -> int:
        """Messages that were missing to the end."""
        return self.fates["lost: never visible"] + self.fates["lost: vanished"]

    @property
    def late(self) -> int:
        """Messages that were missing and shown afterwards."""
        return self.fates["stale"] + self.fates["flicker"]

    @property
    def missed(self) -> int:
        """Messages that were ever missing."""
        return self.gone + self.late

    @cached_property
    def said(self) -> Counter[SaidTraits]:
        """Checked messages by traits."""
        return self.losses.traits.said

    @cached_property
    def lossy(self) -> int:
        """Lossy recalls."""
        return sum(n for (_, _, form), n in self.losses.lists.number.items() if form != "sound")

    @cached_property
    def scenarios(self) -> list[str]:
        """Scenarios with a checked pair, one row of the strata each."""
        pairs = self.losses.pairs
        return sorted({key[0] for key in pairs.shown} | {key[0] for key in pairs.missing})

    def shown(self, kin: Kin) -> Numbers:
        """Shown pairs: one row a scenario, one column a bin of age."""
        return self._stacked([self.losses.pairs.shown.get((scenario, kin)) for scenario in self.scenarios])

    def missing(self, kin: Kin, *, late: bool) -> Numbers:
        """Missing pairs of messages that were shown afterwards, or of the others; formed as ``shown``."""
        return self._stacked([self.losses.pairs.missing.get((scenario, kin, late)) for scenario in self.scenarios])

    @cached_property
    def ages(self) -> tuple[Numbers, Numbers]:
        """Missing and all pairs by age, of the scenarios that lack something."""
        lost = np.add.reduce([self.missing(kin, late=late) for kin in KINS for late in (True, False)])
        pairs = np.add.reduce([lost, *(self.shown(kin) for kin in KINS)])
        harmed = lost.any(axis=1)
        return lost[harmed].sum(axis=0), pairs[harmed].sum(axis=0)

    @staticmethod
    def _stacked(rows: list[Numbers | None]) -> Numbers:
        return np.array([_NOTHING if row is None else row for row in rows], dtype=np.int64).reshape(len(rows), BINS)
