"""How many users does a run need that ends as soon as something is proven? Simulated, beside runs of fixed size.

    python -m benchmarks.early_stop

A budget of 1 % is held against memories whose true share of harmed users is a multiple of it. *Sequential* is the
test of ``goldfish run --until-proven``: how often it proves the budget kept or exceeded, and after how many users on
average. *Fixed* is the smallest number of users with which the ordinary verdict of a run of that length is right in
95 % of runs: passes, where the budget is kept; fails, where it is exceeded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtrc

from analysis.bootstrap import Users
from analysis.rates import exceeds, rate_of
from benchmarks.record import save
from goldfish.contract import Budget
from goldfish.sequential import fail_level, pass_level, wager

BUDGET = Budget(conversations_harmed=0.01)
MULTIPLES = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
RUNS = 2_000
USERS_MAX = 20_000
"""A run that has proven nothing by then goes on no longer."""
RIGHT = 0.95


def sequential(true: float, budget: Budget, rng: np.random.Generator) -> dict[str, float]:
    """How runs end that stop when something is proven; each user is harmed or not."""
    most = budget.conversations_harmed or 0.0
    harmed = rng.random((RUNS, USERS_MAX)) < true
    spared, struck = wager(0, most), wager(1, most)
    kept_at = _first(np.where(harmed, struck.within, spared.within), -math.log(pass_level(budget)))
    over_at = _first(np.where(harmed, struck.over, spared.over), -math.log(fail_level(budget, 1)))
    ends = np.minimum(kept_at, over_at)
    proven = ends < USERS_MAX
    return {
        "kept": float((proven & (kept_at < over_at)).mean()),
        "exceeded": float((proven & (over_at < kept_at)).mean()),
        "users": float(ends.mean()),
        "users_p90": float(np.quantile(ends, 0.9)),
    }


def _first(steps: np.ndarray, level: float) -> np.ndarray:
    """After how many users the sum of steps reaches a level; ``USERS_MAX`` if it does not."""
    reached = np.cumsum(steps, axis=1) >= level
    return np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, USERS_MAX)


def fixed(true: float, budget: Budget) -> int | None:
    """The fewest users with which a run of fixed size is right in 95 % of runs; None if not even ``USERS_MAX`` are."""
    most = budget.conversations_harmed or 0.0
    if true == most:
        return None
    low, high = 1, USERS_MAX
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _right(true, middle, budget) >= RIGHT else (middle + 1, high)
    return high if high < USERS_MAX else None


def _right(true: float, users: int, budget: Budget) -> float:
    """How often a run of so many users ends as it should."""
    most = budget.conversations_harmed or 0.0
    harmed = np.arange(users + 1)
    if true < most:
        passing = _last(lambda k: rate_of(_sample(k, users), budget.confidence).high <= most, users)
        return float(bdtr(passing, users, true)) if passing >= 0 else 0.0
    kept = _last(lambda k: exceeds(rate_of(_sample(k, users), budget.confidence), most) > 1 - budget.confidence, users)
    return float(bdtrc(kept, users, true)) if kept < harmed[-1] else 0.0


def _last(holds: Any, most: int) -> int:
    """The greatest number for which something holds that holds up to there; -1 if for none."""
    low, high = -1, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _sample(harmed: int, users: int) -> Users:
    both = np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.array([float(users - harmed), float(harmed)])
    some = both[2] > 0
    return Users(*(each[some] for each in both))


def table(rows: list[dict[str, Any]]) -> str:
    """The figures in Markdown, as the page in docs has them."""
    lines = [
        "| true share | proven kept | proven exceeded | users on average | in 90 % of runs | fixed |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        needed = "–" if row["fixed"] is None else f"{row['fixed']:,}"
        lines.append(
            f"| {row['true']:.1%} | {row['kept']:.1%} | {row['exceeded']:.1%} | {row['users']:,.0f} "
            f"| {row['users_p90']:,.0f} | {needed} |"
        )
    return "\n".join(lines).replace("%", " %").replace("90  %", "90 %")


def main() -> None:
    """Simulate, print and keep the table."""
    most = BUDGET.conversations_harmed or 0.0
    rows = []
    for multiple in MULTIPLES:
        rng = np.random.default_rng([1, round(10 * multiple)])
        true = multiple * most
        rows.append({"true": true, **sequential(true, BUDGET, rng), "fixed": fixed(true, BUDGET)})
    print(table(rows))
    print(save("early_stop", {"budget": most, "confidence": BUDGET.confidence, "runs": RUNS}, rows))


if __name__ == "__main__":
    main()
