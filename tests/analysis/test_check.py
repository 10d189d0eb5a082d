"""Every class of anomaly planted once, and beside it a near miss that must stay silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldfish.contract import Contract
from goldfish.oplog import Owner

from .runs import OTHER_RUN, UNMARKED, Process, corrupted, foreign, found, judge, window

PHONE = [("phone", seq) for seq in range(10)]


def three() -> Process:
    return Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1).append("phone", 4, 5, 2)


def owner(conversation: str = "other", user: str = "ben", tenant: str | None = None) -> Owner:
    return Owner(tenant=tenant, user=user, session="s", conversation=conversation)


# missing -------------------------------------------------------------------------------------------------------------


def test_an_acknowledged_message_that_is_not_listed_is_missing(tmp_path: Path) -> None:
    checked = judge(tmp_path, three().recall("phone", 6, 7, PHONE[0], PHONE[2]))
    assert found(checked) == {(3, "missing", "phone", 1)}
    assert checked.findings[0].position == "gap"
    assert (checked.recalls_checked, checked.recalls_lossy) == (1, 1)


def test_a_message_acknowledged_as_the_recall_starts_is_not_missing(tmp_path: Path) -> None:
    assert not found(judge(tmp_path, Process().append("phone", 0, 2, 0).recall("laptop", 2, 3)))


def test_a_message_pushed_out_of_the_window_is_not_missing(tmp_path: Path) -> None:
    assert not found(judge(tmp_path, three().recall("phone", 6, 7, PHONE[1], PHONE[2]), window(2)))


def test_a_failed_recall_proves_nothing(tmp_path: Path) -> None:
    process = three().recall("phone", 6, 7, outcome="fail").recall("phone", 8, 9, outcome="info", reason="killed")
    checked = judge(tmp_path, process)
    assert not found(checked)
    assert checked.recalls_checked == 0


def test_a_lossy_recall_that_names_nobody_gives_one_finding(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 4, 0, 1).append("laptop", 2, 6, 0, 1)
    process.append("laptop", 8, 30, 2, 3, outcome="info").recall("phone", 12, 14, ("phone", 0), ("phone", 1))
    checked = judge(tmp_path, process, window(4))
    assert found(checked) == {(3, "missing", None, None)}
    assert checked.findings[0].position == "unplaced"


def test_a_message_from_before_a_delete_is_not_owed(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).delete("phone", 2, 3).append("phone", 4, 5, 1)
    process.recall("phone", 6, 7, ("phone", 1)).recall("phone", 8, 9)
    assert found(judge(tmp_path, process)) == {(4, "missing", "phone", 1)}


def test_a_failed_delete_excuses_nothing(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).delete("phone", 2, 3, outcome="fail").recall("phone", 6, 7)
    assert found(judge(tmp_path, process)) == {(2, "missing", "phone", 0)}


def test_a_user_conversation_is_owed_over_all_its_sessions(tmp_path: Path) -> None:
    process = Process().talk("0.0.u", scope="user")
    process.append("phone", 0, 1, 0, session="a").append("phone", 2, 3, 1, session="b").recall("phone", 4, 5, PHONE[1])
    assert found(judge(tmp_path, process)) == {(2, "missing", "phone", 0)}


def test_what_the_contract_does_not_promise_is_not_owed(tmp_path: Path) -> None:
    process = Process().talk("0.0.u", scope="user").append("phone", 0, 1, 0).recall("phone", 4, 5)
    checked = judge(tmp_path, process, Contract(scope=("session",)))
    assert not found(checked)
    assert checked.doubt is not None
    assert checked.doubt.code == "not-promised"


# guarantees ----------------------------------------------------------------------------------------------------------


def test_a_device_that_misses_its_own_message_cannot_read_its_writes(tmp_path: Path) -> None:
    checked = judge(tmp_path, three().recall("phone", 6, 7, PHONE[0], PHONE[1]))
    assert [finding.guarantee for finding in checked.findings] == ["read-your-writes"]


def test_a_device_that_saw_a_message_and_misses_it_does_not_read_monotonically(tmp_path: Path) -> None:
    checked = judge(tmp_path, three().recall("laptop", 6, 7, *PHONE[:3]).recall("laptop", 8, 9, *PHONE[:2]))
    assert [finding.guarantee for finding in checked.findings] == ["monotonic-reads"]


def test_what_another_device_saw_is_no_broken_guarantee_of_this_one(tmp_path: Path) -> None:
    checked = judge(tmp_path, three().recall("tablet", 6, 7, *PHONE[:3]).recall("laptop", 8, 9, *PHONE[:2]))
    assert [finding.guarantee for finding in checked.findings] == ["cross-device"]


def test_a_write_without_acknowledgement_is_not_one_s_own_write(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, outcome="info").recall("laptop", 2, 3, PHONE[0]).recall("phone", 4, 5)
    assert [finding.guarantee for finding in judge(tmp_path, process).findings] == [None]


# duplicated ----------------------------------------------------------------------------------------------------------


def test_a_second_copy_is_duplicated_once_however_often_it_comes(tmp_path: Path) -> None:
    process = three().recall("phone", 6, 7, *PHONE[:3], PHONE[1], PHONE[1])
    assert found(judge(tmp_path, process)) == {(3, "duplicated", "phone", 1)}
    assert len(judge(tmp_path, process).findings) == 1


def test_a_duplicate_does_not_hide_a_loss(tmp_path: Path) -> None:
    checked = judge(tmp_path, three().recall("phone", 6, 7, PHONE[0], PHONE[0], PHONE[2]))
    assert found(checked) == {(3, "duplicated", "phone", 0), (3, "missing", "phone", 1)}


def test_equal_texts_are_no_duplicate(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, text="yes").append("phone", 2, 3, 1, text="yes")
    assert not found(judge(tmp_path, process.recall("phone", 4, 5, *PHONE[:2])))


# reordered -----------------------------------------------------------------------------------------------------------


def test_a_list_against_the_stamps_is_reordered_and_names_nobody(tmp_path: Path) -> None:
    checked = judge(tmp_path, three().recall("phone", 6, 7, PHONE[0], PHONE[2], PHONE[1]))
    assert found(checked) == {(3, "reordered", None, None)}


def both() -> Process:
    return Process().append("phone", 0, 5, 0).append("laptop", 1, 6, 0)


def test_overlapping_writes_may_stand_in_any_order(tmp_path: Path) -> None:
    assert not found(judge(tmp_path, both().recall("phone", 7, 8, ("laptop", 0), ("phone", 0))))


def test_of_two_opposite_orders_the_later_is_reordered(tmp_path: Path) -> None:
    process = (
        both().recall("phone", 7, 8, ("laptop", 0), ("phone", 0)).recall("phone", 9, 10, ("phone", 0), ("laptop", 0))
    )
    assert found(judge(tmp_path, process)) == {(3, "reordered", None, None)}


def test_a_right_list_is_not_blamed_for_a_wrong_one_before_it(tmp_path: Path) -> None:
    process = three().recall("phone", 6, 7, PHONE[1], PHONE[0], PHONE[2]).recall("phone", 8, 9, *PHONE[:3])
    assert found(judge(tmp_path, process)) == {(3, "reordered", None, None)}


# corrupted -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["truncated", "altered", "role"])
def test_an_altered_copy_is_corrupted_and_not_missing(tmp_path: Path, kind: str) -> None:
    checked = judge(tmp_path, three().recall("phone", 6, 7, PHONE[0], corrupted("phone", 1, kind), PHONE[2]))
    assert found(checked) == {(3, "corrupted", "phone", 1)}
    assert checked.findings[0].detail == kind
    assert checked.findings[0].zero_tolerance


def test_a_list_of_corrupted_copies_alone_is_reported(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("phone", 2, 3, corrupted("phone", 0))
    assert found(judge(tmp_path, process)) == {(1, "corrupted", "phone", 0)}


# foreign -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("whose", "level"),
    [
        (Owner(tenant=None, user="ada", session="s2", conversation="other"), "session"),
        (Owner(tenant=None, user="ben", session="s", conversation="other"), "user"),
        (Owner(tenant="acme", user="ada", session="s", conversation="other"), "tenant"),
    ],
)
def test_a_message_of_somebody_else_is_foreign(tmp_path: Path, whose: Owner, level: str) -> None:
    process = Process().talk("0.0.s0", user="ada").append("phone", 0, 1, 0)
    checked = judge(tmp_path, process.recall("phone", 2, 3, foreign(whose, "laptop", 7), PHONE[0]))
    assert found(checked) == {(1, "foreign", "laptop", 7)}
    assert checked.findings[0].detail == level
    assert checked.findings[0].zero_tolerance


def test_a_foreign_element_takes_a_place_of_the_window(tmp_path: Path) -> None:
    process = three().recall("phone", 6, 7, foreign(owner()), PHONE[2])
    assert found(judge(tmp_path, process, window(2))) == {(3, "foreign", "phone", 0)}


# phantom -------------------------------------------------------------------------------------------------------------


def test_a_rejected_message_that_is_shown_is_a_phantom_and_fails_the_run(tmp_path: Path) -> None:
    checked = judge(tmp_path, Process().append("phone", 0, 1, 0, outcome="fail").recall("phone", 2, 3, PHONE[0]))
    assert found(checked) == {(1, "phantom", "phone", 0)}
    assert checked.findings[0].zero_tolerance


def test_an_indeterminate_message_that_is_shown_is_no_phantom(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, outcome="info").recall("phone", 2, 3, PHONE[0])
    assert not found(judge(tmp_path, process))


@pytest.mark.parametrize("odd", [UNMARKED, OTHER_RUN])
def test_an_element_that_nobody_of_this_run_wrote_is_a_phantom_without_a_name(tmp_path: Path, odd: object) -> None:
    checked = judge(tmp_path, three().recall("phone", 6, 7, odd, *PHONE[:3]))  # type: ignore[arg-type]
    assert found(checked) == {(3, "phantom", None, None)}
    assert not checked.findings[0].zero_tolerance


# doubt ---------------------------------------------------------------------------------------------------------------


def test_a_message_shown_before_it_was_sent_makes_the_clocks_untrustworthy(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("laptop", 2, 3, ("phone", 1)).append("phone", 4, 5, 1)
    checked = judge(tmp_path, process)
    assert checked.doubt is not None
    assert checked.doubt.code == "clocks"
    assert not found(checked)


def test_a_message_shown_at_the_stamp_of_its_sending_is_possible(tmp_path: Path) -> None:
    process = Process().recall("laptop", 2, 3, ("phone", 0)).append("phone", 3, 5, 0)
    assert judge(tmp_path, process).doubt is None


def test_in_a_doubtful_conversation_a_leak_is_proven_and_a_loss_is_not(tmp_path: Path) -> None:
    process = three().append("phone", 9, 10, 4).recall("phone", 11, 12, foreign(owner()), PHONE[0])
    checked = judge(tmp_path, process)
    assert found(checked) == {(4, "foreign", "phone", 0)}
    assert checked.recalls_checked == 0
