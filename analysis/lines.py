"""Reads the lines of an op log in blocks: millions of small rows, without trusting a single byte.

A log may be shared out by byte ranges. A line belongs to the range in which it starts, so ranges that meet share every
line exactly once, wherever they were cut.

A block is decoded in one call, which is fast and lenient: it would take two rows on a line, or a row over two lines.
So it is taken only if every line of it begins and ends like a row and there are as many rows as lines; a line feed
between a closing and an opening brace stands between two rows, never inside one. Everything else is read line by line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from goldfish.errors import RecordError
from goldfish.oplog import LINE_BYTES_MAX, SCHEMA, Header, Row

BLOCK_BYTES = 2 * LINE_BYTES_MAX
"""Longer than any line, so that a block without a line feed is too long a line."""
_LINE_FEED, _OPEN, _CLOSE = b"\n{}"


class Block(NamedTuple):
    """Some rows that stand one behind the other."""

    first: int
    """Lines of the range before this block."""
    rows: list[Row]
    offsets: NDArray[np.int64]
    """Where in the file each row's line starts."""


class Unreadable(NamedTuple):
    """The line that ends the reading: what follows it is not believed either."""

    line: int
    """Lines of the range before it."""
    why: str


def read_lines(path: Path, begin: int = 0, end: int | None = None) -> Iterator[Block | Unreadable]:
    """The rows whose lines start in a range of bytes; an unreadable line comes last.

    Raises:
        RecordError: the file cannot be read.
    """
    decoder = msgspec.json.Decoder(Row)
    try:
        with path.open("rb", buffering=0) as file:
            limit = os.fstat(file.fileno()).st_size if end is None else end
            at, number = _line_start(file.fileno(), begin, limit), 0
            while at < limit:
                data = os.pread(file.fileno(), BLOCK_BYTES, at)
                if not data:
                    break
                cut = data.rfind(b"\n") + 1
                if limit - at <= cut:
                    cut = data.find(b"\n", limit - at - 1) + 1
                if not cut and len(data) == BLOCK_BYTES:
                    yield Unreadable(number, f"the line is longer than {LINE_BYTES_MAX} bytes")
                    return
                text = data[:cut] if cut else data  # the last line may lack its line feed
                rows, offsets, why = _decode(text, decoder)
                yield Block(number, rows, offsets + at)
                if why is not None:
                    yield Unreadable(number + len(rows), why)
                    return
                at += len(text)
                number += len(rows)
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror}") from error


def _line_start(file: int, begin: int, limit: int) -> int:
    """The first line that starts at or behind ``begin``; ``limit`` if none does before it."""
    at = begin - 1
    while 0 <= at < limit:
        data = os.pread(file, BLOCK_BYTES, at)
        feed = data.find(b"\n")
        if feed >= 0:
            return at + feed + 1
        if not data:
            break
        at += len(data)
    return begin if begin == 0 else limit


def _decode(text: bytes, decoder: msgspec.json.Decoder[Row]) -> tuple[list[Row], NDArray[np.int64], str | None]:
    """Rows, where their lines start, and what is wrong with the line after them."""
    letters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(letters == _LINE_FEED)
    starts = np.zeros(len(ends) + (not text.endswith(b"\n")), np.int64)
    starts[1:] = ends[: len(starts) - 1] + 1
    rows: list[Row] | None = None
    if (letters[starts] == _OPEN).all() and text.endswith(b"}\n") and (letters[ends - 1] == _CLOSE).all():
        try:
            rows = decoder.decode_lines(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            rows = None
    why = None
    longest = int(np.diff(starts, append=len(text)).max())
    if rows is None or len(rows) != len(starts) or longest > LINE_BYTES_MAX or _refused(rows):
        rows, why = _one_by_one(text.split(b"\n"), len(starts), decoder)
    return rows, starts[: len(rows)], why


def _refused(rows: list[Row]) -> bool:
    """Whether a header says that this is not for us to read."""
    return bool(rows) and isinstance(rows[0], Header) and rows[0].schema != SCHEMA


def _one_by_one(lines: list[bytes], number: int, decoder: msgspec.json.Decoder[Row]) -> tuple[list[Row], str | None]:
    """The rows before the first unreadable line, and what is wrong with that."""
    rows: list[Row] = []
    for line in lines[:number]:
        if len(line) >= LINE_BYTES_MAX:
            return rows, f"the line is longer than {LINE_BYTES_MAX} bytes"
        try:
            row = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return rows, f"not a row of an op log: {error}"
        if isinstance(row, Header) and row.schema != SCHEMA:
            return rows, f"schema {row.schema}, this version reads schema {SCHEMA}"
        rows.append(row)
    return rows, None
