"""A run directory in memory: the rows of each conversation, and what each op log lacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from goldfish.contract import Scope
from goldfish.oplog import Append, Delete, Operation, Recall, Sample, Touch
from goldfish.run import Run

Cited = tuple[str, str, int]
"""A message as another conversation names it: its conversation, device and number."""


class Flaw(NamedTuple):
    """What is incomplete about an op log."""

    text: str
    """A clause of a sentence."""
    scattered: bool
    """Rows are missing anywhere, not only at the end."""


class Doubt(NamedTuple):
    """Why a conversation's losses cannot be judged."""

    code: str
    """incomplete · clocks · not-promised"""
    text: str
    """A clause of a sentence."""


@dataclass(slots=True)
class Conversation:
    """The rows of one conversation, each with its 1-based line, in the order they were logged (by end)."""

    name: str
    process: str
    path: Path
    scenario: str
    tenant: str | None
    user: str
    scope: Scope | None = None
    """What its recalls span; None if it was never recalled."""
    appends: list[tuple[int, Append]] = field(default_factory=list)
    recalls: list[tuple[int, Recall]] = field(default_factory=list)
    deletes: list[tuple[int, Delete]] = field(default_factory=list)
    touches: list[tuple[int, Touch]] = field(default_factory=list)
    doubt: Doubt | None = None
    """Why it cannot be judged: operations of it are or may be missing from the record."""

    def operations(self) -> list[tuple[int, Operation]]:
        """All rows in the order of their starts."""
        rows: list[tuple[int, Operation]] = [*self.appends, *self.recalls, *self.deletes, *self.touches]
        return sorted(rows, key=lambda row: (row[1].start_ns, row[1].end_ns, row[0]))


@dataclass(slots=True)
class Log:
    """One op log: how many rows of each kind it holds, and what it lacks."""

    process: str
    path: Path
    rows: dict[str, int] = field(default_factory=dict)
    flaw: str | None = None
    """What is incomplete about it, as a clause of a sentence; None for a finished log."""
    samples: list[Sample] = field(default_factory=list)
    """How the load process fared, once a second."""
    requests: dict[str, dict[str, int]] = field(default_factory=dict)
    """Scenario → kind → operations that were not cut off: as many as Locust must have counted."""
    scattered: bool = False
    """Rows are missing anywhere, not only at the end."""


@dataclass(slots=True)
class Record:
    """A run directory as read."""

    directory: Path
    run: Run
    logs: list[Log]
    strays: list[Path]
    """Op logs that ``run.json`` does not name."""
