"""Expiry: excused is what may be gone, over-retained what must be; between the two nothing is said."""

from __future__ import annotations

import pytest

from goldfish.rule import NEVER, Expiry, Message, Recall, Terms, Touch, judge
from goldfish.rule.expiry import TouchKind

LIFE = 10


def sent(start: int, acked: int | None = None, session: str = "s", **more: object) -> Message:
    message = Message("phone", start, session, start, start, 0, **more)  # type: ignore[arg-type]
    if acked is not None:
        message.acked_ns = acked
    return message


def touch(
    start: int, end: int, kind: TouchKind = "append", session: str | None = "s", reaches: str | None = "s"
) -> Touch:
    return Touch(kind, start, end, session, frozenset([reaches]) if reaches else None)


def recall(start: int, end: int) -> Recall:
    return Recall(start, end, None, 0, ())


def terms(**more: object) -> Terms:
    return Terms(ttl_ns=LIFE, **more)  # type: ignore[arg-type]


def excused(expiry: Expiry, m: Message, looked: Recall) -> bool:
    return m.sent_ns <= expiry.alive_after_ns(expiry.unit(m), looked)


# may have expired ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("end", "gone"), [(9, False), (10, True)])
def test_a_message_by_itself_lives_so_long_from_its_sending(end: int, gone: bool) -> None:
    expiry = Expiry(terms(unit="message", refresh="none"), [touch(0, 1), touch(5, 6)])
    assert excused(expiry, sent(0, 1), recall(end, end)) == gone


@pytest.mark.parametrize(("second_end", "alive"), [(9, True), (10, False)])
def test_a_touch_prolongs_if_it_certainly_came_in_time(second_end: int, alive: bool) -> None:
    expiry = Expiry(terms(), [touch(0, 1), touch(4, second_end)])
    assert excused(expiry, sent(0, 1), recall(12, 13)) == (not alive)
    assert not excused(expiry, sent(4, second_end), recall(12, 13))


def test_the_last_gap_ends_with_the_recall() -> None:
    expiry = Expiry(terms(), [touch(0, 1), touch(5, 6)])
    assert not excused(expiry, sent(0, 1), recall(13, 14))
    assert excused(expiry, sent(0, 1), recall(13, 15))


def test_a_touch_after_expiry_revives_nothing() -> None:
    expiry = Expiry(terms(), [touch(0, 1), touch(15, 16)])
    assert excused(expiry, sent(0, 1), recall(17, 18))
    assert not excused(expiry, sent(15, 16), recall(17, 18))


def test_one_gap_breaks_a_chain_however_many_touches_follow() -> None:
    touches = [touch(0, 1), touch(5, 6), touch(17, 18), touch(20, 21), touch(25, 26)]
    expiry = Expiry(terms(), touches)
    assert excused(expiry, sent(5, 6), recall(28, 29))
    assert not excused(expiry, sent(17, 18), recall(28, 29))


def test_touches_count_in_the_order_of_their_starts_not_of_their_coming() -> None:
    expiry = Expiry(terms(), [touch(14, 15), touch(0, 1), touch(7, 8)])
    assert not excused(expiry, sent(0, 1), recall(20, 21))


def test_a_long_touch_does_not_hide_a_short_one_behind_it() -> None:
    expiry = Expiry(terms(), [touch(0, 1), touch(5, 30), touch(6, 7), touch(13, 14)])
    assert not excused(expiry, sent(0, 1), recall(20, 21))


@pytest.mark.parametrize(
    ("doubtful", "refresh"),
    [
        (touch(5, 6, reaches=None), "write"),
        (touch(5, NEVER, reaches=None), "write"),
        (touch(5, 6, "recall"), "write"),
        (touch(5, 6, "recall", reaches=None), "read"),
        (Touch("recall", 5, 6, "s", frozenset()), "read"),
        (touch(5, 6, "other"), "read"),
        (touch(5, 6, session="t", reaches="t"), "write"),
    ],
)
def test_what_did_not_certainly_prolong_excuses(doubtful: Touch, refresh: str) -> None:
    expiry = Expiry(terms(refresh=refresh), [touch(0, 1), doubtful])
    assert excused(expiry, sent(0, 1), recall(12, 13))


@pytest.mark.parametrize("kind", ["append", "recall"])
def test_with_refresh_by_reading_both_prolong(kind: TouchKind) -> None:
    expiry = Expiry(terms(refresh="read"), [touch(0, 1), touch(5, 6, kind)])
    assert not excused(expiry, sent(0, 1), recall(12, 13))


def test_what_reaches_another_session_prolongs_the_user() -> None:
    other = touch(5, 6, session="t", reaches="t")
    assert excused(Expiry(terms(unit="session"), [touch(0, 1), other]), sent(0, 1), recall(12, 13))
    assert not excused(Expiry(terms(unit="user"), [touch(0, 1), other]), sent(0, 1), recall(12, 13))


def test_without_refresh_the_unit_expires_with_its_first_append_refused_ones_included() -> None:
    begun = terms(refresh="none")
    assert not excused(Expiry(begun, [touch(4, 5)]), sent(4, 5), recall(12, 13))
    assert excused(Expiry(begun, [touch(0, 1, reaches=None), touch(4, 5)]), sent(4, 5), recall(9, 10))
    assert not excused(Expiry(begun, [touch(0, 1, reaches=None), touch(4, 5)]), sent(4, 5), recall(8, 9))
    assert not excused(Expiry(begun, [touch(0, 1, session="t"), touch(4, 5)]), sent(4, 5), recall(12, 13))
    assert not excused(Expiry(begun, [touch(0, 1, "recall"), touch(4, 5)]), sent(4, 5), recall(12, 13))
    assert excused(Expiry(terms(refresh="none", unit="user"), [touch(0, 1, session="t")]), sent(4, 5), recall(12, 13))


@pytest.mark.parametrize(("start", "alive"), [(12, False), (13, True)])
def test_a_touch_is_certain_to_be_seen_only_when_its_visibility_is_over(start: int, alive: bool) -> None:
    expiry = Expiry(terms(visibility_ns=6), [touch(0, 1), touch(5, 6)])
    assert excused(expiry, sent(0, 1), recall(start, start)) == (not alive)


def test_an_expired_message_is_neither_owed_nor_checked() -> None:
    m = sent(0, 1)
    expiry = Expiry(terms(), [touch(0, 1)])
    assert not judge(Recall(12, 13, None, 0, ()), [m], terms(), (), expiry).checked
    assert judge(Recall(7, 8, None, 0, ()), [m], terms(), (), expiry).lossy


# must have expired ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "dead"), [(11, False), (12, True)])
def test_a_silence_longer_than_the_life_is_too_long(start: int, dead: bool) -> None:
    expiry = Expiry(terms(), [touch(0, 1)])
    assert expiry.over_retained(sent(0, 1), recall(start, start + 1)) == dead


@pytest.mark.parametrize(("start", "dead"), [(14, False), (15, True)])
def test_what_is_swept_now_and_then_may_linger(start: int, dead: bool) -> None:
    expiry = Expiry(terms(granularity_ns=3), [touch(0, 1)])
    assert expiry.over_retained(sent(0, 1), recall(start, start)) == dead


@pytest.mark.parametrize(("start", "dead"), [(16, False), (17, True)])
def test_what_is_shown_late_may_have_been_read_early(start: int, dead: bool) -> None:
    expiry = Expiry(terms(visibility_ns=5), [touch(0, 1)])
    assert expiry.over_retained(sent(0, 1), recall(start, start)) == dead


@pytest.mark.parametrize(
    "possible",
    [
        touch(8, 9, reaches=None),
        touch(3, NEVER, reaches=None),
        touch(8, 9, "other", reaches=None),
        touch(8, 9, session=None, reaches=None),
        touch(11, 12, reaches=None),
    ],
)
def test_whatever_may_have_prolonged_excuses_retention(possible: Touch) -> None:
    expiry = Expiry(terms(), [touch(0, 1), possible])
    assert not expiry.over_retained(sent(0, 1), recall(18, 19))


@pytest.mark.parametrize(
    ("beside", "refresh"),
    [
        (touch(8, 9, "recall"), "write"),
        (touch(8, 9, "append"), "none"),
        (touch(8, 9, session="t"), "write"),
        (touch(12, 13), "write"),
    ],
)
def test_what_cannot_have_prolonged_does_not(beside: Touch, refresh: str) -> None:
    expiry = Expiry(terms(refresh=refresh), [touch(0, 1), beside])
    assert expiry.over_retained(sent(0, 1), recall(18, 19))


def test_a_touch_after_a_silence_too_long_revives_nothing() -> None:
    expiry = Expiry(terms(), [touch(0, 1), touch(20, 21), touch(25, 26)])
    assert expiry.over_retained(sent(0, 1), recall(28, 29))
    assert not expiry.over_retained(sent(20, 21), recall(28, 29))


def test_a_reading_prolongs_where_reading_does() -> None:
    expiry = Expiry(terms(refresh="read"), [touch(0, 1), touch(8, 9, "recall", reaches=None)])
    assert not expiry.over_retained(sent(0, 1), recall(18, 19))
    assert expiry.over_retained(sent(0, 1), recall(20, 21))


def test_a_message_that_may_be_stored_again_is_young_until_then() -> None:
    expiry = Expiry(terms(unit="message", refresh="none"), [])
    assert expiry.over_retained(sent(0, 1), recall(18, 19))
    assert not expiry.over_retained(sent(0, 1, attempts=2, resent_ns=10), recall(18, 19))
    assert not expiry.over_retained(sent(0, 1, attempts=2, resent_ns=NEVER), recall(180, 190))
    assert expiry.over_retained(sent(0, 1, attempts=2, resent_ns=7), recall(18, 19))


def test_what_was_never_certainly_stored_is_never_too_old() -> None:
    assert not Expiry(terms(), []).over_retained(sent(0), recall(100, 101))
