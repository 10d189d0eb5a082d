"""Reads a run directory and validates what everything later relies on.

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
from pathlib import Path

from analysis.assumptions import examine
from analysis.record import Conversation, Doubt, Log, Record
from goldfish.errors import RecordError
from goldfish.oplog import Append, Delete, Footer, Header, Recall, Sample, Touch, read_log
from goldfish.rule import NEVER
from goldfish.run import TRANSCRIPT, Run, read_run

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
_KINDS: dict[type, str] = {
    Append: "append",
    Recall: "recall",
    Delete: "delete",
    Touch: "touch",
    Sample: "sample",
}


def load(directory: Path, only: str | None = None) -> Record:
    """Read ``run.json`` and every op log that it names.

    Args:
        directory: the run directory.
        only: keep the rows of this conversation alone.

    Raises:
        RecordError: the record is missing or contradicts itself; file and line are named.
    """
    run = read_run(directory)
    if len(set(run.processes)) < len(run.processes):
        raise RecordError(f"{directory / 'run.json'}: a process is named twice; expected one op log for each")
    conversations: dict[str, Conversation] = {}
    logs = [_read(directory, run, process, conversations, only) for process in run.processes]
    if logs and not any(log.rows or log.flaw is None for log in logs):
        raise RecordError(f"{logs[0].path}: {logs[0].flaw}; no row of this run can be trusted")
    flawed = {log.process: log for log in logs if log.flaw}
    for conversation in conversations.values():
        conversation.doubt = examine(conversation)
        log = flawed.get(conversation.process)
        if log is not None and (log.scattered or not any(row.phase == "final" for _, row in conversation.recalls)):
            conversation.doubt = Doubt("incomplete", f"the op log {log.path.name} is incomplete: {log.flaw}")
    return Record(directory, run, logs, conversations)


def _read(directory: Path, run: Run, process: str, conversations: dict[str, Conversation], only: str | None) -> Log:
    """Read one log into ``conversations``."""
    if not _NAME.fullmatch(process):
        raise RecordError(f"{directory / 'run.json'}: {process!r} cannot be the name of an op log")
    log = Log(process, directory / TRANSCRIPT / f"{process}.jsonl")
    if not log.path.exists():
        log.flaw = "the file is missing"
        return log
    ids: set[int] = set()
    counts = dict.fromkeys(_KINDS.values(), 0)
    number = 0
    header: Header | None = None
    footer: Footer | None = None
    try:
        for number, row in read_log(log.path):
            if footer is not None:
                raise _ContradictionError(f"{log.path}:{number}: a row after the footer; expected the footer last")
            if isinstance(row, Header):
                _accept(row, header, log, number, run)
                header = row
            elif header is None:
                raise _ContradictionError(f"{log.path}:{number}: expected a header as the first line")
            elif isinstance(row, Footer):
                footer = row
            elif isinstance(row, Sample):
                counts["sample"] += 1
                log.samples.append(row)
            else:
                if row.id in ids:
                    raise _ContradictionError(f"{log.path}:{number}: operation {row.id} stands twice in this log")
                ids.add(row.id)
                if not 0 <= row.start_ns <= row.end_ns < NEVER:
                    raise _ContradictionError(
                        f"{log.path}:{number}: operation {row.id} ends at {row.end_ns} ns and starts at {row.start_ns} "
                        "ns; the clock cannot be trusted"
                    )
                kind = _KINDS[type(row)]
                counts[kind] += 1
                if row.reason != "killed":
                    requests = log.requests.setdefault(row.scenario, {})
                    requests[kind] = requests.get(kind, 0) + 1
                if only is None or row.conversation == only:
                    _file(row, number, log, conversations)
    except _ContradictionError:
        raise
    except RecordError as error:
        # An unreadable line: what stands before it was written whole. Without a header there is nothing before it.
        if header is None and not _torn(log.path):
            raise
        log.flaw = f"line {number + 1} cannot be read ({_tail(error)})"
    log.rows = {kind: count for kind, count in counts.items() if count}
    if log.flaw is None:
        log.flaw, log.scattered = _compare(footer, log.rows, number)
    return log


class _ContradictionError(RecordError):
    """A record that denies itself, as opposed to a line that cannot be read."""


def _accept(row: Header, earlier: Header | None, log: Log, number: int, run: Run) -> None:
    if earlier is not None or number != 1:
        raise _ContradictionError(f"{log.path}:{number}: a second header; expected one log of one process in this file")
    if row.run != run.run:
        raise _ContradictionError(f"{log.path}:{number}: the log is of run {row.run!r}, run.json of {run.run!r}")
    if row.process != log.process:
        raise _ContradictionError(
            f"{log.path}:{number}: the log is of process {row.process!r}; expected {log.process!r}"
        )


def _file(row: Append | Recall | Delete | Touch, line: int, log: Log, conversations: dict[str, Conversation]) -> None:
    """Put a row to its conversation."""
    conversation = conversations.get(row.conversation)
    if conversation is None:
        conversation = conversations[row.conversation] = Conversation(
            row.conversation, log.process, log.path, row.scenario, row.tenant, row.user
        )
    if conversation.process != log.process:
        raise _ContradictionError(
            f"{log.path}:{line}: conversation {row.conversation!r} is also in process {conversation.process!r}; "
            "stamps of two processes are not compared, so a conversation lives in one"
        )
    for what, found, expected in (
        ("user", row.user, conversation.user),
        ("tenant", row.tenant, conversation.tenant),
        ("scenario", row.scenario, conversation.scenario),
    ):
        if found != expected:
            raise _ContradictionError(
                f"{log.path}:{line}: conversation {row.conversation!r} has {what} {found!r} here and {expected!r} above"
            )
    if isinstance(row, Append):
        conversation.appends.append((line, row))
    elif isinstance(row, Recall):
        conversation.recalls.append((line, row))
    elif isinstance(row, Delete):
        conversation.deletes.append((line, row))
    else:
        conversation.touches.append((line, row))


def _compare(footer: Footer | None, rows: dict[str, int], lines: int) -> tuple[str | None, bool]:
    """What the footer says is missing, and whether that may be anywhere in the log."""
    if footer is None:
        return "it has no footer, so the process that wrote it did not end in order", False
    counted = {kind: count for kind, count in footer.counts.items() if count and kind not in ("header", "footer")}
    if footer.lines != lines or counted != rows:
        return f"its footer counts {footer.lines} lines {counted}, the file has {lines} lines {rows}", True
    return None, False


def _torn(path: Path) -> bool:
    """Whether the file holds no more than the beginning of its first line."""
    return b"\n" not in path.read_bytes()[: 1 << 20]


def _tail(error: RecordError) -> str:
    """The message without the place, which the flaw names already."""
    return str(error).partition(": ")[2] or str(error)
