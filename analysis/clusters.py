"""What is one piece of evidence? A user; and of what a fault did, the fault.

The losses of one user come together, so rates rest on users. What was lost when an instance was killed comes together
over all users that the kill struck: so if a loss met an episode of faults, whatever met that episode is one piece of
evidence, and users count with the rest of what they went through. With fewer than ``EPISODES_MIN`` episodes there is no
telling how much the next one would cost: the losses are *incidents*, counted and told, and their rate has no interval
(it is 0 to 1). Tests then rest on what met no episode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.episodes import EPISODES_MIN
from analysis.rates import Rate, estimate
from analysis.sums.counts import User, UserCounts, in_order
from analysis.sums.exposure import Exposure

Counts = NDArray[np.int64]
"""One row a user or episode: checked recalls, lossy, conversations, harmed, checked messages, lost."""


class Rates(NamedTuple):
    """How much was lost in one scenario, at three levels."""

    recalls: Rate
    """Lossy among checked recalls."""
    conversations: Rate
    """Harmed among checked conversations. One with a finding but without a checked recall counts as checked: its harm
    was seen, so it was looked at."""
    messages: Rate
    """Lost to the end among checked messages."""
    incidents: int
    """Episodes that cost something and are too few for an interval."""


def rates(scenario: str, users: Mapping[User, UserCounts], exposure: Exposure, confidence: float) -> Rates:
    """The rates of one scenario."""
    struck = {at: counts for (name, at), counts in sorted(exposure.episodes.items()) if name == scenario}
    whole = _rows(users.values())
    rest = whole
    if struck:
        rest = whole - _rows(exposure.users.get((scenario, user), UserCounts()) for user in users)
    episodes = _rows(struck.values())
    recalls, conversations, messages = (_rate(whole, rest, episodes, level, confidence) for level in range(3))
    costly = int((episodes[:, 1::2] > 0).any(axis=1).sum())
    return Rates(recalls, conversations, messages, costly if len(struck) < EPISODES_MIN else 0)


def _rate(whole: Counts, rest: Counts, episodes: Counts, level: int, confidence: float) -> Rate:
    trials, events = 2 * level, 2 * level + 1
    if not episodes[:, events].any():
        return estimate(whole[:, events], whole[:, trials], confidence)
    if len(episodes) >= EPISODES_MIN:
        both = np.concatenate([rest, episodes])
        return estimate(both[:, events], both[:, trials], confidence)
    told = estimate(whole[:, events], whole[:, trials], confidence)
    quiet = estimate(rest[:, events], rest[:, trials], confidence)
    return told._replace(low=0.0, high=1.0, deff=None, users=quiet.users)


def _rows(counts: Iterable[UserCounts]) -> Counts:
    flat = np.fromiter(chain.from_iterable(map(in_order, counts)), dtype=np.int64)
    return flat.reshape(-1, 6)
