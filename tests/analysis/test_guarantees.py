"""Which session guarantee a missing message breaks, and which turn it tears."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.check import Checked

from .runs import Process, judge

PHONE = [("phone", seq) for seq in range(10)]
LAPTOP = [("laptop", seq) for seq in range(10)]


# flags: torn turn ----------------------------------------------------------------------------------------------------


def test_half_a_turn_is_torn(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, 1, turn=0).recall("phone", 2, 3, PHONE[1])
    assert [finding.detail for finding in judge(tmp_path, process).findings] == ["torn turn"]


@pytest.mark.parametrize(
    "process",
    [
        Process().append("phone", 0, 1, 0, 1, turn=0).recall("phone", 2, 3),
        Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1).recall("phone", 4, 5, PHONE[1]),
        Process().append("phone", 0, 1, 0, turn=0).append("laptop", 2, 3, 0, turn=0).recall("phone", 4, 5, LAPTOP[0]),
        Process()
        .append("phone", 0, 1, 0, turn=0)
        .append("phone", 2, 3, 1, turn=0, outcome="info")
        .recall("phone", 4, 5, PHONE[1]),
    ],
    ids=["all of it", "two turns", "two devices", "never acknowledged"],
)
def test_what_is_no_half_of_an_acknowledged_turn_is_not_torn(tmp_path: Path, process: Process) -> None:
    assert {finding.detail for finding in judge(tmp_path, process).findings} == {None}


def test_a_message_that_was_not_acknowledged_tears_no_turn(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, turn=0, outcome="info").append("phone", 2, 3, 1, turn=0)
    process.recall("phone", 4, 5, *PHONE[:2]).recall("phone", 6, 7, PHONE[1])
    assert [finding.detail for finding in judge(tmp_path, process).findings] == [None]


# flags: guarantees ---------------------------------------------------------------------------------------------------


def guarantees(checked: Checked) -> list[str | None]:
    return [finding.guarantee for finding in checked.findings]


def test_a_later_write_of_the_author_breaks_monotonic_writes(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1).recall("laptop", 4, 5, PHONE[1])
    assert guarantees(judge(tmp_path, process)) == ["monotonic-writes"]


def test_an_earlier_write_of_the_author_breaks_nothing(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1).recall("laptop", 4, 5, PHONE[0])
    assert guarantees(judge(tmp_path, process)) == ["cross-device"]


def test_an_answer_without_what_it_answers_breaks_writes_follow_reads(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("laptop", 2, 3, PHONE[0]).append("laptop", 4, 5, 0)
    process.recall("tablet", 6, 7, LAPTOP[0])
    assert guarantees(judge(tmp_path, process)) == ["writes-follow-reads"]


def test_an_answer_sent_while_reading_does_not(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("laptop", 2, 4, PHONE[0]).append("laptop", 4, 5, 0)
    process.recall("tablet", 6, 7, LAPTOP[0])
    assert guarantees(judge(tmp_path, process)) == ["cross-device"]


def test_the_first_broken_guarantee_is_told(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1)
    process.recall("laptop", 4, 5, *PHONE[:2]).recall("laptop", 6, 7, PHONE[1]).recall("phone", 8, 9, PHONE[1])
    assert guarantees(judge(tmp_path, process)) == ["monotonic-reads", "read-your-writes"]
