"""Do the intervals hold what they promise, and do the tests cry wolf? Simulated runs of which the truth is known.

    python -m benchmarks.intervals

Users have 1 to 3 conversations of 4 to 12 checked recalls each. A share of all losses comes in bursts, and a burst
takes everything of one user: the hardest case for whoever counts recalls, since a run of 200 users mostly does not
see a burst that strikes one in 500. The other losses strike recalls at random; of a recall that lacks something, one
of two messages is lost for good with probability one half.

*Coverage* is the share of runs whose nominal 95 % interval holds the true rate, of lossy recalls, harmed
conversations and lost messages; and, to compare, that of Wilson's interval on the effective number of recalls. *False
alarms* are the share of runs, or pairs of runs, in which something is said to be worse than it is: of the gate, with
three scenarios whose true rate is exactly the budget; of the comparison of two runs of identical memories, in one
scenario; and, to show what the fuss is about, of a comparison that takes recalls for independent (Fisher's exact test
on them).
"""

from __future__ import annotations

import math
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from analysis.bootstrap import alike
from analysis.rates import Rate, estimate, exceeds, holm
from analysis.shuffle import Table, chance_as_bad, fisher
from benchmarks.record import save

USERS = (200, 1_000, 5_000)
RATES = (1e-4, 1e-3, 1e-2)
BURSTS = (0.0, 0.2, 0.8)
RUNS = 1_000
CONFIDENCE = 0.95
SCENARIOS = 3
DEALS = 500
"""Of the comparison; fewer than the command's, for the sake of time."""
CONVERSATIONS_MAX = 3
RECALLS = range(4, 13)
LEVELS = ("recalls", "conversations", "messages")


class Cell(NamedTuple):
    """One row of the table."""

    users: int
    rate: float
    burst: float

    @property
    def struck(self) -> float:
        """Probability of a user to lose everything."""
        return self.rate * self.burst

    @property
    def single(self) -> float:
        """Probability of a recall of anybody else to be lossy."""
        return self.rate * (1 - self.burst) / (1 - self.struck)

    def truth(self) -> dict[str, float]:
        """The true rates."""
        spared = sum((1 - self.single) ** recalls for recalls in RECALLS) / len(RECALLS)
        return {
            "recalls": self.rate,
            "conversations": self.struck + (1 - self.struck) * (1 - spared),
            "messages": self.struck + (1 - self.struck) * self.single / 4,
        }

    def harmed(self) -> float:
        """Expected harmed conversations in a run."""
        return self.users * (CONVERSATIONS_MAX + 1) / 2 * self.truth()["conversations"]


Counts = dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Level → events and trials, by run and user."""


def simulate(cell: Cell, runs: int, rng: np.random.Generator) -> Counts:
    """Some runs of one cell."""
    shape = runs, cell.users
    struck = rng.random(shape) < cell.struck
    conversations = rng.integers(1, CONVERSATIONS_MAX + 1, shape)
    recalls, lossy, harmed, lost = (np.zeros(shape, dtype=np.int64) for _ in range(4))
    for number in range(CONVERSATIONS_MAX):
        had = rng.integers(RECALLS.start, RECALLS.stop, shape) * (conversations > number)
        single = rng.binomial(had, cell.single)
        recalls += had
        lossy += np.where(struck, had, single)
        harmed += np.where(struck, had, single) > 0
        lost += np.where(struck, 2 * had, rng.binomial(single, 0.5))
    return {"recalls": (lossy, recalls), "conversations": (harmed, conversations), "messages": (lost, 2 * recalls)}


def measure(cell: Cell) -> dict[str, Any]:
    """Coverage and false alarms in one cell."""
    rng = np.random.default_rng([cell.users, round(1e6 * cell.rate), round(10 * cell.burst)])
    truth = cell.truth()
    row: dict[str, Any] = {"users": cell.users, "rate": cell.rate, "burst": cell.burst, "harmed": cell.harmed()}
    counts = simulate(cell, RUNS, rng)
    p_values = np.ones(RUNS)
    wilson = 0
    for level in LEVELS:
        below = above = 0
        for run, (events, trials) in enumerate(zip(*counts[level], strict=True)):
            found = estimate(events, trials, CONFIDENCE)
            below += found.high < truth[level]
            above += found.low > truth[level]
            if level == "recalls":
                p_values[run] = exceeds(found, cell.rate)
                low, high = _wilson(found)
                wilson += low <= cell.rate <= high
        row[level] = {"coverage": 1 - (below + above) / RUNS, "too_low": below / RUNS, "too_high": above / RUNS}
    row["wilson"] = wilson / RUNS
    # Three scenarios a run, each exactly at the budget: every p-value stands once in each place.
    families = zip(*(rng.permutation(p_values) for _ in range(SCENARIOS)), strict=True)
    row["gate"] = sum(any(holm(list(family), 1 - CONFIDENCE)) for family in families) / RUNS
    candidate = simulate(cell, RUNS, rng)
    row["compare"] = _compare(counts, candidate, rng)
    row["naive"] = _naive(counts, candidate)
    return row


def _wilson(found: Rate) -> tuple[float, float]:
    """Wilson's interval on the effective number of recalls, as the design effect has it; for comparison."""
    if found.rate in (None, 0.0, 1.0) or found.deff is None:
        return found.low, found.high
    z, p = float(ndtri((1 + CONFIDENCE) / 2)), float(found.rate or 0)
    n = found.trials / max(found.deff, 1)
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


def _compare(base: Counts, candidate: Counts, rng: np.random.Generator) -> float:
    """How often a run of an identical memory is called worse."""
    worse = 0
    for run in range(RUNS):
        p_values = []
        for level in ("conversations", "recalls"):
            sides = [alike(*(numbers[run] for numbers in counts[level])) for counts in (base, candidate)]
            p_values.append(chance_as_bad(sides[0], sides[1], rng, DEALS))
        worse += any(holm(p_values, 1 - CONFIDENCE))
    return worse / RUNS


def _naive(base: Counts, candidate: Counts) -> float:
    """The same, of a test that takes recalls for independent."""
    tables = zip(*(numbers.sum(axis=1) for counts in (base, candidate) for numbers in counts["recalls"]), strict=True)
    return sum(fisher(Table(*map(int, each))) <= 1 - CONFIDENCE for each in tables) / RUNS


def table(rows: list[dict[str, Any]]) -> str:
    """The figures in Markdown, as the page in docs has them."""
    lines = [
        "| users | rate | in bursts | harmed | recalls | conversations | messages | Wilson | gate | compare | naive |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        coverage = " | ".join(f"{row[level]['coverage']:.1%}" for level in LEVELS)
        lines.append(
            f"| {row['users']:,} | {row['rate']:.2%} | {row['burst']:.0%} | {row['harmed']:,.1f} | {coverage} "
            f"| {row['wilson']:.1%} | {row['gate']:.1%} | {row['compare']:.1%} | {row['naive']:.1%} |"
        )
    return "\n".join(lines).replace("%", " %")


def summarise(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The worst figures over all cells."""
    coverage = [row[level]["coverage"] for row in rows for level in LEVELS]
    frequent = [row[level]["coverage"] for row in rows for level in LEVELS if row["harmed"] >= 20]
    return {
        "coverage_min": min(coverage),
        "coverage_max_with_20_harmed": max(frequent),
        "wilson_min": min(row["wilson"] for row in rows),
        "gate_max": max(row["gate"] for row in rows),
        "compare_max": max(row["compare"] for row in rows),
        "naive_max": max(row["naive"] for row in rows),
    }


def main() -> None:
    """Simulate all cells, print and keep the table."""
    began = time.monotonic()
    cells = [Cell(users, rate, burst) for users in USERS for rate in RATES for burst in BURSTS]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        rows = []
        for done, row in enumerate(pool.map(measure, cells), 1):
            rows.append(row)
            print(f"\r{done} of {len(cells)} cells", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(table(rows))
    summary = summarise(rows)
    print(f"\n{summary}\n{time.monotonic() - began:.0f} s, {save('intervals', summary, rows)}")


if __name__ == "__main__":
    main()
