"""When messages got lost: those that had been shown, and those that never were.

A crash, a restart or a flush loses much at one moment; an eviction or an expiry loses a little all the time. Of a
message that had been shown the moment is known to lie between the last recall that shows it and the next one that
lacks it. Of one that was never shown it lies after its acknowledgement, which tells the moment if what was said shortly
before and after was kept.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from analysis.check import Checked
from analysis.fates import ENDS
from analysis.proof.proven import Proven
from goldfish.rule import NEVER, Message

TICK_NS = 100_000_000
USUAL_MAX = 2 / 3
"""A moment for all that vanished counts whole unless more than this share may have vanished at any moment."""
TELLING_TICKS = 20
"""In a shorter time all vanish together."""


class Vanishing:
    """Messages by tick since the start of the run."""

    def __init__(self, start_ns: int) -> None:
        self.start_ns = start_ns
        self.vanished = 0
        """Messages that had been shown, and were missing to the end."""
        self.turns: Counter[int] = Counter()
        """Running sums over the ticks are the numbers of vanished messages that may have vanished in each."""
        self.acknowledged: Counter[int] = Counter()
        """Checked messages by the tick of their acknowledgement."""
        self.never_shown: Counter[int] = Counter()
        """Of those the ones that no recall ever showed."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        vanished = set()
        for message, fate in checked.fates.items():
            if fate.name in ENDS and message.acked_ns < NEVER:
                tick = (message.acked_ns - self.start_ns) // TICK_NS
                self.acknowledged[tick] += 1
                if fate.name == "lost: never visible":
                    self.never_shown[tick] += 1
            if fate.name == "lost: vanished":
                vanished.add(message)
        if not vanished:
            return
        last_shown: dict[Message, int] = {}
        first_missing: dict[Message, int] = {}
        for entry in checked.listed:  # in the order of their ends
            for message in vanished.intersection(entry.shown):
                last_shown[message] = entry.row.end_ns
                first_missing.pop(message, None)
            for lost in entry.judgement.missing:
                if lost.message in last_shown:
                    first_missing.setdefault(lost.message, entry.row.end_ns)
        for message, missing_ns in first_missing.items():
            self.vanished += 1
            self.turns[(last_shown[message] - self.start_ns) // TICK_NS] += 1
            self.turns[(missing_ns - self.start_ns) // TICK_NS + 1] -= 1

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        acked = proven.ended[proven.shown & proven.acknowledged]
        ticks, numbers = np.unique((acked - self.start_ns) // TICK_NS, return_counts=True)
        self.acknowledged.update(dict(zip(ticks.tolist(), numbers.tolist(), strict=True)))

    def merge(self, other: Vanishing) -> None:
        """Take in another share."""
        self.vanished += other.vanished
        for ours, theirs in (
            (self.turns, other.turns),
            (self.acknowledged, other.acknowledged),
            (self.never_shown, other.never_shown),
        ):
            ours.update(theirs)

    def together(self) -> tuple[float, int, float]:
        """How many vanished messages one moment explains.

        Returns:
            the number beyond what any moment explains, the number, and the moment in seconds. Of messages that are
            seldom looked at many may have vanished at any moment: twice the average is nothing special, unless there
            is a moment for all of them.
        """
        most, at, standing, area, before = 0, 0, 0, 0, 0
        for tick in sorted(self.turns):
            area += standing * (tick - before)
            standing += self.turns[tick]
            before = tick
            if standing > most:
                most, at = standing, tick
        every = [*self.acknowledged, *self.turns]
        length = max(every) - min(every) if every else 0
        # In a short time everything may have vanished together: there is no other moment to compare with.
        usual = min(2 * area / length, most) if length > TELLING_TICKS else 0.0
        if most == self.vanished and usual <= most * USUAL_MAX:
            usual = 0.0
        return most - usual, most, at * TICK_NS / 1e9
