"""What a range of an op log holds beside operations, and what in it denies the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from analysis.columns import KINDS, OPERATIONS, Ints, Tables
from analysis.lines import Block
from analysis.record import Cited
from goldfish.oplog import Footer, Header, Operation, Recall, Sample
from goldfish.rule import NEVER


class Range(NamedTuple):
    """Bytes of one op log."""

    log: int
    """Number of the op log."""
    path: Path
    begin: int
    end: int


@dataclass(slots=True)
class Content:
    """What a range holds beside operations, and how it ends."""

    lines: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    """Operations and samples by kind."""
    header: Header | None = None
    footer: Footer | None = None
    samples: list[Sample] = field(default_factory=list)
    unreadable: str | None = None
    """Why the line behind those counted, and whatever follows it, cannot be read."""
    mistake: tuple[int, str] | None = None
    """The first thing that denies the record: lines before it, and what is wrong. Nothing behind it counts."""
    requests: dict[str, Counter[str]] = field(default_factory=dict)
    """Scenario → kind → operations that were not cut off."""


def take_apart(block: Block, content: Content, *, first_of_file: bool) -> tuple[list[Operation], Ints]:
    """The operations of a block and which of its rows they are; what else it holds goes to ``content``."""
    types = set(map(type, block.rows))
    beginning = first_of_file and block.first == 0
    if not beginning and content.footer is None and types <= set(KINDS):
        return block.rows, np.arange(len(block.rows))  # type: ignore[return-value]
    rows: list[Operation] = []
    which: list[int] = []
    for at, row in enumerate(block.rows):
        wrong = None
        if content.footer is not None:
            wrong = "a row after the footer; expected the footer last"
        elif beginning and at == 0 and not isinstance(row, Header):
            wrong = "expected a header as the first line"
        elif isinstance(row, Header) and not (beginning and at == 0):
            wrong = "a second header; expected one log of one process in this file"
        if wrong is not None:
            content.mistake = block.first + at, wrong
            break
        if isinstance(row, Header):
            content.header = row
        elif isinstance(row, Footer):
            content.footer = row
        elif isinstance(row, Sample):
            content.samples.append(row)
            content.rows["sample"] += 1
        else:
            rows.append(row)
            which.append(at)
    return rows, np.array(which, np.int64)


def citations(rows: Iterable[Operation]) -> Iterator[Cited]:
    """The messages that foreign elements of lists name."""
    for recall in [row for row in rows if row.__class__ is Recall and row.odd]:
        for odd in recall.odd:
            if odd.owner is not None and odd.device is not None and odd.seq is not None:
                yield odd.owner.conversation, odd.device, odd.seq


def backwards(tables: Tables, rows: Sequence[Operation], lines: Ints) -> tuple[int, str] | None:
    """The first row that ends before it starts."""
    wrong = [
        table["line"][(table["start"] < 0) | (table["end"] < table["start"])]
        for table in (tables[kind] for kind in OPERATIONS)
    ]
    first = np.concatenate(wrong).min(initial=NEVER - 1)
    if first == NEVER - 1:
        return None
    return int(first), _clock(rows[int(np.searchsorted(lines, first))])


def out_of_range(rows: Sequence[Operation], lines: Ints) -> tuple[int, str]:
    """The first row with a number that no clock and no counter gives."""
    for row, line in zip(rows, lines, strict=True):
        if not 0 <= row.start_ns <= row.end_ns < NEVER:
            return int(line), _clock(row)
        if not -NEVER <= row.id < NEVER:
            return int(line), f"operation {row.id}: expected a number that counts operations"
    raise AssertionError("every number fits")


def _clock(row: Operation) -> str:
    return f"operation {row.id} ends at {row.end_ns} ns and starts at {row.start_ns} ns; the clock cannot be trusted"
