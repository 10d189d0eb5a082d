"""How sure is a rate? Losses come in bursts, so recalls of one user are not independent.

Recalls are counted, but users are what was sampled: the *cluster* is the user. The design effect says by how much the
clustering widens the variance; the effective number of recalls is the number divided by it, and Wilson's interval is
taken on that. (Kish, Survey Sampling, 1965, ch. 5; Korn and Graubard, Survey Methodology 24, 1998, for the effective
sample size; Wilson, JASA 22, 1927.) Closed forms only: ``scipy.special``, not ``scipy.stats``, whose import is slow.

With few affected users the estimated design effect is itself a matter of luck, mostly too small: a run that saw one
short burst would claim a narrower interval than a run that saw none. So it is blended with that of users who lose all
or nothing, the mean cluster size, which weighs as much as one affected user. Without a loss that is the number of
users; with many affected users the blend is the estimate. In simulations of 60 to 1,000 users, rates of 0.1 to 5 % and
burst shares of 0 to 1, 1,000 runs each, nominal 95 % intervals covered the truth in 94 to 100 % of runs, without the
blend in 77 to 98 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri


class Rate(NamedTuple):
    """A share with its two-sided interval, and how much it rests on."""

    events: int
    trials: int
    rate: float | None
    """None if nothing was tried."""
    low: float
    high: float
    deff: float | None
    """Design effect; None where it cannot be told: no trial, no event, only events, or a single cluster."""
    clusters: int
    """Clusters with a trial."""
    effective: float
    """Number of independent trials that would tell as much."""


def estimate(events: ArrayLike, trials: ArrayLike, confidence: float) -> Rate:
    """The rate of events per trial, with trials in clusters.

    Args:
        events: events per cluster, integers.
        trials: trials per cluster, integers of the same length; clusters without a trial are left out.
        confidence: level of the two-sided interval, e.g. 0.95.
    """
    x, n = np.asarray(events, dtype=float), np.asarray(trials, dtype=float)
    x, n = x[n > 0], n[n > 0]
    clusters, total, count = len(n), float(n.sum()), float(x.sum())
    if clusters == 0:
        return Rate(0, 0, None, 0.0, 1.0, None, 0, 0.0)
    p = count / total
    if count in (0, total):
        tail = ((1 - confidence) / 2) ** (1 / clusters)
        low, high = (0.0, 1 - tail) if count == 0 else (tail, 1.0)
        return Rate(int(count), int(total), p, low, high, None, clusters, float(clusters))
    if clusters == 1:
        # One user tells nothing about how users differ: as good as a single trial.
        return Rate(int(count), int(total), p, *wilson(p, 1, confidence), None, 1, 1.0)
    variance = clusters / (clusters - 1) * float(((x - p * n) ** 2).sum()) / total**2
    affected = int((x > 0).sum() if 2 * count <= total else (x < n).sum())
    estimated = variance / (p * (1 - p) / total)
    all_or_nothing = float((n * n).sum()) / total
    deff = (affected * estimated + all_or_nothing) / (affected + 1)
    effective = total / max(deff, 1)
    return Rate(int(count), int(total), p, *wilson(p, effective, confidence), deff, clusters, effective)


def wilson(p: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson's two-sided score interval of a share p of n trials."""
    z = float(ndtri(1 - (1 - confidence) / 2))
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def exceeds(rate: Rate, budget: float) -> float:
    """p-value of the one-sided score test of "the true rate is within the budget"; small: it is not."""
    if rate.rate is None or budget >= 1 or rate.rate <= budget:
        return 1.0
    return float(ndtr(-(rate.rate - budget) / math.sqrt(budget * (1 - budget) / rate.effective)))


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


def trials_for_pass(rate: Rate, budget: float, confidence: float) -> int | None:
    """How many trials at this rate and design effect bring the upper end to the budget; None if none would."""
    if rate.rate is None or rate.rate >= budget:
        return None
    # The score interval ends where (budget - p)^2 n = z^2 budget (1 - budget).
    z = float(ndtri(1 - (1 - confidence) / 2))
    effective = z * z * budget * (1 - budget) / (budget - rate.rate) ** 2
    return math.ceil(effective * rate.trials / rate.effective)


def trials_for_fail(rate: Rate, budget: float, confidence: float) -> int | None:
    """How many trials at this rate and design effect prove it above the budget; None if none would."""
    if rate.rate is None or rate.rate <= budget:
        return None
    z = float(ndtri(confidence))
    effective = z * z * budget * (1 - budget) / (rate.rate - budget) ** 2
    return math.ceil(effective * rate.trials / rate.effective)
