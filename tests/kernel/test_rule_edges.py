"""Edges of the rule: equal stamps, boundaries and combinations that simulated histories meet too seldom."""

from __future__ import annotations

from goldfish.rule import (
    Delete,
    Excess,
    Excuses,
    Expiry,
    Message,
    Recall,
    Terms,
    Touch,
    excess,
    judge,
    judge_search,
    overrun,
)


def sent(start: int, acked: int | None = None, *, batch: int, session: str = "s", **more: object) -> Message:
    message = Message("phone", batch, session, start, batch, 0, **more)  # type: ignore[arg-type]
    if acked is not None:
        message.acked_ns = acked
    return message


def test_what_was_deleted_before_the_missing_message_was_sent_has_not_pushed_it_out() -> None:
    unanswered, missing = sent(0, batch=1, session="other"), sent(4, 5, batch=2)
    delete = Delete("other", 2, 3, ok=True)
    verdict = judge(Recall(8, 9, 1, 0, []), [unanswered, missing], Terms(messages=1), [delete])
    assert verdict.lossy, "had the unanswered one been stored after it, it would be listed"
    later = Delete("other", 5, 7, ok=True)
    assert not judge(Recall(8, 9, 1, 0, []), [unanswered, missing], Terms(messages=1), [later]).lossy


def test_a_resend_that_ends_as_a_message_is_sent_may_overwrite_it() -> None:
    resent = sent(0, 3, batch=1, attempts=2, resent_ns=5)
    terms, recall = Terms(last_writer=True), Recall(20, 21, None, 1, [resent])
    for start, excused in ((5, True), (6, False)):
        m = sent(start, 8, batch=2)
        assert Excuses(recall, [resent, m], terms)(m) == excused


def test_what_is_as_old_as_its_life_after_a_touch_may_still_be_shown() -> None:
    terms = Terms(ttl_ns=100, unit="session", refresh="write")
    m = sent(0, 1, batch=1)
    touch = Touch("append", 10, 11, "s", frozenset({"s"}))
    expiry = Expiry(terms, [touch])
    assert not expiry.over_retained(m, Recall(111, 112, None, 1, [m]))
    assert expiry.over_retained(m, Recall(112, 113, None, 1, [m]))


def test_a_fact_sent_as_the_search_ended_may_have_taken_its_only_place_and_a_later_one_not() -> None:
    fact = sent(0, 1, batch=1)
    for start, named in ((9, 0), (10, 1)):
        rival = sent(start, batch=2)
        search = Recall(5, 9, 1, 0, [], search=True)
        verdict = judge_search(search, {fact, rival}, 0, [fact, rival], Terms())
        assert verdict.lossy
        assert len(verdict.missing) == named


def test_that_an_earlier_part_is_shown_only_now_proves_that_it_is_stored_in_its_place() -> None:
    earlier, missing = sent(0, batch=1, turn=1), sent(0, batch=1, turn=2)
    missing.place, missing.shown_ns, earlier.shown_ns = 1, 4, 9
    verdict = judge(Recall(8, 9, None, 1, [earlier]), [earlier, missing], Terms(turns=1))
    assert [lost.message for lost in verdict.missing] == [missing]


def test_that_an_earlier_part_is_shown_later_does_not_make_a_recall_lossy() -> None:
    earlier, missing = sent(0, batch=1, turn=1), sent(0, batch=1, turn=2)
    missing.place, missing.shown_ns, earlier.shown_ns = 1, 4, 20
    verdict = judge(Recall(8, 9, None, 0, []), [earlier, missing], Terms(turns=1))
    assert verdict.checked
    assert not verdict.lossy


def test_a_whole_turn_between_others_is_named_though_the_first_turn_went_on_after_it() -> None:
    pinned, older = sent(0, 1, batch=1, turn=1), sent(2, 3, batch=2, turn=2)
    missing, ended = sent(4, 5, batch=3, turn=3), sent(6, 7, batch=4, turn=1)
    recall = Recall(10, 11, None, 3, [pinned, older, ended])
    verdict = judge(recall, [pinned, older, missing, ended], Terms(turns=1, pinned=1))
    assert [lost.message for lost in verdict.missing] == [missing]


def test_what_a_session_keeps_in_any_case_follows_what_other_sessions_show() -> None:
    size = {"tokens_min": 8, "tokens_max": 8}
    older = sent(0, 1, batch=1, session="other", **size)
    missing, kept = sent(2, 3, batch=2, **size), sent(4, 5, batch=3, **size)
    newest = sent(6, 7, batch=4, session="other", **size)
    recall = Recall(10, 11, None, 3, [older, kept, newest])
    verdict = judge(recall, [older, missing, kept, newest], Terms(tokens=10, keep_at_least=2))
    assert [lost.message for lost in verdict.missing] == [missing]


def test_a_resend_that_ends_as_a_delete_begins_may_have_undone_it() -> None:
    terms, delete = Terms(last_writer=True), Delete("s", 10, 12, ok=True)
    m = sent(0, 1, batch=1)
    for end, found in ((10, []), (9, [Excess("resurrected", m)])):
        resent = sent(2, 3, batch=2, attempts=2, resent_ns=end)
        assert excess(Recall(20, 21, None, 1, [m]), [m, resent], terms, [delete]) == found


def test_what_is_left_of_a_damaged_message_may_be_nothing() -> None:
    whole, damaged = sent(0, 1, batch=1, tokens_min=5, tokens_max=5), sent(2, 3, batch=2, tokens_min=3, tokens_max=3)
    recall = Recall(8, 9, None, 2, [whole, damaged])
    assert overrun(recall, [whole, damaged], Terms(tokens=5))
    assert not overrun(recall._replace(damaged={damaged}), [whole, damaged], Terms(tokens=5))
