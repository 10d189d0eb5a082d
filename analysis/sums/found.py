"""Every finding as a row of ``findings.parquet``; ``analysis.findings`` tells what the columns mean."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from analysis.check import Checked, Finding
from analysis.record import Cited
from goldfish.rule import NEVER


class Author(NamedTuple):
    """What is known of a message where it was said."""

    process: str
    acked_ns: int
    written_by: str | None
    fate: str


class FoundRow(NamedTuple):
    """One row; the names are the columns."""

    process: str
    line: int
    scenario: str
    conversation: str
    reader: str
    device: str | None
    seq: int | None
    anomaly: str
    position: str | None
    guarantee: str | None
    age_ms: float | None
    written_by: str | None
    read_by: str | None
    owner: str | None
    fate: str | None
    request_id: str


class Found:
    """The findings of a record.

    A foreign message was said in another conversation, which may be in another share: whoever adds that one answers for
    the messages in ``cited``, and the row is completed when all shares are merged.
    """

    def __init__(self, cited: Collection[Cited] = ()) -> None:
        self.cited = {(conversation, device, seq) for conversation, device, seq in cited}
        self._conversations = {conversation for conversation, _, _ in cited}
        self._rows: list[FoundRow] = []
        self._foreign: list[tuple[FoundRow, Cited | None, int]] = []
        """Rows to be completed: what they cite, and the start of the recall."""
        self._authors: dict[Cited, Author] = {}

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        for finding in checked.findings:
            if finding.owner is None:
                self._rows.append(_row(checked, finding, _author(checked, finding.device, finding.seq)))
            else:
                cites = None
                if finding.device is not None and finding.seq is not None:
                    cites = finding.owner.conversation, finding.device, finding.seq
                self._foreign.append((_row(checked, finding, None), cites, finding.recall.start_ns))
        name = checked.conversation.name
        if name in self._conversations:
            for device, seq in checked.sent:
                if (name, device, seq) in self.cited:
                    author = _author(checked, device, seq)
                    assert author is not None
                    self._authors[name, device, seq] = author

    def merge(self, other: Found) -> None:
        """Take in another share."""
        self._rows += other._rows
        self._foreign += other._foreign
        self._authors |= other._authors

    def rows(self) -> list[FoundRow]:
        """All rows in the order of process and line."""
        rows = list(self._rows)
        for row, cites, start_ns in self._foreign:
            author = self._authors.get(cites) if cites else None
            rows.append(_completed(row, author, start_ns) if author else row)
        rows.sort(key=lambda row: (row.process, row.line))
        return rows


def _row(checked: Checked, finding: Finding, author: Author | None) -> FoundRow:
    recall = finding.recall
    process = checked.conversation.process
    age_ms, written_by, fate = _of_author(author, process, recall.start_ns) if author else (None, None, None)
    return FoundRow(
        process=process,
        line=finding.line,
        scenario=recall.scenario,
        conversation=recall.conversation,
        reader=recall.device,
        device=finding.device,
        seq=finding.seq,
        anomaly=finding.anomaly,
        position=finding.position,
        guarantee=finding.guarantee,
        age_ms=age_ms,
        written_by=written_by,
        read_by=recall.instance,
        owner=msgspec.json.encode(finding.owner).decode() if finding.owner else None,
        fate=fate,
        request_id=f"{process}-{recall.id}",
    )


def _completed(row: FoundRow, author: Author, start_ns: int) -> FoundRow:
    age_ms, written_by, fate = _of_author(author, row.process, start_ns)
    return row._replace(age_ms=age_ms, written_by=written_by, fate=fate)


def _of_author(author: Author, process: str, start_ns: int) -> tuple[float | None, str | None, str]:
    """Age in milliseconds when a recall of a process began, who wrote it, and what became of it."""
    # Stamps of two processes are not compared: they may be of two hosts.
    acked_ns = author.acked_ns if author.process == process else NEVER
    return (start_ns - acked_ns) / 1e6 if acked_ns < NEVER else None, author.written_by, author.fate


def _author(checked: Checked, device: str | None, seq: int | None) -> Author | None:
    """What is known of a message of this conversation; None if no message is named or it is not in the record."""
    if device is None or seq is None or (device, seq) not in checked.sent:
        return None
    sent = checked.sent[device, seq]
    fate = checked.fates[sent.message]
    return Author(checked.conversation.process, sent.message.acked_ns, sent.append.instance, fate.name)
