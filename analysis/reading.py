"""Reads the op logs of a run by however many shares there are, and validates what everything later relies on.

Assumptions come first: a verdict on a record that contradicts itself is worth nothing. So two kinds of trouble are told
apart here. A record that *contradicts itself* (two operations with one id, an end before its start, a conversation in
two processes) cannot be trusted at all: a ``RecordError`` names file and line. A record that is merely *incomplete* (a
process was killed, the last line is cut) is judged as far as it goes, and the run cannot pass.

What is missing from an incomplete log matters: operations that were open when the process ended. An append nobody
recorded may have pushed out of a window what a recall then seems to lack. Hence only conversations that were closed
before the break, the ones with a final recall, are judged from such a log. The others carry a ``doubt``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from analysis.columns import Parcel
from analysis.content import Content, Range
from analysis.record import Cited, Flaw, Log, Record
from analysis.sealed import BYTES_MIN, FOLDER, SCHEMA, Mark, Sealed, SealedLog, Sealing, find, marks_of
from analysis.share import Settled, Together, refuse_twice, together
from goldfish.contract import Contract
from goldfish.errors import RecordError
from goldfish.oplog import LINE_BYTES_MAX, Header
from goldfish.rule import NEVER
from goldfish.run import TRANSCRIPT, Run

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
TORN_BYTES = 1024 * 1024


class Shares(Protocol):
    """One share or several, wherever they live."""

    @property
    def number(self) -> int:
        """How many shares there are."""

    def call(self, step: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Have every share take a step, each with its arguments; what each answers.

        Raises:
            GoldfishError: as the share raised it.
            RuntimeError: a share failed otherwise.
        """

    def begin(self, step: str, arguments: Sequence[tuple[Any, ...]]) -> Callable[[], list[Any]]:
        """Have every share begin a step; the answers are to be called for."""


@dataclass(slots=True)
class Outline:
    """What is known of a record before anything is judged."""

    record: Record
    start_ns: int
    """The stamp all times of the run are told relative to."""
    conversations: int
    """About how many there are."""
    cited: frozenset[Cited]
    """The messages that foreign elements name."""
    flaws: dict[int, Flaw]
    """Of those op logs that are not whole, by number."""
    marks: list[Mark] | None = None
    """Which files were read; None if they cannot be sealed, or were read from what is sealed."""


def read(directory: Path, shares: Shares, run: Run, contract: Contract) -> Outline:
    """Read every op log that ``run.json`` names.

    Args:
        directory: the run directory.
        shares: who reads; afterwards each holds the conversations it is to judge.
        run: the content of ``run.json``.
        contract: what the record is to be judged by.

    Raises:
        RecordError: the record is missing or contradicts itself; file and line are named.
    """
    logs = _logs(directory, run)
    outline = _open(directory, shares, run, logs) or _read(directory, shares, run, logs)
    if shares.number > 1 and together(contract) == "user":
        _exchange(logs, shares, shares.call("users", [()] * shares.number), "user")
    return outline


def _open(directory: Path, shares: Shares, run: Run, logs: list[Log]) -> Outline | None:
    """Read what is sealed of a record; None if that cannot be believed or read."""
    sealed = find(directory, run, logs)
    if sealed is None:
        return None
    own = [list(range(share, sealed.shares, shares.number)) for share in range(shares.number)]
    paths = {number: log.path for number, log in enumerate(logs)}
    if not all(shares.call("open", [(directory / FOLDER, numbers, paths) for numbers in own])):
        shares.call("forget", [()] * shares.number)
        return None
    for log, its in zip(logs, sealed.logs, strict=True):
        log.rows, log.requests, log.samples = its.rows, its.requests, its.samples
    start_ns = sealed.start_ns if run.start_ns is None else run.start_ns
    return Outline(
        Record(directory, run, logs, _strays(directory, run)),
        start_ns,
        sealed.conversations,
        frozenset(sealed.cited),
        {},
    )


def _read(directory: Path, shares: Shares, run: Run, logs: list[Log]) -> Outline:
    marks = marks_of(logs)
    ranges = _split(logs, shares.number)
    contents = shares.call("read", [(own,) for own in ranges])
    firsts: list[list[int | None]] = [[None] * len(own) for own in ranges]
    for number, log in enumerate(logs):
        parts = [
            (contents[share][at], share, at)
            for share, own in enumerate(ranges)
            for at, its in enumerate(own)
            if its.log == number
        ]
        lines = _sum_up(log, run, [content for content, _, _ in parts])
        for first, (_, share, at) in zip(lines, parts, strict=False):
            firsts[share][at] = first
    if logs and not any(log.rows or log.flaw is None for log in logs):
        raise RecordError(f"{logs[0].path}: {logs[0].flaw}; no row of this run can be trusted")
    settled: list[Settled] = shares.call("settle", [(own,) for own in firsts])
    if shares.number > 1:
        _refuse_shared_ids(logs, shares, settled)
        _exchange(logs, shares, [its.conversations for its in settled], "conversation")
    start_ns = min((its.start_ns for its in settled), default=NEVER)
    return Outline(
        record=Record(directory, run, logs, _strays(directory, run)),
        start_ns=run.start_ns if run.start_ns is not None else start_ns if start_ns < NEVER else 0,
        conversations=len(np.unique(np.concatenate([its.conversations for its in settled]))),
        cited=frozenset[Cited]().union(*(its.cited for its in settled)),
        flaws={number: Flaw(log.flaw, log.scattered) for number, log in enumerate(logs) if log.flaw is not None},
        marks=marks,
    )


@contextmanager
def sealing(shares: Shares, outline: Outline) -> Iterator[None]:
    """Seal a record that was read, while something else is done; if that goes wrong, it is not sealed.

    Args:
        shares: who hold the record.
        outline: the record.
    """
    record, marks = outline.record, outline.marks
    if outline.flaws or marks is None or sum(mark.size for mark in marks) < BYTES_MIN:
        yield
        return
    try:
        folder = Sealing(record.directory)
    except OSError:
        yield
        return
    try:
        written = shares.begin("seal", [(folder.folder, share) for share in range(shares.number)])
        yield
        with suppress(OSError, RuntimeError):
            written()
            # Whoever changed a log while it was read changed it before this.
            if marks == [Mark.of(log.path) for log in record.logs]:
                folder.finish(_index(outline, marks, shares.number))
    finally:
        folder.abandon()


def _index(outline: Outline, marks: Sequence[Mark], shares: int) -> Sealed:
    record = outline.record
    return Sealed(
        schema=SCHEMA,
        version=version("goldfish"),
        run=record.run.run,
        shares=shares,
        logs=[
            SealedLog(log.process, mark, log.rows, log.requests, log.samples)
            for log, mark in zip(record.logs, marks, strict=True)
        ],
        start_ns=outline.start_ns,
        conversations=outline.conversations,
        cited=list(outline.cited),
    )


def size_of(directory: Path, run: Run) -> int:
    """Bytes of all op logs of a run.

    Raises:
        RecordError: one cannot be looked at.
    """
    return sum(_size(log.path) or 0 for log in _logs(directory, run))


def _logs(directory: Path, run: Run) -> list[Log]:
    if len(set(run.processes)) < len(run.processes):
        raise RecordError(f"{directory / 'run.json'}: a process is named twice; expected one op log for each")
    logs = []
    for process in run.processes:
        if not _NAME.fullmatch(process):
            raise RecordError(f"{directory / 'run.json'}: {process!r} cannot be the name of an op log")
        logs.append(Log(process, directory / TRANSCRIPT / f"{process}.jsonl"))
    return logs


def _size(path: Path) -> int | None:
    """Bytes of an op log; None if there is none.

    Raises:
        RecordError: it cannot be looked at.
    """
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror}") from error


def _strays(directory: Path, run: Run) -> list[Path]:
    """Op logs that ``run.json`` does not name: nobody judges their rows.

    Raises:
        RecordError: one is a second log of a process that has one.
    """
    strays = [path for path in sorted((directory / TRANSCRIPT).glob("*.jsonl")) if path.stem not in run.processes]
    for path in strays:
        try:
            with path.open("rb") as file:
                header = msgspec.json.decode(file.readline(LINE_BYTES_MAX), type=Header)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            continue
        if header.run == run.run and header.process in run.processes:
            raise RecordError(
                f"{path}:1: a second op log of process {header.process!r}, beside {header.process}.jsonl; expected one "
                "for each process"
            )
    return strays


def _split(logs: Sequence[Log], shares: int) -> list[list[Range]]:
    """The bytes of all logs in equal parts, one behind the other; a log that is not there has none."""
    sizes = [_size(log.path) for log in logs]
    for log, bytes_ in zip(logs, sizes, strict=True):
        if bytes_ is None:
            log.flaw = "the file is missing"
    each = -(-sum(bytes_ or 0 for bytes_ in sizes) // shares)
    ranges: list[list[Range]] = [[] for _ in range(shares)]
    done = 0
    for number, (log, bytes_) in enumerate(zip(logs, sizes, strict=True)):
        for share, own in enumerate(ranges):
            begin, end = max(share * each - done, 0), min((share + 1) * each - done, bytes_ or 0)
            if begin < end:
                own.append(Range(number, log.path, begin, end))
        done += bytes_ or 0
    return ranges


def _sum_up(log: Log, run: Run, parts: Sequence[Content]) -> list[int]:
    """Put the parts of a log together; the lines before each part, of those that count."""
    firsts: list[int] = []
    lines = 0
    header = footer = None
    for content in parts:
        if footer is not None and content.lines:
            raise _contradiction(log, lines, "a row after the footer; expected the footer last")
        if content.mistake is not None:
            raise _contradiction(log, lines + content.mistake[0], content.mistake[1])
        if content.header is not None:
            header = content.header
            if header.run != run.run:
                raise _contradiction(log, 0, f"the log is of run {header.run!r}, run.json of {run.run!r}")
            if header.process != log.process:
                raise _contradiction(log, 0, f"the log is of process {header.process!r}; expected {log.process!r}")
        firsts.append(lines)
        lines += content.lines
        footer = content.footer or footer
        log.samples += content.samples
        for kind, number in content.rows.items():
            log.rows[kind] = log.rows.get(kind, 0) + number
        for scenario, kinds in content.requests.items():
            requests = log.requests.setdefault(scenario, {})
            for kind, number in kinds.items():
                requests[kind] = requests.get(kind, 0) + number
        if content.unreadable is not None:
            # What stands before it was written whole. Without a header there is nothing before it.
            if header is None and not _torn(log.path):
                raise _contradiction(log, lines, content.unreadable)
            log.flaw = f"line {lines + 1} cannot be read ({content.unreadable})"
            break
    if log.flaw is None:
        if footer is None:
            log.flaw = f"it ends with line {lines} and has no footer, so the process that wrote it did not end in order"
        else:
            counted = {kind: n for kind, n in footer.counts.items() if n and kind not in ("header", "footer")}
            if footer.lines != lines or counted != log.rows:
                log.flaw = f"its footer counts {footer.lines} lines {counted}, the file has {lines} lines {log.rows}"
                log.scattered = True
    return firsts


def _torn(path: Path) -> bool:
    """Whether the file holds no more than the beginning of its first line."""
    with path.open("rb") as file:
        return b"\n" not in file.read(TORN_BYTES)


def _contradiction(log: Log, line: int, what: str) -> RecordError:
    return RecordError(f"{log.path}:{line + 1}: {what}")


def _refuse_shared_ids(logs: Sequence[Log], shares: Shares, settled: Sequence[Settled]) -> None:
    """Refuse an id that stands in two shares of one log."""
    for number, log in enumerate(logs):
        bounds = [its.ids[number] for its in settled if number in its.ids]
        low = min((max(one[0], other[0]) for one, other in combinations(bounds, 2)), default=1)
        high = max((min(one[1], other[1]) for one, other in combinations(bounds, 2)), default=0)
        if low <= high:
            found = shares.call("ids", [(number, low, high)] * shares.number)
            ids, lines = (np.concatenate(columns) for columns in zip(*found, strict=True))
            order = np.lexsort((lines, ids))
            refuse_twice(log.path, ids[order], lines[order])


def _exchange(logs: Sequence[Log], shares: Shares, held: Sequence[NDArray[np.uint32]], what: Together) -> None:
    """Give each conversation, or user, that is in several shares to one of them."""
    everywhere, number = np.unique(np.concatenate(held), return_counts=True)
    divided = everywhere[number > 1]
    takers = _takers(divided, [np.isin(divided, its) for its in held])
    wanted: list[dict[int, NDArray[np.uint32]]] = [
        {taker: divided[takers == taker] for taker in range(shares.number) if taker != giver}
        for giver in range(shares.number)
    ]
    given: list[dict[int, Parcel]] = shares.call("give", [(own, what) for own in wanted])
    paths = {number: log.path for number, log in enumerate(logs)}
    shares.call("take", [([its[taker] for its in given if taker in its], paths) for taker in range(shares.number)])


def _takers(divided: NDArray[np.uint32], held: Sequence[NDArray[np.bool_]]) -> NDArray[np.int64]:
    """For each conversation one of the shares that hold a part of it, so that all get about as many."""
    holders = np.sum(held, axis=0)
    chosen = divided.astype(np.int64) % np.maximum(holders, 1)
    takers = np.zeros(len(divided), np.int64)
    before = np.zeros(len(divided), np.int64)
    for share, its in enumerate(held):
        takers[its & (before == chosen)] = share
        before += its
    return takers
