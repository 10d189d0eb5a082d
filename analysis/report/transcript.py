"""Owed beside shown: what of a conversation's rows goes on the page."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from analysis.report.model import Mark, Row

ROWS_MAX = 60
"""Rows shown of one conversation."""

CONTEXT_ROWS = 3
"""Sound rows shown before and after a row that is not."""

MARKS: dict[Mark, tuple[str, str]] = {
    "ok": ("✓", "as owed"),
    "missing": ("✗", "missing"),
    "foreign": ("!", "foreign: belongs to somebody else"),
    "phantom": ("?", "phantom: nobody stored it"),
    "duplicated": ("×2", "shown again"),
    "corrupted": ("≠", "changed"),
    "reordered": ("⇅", "out of order"),
    "not-owed": ("·", "not owed"),
}
"""A sign and words for each mark, so that colour is never alone."""


class Gap(NamedTuple):
    """Rows left out."""

    rows: int
    why: str


def shown_rows(rows: list[Row]) -> list[Row | Gap]:
    """The rows that matter with some sound ones around them; what is left out is counted."""
    keep = [False] * len(rows)
    for at, row in enumerate(rows):
        if row.mark not in ("ok", "not-owed"):
            around = slice(max(0, at - CONTEXT_ROWS), at + CONTEXT_ROWS + 1)
            keep[around] = [True] * len(keep[around])
    if not any(keep):
        keep[:ROWS_MAX] = [True] * len(keep[:ROWS_MAX])
    picked: list[Row | Gap] = []
    room = ROWS_MAX
    for kept, group in groupby(zip(keep, rows, strict=True), key=lambda pair: pair[0]):
        run = [row for _, row in group]
        if not kept:
            picked.append(Gap(len(run), "all sound"))
            continue
        picked.extend(run[:room])
        if len(run) > room:
            left = len(rows) - sum(row.rows if isinstance(row, Gap) else 1 for row in picked)
            return [*picked, Gap(left, "not shown here, some of them unsound")]
        room -= len(run)
    return picked
