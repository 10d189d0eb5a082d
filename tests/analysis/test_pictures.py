"""Loss over time, the instance matrix, and the worst conversations of the report."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from analysis.load import load
from analysis.page import page
from analysis.pictures import age_curve, instance_matrix, loss_over_time
from analysis.report import render
from analysis.report.model import Report, WorstConversation
from analysis.results import results
from analysis.tally import tally
from analysis.verdict import decide
from analysis.worst import worst_conversations
from goldfish.contract import Content, Contract
from goldfish.oplog import Owner

from .runs import OTHER_RUN, UNMARKED, Process, corrupted, foreign, many, sums, write

PHONE = [("phone", seq) for seq in range(10)]


def report(directory: Path, process: Process, **run: object) -> Report:
    record = load(write(directory, process, **run))  # type: ignore[arg-type]
    judged = sums(record)
    tallies = tally(judged, record.run.scenarios, 0.95)
    verdict = decide(record, judged, tallies, record.run.budget, same_contract=True)
    return page(record, judged, results(record, Contract(), record.run.budget, tallies, verdict))


def test_recalls_are_counted_in_the_bin_they_started_in(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0)
    process.recall("phone", 50, 60, PHONE[0]).recall("phone", 99, 120).recall("phone", 310, 320, PHONE[0])
    record = load(write(tmp_path, process, start_ns=0))
    loss = loss_over_time(sums(record).over_time, ["rapid-switch", "another"])
    assert loss is not None
    assert loss.bin_s == pytest.approx(0.1)
    (series,) = loss.series
    assert (series.seconds, series.checked, series.lossy) == ([0.0, 0.3], [2, 1], [1, 0])


def test_without_a_checked_recall_there_is_no_picture(tmp_path: Path) -> None:
    filled = report(tmp_path, Process().append("phone", 0, 1, 0))
    assert filled.loss_over_time is None
    assert filled.instance_matrix is None


def test_the_matrix_counts_shown_and_missing_by_writing_and_reading_instance(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, instance="m1").append("phone", 2, 3, 1, instance="m2")
    process.recall("phone", 4, 5, PHONE[0], PHONE[1], instance="m1").recall("phone", 6, 7, PHONE[0], instance="m3")
    process.append("phone", 8, 9, 2, outcome="info", instance=None, status=None)
    process.recall("phone", 10, 11, *PHONE[:3], instance="m3").recall("phone", 12, 13, instance=None)
    record = load(write(tmp_path, process))
    matrix = instance_matrix(sums(record).instances)
    assert matrix is not None
    assert (matrix.writing, matrix.reading) == (["m1", "m2"], ["m1", "m3"])
    assert matrix.pairs == [[1, 2], [1, 2]]
    assert matrix.missing == [[0, 0], [0, 1]]


def worst(directory: Path, process: Process, contract: Contract | None = None) -> list[WorstConversation]:
    return worst_conversations(sums(load(write(directory, process, contract=contract))).gravest, 0, directory)


def test_the_gravest_of_each_class_are_shown_leaks_first(tmp_path: Path) -> None:
    process = many(2)
    for number, losses in enumerate([1, 3, 2, 1]):
        process.talk(f"lossy {number}").append("phone", 0, 1, 0)
        for at in range(losses):
            process.recall("phone", 10 + at, 20 + at)
    owner = Owner(tenant=None, user="ben", session="s", conversation="other")
    process.talk("leak").recall("phone", 0, 1, foreign(owner))
    shown = worst(tmp_path, process)
    assert [entry.conversation for entry in shown] == ["leak", "lossy 1", "lossy 2"]
    assert [entry.classes for entry in shown] == [["foreign"], ["missing"], ["missing"]]
    assert shown[1].command == f"goldfish show {tmp_path} 'lossy 1'"


def test_every_scenario_has_its_worst_conversation_before_any_has_a_second(tmp_path: Path) -> None:
    process = Process()
    for number in range(3):
        for scenario, losses in (("much", 9), ("little", 1)):
            process.talk(f"{scenario} {number}", scenario=scenario).append("phone", 0, 1, 0)
            for at in range(losses + number):
                process.recall("phone", 10 + at, 20 + at)
    assert [entry.conversation for entry in worst(tmp_path, process)] == ["much 2", "little 2", "much 1", "little 1"]


def test_ages_are_counted_for_scenarios_that_lack_something(tmp_path: Path) -> None:
    process = many(2, scenario="sound").talk("x", scenario="lossy").append("phone", 0, 1, 0).append("phone", 2, 3, 1)
    process.recall("phone", 5, 6, PHONE[1], instance="m2").recall("phone", 1_003, 1_004, PHONE[0], PHONE[1])
    curve = age_curve(sums(load(write(tmp_path, process))).symptoms.losses().pairs, ["sound", "lossy"])
    assert curve is not None
    assert {series.scenario for series in curve.series} == {"lossy"}
    bins = {series.kin: (series.missing, series.pairs) for series in curve.series}
    at_2_ms, at_1_s = 1 + curve.edges_ms.index(2), 1 + curve.edges_ms.index(1_000)
    assert [number for number, pairs in enumerate(bins["other"][1]) if pairs] == [at_2_ms]
    assert (bins["other"][0][at_2_ms], bins["other"][1][at_2_ms]) == (1, 2)
    assert (bins["same"][0][at_1_s], bins["same"][1][at_1_s]) == (0, 2)


def test_a_sound_run_has_no_worst_conversation(tmp_path: Path) -> None:
    assert worst(tmp_path, many(3)) == []


def test_owed_stands_beside_shown_with_the_missing_where_it_belongs(tmp_path: Path) -> None:
    owner = Owner(tenant=None, user="ben", session="bs", conversation="other")
    process = Process().talk("x", user="ada")
    for seq in range(5):
        process.append("phone", 10 * seq, 10 * seq + 1, seq, text=f"text {seq}", instance="m2")
    process.append("laptop", 44, 90, 0, outcome="info").append("laptop", 50, 51, 1, outcome="fail")
    process.recall(
        "laptop",
        60,
        61,
        OTHER_RUN,
        ("phone", 0),
        ("phone", 0),
        corrupted("phone", 1, "altered"),
        foreign(owner, "tablet", 3),
        ("phone", 3),
        ("phone", 4),
        ("laptop", 1),
        UNMARKED,
        instance="m3",
    )
    (entry,) = worst(tmp_path, process)
    told = [
        (row.mark, f"{row.owed.device} {row.owed.seq}" if row.owed else None, row.shown.kind if row.shown else None)
        for row in entry.rows
    ]
    assert told == [
        ("phantom", None, "unmarked"),
        ("ok", "phone 0", "same"),
        ("duplicated", "phone 0", "duplicate"),
        ("corrupted", "phone 1", "corrupted"),
        ("foreign", None, "foreign"),
        ("missing", "phone 2", None),
        ("ok", "phone 3", "same"),
        ("ok", "phone 4", "same"),
        ("not-owed", "laptop 0", None),
        ("phantom", "laptop 1", "same"),
        ("phantom", None, "unmarked"),
    ]
    assert entry.request_ids == ["0-7", "0-2"]
    assert entry.story == (
        "laptop read at 0.06 s, 0.04 s after message 2 by phone was acknowledged by m2; m3 returned 9 elements, "
        "without message 2 by phone, with duplicated, phantom, corrupted, foreign elements."
    )
    assert next(row.owed for row in entry.rows if row.mark == "missing" and row.owed) is not None


def test_what_the_contract_declares_is_not_marked(tmp_path: Path) -> None:
    owner = Owner(tenant=None, user="ben", session="s", conversation="other")
    stripped = msgspec.structs.replace(corrupted("phone", 1), kind="altered", changes=["nul-stripped"])
    process = Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1)
    process.recall("phone", 4, 5, foreign(owner), PHONE[0], stripped).recall("phone", 6, 7, PHONE[0], PHONE[0])
    contract = Contract(isolation=("tenant",), content=Content(nul="strip"))
    (entry,) = worst(tmp_path, process, contract)
    assert [row.mark for row in entry.rows] == ["ok", "duplicated", "missing"]
    process.operations.pop()
    process.recall("phone", 6, 7, foreign(owner), PHONE[0], PHONE[0], stripped)
    (entry,) = worst(tmp_path, process, contract)
    assert [row.mark for row in entry.rows] == ["not-owed", "ok", "duplicated", "ok"]


def test_messages_out_of_order_are_marked(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1).append("phone", 4, 5, 2)
    (entry,) = worst(tmp_path, process.recall("phone", 6, 7, PHONE[0], PHONE[2], PHONE[1]))
    assert [row.mark for row in entry.rows] == ["ok", "reordered", "reordered"]


def test_the_report_is_filled_and_shown(tmp_path: Path) -> None:
    process = many(3).talk("x").append("phone", 0, 1, 0).recall("phone", 2, 3, final=True)
    process.append("phone", 4, 5, 1).append("phone", 6, 7, 2, outcome="info").recall("phone", 8, 9, outcome="fail")
    filled = report(
        tmp_path,
        process,
        start_ns=0,
        end_ns=2_000_000_000,
        users=3,
        seed=5,
        target={
            "host": "http://h",
            "store": "user-profile",
            "defects": ["instance-cache", {"name": "lost-update", "part": "m2", "values": {"gap_ms": 5}}],
            "instances": 3,
            "balance": "random",
        },
        command=["goldfish", "run", "two words"],
    )
    assert (filled.verdict, filled.exit_code, filled.duration_s) == ("fail", 3, 2.0)
    assert filled.target.defects == ["instance-cache", "lost-update@m2:gap_ms=5"]
    assert filled.command == "goldfish run 'two words'"
    assert [(entry.count, entry.what) for entry in filled.unverifiable] == [
        (1, "messages"),
        (1, "messages"),
        (1, "recalls"),
    ]
    assert "lost-update" in render(filled)


def test_a_target_of_another_shape_is_no_reason_to_fail(tmp_path: Path) -> None:
    filled = report(tmp_path, many(1), target={"host": 5, "instances": ["m1", "m2"], "defects": "none"})
    assert (filled.target.host, filled.target.instances, filled.target.defects) == ("5", 2, [])
