"""The table of findings: one row for each proven anomaly, as ``findings.parquet`` keeps it.

    process       string    op log of the recall
    line          int64     1-based line of the recall in it
    scenario      string
    conversation  string    the recall's
    reader        string    device that recalled
    device        string    author of the message; null if no message is named
    seq           Int64     its number; null if no message is named
    anomaly       string    class: an entry of goldfish.anomalies
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

import pyarrow as pa

from analysis.sums.found import Found

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


def findings_table(found: Found) -> pa.Table:
    """All findings of a run in the order of process and line; columns and types as in the module's docstring."""
    columns = list(zip(*found.rows(), strict=True)) or [()] * len(SCHEMA)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, SCHEMA.types, strict=True)], schema=SCHEMA)
