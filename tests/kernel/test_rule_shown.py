"""What may not be listed: too much, deleted, out of order; and what comes close."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from goldfish.rule import NEVER, Delete, Expiry, Message, Recall, Terms, Touch, excess, overrun, reordered


def sent(start: int, acked: int | None = None, **more: object) -> Message:
    fields = {"session": "s", "batch": start, "place": 0} | more
    message = Message("phone", start, sent_ns=start, **fields)  # type: ignore[arg-type]
    if acked is not None:
        message.acked_ns = acked
    return message


def looked(shown: Sequence[Message], bound: int | None = None, start: int = 90, **more: object) -> Recall:
    for message in shown:
        message.shown_ns = min(message.shown_ns, start + 1)
    return Recall(start, start + 1, bound, len(shown), shown, **more)  # type: ignore[arg-type]


def classes(recall: Recall, messages: Sequence[Message], terms: Terms, *deletes: Delete) -> list[tuple[str, object]]:
    return [(wrong.anomaly, wrong.message) for wrong in excess(recall, messages, terms, deletes)]


# window overrun ------------------------------------------------------------------------------------------------------


def test_more_than_the_list_has_places_for_is_an_overrun_of_the_list() -> None:
    messages = [sent(0, 1), sent(2, 3), sent(4, 5)]
    assert classes(looked(messages, 2), messages, Terms()) == [("window overrun", None)]
    assert classes(looked(messages, 3), messages, Terms()) == []
    assert classes(looked(messages), messages, Terms()) == []
    assert classes(looked(messages[:1], 0), messages, Terms()) == [("window overrun", None)]


def test_copies_that_the_contract_allows_prove_no_overrun() -> None:
    messages = [sent(0, 1), sent(2, 3, attempts=2)]
    assert overrun(looked(messages, 1), messages, Terms())
    assert not overrun(looked(messages, 1), messages, Terms(stores_resends=True))


def test_more_turns_than_the_window_has_are_too_many_if_they_are_whole() -> None:
    messages = [sent(at, at + 1, turn=at // 10) for at in (0, 1, 10, 11, 20, 21)]
    assert overrun(looked(messages), messages, Terms(turns=2))
    assert not overrun(looked(messages[1:]), messages, Terms(turns=2))  # of the first only a part is listed
    assert not overrun(looked(messages), messages, Terms(turns=3))
    assert not overrun(looked(messages), messages, Terms(turns=2, pinned=1))
    assert not overrun(looked(messages, search=True), messages, Terms(turns=2))


def test_turns_of_two_devices_are_not_one() -> None:
    messages = [sent(0, 1, turn=1), sent(2, 3, turn=1)]
    messages[1].device = "laptop"
    assert overrun(looked(messages), messages, Terms(turns=1))


def test_more_tokens_than_the_window_has_by_lower_bounds_are_too_many() -> None:
    messages = [sent(at, at + 1, tokens_min=size, tokens_max=99) for at, size in ((0, 4), (2, 5), (4, 6))]
    assert overrun(looked(messages), messages, Terms(tokens=14))
    assert not overrun(looked(messages), messages, Terms(tokens=15))
    assert not overrun(looked(messages), messages, Terms(tokens=14, keep_at_least=3))
    assert overrun(looked(messages), messages, Terms(tokens=14, keep_at_least=2))
    assert not overrun(looked(messages), messages, Terms(tokens=9, pinned=1))  # the largest may be pinned
    assert overrun(looked(messages), messages, Terms(tokens=8, pinned=1))
    assert not overrun(looked(messages), messages, Terms(tokens=8, pinned=1, keep_at_least=2))
    assert not overrun(looked(messages, search=True), messages, Terms(tokens=1))


def test_of_a_damaged_copy_nobody_knows_the_tokens() -> None:
    messages = [sent(0, 1, tokens_min=9, tokens_max=9), sent(2, 3, tokens_min=9, tokens_max=9)]
    assert overrun(looked(messages), messages, Terms(tokens=17))
    assert not overrun(looked(messages, damaged={messages[0]}), messages, Terms(tokens=17))


# over-retained -------------------------------------------------------------------------------------------------------


def test_each_message_that_must_have_expired_is_named() -> None:
    messages = [sent(0, 1), sent(80, 81)]
    terms = Terms(ttl_ns=20, unit="message", refresh="none")
    expiry = Expiry(terms, [Touch("append", 0, 1, "s", None)])
    found = excess(looked(messages), messages, terms, (), expiry)
    assert [(wrong.anomaly, wrong.message) for wrong in found] == [("over-retained", messages[0])]


# resurrected ---------------------------------------------------------------------------------------------------------

GONE = Delete("s", 10, 12, ok=True)


def test_what_was_stored_before_an_acknowledged_delete_is_resurrected() -> None:
    m, later = sent(0, 9), sent(20, 21)
    assert classes(looked([m, later]), [m, later], Terms(), GONE) == [("resurrected", m)]


@pytest.mark.parametrize(
    ("acked", "delete", "start", "visibility"),
    [
        (10, GONE, 90, 0),  # acknowledged only when the delete began
        (9, GONE, 12, 0),  # the recall began when the delete ended
        (9, GONE, 17, 5),  # …or within its visibility
        (9, GONE._replace(ok=False), 90, 0),
        (9, GONE._replace(session="t"), 90, 0),
    ],
)
def test_what_a_delete_may_have_missed_is_not(acked: int, delete: Delete, start: int, visibility: int) -> None:
    m = sent(0, acked)
    assert classes(looked([m], start=start), [m], Terms(visibility_ns=visibility), delete) == []


def test_the_visibility_of_a_delete_ends() -> None:
    m = sent(0, 9)
    assert classes(looked([m], start=18), [m], Terms(visibility_ns=5), GONE) == [("resurrected", m)]


def test_a_resend_may_have_stored_it_again() -> None:
    m = sent(0, 9, attempts=2, resent_ns=NEVER)
    assert classes(looked([m]), [m], Terms(), GONE) == []
    m.resent_ns = 9
    assert classes(looked([m]), [m], Terms(), GONE) == [("resurrected", m)]


@pytest.mark.parametrize(
    ("start", "end", "undone"), [(8, 10, True), (12, 20, True), (3, 9, False), (13, 20, False), (3, None, True)]
)
def test_the_last_writer_may_have_undone_a_delete_that_it_overlapped(start: int, end: int | None, undone: bool) -> None:
    m, writer = sent(0, 2), sent(start, end)
    found = classes(looked([m]), [m, writer], Terms(last_writer=True), GONE)
    assert found == ([] if undone else [("resurrected", m)])
    assert classes(looked([m]), [m, writer], Terms(), GONE) == [("resurrected", m)]


def test_a_refused_writer_undoes_nothing_and_a_resend_does() -> None:
    m, refused = sent(0, 2), sent(8)
    refused.failed = True
    assert classes(looked([m]), [m, refused], Terms(last_writer=True), GONE) == [("resurrected", m)]
    resent = sent(3, 4, attempts=2, resent_ns=11)
    assert classes(looked([m]), [m, resent], Terms(last_writer=True), GONE) == []


# reordered -----------------------------------------------------------------------------------------------------------


def test_an_inversion_is_found_whatever_stands_between() -> None:
    first, second, third, fourth = sent(0, 1), sent(5, 6), sent(10, 11), sent(20, 21)
    assert reordered([second, third, first, fourth], Terms()) == (third, first)
    assert reordered([first, second, third, fourth], Terms()) is None


def test_the_latest_sent_counts_not_the_last_listed() -> None:
    early, late, beside = sent(0, 30), sent(10, 40), sent(5, 35)
    old = sent(1, 8)
    assert reordered([late, early, beside, old], Terms()) == (late, old)
    assert reordered([early, beside, late], Terms()) is None


def test_parts_of_one_append_are_compared_with_the_latest_part() -> None:
    one, two, three = (sent(0, 9, batch=7, place=place) for place in range(3))
    assert reordered([one, three, two], Terms()) == (three, two)
    assert reordered([one, two, three], Terms()) is None
    assert reordered([two, one, three], Terms()) == (two, one)
