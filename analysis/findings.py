"""The table of findings: one row for each proven anomaly, as ``findings.parquet`` keeps it.

    process       string    op log of the recall
    line          int64     1-based line of the recall in it
    scenario      string
    conversation  string    the recall's
    reader        string    device that recalled
    device        string    author of the message; null if no message is named
    seq           Int64     its number; null if no message is named
    anomaly       string    class: missing, duplicated, reordered, corrupted, foreign, phantom
    position      string    of missing: blank, tail, head, gap, unplaced; else null
    guarantee     string    session guarantee that was broken, where it is certain; else null
    age_ms        Float64   start of the recall minus acknowledgement of the message; null if it has none
    written_by    string    instance that answered the append; null if unknown
    read_by       string    instance that answered the recall; null if unknown
    owner         string    of foreign: JSON with tenant, user, session, conversation; else null
    fate          string    what became of the message; null if none is named or it is not in the record
    request_id    string    the recall's X-Request-Id, "<process>-<id>"

The types hold for an empty table, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pyarrow as pa

from analysis.check import Checked, Finding
from analysis.fates import Fate
from analysis.listed import Sent
from goldfish.rule import NEVER

SCHEMA = pa.schema(
    [
        ("process", pa.string()),
        ("line", pa.int64()),
        ("scenario", pa.string()),
        ("conversation", pa.string()),
        ("reader", pa.string()),
        ("device", pa.string()),
        ("seq", pa.int64()),
        ("anomaly", pa.string()),
        ("position", pa.string()),
        ("guarantee", pa.string()),
        ("age_ms", pa.float64()),
        ("written_by", pa.string()),
        ("read_by", pa.string()),
        ("owner", pa.string()),
        ("fate", pa.string()),
        ("request_id", pa.string()),
    ]
)


def findings_table(judged: Mapping[str, Checked]) -> pa.Table:
    """All findings of a run in the order of process and line; columns and types as in the module's docstring."""
    rows = [_row(checked, finding, judged) for checked in judged.values() for finding in checked.findings]
    rows.sort(key=lambda row: (row["process"], row["line"]))
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _row(checked: Checked, finding: Finding, judged: Mapping[str, Checked]) -> dict[str, Any]:
    recall = finding.recall
    author = checked if finding.owner is None else judged.get(finding.owner.conversation)
    sent, fate = _named(author, finding)
    # Stamps of two processes are not compared: they may be of two hosts.
    same_clock = author is not None and author.conversation.process == checked.conversation.process
    acked_ns = sent.message.acked_ns if sent and same_clock else NEVER
    return {
        "process": checked.conversation.process,
        "line": finding.line,
        "scenario": recall.scenario,
        "conversation": recall.conversation,
        "reader": recall.device,
        "device": finding.device,
        "seq": finding.seq,
        "anomaly": finding.anomaly,
        "position": finding.position,
        "guarantee": finding.guarantee,
        "age_ms": (recall.start_ns - acked_ns) / 1e6 if acked_ns < NEVER else None,
        "written_by": sent.append.instance if sent else None,
        "read_by": recall.instance,
        "owner": msgspec.json.encode(finding.owner).decode() if finding.owner else None,
        "fate": fate.name if fate else None,
        "request_id": f"{checked.conversation.process}-{recall.id}",
    }


def _named(author: Checked | None, finding: Finding) -> tuple[Sent | None, Fate | None]:
    """The message a finding names, looked up in the conversation where it was said."""
    if author is None or finding.device is None or finding.seq is None:
        return None, None
    sent = author.sent.get((finding.device, finding.seq))
    return (sent, author.fates[sent.message]) if sent else (None, None)
