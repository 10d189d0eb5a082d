"""Reads op logs back, for tests that ask what was recorded; the analyzer has a reader of its own."""

from __future__ import annotations

from pathlib import Path

import msgspec

from goldfish.oplog import Row


def rows_of_log(path: Path) -> list[Row]:
    """All rows of a log, in the order written."""
    rows: list[Row] = msgspec.json.Decoder(Row).decode_lines(path.read_bytes())
    return rows
