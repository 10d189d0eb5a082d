"""How sure is a rate? Its interval, the test of a budget, and how much more would decide.

Recalls are counted, but users are what was sampled: a MemoryUser is a new user for every story, and the losses of one
user come together. So every interval and every test rests on users drawn anew (``analysis.bootstrap``), whatever is
counted: recalls, conversations or messages.

The two ends of an interval serve different ends. On the **upper** one a pass rests: it holds even if one more user,
whom nobody saw, had lost everything. The **lower** one only describes; it takes the middle of what that user's best and
worst case give, as mid-p values do, for with the best case alone it would be too cautious; only where everything was
lost is it the mirror of the upper end without any loss. A fail rests on neither but
on a test of its own, which takes the best case, so that nobody is failed for what was not seen.

In simulations (``benchmarks/intervals.py``) this covers the truth in 94 to 99 % of runs at nominal 95 %, where Wilson's
interval with a design effect covers it in 55 to 98 %: that one knows nothing of the bursts a run did not see.

The *design effect* is printed beside: by how much clustering widens the variance (Kish, Survey Sampling, 1965, ch. 5).
Closed forms only: ``scipy.special``, not ``scipy.stats``, whose import is slow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike

from analysis.bootstrap import Users, alike, chance_below, rate_at

USERS_MAX = 1e12
"""More than so many are not asked for."""


class Rate(NamedTuple):
    """A share with its two-sided interval, and what it rests on."""

    events: int
    trials: int
    rate: float | None
    """None if nothing was tried."""
    low: float
    high: float
    deff: float | None
    """Design effect; None where it cannot be told: no trial, no event, only events, or a single user."""
    clusters: int
    """Users with a trial."""
    users: Users
    """The same users, those alike put together."""


def estimate(events: ArrayLike, trials: ArrayLike, confidence: float) -> Rate:
    """The rate of events per trial, with trials in clusters.

    Args:
        events: events per user, integers.
        trials: trials per user, integers of the same length; users without a trial are left out.
        confidence: level of the two-sided interval, e.g. 0.95.
    """
    return rate_of(alike(events, trials), confidence)


def rate_of(users: Users, confidence: float) -> Rate:
    """The same of users that are put together already; each has a trial."""
    clusters = int(users.total)
    if clusters == 0:
        return Rate(0, 0, None, 0.0, 1.0, None, 0, users)
    count, total = float(users.events @ users.number), float(users.trials @ users.number)
    return Rate(
        int(count),
        int(total),
        count / total,
        _low(users, count / total, (1 - confidence) / 2),
        _high(users, count / total, (1 - confidence) / 2),
        design_effect(users),
        clusters,
        users,
    )


def _low(users: Users, rate: float, tail: float) -> float:
    """The lower end: below it a rate would have shown so much in ``tail`` of all runs."""
    if rate == 0:
        return 0.0
    if rate == 1:
        return float(tail ** (1 / users.total))

    def chance(at: float) -> float:
        return (chance_below(users, at, "spared") + chance_below(users, at, "struck")) / 2

    return rate_at(chance, tail, min(rate, 0.5))


def _high(users: Users, rate: float, tail: float) -> float:
    """The upper end: above it a rate would have shown so little in ``tail`` of all runs, whatever nobody saw."""
    if rate == 0:
        return float(1 - tail ** (1 / users.total))
    if rate == 1:
        return 1.0
    return rate_at(lambda at: chance_below(users, at, "struck"), 1 - tail, rate)


def design_effect(users: Users) -> float | None:
    """The variance of the rate over users by that of as many independent trials; None where it cannot be told."""
    clusters, total = users.total, float(users.trials @ users.number)
    if clusters < 2:
        return None
    p = float(users.events @ users.number) / total
    if p in (0, 1):
        return None
    variance = clusters / (clusters - 1) * float((users.events - p * users.trials) ** 2 @ users.number) / total**2
    return variance / (p * (1 - p) / total)


def exceeds(rate: Rate, budget: float) -> float:
    """p-value of the one-sided test of "the true rate is within the budget"; small: it is not.

    Whoever was not seen is taken to have lost nothing.
    """
    if rate.events == 0 or budget >= 1:
        return 1.0
    return chance_below(rate.users, budget, "spared")


def holm(p_values: Sequence[float], alpha: float) -> list[bool]:
    """Which of several hypotheses are rejected when all are tested at once (Holm, Scand. J. Statist. 6, 1979)."""
    rejected = [False] * len(p_values)
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    for rank, at in enumerate(order):
        if p_values[at] > alpha / (len(p_values) - rank):
            break
        rejected[at] = True
    return rejected


def users_for_zero(budget: float, confidence: float) -> int:
    """How many users without any loss bring the upper end of the interval down to the budget."""
    return math.ceil(math.log((1 - confidence) / 2) / math.log1p(-budget))


def users_for_pass(rate: Rate, budget: float, confidence: float) -> int | None:
    """How many users who lose as these did bring the upper end down to the budget; None if none would."""
    if rate.rate is None or rate.rate >= budget:
        return None
    if not rate.events:
        return users_for_zero(budget, confidence)
    enough = 1 - (1 - confidence) / 2
    return _fewest(rate.users, lambda users: chance_below(users, budget, "struck") >= enough)


def users_for_fail(rate: Rate, budget: float, confidence: float) -> int | None:
    """How many users who lose as these did prove the rate above the budget; None if none would."""
    if rate.rate is None or rate.rate <= budget:
        return None
    return _fewest(rate.users, lambda users: chance_below(users, budget, "spared") <= 1 - confidence)


def _fewest(users: Users, suffices: Callable[[Users], bool]) -> int | None:
    """How many users of these kinds suffice; None if more are needed than anybody has."""
    one = users.times(1 / users.total)
    low, high = 0.0, users.total
    while not suffices(one.times(high)):
        low, high = high, 2 * high
        if high > USERS_MAX:
            return None
    while high - low > max(1.0, 1e-3 * high):
        middle = (low + high) / 2
        low, high = (low, middle) if suffices(one.times(middle)) else (middle, high)
    return math.ceil(high)
