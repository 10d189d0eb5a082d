"""The worked examples, through op logs on disk and out of the table of findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.check import check
from analysis.findings import findings_table
from analysis.load import load
from goldfish.contract import Contract

from .runs import Process, sums, write

CASES = json.loads((Path(__file__).parent.parent / "cases" / "recalls.json").read_text(encoding="utf-8"))


def process_of(case: dict[str, Any]) -> Process:
    process = Process()
    for kind, device, start, end, *rest in case["ops"]:
        if kind == "append":
            process.append(f"d{device}", start, end, *rest[1], outcome=rest[0])
        elif kind == "delete":
            process.delete(f"d{device}", start, end, outcome=rest[0])
        else:
            limit, shown, *outcome = rest
            listed = [(f"d{author}", seq) for author, seq in shown]
            process.recall(f"d{device}", start, end, *listed, limit=limit, outcome=outcome[0] if outcome else "ok")
    return process


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_worked_example_comes_out_as_written(case: dict[str, Any], tmp_path: Path) -> None:
    contract = msgspec.convert(case["contract"], Contract, strict=True)
    record = load(write(tmp_path, process_of(case), contract=contract))
    (conversation,) = record.conversations.values()
    checked = check(conversation, contract)
    expected = case["expected"]
    assert {entry.row.id for entry in checked.listed if entry.judgement.lossy} == set(expected["lossy"]), case["why"]

    rows = findings_table(sums(record, contract).found).to_pylist()
    missing, unnamed, other = set(), set(), set()
    for row in rows:
        operation = int(row["request_id"].rpartition("-")[2])
        device = int(row["device"][1:]) if row["device"] else None
        if row["anomaly"] != "missing":
            other.add((operation, row["anomaly"], device, row["seq"]))
        elif device is None:
            unnamed.add(operation)
        else:
            missing.add((operation, device, row["seq"], row["position"]))
    assert missing == {tuple(entry) for entry in expected["missing"]}, case["why"]
    assert unnamed == set(expected["unnamed"]), case["why"]
    assert other == {tuple(entry) for entry in expected["other"]}, case["why"]
    for name, fate in expected.get("fate", {}).items():
        device_number, seq = name.split(".")
        sent = checked.sent[f"d{device_number}", int(seq)]
        assert checked.fates[sent.message].name == fate, case["why"]
