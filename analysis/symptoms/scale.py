"""Ages in bins whose ends people can read; pauses and sizes in finer steps, for limits nobody chose to be round."""

from __future__ import annotations

from bisect import bisect_right
from math import log2

import numpy as np
from numpy.typing import NDArray

from analysis.columns import Ints

MS = 1_000_000
EDGES_NS = tuple(step * 10**power * MS for power in range(6) for step in (1, 2, 5))
"""1, 2, 5, 10 ms … 500 s; bin 0 is below the first, bin ``len(EDGES_NS)`` at or above the last."""
BINS = len(EDGES_NS) + 1


def bin_of(length_ns: int) -> int:
    """The bin of a length of time; what has not begun yet is in the first."""
    return bisect_right(EDGES_NS, length_ns)


def ends(number: int) -> tuple[int, int | None]:
    """From and up to which length of time a bin reaches; None: without end."""
    return (EDGES_NS[number - 1] if number else 0), (EDGES_NS[number] if number < len(EDGES_NS) else None)


def step_of(value: float) -> int:
    """A step on a scale of which four double the value; 0 up to 1."""
    return max(0, round(4 * log2(value))) if value > 1 else 0


def steps_of(values: NDArray[np.float64]) -> Ints:
    """The steps of many values."""
    steps: Ints = np.rint(4 * np.log2(np.maximum(values, 1))).astype(np.int64)
    return steps


def unstepped(step: int) -> float:
    """Where a step begins."""
    return float(2 ** ((step - 0.5) / 4)) if step else 0.0


def told(length_ns: float) -> str:
    """12 ms, 340 ms, 1.2 s, 3 min."""
    ms = length_ns / MS
    if ms < 1:
        return "less than 1 ms"
    if ms < 1_000:
        return f"{ms:.3g} ms"
    return f"{ms / 1_000:.3g} s" if ms < 120_000 else f"{ms / 60_000:.3g} min"
