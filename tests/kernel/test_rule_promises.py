"""The rule of loss under contracts that promise less: each allowance excuses what it names, and nothing beside it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from goldfish.contract import Contract, Page, Ttl, Window
from goldfish.rule import Delete, Message, Recall, Terms, before, judge, judge_search, reordered, terms_of

MS = 1_000_000
BATCHES = iter(range(1_000, 1_000_000))


def sent(start: int, acked: int | None = None, *, device: str = "phone", **more: object) -> Message:
    fields = {"seq": next(BATCHES), "session": "s", "batch": next(BATCHES), "place": 0} | more
    message = Message(device=device, sent_ns=start, **fields)  # type: ignore[arg-type]
    if acked is not None:
        message.acked_ns = acked
    return message


def batch(start: int, acked: int | None, number: int, **more: object) -> list[Message]:
    together = next(BATCHES)
    return [sent(start, acked, batch=together, place=place, **more) for place in range(number)]


def recalled(start: int, end: int, shown: Sequence[Message], bound: int | None = None, extra: int = 0) -> Recall:
    for message in shown:
        message.shown_ns = min(message.shown_ns, end)
    return Recall(start, end, bound, len(shown) + extra, shown)


def turn_by_turn(number: int, **more: object) -> list[Message]:
    """Messages one after the other, each acknowledged before the next is sent."""
    return [sent(10 * at, 10 * at + 1, **{"turn": at} | more) for at in range(number)]


# roles ---------------------------------------------------------------------------------------------------------------


def test_a_role_that_is_not_stored_is_never_due() -> None:
    said, answered = sent(0, 1, role="user"), sent(2, 3, role="assistant")
    terms = Terms(roles=frozenset({"user"}))
    assert not judge(recalled(4, 5, [said]), [said, answered], terms).lossy
    lost = judge(recalled(4, 5, []), [said, answered], terms)
    assert [missing.message for missing in lost.missing] == [said]
    assert not judge(recalled(4, 5, []), [answered], terms).checked


# order ---------------------------------------------------------------------------------------------------------------


def test_slack_makes_close_messages_concurrent() -> None:
    first, second = sent(0, 10), sent(15, 16)
    assert before(first, second, 4)
    assert not before(first, second, 5)
    assert not before(first, second, None)


def test_within_an_append_there_is_no_slack_but_an_order_if_lists_have_one() -> None:
    asked, answered = batch(0, 9, 2)
    assert before(asked, answered, 100)
    assert not before(answered, asked, 100)
    assert not before(asked, answered, None)


def test_what_is_shown_later_proves_no_order_by_then() -> None:
    asked, answered = batch(0, None, 2)
    assert not before(asked, answered)
    asked.shown_ns = 9
    assert before(asked, answered)
    assert before(asked, answered, by_ns=10)
    assert not before(asked, answered, by_ns=9)


def test_slack_excuses_an_inversion_and_what_follows_from_order() -> None:
    first, second = sent(0, 10), sent(15, 16)
    shown = [second, first]
    for message in shown:
        message.shown_ns = 30
    assert reordered(shown, Terms(slack_ns=4)) == (second, first)
    assert reordered(shown, Terms(slack_ns=5)) is None
    assert reordered(shown, Terms(slack_ns=None)) is None
    full = recalled(20, 21, [first], bound=1)
    assert judge(full, [first, second], Terms(slack_ns=4)).lossy
    assert not judge(full, [first, second], Terms(slack_ns=5)).lossy


def test_without_order_room_alone_proves_a_loss() -> None:
    first, second = sent(0, 1), sent(5, 6)
    terms = Terms(slack_ns=None)
    assert not judge(recalled(9, 10, [first], bound=1), [first, second], terms).lossy
    verdict = judge(recalled(9, 10, [first], bound=2), [first, second], terms)
    assert [(missing.message, missing.position) for missing in verdict.missing] == [(second, "unplaced")]


def test_without_order_a_later_part_does_not_make_the_earlier_due() -> None:
    asked, answered = batch(0, 9, 2)
    assert judge(recalled(3, 4, [answered]), [asked, answered], Terms()).lossy
    assert not judge(recalled(3, 4, [answered]), [asked, answered], Terms(slack_ns=None)).lossy


# last writer ---------------------------------------------------------------------------------------------------------


def test_the_last_writer_may_overwrite_what_was_written_meanwhile() -> None:
    phone, laptop = sent(0, 10), sent(5, 15, device="laptop")
    terms = Terms(last_writer=True)
    assert not judge(recalled(20, 21, [laptop]), [phone, laptop], terms).lossy
    assert not judge(recalled(20, 21, [phone]), [phone, laptop], terms).lossy
    assert judge(recalled(20, 21, [phone]), [phone, laptop], Terms()).lossy


@pytest.mark.parametrize(("start", "lossy"), [(10, False), (11, True)])
def test_an_append_that_began_after_the_acknowledgement_overwrites_nothing(start: int, lossy: bool) -> None:
    phone, laptop = sent(0, 10), sent(start, 20, device="laptop")
    assert judge(recalled(30, 31, [laptop]), [phone, laptop], Terms(last_writer=True)).lossy == lossy


@pytest.mark.parametrize(("end", "lossy"), [(5, False), (4, True)])
def test_an_append_that_had_ended_before_the_sending_overwrites_nothing(end: int, lossy: bool) -> None:
    laptop, phone = sent(0, end, device="laptop"), sent(5, 10)
    assert judge(recalled(30, 31, [laptop]), [phone, laptop], Terms(last_writer=True)).lossy == lossy


def test_an_unanswered_append_may_overwrite_later_ones_even_of_its_own_device() -> None:
    first, second = sent(0), sent(5, 6)
    terms = Terms(last_writer=True)
    assert not judge(recalled(9, 10, [first]), [first, second], terms).lossy
    refused = sent(0)
    refused.failed = True
    assert judge(recalled(9, 10, []), [refused, second], terms).lossy
    refused.shown_ns = 12  # by another recall, later: not known by now
    assert judge(recalled(9, 10, []), [refused, second], terms).lossy
    assert not judge(recalled(13, 14, []), [refused, second], terms).lossy


def test_the_parts_of_one_append_do_not_overwrite_each_other() -> None:
    both = batch(0, 5, 2)
    assert judge(recalled(9, 10, both[:1]), both, Terms(last_writer=True)).lossy


def test_a_resend_may_overwrite_until_it_has_ended() -> None:
    resent, later = sent(0, 2, attempts=2, resent_ns=30), sent(5, 6)
    terms = Terms(last_writer=True)
    assert not judge(recalled(40, 41, [resent]), [resent, later], terms).lossy
    resent.resent_ns = 4
    assert judge(recalled(40, 41, [resent]), [resent, later], terms).lossy


# resends -------------------------------------------------------------------------------------------------------------


def test_a_message_that_may_be_stored_twice_proves_no_order() -> None:
    resent, later = sent(0, 1, attempts=2, resent_ns=40, loose=True), sent(10, 11)
    assert reordered([later, resent], Terms()) is None
    assert not judge(recalled(50, 51, [resent], bound=1), [resent, later], Terms()).lossy
    resent.loose = False
    assert reordered([later, resent], Terms()) == (later, resent)
    assert judge(recalled(50, 51, [resent], bound=1), [resent, later], Terms()).lossy


@pytest.mark.parametrize(("attempts", "named"), [(1, True), (2, False)])
def test_a_message_that_is_stored_each_time_takes_as_many_places(attempts: int, named: bool) -> None:
    m, resent, last = sent(0, 1), sent(10, 11, attempts=attempts, loose=attempts > 1, resent_ns=12), sent(20, 21)
    verdict = judge(recalled(30, 31, [last], bound=3), [m, resent, last], Terms(stores_resends=True))
    assert verdict.lossy
    assert (m in [missing.message for missing in verdict.missing]) == named


def test_a_loose_message_may_stand_behind_what_was_sent_after_it() -> None:
    loose, m, last = sent(0, 1, loose=True, attempts=2, resent_ns=50), sent(10, 11), sent(20, 21)
    verdict = judge(recalled(60, 61, [last], bound=2), [loose, m, last], Terms())
    assert verdict.lossy
    assert m not in [missing.message for missing in verdict.missing]


# deletes and windows that are cut when they are written to -----------------------------------------------------------


def test_what_was_deleted_may_have_pushed_out_what_is_missing() -> None:
    kept = sent(0, 1, session="a")
    gone = [sent(10 * at, 10 * at + 1, session="b") for at in (1, 2)]
    deletes = [Delete("b", 30, 31, ok=True)]
    every = [kept, *gone]
    assert not judge(recalled(40, 41, [], bound=2), every, Terms(messages=2), deletes).lossy
    assert judge(recalled(40, 41, [], bound=3), every, Terms(messages=3), deletes).lossy
    # A limit cuts nothing that is stored.
    assert judge(recalled(40, 41, [], bound=2), every, Terms(), deletes).lossy


def test_what_was_deleted_before_a_message_was_sent_pushed_nothing_out() -> None:
    gone = [sent(10 * at, 10 * at + 1, session="b") for at in (0, 1)]
    kept = sent(40, 41, session="a")
    late = sent(5, session="b")
    deletes = [Delete("b", 20, 21, ok=True)]
    assert judge(recalled(50, 51, [], bound=2), [*gone, late, kept], Terms(messages=2), deletes).lossy


def test_a_delete_that_never_answered_may_come_at_any_time_after_it_began() -> None:
    m = sent(20, 21)
    assert not judge(recalled(30, 31, []), [m], Terms(), [Delete("s", 5, 6, ok=False)]).checked
    assert judge(recalled(30, 31, []), [m], Terms(), [Delete("s", 5, 6, ok=True)]).lossy
    assert judge(recalled(30, 31, []), [m], Terms(), [Delete("s", 32, 33, ok=False)]).lossy
    assert not judge(recalled(30, 31, []), [m], Terms(), [Delete("s", 31, 33, ok=False)]).checked


def test_another_sessions_messages_excuse_only_where_sessions_share_a_window() -> None:
    m = sent(0, 1)
    assert judge(recalled(5, 6, [], bound=2), [m], Terms(messages=2)).lossy
    shared = Terms(messages=2, shared=True, alone=False)
    assert not judge(recalled(5, 6, [], bound=2), [m], shared).lossy
    assert judge(recalled(5, 6, [], bound=2), [m], shared).checked
    assert judge(recalled(5, 6, [], bound=2), [m], Terms(shared=True, alone=False)).lossy
    older, m = sent(0, 1), sent(5, 6)
    assert judge(recalled(8, 9, [older], bound=2), [older, m], shared).lossy


# several sessions ----------------------------------------------------------------------------------------------------


def test_a_message_with_a_window_of_its_session_behind_it_is_not_named_for_another_session() -> None:
    old = sent(0, 1, session="a")
    m, *behind = [sent(10 * at, 10 * at + 1, session="b") for at in range(1, 4)]
    verdict = judge(recalled(50, 51, [old, behind[0]], bound=2), [old, m, *behind], Terms(messages=2))
    assert verdict.lossy
    assert [missing.message for missing in verdict.missing] == [behind[1]]
    beside = sent(2, 3, session="b")
    verdict = judge(recalled(50, 51, [beside, behind[0]], bound=2), [old, beside, m, *behind], Terms(messages=2))
    assert m in [missing.message for missing in verdict.missing]


# pinned --------------------------------------------------------------------------------------------------------------

PINNED = Terms(messages=3, pinned=1)


def test_a_pinned_message_is_always_owed() -> None:
    first, *rest = turn_by_turn(5)
    verdict = judge(recalled(60, 61, rest[-3:], bound=3), [first, *rest], PINNED)
    assert [missing.message for missing in verdict.missing] == [first]
    assert not judge(recalled(60, 61, [first, *rest[-2:]], bound=3), [first, *rest], PINNED).lossy


def test_a_pinned_message_proves_nothing_of_what_came_after_it() -> None:
    first, *rest = turn_by_turn(5)
    verdict = judge(recalled(60, 61, [first, rest[0], rest[-1]], bound=3), [first, *rest], PINNED)
    assert [missing.message for missing in verdict.missing] == [rest[1], rest[2]]
    assert not judge(recalled(60, 61, [first, *rest[-2:]], bound=3), [first, *rest], PINNED).lossy


def test_of_two_that_may_be_the_first_none_is_certainly_pinned() -> None:
    one, other = sent(0, 5), sent(1, 6, device="laptop")
    rest = [sent(10 * at, 10 * at + 1) for at in range(1, 5)]
    every = [one, other, *rest]
    assert not judge(recalled(60, 61, [other, *rest[-2:]], bound=3), every, PINNED).lossy
    assert judge(recalled(60, 61, rest[-2:], bound=3), every, PINNED).lossy is False
    refused = sent(0)
    refused.failed = True
    assert judge(recalled(60, 61, rest[-3:], bound=3), [one, refused, *rest], PINNED).lossy


def test_with_one_place_for_all_others_a_short_list_still_owes() -> None:
    first, *rest = turn_by_turn(4)
    verdict = judge(recalled(60, 61, [first, rest[-1]], bound=3), [first, *rest], PINNED)
    assert [missing.message for missing in verdict.missing] == [rest[-2]]


def test_a_list_shorter_than_what_is_pinned_owes_nothing() -> None:
    messages = turn_by_turn(4)
    terms = Terms(pinned=2, messages=9)
    assert not judge(recalled(60, 61, [], bound=1), messages, terms).checked
    assert judge(recalled(60, 61, [], bound=2), messages, terms).lossy


def test_where_others_may_be_first_nothing_is_certainly_pinned() -> None:
    first, *rest = turn_by_turn(5)
    terms = Terms(messages=3, pinned=1, alone=False)
    assert not judge(recalled(60, 61, rest[-3:], bound=3), [first, *rest], terms).lossy


def test_two_older_ones_prove_more_than_one_pinned() -> None:
    a, b, m = sent(0, 9), sent(1, 9, device="laptop"), sent(20, 21)
    rest = sent(22, 23)
    terms = Terms(messages=3, pinned=1)
    assert judge(recalled(60, 61, [a, b, rest], bound=3), [a, b, m, rest], terms).lossy
    assert not judge(recalled(60, 61, [a, rest], bound=2), [a, b, m, rest], Terms(pinned=1, messages=9)).lossy


# turns ---------------------------------------------------------------------------------------------------------------


def test_a_window_of_turns_keeps_all_their_messages() -> None:
    messages = [sent(10 * at, 10 * at + 1, turn=at // 2) for at in range(6)]
    terms = Terms(turns=2)
    assert not judge(recalled(90, 91, messages[2:]), messages, terms).lossy
    verdict = judge(recalled(90, 91, messages[3:]), messages, terms)
    assert [missing.message for missing in verdict.missing] == [messages[2]]
    assert [m.message for m in judge(recalled(90, 91, messages[4:]), messages, terms).missing] == messages[2:4]


def test_an_element_of_somebody_else_counts_as_a_turn() -> None:
    messages = turn_by_turn(3)
    assert judge(recalled(90, 91, messages[2:]), messages, Terms(turns=2)).lossy
    assert not judge(recalled(90, 91, messages[2:], extra=1), messages, Terms(turns=2)).lossy


def test_an_older_message_proves_something_only_if_its_whole_turn_is_older() -> None:
    early, late = sent(0, 1, turn=1), sent(40, 41, turn=1)
    m = sent(20, 21, turn=2, device="laptop")
    other = sent(50, 51, turn=3)
    every = [early, m, late, other]
    assert not judge(recalled(90, 91, [early, late, other], bound=3), every, Terms(turns=2)).lossy
    late.turn = 4
    assert judge(recalled(90, 91, [early, late, other], bound=3), every, Terms(turns=2)).lossy


def test_a_turn_that_others_interrupt_may_have_been_cut() -> None:
    first, again = sent(0, 1, turn=1), sent(40, 41, turn=1)
    between = sent(20, 21, turn=1, device="laptop")
    assert not judge(recalled(90, 91, [again]), [first, between, again], Terms(turns=1)).lossy
    between.turn, between.device = 1, "phone"
    assert judge(recalled(90, 91, [again]), [first, between, again], Terms(turns=1)).lossy


# tokens --------------------------------------------------------------------------------------------------------------


def sized(start: int, least: int, most: int, **more: object) -> Message:
    return sent(start, start + 1, tokens_min=least, tokens_max=most, **more)


def test_a_window_of_tokens_owes_what_certainly_fits() -> None:
    first, second, third = sized(0, 1, 4), sized(10, 1, 3), sized(20, 1, 3)
    every = [first, second, third]
    assert [m.message for m in judge(recalled(50, 51, [third]), every, Terms(tokens=6)).missing] == [second]
    assert [m.message for m in judge(recalled(50, 51, [third]), every, Terms(tokens=10)).missing] == [first, second]
    assert not judge(recalled(50, 51, [third]), every, Terms(tokens=5)).lossy


def test_extra_elements_take_tokens_and_unknown_ones_all() -> None:
    first, second = sized(0, 1, 4), sized(10, 1, 3)
    recall = recalled(50, 51, [second], extra=1)
    assert judge(recall, [first, second], Terms(tokens=7)).lossy
    assert not judge(recall._replace(extra_tokens=1), [first, second], Terms(tokens=7)).lossy
    assert not judge(recall._replace(extra_tokens=None), [first, second], Terms(tokens=1_000)).lossy


def test_a_limit_bounds_a_window_of_tokens_too() -> None:
    first, second = sized(0, 1, 4), sized(10, 1, 3)
    assert not judge(recalled(50, 51, [second], bound=1), [first, second], Terms(tokens=1_000)).lossy


@pytest.mark.parametrize(("kept", "missing"), [(0, []), (1, []), (2, [1]), (3, [0, 1])])
def test_the_newest_are_kept_over_the_budget(kept: int, missing: list[int]) -> None:
    messages = [sized(10 * at, 50, 60) for at in range(3)]
    verdict = judge(recalled(50, 51, messages[2:]), messages, Terms(tokens=10, keep_at_least=kept))
    assert [messages.index(lost.message) for lost in verdict.missing] == missing


def test_a_list_shorter_than_what_is_kept_lacks_something_though_nobody_can_be_named() -> None:
    one, other = sized(0, 50, 60), sized(0, 50, 60, device="laptop")
    open_ended = sent(1, tokens_min=50, tokens_max=60, device="tablet")
    verdict = judge(recalled(50, 51, [one]), [one, other, open_ended], Terms(tokens=10, keep_at_least=2))
    assert verdict.lossy
    assert verdict.missing == ()


def test_pinned_messages_that_went_leave_no_room_behind() -> None:
    first, second = sized(0, 8, 8), sized(10, 4, 4)
    terms = Terms(tokens=10, pinned=1, ttl_ns=None)
    lost = judge(recalled(50, 51, []), [first, second], terms)
    assert [missing.message for missing in lost.missing] == [first]
    assert judge(recalled(50, 51, [], bound=None), [first, second], Terms(tokens=12, pinned=1)).missing[1:] != ()


def test_of_strangers_that_are_not_shown_nobody_knows_the_size() -> None:
    first, second = sized(0, 1, 1), sized(10, 1, 1)
    assert not judge(recalled(50, 51, [second]), [first, second], Terms(tokens=100, alone=False)).lossy


# searches ------------------------------------------------------------------------------------------------------------


def test_a_search_owes_what_it_asks_for_and_nothing_else() -> None:
    fact, other = sent(0, 1), sent(10, 11)
    found = recalled(20, 21, [other], bound=3)
    verdict = judge_search(found, [fact], 0, [fact, other], Terms())
    assert [missing.message for missing in verdict.missing] == [fact]
    assert not judge_search(found, [other], 1, [fact, other], Terms()).lossy
    assert not judge_search(found, [], 0, [fact, other], Terms()).checked


def test_a_full_page_of_what_was_asked_for_owes_no_more() -> None:
    facts = turn_by_turn(3)
    page = recalled(90, 91, facts[:2], bound=2)
    assert not judge_search(page, facts, 2, facts, Terms()).lossy
    # One of the two is something else: one of the other two facts had a place.
    verdict = judge_search(page, [facts[0], facts[2]], 1, facts, Terms())
    assert [missing.message for missing in verdict.missing] == [facts[2]]
    verdict = judge_search(recalled(90, 91, facts[:1], bound=2), facts, 1, facts, Terms())
    assert verdict.lossy
    assert verdict.missing == ()


def test_a_search_for_what_is_not_yet_visible_or_was_refused_owes_nothing() -> None:
    fresh, refused = sent(0, 10), sent(0)
    refused.failed = True
    assert not judge_search(recalled(12, 13, []), [fresh], 0, [fresh], Terms(visibility_ns=5)).checked
    assert not judge_search(recalled(12, 13, []), [refused], 0, [refused], Terms()).checked
    assert not judge_search(recalled(12, 13, [], bound=0), [fresh], 0, [fresh], Terms()).checked
    assert judge_search(recalled(12, 13, []), [fresh], 0, [fresh], Terms()).lossy
    other = sent(2, 3)
    verdict = judge_search(recalled(12, 13, [], bound=1), [fresh, refused, other], 0, [fresh, refused, other], Terms())
    assert verdict.missing == ()
    verdict = judge_search(recalled(12, 13, [], bound=2), [fresh, refused, other], 0, [fresh, refused, other], Terms())
    assert len(verdict.missing) == 2


def test_what_a_search_misses_is_excused_like_everything_else() -> None:
    fact = sent(0, 1)
    assert not judge_search(recalled(9, 10, []), [fact], 0, [fact], Terms(), [Delete("s", 2, 3, ok=True)]).checked


def test_each_copy_of_a_fact_takes_a_place() -> None:
    fact, resent = sent(0, 1), sent(5, 6, attempts=3, resent_ns=9, loose=True)
    terms = Terms(stores_resends=True)
    verdict = judge_search(recalled(20, 21, [], bound=3), [fact, resent], 0, [fact, resent], terms)
    assert [missing.message for missing in verdict.missing] == [resent]
    verdict = judge_search(recalled(20, 21, [], bound=4), [fact, resent], 0, [fact, resent], terms)
    assert len(verdict.missing) == 2


# terms ---------------------------------------------------------------------------------------------------------------


def test_a_contract_is_read_in_the_unit_of_stamps() -> None:
    contract = Contract(
        window=Window(tokens=9, pinned=2, keep_at_least=1),
        page=Page(default=3, max=4),
        ttl=Ttl(seconds=1.5, refresh="read", unit="user", granularity_ms=3),
        visibility_ms=2,
        order_slack_ms=4,
        dedupe="none",
        concurrency="last-writer",
        isolation=("tenant", "user"),
        roles=("user",),
    )
    assert terms_of(contract) == Terms(
        visibility_ns=2 * MS,
        slack_ns=4 * MS,
        tokens=9,
        pinned=2,
        shared=True,
        alone=False,
        keep_at_least=1,
        page_default=3,
        page_max=4,
        ttl_ns=1_500 * MS,
        granularity_ns=3 * MS,
        unit="user",
        refresh="read",
        stores_resends=True,
        last_writer=True,
        roles=frozenset({"user"}),
    )
    assert terms_of(Contract()) == Terms()
    assert terms_of(Contract(order="unspecified")).slack_ns is None
    assert terms_of(Contract(unmarked="allow")) == Terms(alone=False)
    assert terms_of(Contract(window=Window(messages=5))).messages == 5
    assert terms_of(Contract(window=Window(turns=5))).turns == 5
    assert terms_of(Contract(ttl=Ttl(seconds=2, unit="message"))).refresh == "none"


@pytest.mark.parametrize(
    ("terms", "plain"),
    [
        (Terms(), True),
        (Terms(messages=5, page_default=3, slack_ns=9, ttl_ns=9, stores_resends=True), True),
        (Terms(visibility_ns=1), False),
        (Terms(turns=1), False),
        (Terms(tokens=1), False),
        (Terms(messages=5, pinned=1), False),
        (Terms(last_writer=True), False),
        (Terms(roles=frozenset({"user"})), False),
    ],
)
def test_a_plain_contract_owes_simply_the_newest(terms: Terms, plain: bool) -> None:
    assert terms.plain == plain


def test_a_search_is_not_bounded_by_the_window() -> None:
    assert Terms(messages=5).capacity(None, search=True) is None
    assert Terms(messages=5, page_max=7).capacity(9, search=True) == 7
