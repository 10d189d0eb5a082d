"""The rule of loss, sentence by sentence: what it proves, and what comes close without proving anything."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from goldfish.rule import Delete, Message, Recall, Terms, before, judge, position, reordered


def sent(
    device: str, seq: int, start: int, acked: int | None = None, *, batch: int | None = None, place: int = 0
) -> Message:
    message = Message(device, seq, "s0", start, batch if batch is not None else hash((device, seq)), place)
    if acked is not None:
        message.acked_ns = acked
    return message


def recalled(start: int, end: int, shown: list[Message], bound: int | None = None, extra: int = 0) -> Recall:
    for message in shown:
        message.shown_ns = min(message.shown_ns, end)
    return Recall(start, end, bound, len(shown) + extra, shown)


PLAIN = Terms()


def named(
    recall: Recall, messages: list[Message], terms: Terms = PLAIN, deletes: Sequence[Delete] = ()
) -> list[tuple[str, str]]:
    verdict = judge(recall, messages, terms, deletes)
    return [(repr(missing.message), missing.position) for missing in verdict.missing]


def test_an_acknowledged_message_is_owed_to_a_recall_that_starts_later() -> None:
    m = sent("phone", 0, 0, 5)
    assert named(recalled(6, 7, []), [m]) == [("phone.0", "blank")]


def test_equal_stamps_prove_nothing() -> None:
    m = sent("phone", 0, 0, 6)
    assert not judge(recalled(6, 7, []), [m], PLAIN).checked


def test_a_message_in_flight_is_not_owed() -> None:
    m = sent("phone", 0, 0)
    assert not judge(recalled(6, 7, []), [m], PLAIN).checked


def test_a_recall_cannot_have_read_before_what_it_shows_was_sent() -> None:
    early, late = sent("phone", 0, 0, 8), sent("laptop", 0, 9, 12)
    # The recall starts before the phone's acknowledgement, but shows what was sent after it.
    assert named(recalled(2, 14, [late]), [early, late]) == [("phone.0", "head")]


def test_what_was_shown_once_is_owed_although_its_append_was_never_acknowledged() -> None:
    m = sent("phone", 0, 0)
    recalled(2, 4, [m])
    assert named(recalled(5, 6, []), [m]) == [("phone.0", "blank")]


def test_a_list_with_room_owes_everything() -> None:
    first, second = sent("phone", 0, 0, 1), sent("phone", 1, 2, 3)
    assert named(recalled(4, 5, [second], bound=3), [first, second]) == [("phone.0", "head")]


def test_a_full_list_may_have_pushed_out_what_is_older() -> None:
    first, second = sent("phone", 0, 0, 1), sent("phone", 1, 2, 3)
    verdict = judge(recalled(4, 5, [second], bound=1), [first, second], PLAIN)
    assert verdict.checked
    assert not verdict.lossy


def test_a_full_list_that_shows_something_older_is_lossy() -> None:
    first, second = sent("phone", 0, 0, 1), sent("phone", 1, 2, 3)
    assert named(recalled(4, 5, [first], bound=1), [first, second]) == [("phone.1", "tail")]


def test_an_element_that_is_not_ours_takes_a_place() -> None:
    first, second = sent("phone", 0, 0, 1), sent("phone", 1, 2, 3)
    assert not judge(recalled(4, 5, [second], bound=2, extra=1), [first, second], PLAIN).lossy


def test_an_append_that_the_list_lacks_cannot_have_pushed_anything_out() -> None:
    first, second, open_ended = sent("phone", 0, 0, 1), sent("phone", 1, 2, 3), sent("laptop", 0, 2)
    # Two places, one shown: whatever became of the laptop's message, there was room.
    verdict = judge(recalled(4, 5, [second], bound=2), [first, second, open_ended], PLAIN)
    assert verdict.lossy
    assert verdict.missing == ()  # but the laptop's may stand behind the first, so nobody can be named


def test_a_rejected_message_pushes_nothing_out_unless_it_is_shown() -> None:
    first, second, rejected = sent("phone", 0, 0, 1), sent("phone", 1, 2, 3), sent("laptop", 0, 2)
    rejected.failed = True
    assert named(recalled(4, 5, [second], bound=2), [first, second, rejected]) == [("phone.0", "head")]
    rejected.shown_ns = 9
    assert named(recalled(4, 5, [second], bound=2), [first, second, rejected]) == []


def test_a_limit_of_nothing_owes_nothing() -> None:
    assert not judge(recalled(4, 5, [], bound=0), [sent("phone", 0, 0, 1)], PLAIN).checked


def test_visibility_delays_what_is_owed() -> None:
    m = sent("phone", 0, 0, 10)
    assert not judge(recalled(30, 31, []), [m], Terms(visibility_ns=20)).checked
    assert named(recalled(31, 32, []), [m], Terms(visibility_ns=20)) == [("phone.0", "blank")]


def test_the_earlier_part_of_an_acknowledged_append_is_owed_where_the_later_is_shown() -> None:
    asked, answered = sent("phone", 0, 0, 9, batch=7), sent("phone", 1, 0, 9, batch=7, place=1)
    assert named(recalled(3, 4, [answered]), [asked, answered]) == [("phone.0", "head")]


def test_an_append_in_the_making_may_be_seen_in_part() -> None:
    asked, answered = sent("phone", 0, 0, batch=7), sent("phone", 1, 0, batch=7, place=1)
    assert not judge(recalled(3, 4, [answered]), [asked, answered], PLAIN).lossy


def test_a_deleted_session_owes_nothing_from_before() -> None:
    m = sent("phone", 0, 0, 1)
    deletes = [Delete("s0", 2, 3, ok=True)]
    assert not judge(recalled(4, 5, []), [m], PLAIN, deletes).checked
    assert judge(recalled(4, 5, []), [m], PLAIN, [Delete("s1", 2, 3, ok=True)]).lossy
    later = sent("phone", 1, 4, 5)
    assert named(recalled(6, 7, []), [m, later], PLAIN, deletes) == [("phone.1", "blank")]


def test_positions() -> None:
    a, b, c = sent("phone", 0, 0, 1), sent("phone", 1, 2, 3), sent("phone", 2, 4, 5)
    beside = sent("laptop", 0, 2, 5)
    assert position(b, [], PLAIN) == "blank"
    assert position(b, [a], PLAIN) == "tail"
    assert position(b, [c], PLAIN) == "head"
    assert position(b, [a, c], PLAIN) == "gap"
    assert position(b, [beside], PLAIN) == "unplaced"


def test_before_is_certain_and_never_both_ways() -> None:
    a, b, beside = sent("phone", 0, 0, 1), sent("phone", 1, 2, 3), sent("laptop", 0, 1, 2)
    assert before(a, b)
    assert not before(b, a)
    assert not before(a, beside)  # acknowledged at 1, sent at 1: concurrent
    assert not before(beside, b)


def test_an_impossible_order_is_found() -> None:
    a, b = sent("phone", 0, 0, 1), sent("phone", 1, 2, 3)
    assert reordered([b, a], PLAIN) == (b, a)


def test_an_order_that_overlapping_writes_allow_is_none() -> None:
    a, b = sent("phone", 0, 0, 5), sent("laptop", 0, 2, 3)
    assert reordered([b, a], PLAIN) is None
    assert reordered([a, b], PLAIN) is None


def test_parts_of_one_append_have_its_order() -> None:
    asked, answered = sent("phone", 0, 0, 9, batch=7), sent("phone", 1, 0, 9, batch=7, place=1)
    assert reordered([answered, asked], PLAIN) == (answered, asked)
    assert reordered([asked, answered], PLAIN) is None


@pytest.mark.parametrize(
    ("window", "limit", "default", "most", "bound"),
    [
        (None, None, None, None, None),
        (5, None, None, None, 5),
        (None, 3, None, None, 3),
        (5, 3, None, None, 3),
        (5, 0, None, None, 0),
        (None, None, 4, None, 4),
        (None, 7, 4, None, 7),
        (None, 7, 4, 6, 6),
        (None, None, 4, 6, 4),
        (3, None, 4, 6, 3),
        (None, None, None, 6, 6),
    ],
)
def test_the_capacity_is_the_smallest_bound_that_applies(
    window: int | None, limit: int | None, default: int | None, most: int | None, bound: int | None
) -> None:
    terms = Terms(messages=window, page_default=default, page_max=most)
    assert terms.capacity(limit) == bound
