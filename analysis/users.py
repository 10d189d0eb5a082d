"""``users.parquet``: how users fared, those alike put together; all that a comparison of two runs needs.

    scenario       string
    recalls        int64   checked recalls of each of these users
    lossy          int64   of them, lossy ones
    conversations  int64   conversations of each with a checked recall or a finding
    harmed         int64   of them, those with a finding
    messages       int64   checked messages of each
    lost           int64   of them, those missing to the end
    users          int64   how many users are alike in all of this

Sorted by all columns, so that two analyses of one record write the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.bootstrap import Users
from analysis.sums.counts import ScenarioCounts, in_order
from goldfish.errors import RecordError

FILE = "users.parquet"
COUNTS = ("recalls", "lossy", "conversations", "harmed", "messages", "lost")
SCHEMA = pa.schema([("scenario", pa.string()), *((name, pa.int64()) for name in (*COUNTS, "users"))])


class Fared(NamedTuple):
    """The users of one scenario at three levels."""

    recalls: Users
    """Lossy among checked recalls."""
    conversations: Users
    """Harmed among checked conversations."""
    messages: Users
    """Lost among checked messages."""


def users_table(scenarios: Mapping[str, ScenarioCounts]) -> pa.Table:
    """The users of a run; columns and types as in the module's docstring."""
    rows = [
        (name, *counts, number)
        for name, scenario in sorted(scenarios.items())
        for counts, number in sorted(Counter(map(in_order, scenario.users.values())).items())
    ]
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)


def read_users(directory: Path) -> dict[str, Fared]:
    """By scenario.

    Raises:
        RecordError: there is no such file, or it cannot be read.
    """
    path = directory / FILE
    try:
        table = pq.read_table(path, schema=SCHEMA)
    except (OSError, pa.ArrowInvalid) as error:
        raise RecordError(f"cannot read {path}: judge the run first, with goldfish analyze {directory}") from error
    columns = {name: np.asarray(table[name], dtype=float) for name in (*COUNTS, "users")}
    names = np.asarray(table["scenario"].to_pylist(), dtype=object)

    def level(of: np.ndarray, events: str, trials: str) -> Users:
        some = of & (columns[trials] > 0)
        return Users(columns[events][some], columns[trials][some], columns["users"][some])

    return {
        str(name): Fared(
            level(names == name, "lossy", "recalls"),
            level(names == name, "harmed", "conversations"),
            level(names == name, "lost", "messages"),
        )
        for name in dict.fromkeys(names)
    }
