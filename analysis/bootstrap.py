"""How far may chance have bent a rate? Users are drawn anew, and one more is added whom nobody saw.

Losses come in bursts, so the recalls of one user are not independent; users are. The *Bayesian bootstrap* (Rubin,
Annals of Statistics 9, 1981) draws the users of a run anew by giving each an exponential weight, and reads the rate off
the weighted users. It takes bursts, and users of different size, as they come: no design effect, no normal curve.

But it draws only what the run has seen, and a rare burst is mostly not seen. So one more user gets a weight, of mean
size, of whom nothing is known but the extremes: at worst that user lost everything, at best nothing. With the worst
case this is Gaffke's bound for the mean of a bounded variable (Gaffke, Univ. Magdeburg, 2005; Learned-Miller and
Thomas, arXiv:1905.06208): it is conjectured to hold for *every* distribution of losses over users, no counterexample
is known, and it is exact where it can be checked: with one trial a user it is Clopper and Pearson's interval, and
without any loss it is 1 - tail^(1/users), about 3.7/users at 95 %. With many affected users it becomes the interval of
the sandwich variance that the design effect stands for.

The weighted rate is below t if a sum of gamma variables is negative; the chance of that comes from a saddlepoint
approximation (Barndorff-Nielsen, Biometrika 73, 1986), off by at most 4 % of itself in the tails used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtr, ndtri

Unseen = Literal["spared", "struck"]
"""What the user whom nobody saw went through: no loss at all, or nothing but loss."""
ROUNDS_MAX = 100
PRECISION = 1e-7
SMALLEST = 1e-15
STEP = 0.25
ODDS_MAX = 700


class Users(NamedTuple):
    """Users alike in events and trials, with their number; three float arrays of one length."""

    events: NDArray[np.float64]
    trials: NDArray[np.float64]
    number: NDArray[np.float64]

    @property
    def total(self) -> float:
        """Number of users."""
        return float(self.number.sum())

    def times(self, factor: float) -> Users:
        """As many times as many users of each kind."""
        return self._replace(number=self.number * factor)


def alike(events: ArrayLike, trials: ArrayLike) -> Users:
    """Put users together that are alike; those without a trial are left out.

    Args:
        events: events per user, integers ≥ 0.
        trials: trials per user, integers ≥ events, of the same length.
    """
    x, n = np.asarray(events, dtype=np.int64), np.asarray(trials, dtype=np.int64)
    x, n = x[n > 0], n[n > 0]
    width = int(n.max(initial=0)) + 1
    codes, number = np.unique(x * width + n, return_counts=True)
    return Users((codes // width).astype(float), (codes % width).astype(float), number.astype(float))


def chance_below(users: Users, rate: float, unseen: Unseen) -> float:
    """The chance that users drawn anew have at most this rate; grows with ``rate``.

    Args:
        users: at least one user.
        rate: above 0 and below 1.
        unseen: what is assumed of the user whom nobody saw.
    """
    size = float(users.trials @ users.number) / users.total
    worth = np.append(users.events - rate * users.trials, size * ((unseen == "struck") - rate))
    return _negative(worth, np.append(users.number, 1.0))


def rate_at(chance: Callable[[float], float], level: float, start: float) -> float:
    """Where a growing chance reaches a level: the rate, searched from ``start``.

    Args:
        chance: of a rate between 0 and 1.
        level: between 0 and 1.
        start: a rate above 0 and below 1.
    """
    # In log-odds against normal scores the curve is nearly straight: step out until the level lies between, then
    # narrow.

    def score(odds: float) -> float:
        return float(ndtri(min(max(chance(float(expit(odds))), SMALLEST), 1 - SMALLEST)) - ndtri(level))

    near = far = float(logit(start))
    here = there = score(near)
    step = STEP if here < 0 else -STEP
    while (there < 0) == (here < 0) and abs(far) < ODDS_MAX:
        near, here = far, there
        far, step = far + step, 2 * step
        there = score(far)
    if (there < 0) == (here < 0):
        return float(expit(far))
    return float(expit(_crossing(score, (near, here), (far, there))))


def _crossing(curve: Callable[[float], float], one: tuple[float, float], other: tuple[float, float]) -> float:
    """Where a curve crosses zero between two of its points (regula falsi, Illinois variant)."""
    (before, below), (after, above) = one, other
    for _ in range(ROUNDS_MAX):
        middle = after - above * (after - before) / (above - below)
        value = curve(middle)
        if abs(value) < PRECISION or abs(after - before) < PRECISION:
            return middle
        if (value < 0) != (above < 0):
            before, below = after, above
        else:
            below /= 2
        after, above = middle, value
    return after


def _negative(worth: NDArray[np.float64], shape: NDArray[np.float64]) -> float:
    """The chance that Σ worth · gamma(shape) is at most zero."""
    least, most = float(worth.min()), float(worth.max())
    if most <= 0:
        return 1.0
    if least >= 0:
        return 0.0
    saddle = _saddle(worth, shape, 1 / least, 1 / most)
    share = 1 - saddle * worth
    root = math.copysign(math.sqrt(max(2 * float(shape @ np.log(share)), 0.0)), saddle)
    if abs(root) < 1e-3:  # at the mean the formula is 0/0; what it tends to:
        spread = math.sqrt(float(shape @ worth**2))
        return float(ndtr(float(-shape @ worth) / spread + float(shape @ worth**3) / (3 * spread**3)))
    slope = saddle * math.sqrt(float(shape @ (worth / share) ** 2))
    return float(ndtr(root + math.log(slope / root) / root))


def _saddle(worth: NDArray[np.float64], shape: NDArray[np.float64], low: float, high: float) -> float:
    """Where the cumulant -Σ shape · log(1 - s · worth) is least; Newton's steps, kept between two bounds."""
    at = 0.0
    for _ in range(ROUNDS_MAX):
        part = worth / (1 - at * worth)
        slope = float(shape @ part)
        bend = float(shape @ (part * part))
        low, high = (low, at) if slope > 0 else (at, high)
        step = slope / bend
        if step * step * bend < PRECISION**3:
            break
        at = at - step if low < at - step < high else (low + high) / 2
    return at
