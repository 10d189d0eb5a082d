"""Op-log rows as columns: what judging needs of millions of operations, in some sixty bytes each.

Names become numbers. An operation's *voice* is who speaks where (conversation, device, session and their scenario, user
and tenant), its *manner* is how it went (outcome, reason, phase, instance, status); of both there are few, so a row
keeps two small numbers for all eleven. Texts stay in the op log: ``offset`` says where its line starts, to be read
again for the few rows that are looked at closely.

Numbers beyond what fits are cut to the largest that does. No sound row holds one, so a conversation with such a row is
never proven and goes to the slow path, which reads the row itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldfish.oplog import Append, Delete, Operation, Recall, Touch

Ints = NDArray[np.int64]
Codes32 = NDArray[np.int32]

NUMBER_MAX = 2**31 - 1
NO_LIMIT = np.iinfo(np.int64).max
SUSPECT = -1
"""``odd`` of a list with an element that is a finding, or may be one; and of a search."""


class Voice(NamedTuple):
    """Who speaks where."""

    conversation: str
    device: str
    session: str | None
    scenario: str
    user: str
    tenant: str | None


class Manner(NamedTuple):
    """How an operation went."""

    outcome: str
    reason: str | None
    phase: str
    instance: str | None
    status: int | None


class Codes(dict[Any, int]):
    """Numbers things in the order they first turn up."""

    def __missing__(self, thing: Any) -> int:
        self[thing] = code = len(self)
        return code


class Names:
    """What the numbers in the columns stand for."""

    def __init__(self) -> None:
        self.voices = Codes()
        self.manners = Codes()
        self.views = Codes()
        self.devices = Codes()

    @property
    def spoken(self) -> list[Voice]:
        """The voices by their numbers."""
        return list(starmap(Voice, self.voices))

    @property
    def met(self) -> list[Manner]:
        """The manners by their numbers."""
        return list(starmap(Manner, self.manners))


COMMON: dict[str, Any] = {
    "voice": np.int32,
    "manner": np.int32,
    "start": np.int64,
    "end": np.int64,
    "id": np.int64,
    "offset": np.int64,
    "line": np.int64,
}
"""Columns of every operation: stamps in nanoseconds, line counted from 0 within what was read together."""
COLUMNS: dict[str, dict[str, Any]] = {
    # messages: how many the append carries
    "append": COMMON | {"messages": np.int32, "attempt": np.int32},
    # runs: how many the list consists of; odd: elements that nobody of us wrote, or SUSPECT
    "recall": COMMON | {"view": np.int32, "limit": np.int64, "runs": np.int32, "odd": np.int32},
    "delete": COMMON,
    "touch": COMMON,
    # the messages of all appends, one behind the other
    "message": {"seq": np.int32},
    # the runs of all recalls, one behind the other
    "run": {"device": np.int32, "first": np.int32, "last": np.int32},
}
"""Tables, their columns and dtypes."""
OPERATIONS = ("append", "recall", "delete", "touch")
ELEMENTS = {"append": ("messages", "message"), "recall": ("runs", "run")}
"""What an operation consists of: the column that says of how many, and their table."""
KINDS: dict[type, str] = {Append: "append", Recall: "recall", Delete: "delete", Touch: "touch"}

IDS = ("id",)
"""Not kept once it is known that none stands twice."""

Table = dict[str, NDArray[Any]]
Tables = dict[str, Table]


@dataclass(slots=True)
class Parcel:
    """Operations with what their numbers stand for, on their way to another share, or to a file."""

    tables: Tables
    voices: list[Voice]
    manners: list[Manner]
    views: list[str]
    devices: list[str]
    logs: dict[str, int]
    """Conversation → number of its op log."""


_VOICE = attrgetter(*Voice._fields)
_MANNER = attrgetter(*Manner._fields)


def empty_tables() -> Tables:
    """All tables without a row."""
    return {kind: {name: np.empty(0, dtype) for name, dtype in columns.items()} for kind, columns in COLUMNS.items()}


def stack(parts: Sequence[Tables], without: Collection[str] = ()) -> Tables:
    """The rows of several tables, one behind the other."""
    some = parts or [empty_tables()]
    return {
        kind: {name: np.concatenate([part[kind][name] for part in some]) for name in columns if name not in without}
        for kind, columns in COLUMNS.items()
    }


def spread(starts: Ints, counts: NDArray[Any]) -> Ints:
    """The numbers from each start on, as many as its count, one behind the other."""
    total = int(counts.sum())
    before = np.cumsum(counts, dtype=np.int64) - counts
    return np.repeat(starts - before, counts) + np.arange(total)


def select(tables: Tables, which: Mapping[str, NDArray[Any]]) -> Tables:
    """Some operations of each kind, by mask or by number, with what they consist of."""
    chosen: Tables = {}
    for kind in OPERATIONS:
        table = tables[kind]
        chosen[kind] = {name: column[which[kind]] for name, column in table.items()}
        if kind in ELEMENTS:
            count, elements = ELEMENTS[kind]
            ends = np.cumsum(table[count], dtype=np.int64)
            places = spread((ends - table[count])[which[kind]], chosen[kind][count])
            chosen[elements] = {name: column[places] for name, column in tables[elements].items()}
    return chosen


def columns_of(rows: Sequence[Operation], offsets: Ints, lines: Ints, names: Names) -> Tables:
    """The columns of some operations.

    Raises:
        OverflowError: a stamp or an id does not fit into 64 bits.
    """
    tables = empty_tables()
    kinds = list(map(KINDS.__getitem__, map(type, rows)))
    for kind in dict.fromkeys(kinds):
        if len(set(kinds)) == 1:
            own, which = rows, np.arange(len(rows))
        else:
            own = [row for row, its in zip(rows, kinds, strict=True) if its == kind]
            which = np.flatnonzero(np.array([its == kind for its in kinds]))
        tables[kind] = _common(own, names) | {"offset": offsets[which], "line": lines[which]}
        if kind == "append":
            _append(tables, own)
        elif kind == "recall":
            _recall(tables, own, names)
    return tables


def _common(rows: Sequence[Operation], names: Names) -> Table:
    return {
        "voice": _column(np.int32, map(names.voices.__getitem__, map(_VOICE, rows))),
        "manner": _column(np.int32, map(names.manners.__getitem__, map(_MANNER, rows))),
        "start": _column(np.int64, [row.start_ns for row in rows]),
        "end": _column(np.int64, [row.end_ns for row in rows]),
        "id": _column(np.int64, [row.id for row in rows]),
    }


def _append(tables: Tables, rows: Sequence[Any]) -> None:
    said = [row.messages for row in rows]
    tables["append"]["messages"] = _column(np.int32, map(len, said))
    tables["append"]["attempt"] = _cut([row.attempt for row in rows])
    tables["message"] = {"seq": _cut([one.seq for some in said for one in some])}


def _recall(tables: Tables, rows: Sequence[Any], names: Names) -> None:
    seen = [row.seen for row in rows]
    runs = [run for some in seen for run in some]
    tables["recall"] |= {
        "view": _column(np.int32, map(names.views.__getitem__, [row.view for row in rows])),
        "limit": _limits([row.limit for row in rows]),
        "runs": _column(np.int32, map(len, seen)),
        "odd": _column(np.int32, [_odd(row) if row.odd or row.asked else 0 for row in rows]),
    }
    tables["run"] = {
        "device": _column(np.int32, map(names.devices.__getitem__, [run[0] for run in runs])),
        "first": _cut([run[1] for run in runs]),
        "last": _cut([run[2] for run in runs]),
    }


def _odd(row: Recall) -> int:
    """The number of odd elements if none of them names anything and they stand where they can; else SUSPECT."""
    if row.asked:
        return SUSPECT
    length = row.length
    places = {odd.at for odd in row.odd}
    plain = len(places) == len(row.odd) and all(odd.why == "unmarked" and odd.at < length for odd in row.odd)
    return len(row.odd) if plain and len(row.odd) < NUMBER_MAX else SUSPECT


def _column(dtype: Any, values: Iterable[int]) -> NDArray[Any]:
    return np.array(values if isinstance(values, list) else list(values), dtype)


def _cut(numbers: list[int]) -> Codes32:
    return _fitting(numbers, np.int32, lambda number: max(-NUMBER_MAX, min(number, NUMBER_MAX)))


def _limits(limits: list[int | None]) -> Ints:
    known = [NO_LIMIT if limit is None else limit for limit in limits]
    return _fitting(known, np.int64, lambda limit: max(-NUMBER_MAX, min(limit, NO_LIMIT)))


def _fitting(numbers: list[int], dtype: Any, cut: Callable[[int], int]) -> NDArray[Any]:
    try:
        return np.array(numbers, dtype)
    except OverflowError:
        return np.array([cut(number) for number in numbers], dtype)
