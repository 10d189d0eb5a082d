"""How much must be looked at to claim that no more than so much is lost?

A claim rests on users, and on how many there must be before the upper end of the interval falls to the claim. That
depends on what the memory truly loses: nothing is proven soonest, and what is close to the claim hardly at all. So the
plan is a table of possible truths, each with the users after which four of five runs prove it.

The unlucky fifth is drawn from the counts themselves: as many losses as four of five runs stay below (Poisson), bursts
and single losses apart, and of these the interval that the run would print.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, pdtrik

from analysis.bootstrap import Users, chance_below
from analysis.rates import users_for_zero

LIKELY = 0.8
USERS_MAX = 50_000_000
SHARES = (0.0, 0.1, 0.25, 0.5)
"""True rates that keep the claim, as shares of it."""
MULTIPLES = (2.0, 5.0)
"""True rates that break it."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How fast users come and how much they do, in the slowest scenario."""

    source: str
    """Where it is from."""
    users_per_minute: float
    conversations_per_user: float
    recalls_per_user: float


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What one possible truth takes to be proven, in every scenario."""

    true_rate: float
    proves: Literal["kept", "exceeded"]
    users: int | None
    """None: more than anybody has."""
    conversations: int | None
    recalls: int | None
    minutes: float | None


class Design(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a claim."""

    max_loss: float
    confidence: float
    burst: float
    """Share of all losses that come in bursts, each of which takes everything of one user."""
    pace: Pace
    needs: list[Need]


def plan(max_loss: float, confidence: float, burst: float, pace: Pace) -> Design:
    """What the claim takes that no more than a share of recalls is lost.

    Args:
        max_loss: above 0 and below 1.
        confidence: of the claim.
        burst: share of losses that come in bursts.
        pace: of the runs it is to be proven by.
    """
    recalls = max(1, round(pace.recalls_per_user))
    needs = [_need(share * max_loss, "kept", max_loss, confidence, burst, recalls, pace) for share in SHARES]
    for multiple in MULTIPLES:
        if multiple * max_loss < 1:
            needs.append(_need(multiple * max_loss, "exceeded", max_loss, confidence, burst, recalls, pace))
    return Design(max_loss=max_loss, confidence=confidence, burst=burst, pace=pace, needs=needs)


def pace_of(results: dict[str, Any], seconds: float) -> Pace | None:
    """The pace of a judged run in its slowest scenario; None if nothing was checked.

    Args:
        results: the content of ``results.json``.
        seconds: how long the run lasted.
    """
    paces = [
        Pace(
            source=f"run {results['run']}, scenario {scenario['name']}",
            users_per_minute=60 * scenario["recalls"]["clusters"] / seconds,
            conversations_per_user=scenario["conversations"]["checked"] / scenario["recalls"]["clusters"],
            recalls_per_user=scenario["recalls"]["checked"] / scenario["recalls"]["clusters"],
        )
        for scenario in results["scenarios"]
        if scenario["recalls"]["clusters"]
    ]
    return min(paces, key=lambda pace: pace.users_per_minute, default=None)


def _need(
    true: float,
    proves: Literal["kept", "exceeded"],
    max_loss: float,
    confidence: float,
    burst: float,
    recalls: int,
    pace: Pace,
) -> Need:
    if proves == "exceeded":
        users = _fewest(
            lambda number: (
                chance_below(_unlucky(number, true, burst, recalls, 1 - LIKELY), max_loss, "spared") <= 1 - confidence
            )
        )
    elif true:
        enough = 1 - (1 - confidence) / 2
        users = _fewest(
            lambda number: chance_below(_unlucky(number, true, burst, recalls, LIKELY), max_loss, "struck") >= enough
        )
    else:
        users = users_for_zero(max_loss, confidence)
    return Need(
        true_rate=true,
        proves=proves,
        users=users,
        conversations=None if users is None else math.ceil(users * pace.conversations_per_user),
        recalls=None if users is None else math.ceil(users * pace.recalls_per_user),
        minutes=None if users is None else users / pace.users_per_minute,
    )


def _fewest(suffices: Callable[[int], bool]) -> int | None:
    """About the fewest users that suffice; None if more are needed than anybody has."""
    high = 1
    while not suffices(high):
        high *= 2
        if high > USERS_MAX:
            return None
    low = high // 2
    while high - low > max(1, high // 500):
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def _unlucky(number: int, true: float, burst: float, recalls: int, level: float) -> Users:
    """So many users with as many losses as a share ``level`` of all runs stays below."""
    struck = _quantile(number * true * burst, level)
    single = _quantile(number * recalls * true * (1 - burst), level)
    spared = max(number - struck, 1e-9)
    lossy = np.arange(recalls + 1, dtype=float)
    share = _binomial(recalls, min(single / (spared * recalls), 1.0)) * spared
    share[-1] += struck
    some = share > 1e-12
    return Users(lossy[some], np.full(int(some.sum()), float(recalls)), share[some])


def _quantile(mean: float, level: float) -> float:
    """A count that Poisson counts of this mean stay at or below in a share of all cases."""
    if mean <= 0 or math.exp(-mean) >= level:
        return 0.0
    return float(max(0, math.ceil(float(pdtrik(level, mean)) - 1e-9)))


def _binomial(number: int, p: float) -> NDArray[np.float64]:
    """The chances of 0 to ``number`` events."""
    k = np.arange(number + 1, dtype=float)
    if p in (0.0, 1.0):
        return np.asarray(k == number * p, dtype=float)
    logs = gammaln(number + 1) - gammaln(k + 1) - gammaln(number - k + 1)
    return np.asarray(np.exp(logs + k * math.log(p) + (number - k) * math.log1p(-p)))
