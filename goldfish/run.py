"""``run.json``: what a run was, beside its op logs. ``schema``, ``run``, ``contract`` and ``processes`` suffice."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from goldfish.contract import Budget, Contract
from goldfish.errors import RecordError
from goldfish.sequential import Evidence

SCHEMA = 1
FILE = "run.json"
TRANSCRIPT = "transcript"


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that was not run, and why."""

    scenario: str
    reason: str


class Checks(msgspec.Struct, kw_only=True):
    """Recalls as a load process judged them while it ran."""

    checked: int = 0
    lossy: int = 0


class Lateness(msgspec.Struct, kw_only=True):
    """Open arrivals: how long after its due time a turn began, in milliseconds."""

    begun: int = 0
    waiting: int = 0
    """Turns that were due and for which no user was free, when this was told."""
    p50_ms: float = 0
    p95_ms: float = 0
    max_ms: float = 0


class Counters(msgspec.Struct, kw_only=True):
    """What one load process counted; its op log must agree, row by row."""

    rows: dict[str, int] = {}
    """Rows per kind."""
    scenarios: dict[str, Checks] = {}
    requests: dict[str, dict[str, int]] = {}
    """Scenario → kind → requests shown to Locust: all but those that were cut off."""
    lateness: Lateness | None = None
    evidence: dict[str, Evidence] = {}
    """Scenario → what users add up to whose stories are closed; in runs that end when something is proven."""


class Run(msgspec.Struct, kw_only=True):
    """The content of ``run.json``."""

    schema: int = SCHEMA
    run: str
    contract: Contract
    processes: list[str]
    """Names of the op logs: ``transcript/<process>.jsonl``."""
    budget: Budget = Budget()
    started: float | None = None
    """Wall time in seconds since the epoch."""
    start_ns: int | None = None
    """The monotonic stamp at ``started``."""
    end_ns: int | None = None
    target: dict[str, Any] = msgspec.field(default_factory=dict)
    """Host, and for a deployment of ours its store, defects, instances and balance. No secrets."""
    seed: int | None = None
    users: int | None = None
    connection: str | None = None
    scenarios: list[str] = msgspec.field(default_factory=list)
    meanings: dict[str, str] = msgspec.field(default_factory=dict)
    """Scenario → who the user is, in a sentence."""
    cancelling: list[str] = msgspec.field(default_factory=list)
    """Scenarios whose users cancel requests on purpose: that some of their messages stay unsettled is no wonder."""
    skipped: list[Skipped] = msgspec.field(default_factory=list)
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    command: list[str] = msgspec.field(default_factory=list)
    git_commit: str | None = None
    turns_per_second: float | None = None
    """Open arrivals over the whole swarm; None: every user begins a turn when it likes."""
    counters: dict[str, Counters] = msgspec.field(default_factory=dict)
    """Per process, as it reported them last."""
    statistics: dict[str, dict[str, int]] | None = None
    """Scenario → kind → requests in Locust's own statistics; None if they were reset under way."""
    lost: dict[str, str] = msgspec.field(default_factory=dict)
    """Load processes that never told their end, and what is known of each."""
    problems: list[str] = msgspec.field(default_factory=list)
    """What went wrong in the swarm itself, such as a story that raised: what it would have found is unknown."""
    until_proven: bool = False
    """The run was to end as soon as its budget was proven to be kept or not; its budgets are tested accordingly."""
    proven: str | None = None
    """What was proven when it ended for that."""
    ended: str | None = None
    """Why the run ended; None while it is under way or if nobody could say."""


def write_run(directory: Path, run: Run) -> None:
    """Write ``run.json`` by rename, so that a reader finds the old or the new one, never half of one."""
    payload = msgspec.json.format(msgspec.json.encode(run), indent=2)
    handle, name = tempfile.mkstemp(dir=directory, prefix=".run-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(payload + b"\n")
        os.chmod(name, 0o644)
        os.replace(name, directory / FILE)
    except OSError:
        os.unlink(name)
        raise


def read_run(directory: Path) -> Run:
    """Read ``run.json``.

    Raises:
        RecordError: there is none, it cannot be read, or its schema is unknown.
    """
    path = directory / FILE
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise RecordError(
            f"{directory} is no run directory: cannot read {FILE} ({error.strerror}); expected a folder made by a run, "
            "e.g. runs/<run id>"
        ) from error
    try:
        run = msgspec.json.decode(raw, type=Run)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}{_line_of(raw, str(error))}: {error}") from error
    if run.schema != SCHEMA:
        raise RecordError(f"{path}: schema {run.schema}, this version reads schema {SCHEMA}")
    return run


def _line_of(raw: bytes, problem: str) -> str:
    """ ":LINE" where a decoder says in which byte it stopped, or that the text ends too early."""
    byte = re.search(r"\(byte (\d+)\)", problem)
    if byte is None and "truncated" not in problem:
        return ""
    read = raw if byte is None else raw[: int(byte[1])]
    return f":{read.count(10) + 1}"
