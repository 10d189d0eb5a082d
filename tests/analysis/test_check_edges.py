"""Edges of the checks: dumps, equal stamps, refused attempts that were stored all the same."""

from __future__ import annotations

from pathlib import Path

from goldfish.contract import Contract, Ttl

from .runs import MS, Process, judge

PHONE = [("phone", seq) for seq in range(10)]


def test_what_a_store_holds_is_kept_apart_and_not_judged(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("phone", 4, 5, PHONE[0])
    checked = judge(tmp_path, process.recall("phone", 6, 7, view="store", session=process.session))
    assert [entry.row.view for entry in checked.listed] == ["session"]
    assert [entry.row.view for entry in checked.dumps] == ["store"]
    assert not checked.findings


def test_an_early_expiry_is_told_once_with_its_own_recall(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("phone", 2, 3, PHONE[0])
    process.recall("phone", 60, 61).recall("phone", 70, 71).recall("phone", 80, 81)
    checked = judge(tmp_path, process, Contract(ttl=Ttl(seconds=1, unit="session", refresh="write")))
    lines = [finding.line for finding in checked.findings]
    assert [finding.line for finding in checked.findings if finding.anomaly == "expired early"] == [lines[0]]
    assert lines == sorted(lines)


def test_what_is_shown_as_a_second_attempt_starts_may_come_from_it(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, outcome="fail").recall("phone", 3, 5, PHONE[0])
    checked = judge(tmp_path, process.append("phone", 5, 7, 0, attempt=2))
    assert checked.sent["phone", 0].message.sent_ns == 5 * MS
    assert not checked.findings


def test_what_is_shown_before_the_second_attempt_comes_from_its_place_in_the_first(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, 1, outcome="fail").recall("phone", 3, 4, PHONE[1])
    checked = judge(tmp_path, process.append("phone", 5, 7, 1, attempt=2))
    message = checked.sent["phone", 1].message
    assert (message.sent_ns, message.place) == (0, 1)
