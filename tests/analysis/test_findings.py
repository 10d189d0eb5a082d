"""The table of findings: columns, types, and what each says."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.analyze import analyze
from analysis.findings import SCHEMA
from goldfish.oplog import Owner

from .runs import Process, foreign, many, write

COLUMNS = [
    "process",
    "line",
    "scenario",
    "conversation",
    "reader",
    "device",
    "seq",
    "anomaly",
    "position",
    "guarantee",
    "age_ms",
    "written_by",
    "read_by",
    "owner",
    "fate",
    "request_id",
]


def table(directory: Path, *processes: Process) -> pd.DataFrame:
    """The file as a reader of it gets it; integers and numbers that may be missing stay what they are."""
    analyze(write(directory, *processes))
    types = {pa.int64(): pd.Int64Dtype(), pa.float64(): pd.Float64Dtype(), pa.string(): pd.StringDtype()}
    frame = pq.read_table(directory / "findings.parquet").to_pandas(types_mapper=types.get)
    return frame.astype({"line": "int64"})


def test_the_columns_and_their_types_hold_for_an_empty_table(tmp_path: Path) -> None:
    empty = table(tmp_path, many(1))
    assert list(empty.columns) == COLUMNS
    assert len(empty) == 0
    full = table(tmp_path / "full", Process().append("phone", 0, 1, 0).recall("laptop", 2, 3))
    assert (empty.dtypes == full.dtypes).all()
    assert pq.read_schema(tmp_path / "findings.parquet").equals(SCHEMA)


def test_a_row_tells_who_missed_what(tmp_path: Path) -> None:
    process = Process("7").talk("x").append("phone", 0, 1, 0, instance="m1").recall("laptop", 4, 5, instance="m2")
    (row,) = table(tmp_path, process).to_dict("records")
    assert row | {"guarantee": None, "owner": None} == {
        "process": "7",
        "line": 3,
        "scenario": "rapid-switch",
        "conversation": "x",
        "reader": "laptop",
        "device": "phone",
        "seq": 0,
        "anomaly": "missing",
        "position": "blank",
        "guarantee": None,
        "age_ms": 3.0,
        "written_by": "m1",
        "read_by": "m2",
        "owner": None,
        "fate": "lost: never visible",
        "request_id": "7-1",
    }


def test_a_foreign_message_is_looked_up_where_it_was_said(tmp_path: Path) -> None:
    owner = Owner(tenant="t", user="ben", session="s", conversation="ben's")
    process = Process().talk("ben's", user="ben", tenant="t").append("phone", 0, 1, 0, instance="m3")
    process.talk("ada's").recall("phone", 5, 6, foreign(owner))
    (row,) = table(tmp_path, process).to_dict("records")
    assert json.loads(row["owner"]) == {"tenant": "t", "user": "ben", "session": "s", "conversation": "ben's"}
    assert (row["conversation"], row["written_by"], row["age_ms"], row["fate"]) == ("ada's", "m3", 4.0, "unchecked")


def test_stamps_of_two_processes_are_not_compared(tmp_path: Path) -> None:
    owner = Owner(tenant=None, user="ben", session="s", conversation="ben's")
    ben = Process("1").talk("ben's").append("phone", 0, 1, 0)
    ada = Process("0").talk("ada's").recall("phone", 5, 6, foreign(owner))
    (row,) = table(tmp_path, ada, ben).to_dict("records")
    assert row["written_by"] == "m1"
    assert pd.isna(row["age_ms"])


def test_a_message_never_acknowledged_has_no_age(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, outcome="info", instance=None)
    process.recall("laptop", 2, 3, ("phone", 0)).recall("laptop", 4, 5)
    (row,) = table(tmp_path, process).to_dict("records")
    assert pd.isna(row["age_ms"])
    assert pd.isna(row["written_by"])
    assert row["guarantee"] == "monotonic-reads"


def test_rows_are_ordered_by_process_and_line(tmp_path: Path) -> None:
    first, second = Process("0"), Process("1")
    for process in (second, first):
        for number in (2, 1):
            process.talk(f"{process.name}.{number}").append("phone", 0, 1, 0).recall("phone", 2, 3)
    rows = table(tmp_path, second, first)
    assert list(zip(rows["process"], rows["line"], strict=True)) == [("0", 3), ("0", 5), ("1", 3), ("1", 5)]
