"""Is one run worse than another? If it were not, it would not matter which user was in which run.

So the labels *base* and *candidate* are dealt out anew among all users, many times, and it is counted how often
chance makes the candidate look at least as bad as it does (a permutation test: Fisher, The Design of Experiments,
1935, ch. 3). Whole users are dealt, with all their conversations and recalls, because the losses of one user come
together; nothing else is assumed about how losses are spread. A test that takes recalls for independent calls
identical memories different far too often (``benchmarks/intervals.py``).

Where every user has one trial, as when each has one conversation, this is Fisher's exact test of a 2 × 2 table, which
needs no dealing. Both count ties half (mid-p: Lancaster, JASA 56, 1961), for otherwise they are too cautious with the
few harmed conversations that a good memory has.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincinv, gammaln

from analysis.bootstrap import Users
from analysis.rates import Rate

DEALS = 20_000
POWER = 0.8
"""The smallest detectable share is found in so many of all comparisons."""


class Table(NamedTuple):
    """Harmed and all, in base and candidate."""

    base_harmed: int
    base: int
    harmed: int
    all: int


def chance_as_bad(base: Users, candidate: Users, rng: np.random.Generator, deals: int = DEALS) -> float:
    """p-value of "the candidate's rate is no higher"; small: it is. 1 if either has no user.

    Args:
        base: events per trial of the users of one run.
        candidate: of the other.
        rng: deals the labels; the same seed gives the same value.
        deals: how often.
    """
    if not base.total or not candidate.total:
        return 1.0
    both = _together(base, candidate)
    number = both[0].number + both[1].number
    events, trials = both[0].events, both[0].trials
    if not (events @ number):
        return 1.0
    if (trials == 1).all():
        at = [int(users.number @ events) for users in both]
        return fisher(Table(at[0], int(base.total), at[1], int(candidate.total)))
    # How much worse than the common rate each user fared; the sum over the candidate's users is what labels decide.
    worse = events - trials * (events @ number) / (trials @ number)
    seen = float(worse @ both[1].number)
    dealt = rng.multivariate_hypergeometric(
        number.astype(np.int64), int(candidate.total), size=deals, method="marginals"
    )
    sums = dealt @ worse
    slack = 1e-9 * max(1.0, abs(seen))
    higher, as_high = int((sums > seen + slack).sum()), int((abs(sums - seen) <= slack).sum())
    return (higher + (as_high + 1) / 2) / (deals + 1)


def fisher(table: Table) -> float:
    """Fisher's exact test, one-sided, mid-p: how often chance puts more of all the harmed into the candidate."""
    harmed = table.base_harmed + table.harmed
    least, most = max(0, harmed - table.base), min(harmed, table.all)
    counts = np.arange(least, most + 1)
    chances = np.exp(
        _log_choose(table.all, counts)
        + _log_choose(table.base, harmed - counts)
        - _log_choose(table.base + table.all, np.array(harmed))
    )
    return float(min(1.0, chances[counts > table.harmed].sum() + chances[counts == table.harmed].sum() / 2))


def _log_choose(n: int, k: np.ndarray) -> np.ndarray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _together(base: Users, candidate: Users) -> tuple[Users, Users]:
    """Both over the same kinds of users."""
    width = max(base.trials.max(), candidate.trials.max()) + 1
    codes = [users.events * width + users.trials for users in (base, candidate)]
    kinds = np.unique(np.concatenate(codes))
    aligned = []
    for users, code in zip((base, candidate), codes, strict=True):
        number = np.zeros(len(kinds))
        number[np.searchsorted(kinds, code)] = users.number
        aligned.append(Users(kinds // width, kinds % width, number))
    return aligned[0], aligned[1]


def difference(base: Rate, candidate: Rate) -> tuple[float, float, float] | None:
    """The candidate's rate minus the base's, with its interval; None if one of them has none.

    Newcombe's way to put two intervals together (Statistics in Medicine 17, 1998, method 10), with the intervals that
    the two runs have.
    """
    if base.rate is None or candidate.rate is None:
        return None
    apart = candidate.rate - base.rate
    below = math.hypot(candidate.rate - candidate.low, base.high - base.rate)
    above = math.hypot(candidate.high - candidate.rate, base.rate - base.low)
    return apart, max(-1.0, apart - below), min(1.0, apart + above)


def detectable(base: Rate, candidate: Rate, alpha: float) -> float | None:
    """The smallest true share of harmed conversations in the candidate that such a comparison finds in 80 % of cases.

    Given what the base showed, and with users counted as the design effect of the two counts them. None if even the
    loss of all would not be seen.
    """
    deff = max(base.deff or 1.0, candidate.deff or 1.0, 1.0)
    before, after, harmed = (round(number / deff) for number in (base.trials, candidate.trials, base.events))
    if not before or not after:
        return None
    low, high = 0, after + 1
    while high - low > 1:  # the fewest harmed that would be called worse
        middle = (low + high) // 2
        low, high = (low, middle) if fisher(Table(harmed, before, middle, after)) <= alpha else (middle, high)
    if high > after:
        return None
    # So many are reached in 80 % of runs if their number is Poisson with this mean.
    return float(min(1.0, gammaincinv(high, POWER) / after))
