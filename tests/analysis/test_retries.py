"""A message that is sent several times is one message; what that proves, and what it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldfish.contract import Contract, Ttl

from .runs import Process, found, judge

PHONE = [("phone", seq) for seq in range(10)]
LAPTOP = [("laptop", seq) for seq in range(10)]


def three() -> Process:
    return Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1).append("phone", 4, 5, 2)


def expiring(**ttl: Any) -> Contract:
    """What expires after 10 ms."""
    return Contract(ttl=Ttl(seconds=0.010, **ttl))


# retries -------------------------------------------------------------------------------------------------------------


def resent() -> Process:
    return Process().append("phone", 0, 5, 0, outcome="info").append("phone", 6, 7, 0, attempt=2, instance="m2")


def test_a_retry_is_the_same_message_written_by_the_attempt_that_was_acknowledged(tmp_path: Path) -> None:
    checked = judge(tmp_path, resent().recall("phone", 8, 9))
    assert found(checked) == {(2, "missing", "phone", 0)}
    assert len(checked.fates) == 1
    sent = checked.sent["phone", 0]
    assert (sent.append.instance, sent.attempts) == ("m2", 2)
    message = sent.message
    assert (message.sent_ns, message.acked_ns, message.attempts) == (0, 7_000_000, 2)


def test_a_message_is_sent_with_the_first_attempt_that_did_not_fail(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, outcome="fail").append("phone", 4, 9, 0, attempt=2)
    process.append("phone", 5, 6, 0, attempt=3).recall("phone", 12, 13, PHONE[0])
    message = judge(tmp_path, process).sent["phone", 0].message
    assert (message.sent_ns, message.acked_ns, message.attempts, message.resent_ns) == (
        4_000_000,
        6_000_000,
        2,
        9_000_000,
    )


def test_what_failed_each_time_is_rejected(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, outcome="fail").append("phone", 2, 3, 0, attempt=2, outcome="fail")
    checked = judge(tmp_path, process.recall("phone", 4, 5))
    assert [fate.name for fate in checked.fates.values()] == ["rejected"]
    checked = judge(tmp_path, process.recall("phone", 6, 7, PHONE[0]))
    assert found(checked) == {(3, "phantom", "phone", 0)}
    assert checked.findings[0].zero_tolerance


def test_what_was_listed_when_only_a_refused_attempt_had_been_made_was_stored_by_it(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, outcome="fail").recall("phone", 2, 3, PHONE[0])
    process.append("phone", 4, 5, 0, attempt=2).recall("phone", 6, 7, PHONE[0])
    checked = judge(tmp_path, process)
    assert checked.doubt is None
    assert found(checked) == {(1, "phantom", "phone", 0)}
    assert checked.sent["phone", 0].message.sent_ns == 0


def test_a_duplicate_after_a_retry_says_so(tmp_path: Path) -> None:
    checked = judge(tmp_path, resent().recall("phone", 8, 9, PHONE[0], PHONE[0]))
    assert [(finding.anomaly, finding.detail) for finding in checked.findings] == [("duplicated", "after a retry")]
    checked = judge(tmp_path, three().recall("phone", 8, 9, *PHONE[:3], PHONE[0]))
    assert [(finding.anomaly, finding.detail) for finding in checked.findings] == [("duplicated", None)]


def test_where_a_resend_is_stored_again_as_many_copies_as_attempts_are_sound(tmp_path: Path) -> None:
    contract = Contract(dedupe="none")
    assert not found(judge(tmp_path, resent().recall("phone", 8, 9, PHONE[0], PHONE[0]), contract))
    checked = judge(tmp_path, resent().recall("phone", 8, 9, PHONE[0], PHONE[0], PHONE[0]), contract)
    assert found(checked) == {(2, "duplicated", "phone", 0)}


@pytest.mark.parametrize(
    ("contract", "loose"),
    [
        (Contract(), False),
        (Contract(dedupe="none"), True),
        (Contract(ttl=Ttl(seconds=1)), True),
        (Contract(order_slack_ms=1), True),
    ],
)
def test_a_resend_that_may_be_stored_anew_proves_no_order(tmp_path: Path, contract: Contract, loose: bool) -> None:
    assert judge(tmp_path, resent().recall("phone", 8, 9), contract).sent["phone", 0].message.loose == loose
    assert not judge(tmp_path, three().recall("phone", 8, 9), contract).sent["phone", 0].message.loose
    refused = Process().append("phone", 0, 1, 0, outcome="fail").append("phone", 2, 3, 0, attempt=2)
    assert not judge(tmp_path, refused.recall("phone", 8, 9), contract).sent["phone", 0].message.loose


@pytest.mark.parametrize(("outcome", "loose"), [("ok", True), ("info", True), ("fail", False)])
def test_a_delete_may_let_a_resend_store_anew(tmp_path: Path, outcome: str, loose: bool) -> None:
    process = resent().delete("phone", 20, 21, outcome=outcome).recall("phone", 30, 31)
    assert judge(tmp_path, process).sent["phone", 0].message.loose == loose


def test_a_resend_refreshes_nothing_for_certain(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).append("phone", 6, 7, 0, attempt=2).recall("phone", 12, 13)
    assert judge(tmp_path, process, expiring()).recalls_checked == 0
    assert not found(judge(tmp_path, process.recall("phone", 16, 17, PHONE[0]), expiring()))


# order ---------------------------------------------------------------------------------------------------------------


def test_two_orders_are_compared_only_where_places_are_settled(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 5, 0).append("laptop", 1, 6, 0)
    process.recall("phone", 9, 10, PHONE[0], LAPTOP[0]).recall("phone", 30, 31, LAPTOP[0], PHONE[0])
    assert found(judge(tmp_path, process)) == {(3, "reordered", None, None)}
    assert found(judge(tmp_path, process, Contract(order_slack_ms=2))) == {(3, "reordered", None, None)}
    assert not found(judge(tmp_path, process, Contract(order_slack_ms=3)))
    assert not found(judge(tmp_path, process, Contract(order_slack_ms=1, visibility_ms=2)))
    assert found(judge(tmp_path, process, Contract(order_slack_ms=1, visibility_ms=1)))
    assert not found(judge(tmp_path, process, Contract(order="unspecified")))


def test_a_resend_stored_again_may_turn_up_before_or_behind(tmp_path: Path) -> None:
    process = resent().append("laptop", 1, 6, 0)
    process.recall("phone", 9, 10, PHONE[0], LAPTOP[0]).recall("phone", 30, 31, LAPTOP[0], PHONE[0])
    assert not found(judge(tmp_path, process, Contract(dedupe="none")))
    assert found(judge(tmp_path, process)) == {(4, "reordered", None, None)}
