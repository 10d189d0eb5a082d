"""Edges of the checks: dumps, equal stamps, refused attempts that were stored all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.check import Known, check
from analysis.listed import extra_tokens, of_history, spoken
from analysis.order import Orders
from goldfish.contract import Contract, Ttl, Window
from goldfish.rule import SOUND, Message, Terms
from goldfish.token import Person, Token

from .runs import MS, Process, corrupted, judge

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


def test_what_is_listed_of_a_damaged_message_may_have_no_tokens(tmp_path: Path) -> None:
    contract = Contract(window=Window(tokens=5, chars_per_token=(1.0, 1.0)))
    process = Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1)
    damaged = judge(tmp_path / "1", process.recall("phone", 4, 5, corrupted("phone", 0), PHONE[1]), contract)
    assert {finding.anomaly for finding in damaged.findings} == {"corrupted"}
    whole = judge(tmp_path / "2", process.recall("phone", 6, 7, PHONE[0], PHONE[1]), contract)
    assert {finding.anomaly for finding in whole.findings} == {"corrupted", "window overrun"}


def test_a_search_has_no_positions(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1)
    asked = [PHONE[0], PHONE[1]]
    process.recall("phone", 4, 5, *PHONE[:2]).recall("phone", 6, 7, view="search", asked=asked, limit=1, session=None)
    process.recall("phone", 8, 9, PHONE[0], view="search", asked=asked, session=None)
    checked = judge(tmp_path, process)
    assert checked.doubt is None
    assert [(finding.anomaly, finding.seq, finding.position) for finding in checked.findings] == [
        ("unretrieved", None, None),
        ("unretrieved", 1, None),
    ]


def test_what_is_proven_is_taken_over_and_the_rest_is_judged(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("phone", 2, 3).recall("phone", 4, 5)
    conversation = judge(tmp_path, process).conversation
    first, second = (line for line, _ in conversation.recalls)
    checked = check(conversation, Contract(), known=Known({first: SOUND}))
    assert [finding.line for finding in checked.findings] == [second]


@pytest.mark.parametrize("unit", ["session", "user"])
def test_where_nothing_prolongs_a_life_the_age_counts_from_the_first_that_was_said(tmp_path: Path, unit: Any) -> None:
    contract = Contract(scope=("user",), ttl=Ttl(seconds=1, unit=unit, refresh="none"))
    process = Process().talk("c", scope="user").append("phone", 0, 1, 0, session="a").recall("phone", 8, 9, PHONE[0])
    process.append("phone", 10, 11, 1, session="b")
    if unit == "session":
        process.recall("phone", 12, 13, *PHONE[:2]).recall("phone", 60, 61, PHONE[0])
    else:
        process.recall("phone", 14, 15)
    findings = judge(tmp_path, process, contract).findings
    assert [finding.anomaly for finding in findings].count("expired early") == 1


def test_a_damaged_message_that_no_append_records_is_told_all_the_same(tmp_path: Path) -> None:
    checked = judge(
        tmp_path, Process().append("phone", 0, 1, 0).recall("phone", 2, 3, corrupted("laptop", 9), PHONE[0])
    )
    told = [(finding.anomaly, finding.device, finding.seq, finding.message) for finding in checked.findings]
    assert told == [("corrupted", "laptop", 9, None)]


def test_only_what_came_late_has_a_delay(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, 1).append("phone", 2, 3, 2)
    process.recall("phone", 4, 5, *PHONE[1:3]).recall("phone", 6, 7, *PHONE[:2]).recall("phone", 8, 9, *PHONE[:2])
    checked = judge(tmp_path, process)
    fates = [checked.fates[checked.sent["phone", seq].message] for seq in range(3)]
    assert [(fate.name, fate.delay_ns) for fate in fates] == [
        ("stale", 6 * MS),
        ("ok", None),
        ("lost: vanished", None),
    ]


def test_only_a_checked_recall_of_a_history_counts_as_one(tmp_path: Path) -> None:
    process = Process().recall("phone", 0, 1).append("phone", 2, 3, 0).recall("phone", 4, 5, PHONE[0])
    process.recall("phone", 6, 7, PHONE[0], view="search", asked=PHONE[:1], session=None)
    listed = judge(tmp_path, process).listed
    assert [entry.judgement.checked for entry in listed] == [False, True, True]
    assert [of_history(entry) for entry in listed] == [False, True, False]


def test_what_was_said_starts_behind_the_token_and_other_brackets_are_a_part_of_it() -> None:
    token = Token(Person("aaaaaa", 0, 1), "s0", 0, "phone", 0)
    assert spoken(f"[{token}] hello] there") == "hello] there"
    assert spoken("[note] hello") == "[note] hello"
    assert spoken("hello") == "hello"


def test_a_place_that_may_change_is_loose_only_for_what_was_sent_again(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1, outcome="info")
    process.append("phone", 4, 5, 1, attempt=2).recall("phone", 20, 21, *PHONE[:2])
    sent = judge(tmp_path, process, Contract(order_slack_ms=1)).sent
    assert [(sent[key].attempts, sent[key].message.loose) for key in PHONE[:2]] == [(1, False), (2, True)]


def test_the_first_acknowledgement_counts_and_refused_attempts_do_not(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).append("phone", 4, 5, 0, attempt=2)
    process.append("phone", 6, 7, 1, outcome="info").append("phone", 8, 9, 1, attempt=2)
    process.append("phone", 10, 11, 2, outcome="fail").append("phone", 12, 13, 2, attempt=2, outcome="fail")
    sent = judge(tmp_path, process.recall("phone", 20, 21, *PHONE[:2])).sent
    twice, late, refused = (sent[key] for key in PHONE[:3])
    assert (twice.message.acked_ns, twice.append.attempt) == (1 * MS, 1)
    assert (late.message.acked_ns, late.append.attempt) == (9 * MS, 2)
    assert (refused.message.attempts, refused.message.resent_ns, refused.append.attempt) == (1, 0, 1)


def test_only_what_is_damaged_counts_as_damaged_and_what_nobody_sent_is_left_out(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, 1).recall("phone", 2, 3, corrupted("phone", 1), PHONE[0])
    checked = judge(tmp_path, process.recall("phone", 4, 5, PHONE[0], PHONE[1], ("laptop", 7)))
    messages = [checked.sent[key].message for key in PHONE[:2]]
    assert [entry.damaged for entry in checked.listed] == [{messages[1]}, set()]
    assert checked.listed[1].own == messages


def test_a_second_copy_takes_its_tokens(tmp_path: Path) -> None:
    contract = Contract(window=Window(tokens=50, chars_per_token=(1.0, 1.0)))
    process = Process().append("phone", 0, 1, 0, 1).recall("phone", 2, 3, *PHONE[:2], PHONE[0])
    (entry,) = judge(tmp_path, process, contract).listed
    assert extra_tokens(entry, contract) == 5


@pytest.mark.parametrize(("start_ns", "settled"), [(15, False), (16, True)])
def test_a_place_is_settled_only_after_its_slack(start_ns: int, settled: bool) -> None:
    first, second = (Message(device, 0, "s", 0, batch, 0, acked_ns=10) for batch, device in enumerate("ab"))
    orders = Orders(Terms(slack_ns=5))
    assert not orders.contradicts([first, second], start_ns)
    assert orders.contradicts([second, first], start_ns) == settled
