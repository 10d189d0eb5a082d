"""What lives too long, and what looks as if it had expired too early."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.analyze import analyze
from analysis.check import Checked, check
from analysis.load import load
from goldfish.contract import Contract, Ttl

from .runs import LAPTOP, MS, PHONE, Process, classes, expiring, found, judge, many, write

# over-retained -------------------------------------------------------------------------------------------------------


def test_a_message_listed_after_a_silence_longer_than_its_life_is_over_retained(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("phone", 12, 13, PHONE[0])
    assert found(judge(tmp_path, process, expiring())) == {(1, "over-retained", "phone", 0)}


@pytest.mark.parametrize("start", [11, 10])
def test_a_message_that_may_just_have_expired_is_not(tmp_path: Path, start: int) -> None:
    process = Process().append("phone", 0, 1, 0).recall("phone", start, start + 1, PHONE[0])
    assert not found(judge(tmp_path, process, expiring()))


@pytest.mark.parametrize("outcome", ["ok", "fail", "info"])
def test_a_request_of_another_kind_may_have_prolonged_it(tmp_path: Path, outcome: str) -> None:
    process = Process().append("phone", 0, 1, 0).touch("phone", 8, 9, outcome=outcome).recall("phone", 18, 19, PHONE[0])
    assert not found(judge(tmp_path, process, expiring()))


def test_what_users_do_is_read_from_the_run_whatever_it_is(tmp_path: Path) -> None:
    process = many(5).talk("one", user="ada").append("phone", 0, 1, 0)
    process.talk("other", user="ada").touch("laptop", 8, 9).append("phone", 9, 9, 0, outcome="fail")
    process.talk("one", user="ada").recall("phone", 18, 19, PHONE[0], final=True)
    for unit, found_there in (("user", {}), ("session", {"over-retained": 1})):
        (tmp_path / unit).mkdir()
        results = analyze(write(tmp_path / unit, process, contract=expiring(unit=unit)))
        assert {k: n for k, n in results.scenarios[0].anomalies.items() if k == "over-retained"} == found_there


def test_a_touch_proves_no_life(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).touch("phone", 8, 9).recall("phone", 18, 19)
    assert judge(tmp_path, process, expiring()).recalls_checked == 0


def test_a_delete_of_another_session_prolongs_the_user_alone(tmp_path: Path) -> None:
    process = Process().talk("0.0.u", scope="user").append("phone", 0, 1, 0, session="a")
    process.delete("phone", 8, 9, session="b").recall("phone", 18, 19, PHONE[0])
    assert found(judge(tmp_path, process, expiring())) == {(2, "over-retained", "phone", 0)}
    assert not found(judge(tmp_path, process, expiring(unit="user")))


def test_a_recall_refreshes_the_sessions_it_shows(tmp_path: Path) -> None:
    process = Process().talk("0.0.u", scope="user")
    process.append("phone", 0, 1, 0, session="a").append("phone", 2, 3, 1, session="b")
    process.recall("phone", 7, 8, PHONE[1]).recall("phone", 14, 15, PHONE[1])
    checked = judge(tmp_path, process, expiring(refresh="read"))
    # The first recall owed both; a session that it did not show may have expired by the second.
    assert found(checked) == {(2, "missing", "phone", 0)}
    assert checked.recalls_checked == 2


def test_what_the_user_does_elsewhere_keeps_its_memory_alive(tmp_path: Path) -> None:
    process = Process().talk("one", user="ada").append("phone", 0, 1, 0)
    process.talk("other", user="ada").append("phone", 7, 8, 0).recall("phone", 9, 10, PHONE[0], outcome="fail")
    process.talk("third", user="ben").append("phone", 9, 10, 0)
    process.talk("one", user="ada").recall("phone", 15, 16)
    record = load(write(tmp_path, process, contract=expiring(unit="user")))
    conversation = record.conversations["one"]
    alone = check(conversation, record.run.contract)
    assert not found(alone)
    beside = check(conversation, record.run.contract, [*record.conversations.values()][:2])
    assert found(beside) == {(4, "missing", "phone", 0)}


# expired early -------------------------------------------------------------------------------------------------------


def pauses(*pauses_ms: int, shown: int) -> Process:
    """One message, and recalls after pauses of growing length; the first so many show it."""
    process = Process().append("phone", 0, 1, 0)
    now = 1
    for number, pause in enumerate(pauses_ms):
        now += pause
        process.recall("phone", now, now + 1, *([PHONE[0]] if number < shown else []))
        now += 1
    return process


def early(checked: Checked) -> list[tuple[int, int | None]]:
    return [(f.recall.id, f.seq) for f in checked.findings if f.anomaly == "expired early"]


def test_what_is_gone_for_good_after_its_longest_pause_has_expired_early(tmp_path: Path) -> None:
    checked = judge(tmp_path, pauses(2, 3, 4, 1, shown=2), Contract(ttl=Ttl(seconds=0.010, refresh="read")))
    assert early(checked) == [(3, None)]
    assert classes(checked) == ["missing", "expired early", "missing"]


@pytest.mark.parametrize(
    ("process", "contract"),
    [
        (pauses(2, 6, 3, shown=2), expiring(refresh="read")),  # a longer pause was survived
        (pauses(2, 3, 3, shown=2), expiring(refresh="read")),  # one as long was
        (pauses(6, 7, shown=0), expiring(refresh="read")),  # never seen
        (pauses(2, 3, 11, shown=2), expiring(refresh="read")),  # it may have expired
        (pauses(2, 3, 6, shown=2), Contract()),  # nothing expires
    ],
)
def test_what_is_gone_for_another_reason_has_not(tmp_path: Path, process: Process, contract: Contract) -> None:
    assert early(judge(tmp_path, process, contract)) == []


def test_what_comes_back_has_not_expired(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("phone", 3, 4, PHONE[0]).recall("phone", 9, 10)
    process.recall("phone", 11, 12, PHONE[0])
    assert early(judge(tmp_path, process, expiring(refresh="read"))) == []


def test_where_only_writing_refreshes_a_pause_is_one_in_writing(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("phone", 3, 4, PHONE[0]).recall("phone", 5, 6)
    assert early(judge(tmp_path, process, expiring())) == [(2, None)]
    (tmp_path / "b").mkdir()
    process = Process().append("phone", 0, 1, 0).recall("phone", 4, 5, PHONE[0]).append("phone", 5, 6, 1)
    process.recall("phone", 8, 9)
    assert early(judge(tmp_path / "b", process, expiring())) == []


def test_where_nothing_refreshes_the_age_is_what_counts(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("phone", 3, 4, PHONE[0]).append("phone", 4, 5, 1)
    process.recall("phone", 6, 7)
    assert early(judge(tmp_path, process, expiring(refresh="none"))) == [(3, None)]


def test_a_nanosecond_is_a_pause_and_nothing_is_none(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 3, 0).recall("phone", 2, 4, PHONE[0]).recall("phone", 5, 6)
    process.operations[0].end_ns = 5 * MS - 1
    assert early(judge(tmp_path, process, expiring())) == [(2, None)]
    process.operations[0].end_ns = 5 * MS
    assert early(judge(tmp_path, process, expiring())) == []


def test_a_recall_that_begins_as_the_first_showing_ends_did_not_follow_it(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("phone", 3, 4, PHONE[0])
    assert early(judge(tmp_path, process.recall("laptop", 4, 5), expiring())) == []
    assert early(judge(tmp_path, process.recall("laptop", 5, 6), expiring())) == [(3, None)]


def test_what_begins_with_a_recall_is_no_end_of_the_pause_before_it(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("phone", 3, 4, PHONE[0]).touch("laptop", 7, 9)
    assert early(judge(tmp_path, process.recall("phone", 7, 8), expiring(refresh="read"))) == [(3, None)]


def test_each_session_expires_by_itself(tmp_path: Path) -> None:
    process = Process().talk("0.0.u", scope="user")
    process.append("phone", 0, 1, 0, session="a").append("phone", 2, 3, 1, session="b")
    process.recall("phone", 4, 5, *PHONE[:2]).append("phone", 6, 7, 2, session="b").recall("phone", 8, 9, *PHONE[1:3])
    assert early(judge(tmp_path, process, expiring())) == [(4, None)]
    (tmp_path / "b").mkdir()
    assert early(judge(tmp_path / "b", process, expiring(unit="user"))) == []


def test_what_the_user_does_elsewhere_is_no_pause(tmp_path: Path) -> None:
    process = Process().talk("one", user="ada").append("phone", 0, 1, 0).recall("phone", 3, 4, PHONE[0])
    process.talk("other", user="ada").append("phone", 6, 7, 0)
    process.talk("one", user="ada").recall("phone", 8, 9)
    record = load(write(tmp_path, process, contract=expiring(unit="user")))
    one, other = record.conversations.values()
    assert early(check(one, record.run.contract, [one])) == [(3, None)]
    assert early(check(one, record.run.contract, [one, other])) == []


def test_a_message_by_itself_has_expired_early_at_an_age_that_none_is_shown_at(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).append("phone", 3, 4, 1).recall("phone", 5, 6, *PHONE[:2])
    process.recall("phone", 7, 8, PHONE[1]).recall("phone", 8, 9, PHONE[1])
    contract = expiring(unit="message")
    assert early(judge(tmp_path, process, contract)) == [(3, 0)]
    process.recall("phone", 9, 10, PHONE[1]).recall("phone", 9, 10, PHONE[1])
    (tmp_path / "b").mkdir()
    process.append("laptop", 20, 21, 0).recall("phone", 28, 29, LAPTOP[0])  # as old as 0 was when it was gone
    assert early(judge(tmp_path / "b", process, contract)) == []
