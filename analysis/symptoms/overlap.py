"""Which appends of a conversation were under way at the same time as another one: by rows, and by columns."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from analysis.columns import Ints
from goldfish.oplog import Append


def overlapped(appends: Iterable[Append]) -> set[int]:
    """Ids of appends, all of one conversation, during which another one was under way."""
    ordered = sorted(appends, key=lambda row: row.start_ns)
    latest_ends = list(accumulate((row.end_ns for row in ordered), max))
    found: set[int] = set()
    for at, row in enumerate(ordered):
        following = at + 1 < len(ordered) and ordered[at + 1].start_ns <= row.end_ns
        if following or (at and latest_ends[at - 1] >= row.start_ns):
            found.add(row.id)
    return found


def overlapped_columns(conversation: Ints, start: Ints, end: Ints) -> NDArray[np.bool_]:
    """The same of appends of many conversations, as a mask in the order given."""
    found = np.zeros(len(start), bool)
    if not len(start):
        return found
    order = np.lexsort((start, conversation))
    group, start, end = conversation[order], start[order], end[order]
    same = np.diff(group) == 0
    touching = np.zeros(len(order), bool)
    touching[:-1] = same & (start[1:] <= end[:-1])
    touching[1:] |= same & (latest_so_far(group, end)[:-1] >= start[1:])
    found[order] = touching
    return found


def latest_so_far(group: Ints, stamps: Ints) -> Ints:
    """The running maximum of stamps within each group; rows of a group stand together."""
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    low, high = np.minimum.reduceat(stamps, begins), np.maximum.reduceat(stamps, begins)
    # Groups are laid end to end, so that the maximum of one cannot reach into the next.
    shift = np.cumsum(high - low + 1) - (high - low + 1) - low
    shifts = np.repeat(shift, np.diff(np.append(begins, len(stamps))))
    latest: Ints = np.maximum.accumulate(stamps + shifts) - shifts
    return latest
