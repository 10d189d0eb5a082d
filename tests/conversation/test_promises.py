"""The quick check under contracts that promise less: what the ledger keeps for it, and what it says live."""

from __future__ import annotations

from typing import Any

import pytest

from goldfish.contract import Content, Contract, Page, Ttl, Window
from goldfish.rule import NEVER, Touch
from goldfish.token import Person, Token
from stress.conversation import check
from stress.conversation.ledger import Entry, Ledger
from stress.targets.outcome import Item

ADA, BEN = Person("aaaaaa", 0, 1), Person("aaaaaa", 0, 2)
SESSION = ADA.session(0)


class Told:
    """A conversation under a contract, in milliseconds."""

    def __init__(self, **contract: Any) -> None:
        self.touches: list[Touch] = []
        self.ledger = Ledger(ADA, "session", 0, Contract(**contract), self.touches)
        self.now = 0

    def say(self, *texts: str, outcome: Any = "ok", device: str = "phone", took: int = 1) -> list[Entry]:
        start = self.now
        said = self.ledger.begin(device, 0, [("user", text) for text in texts], start * 1_000_000)
        touch = self.ledger.touch("append", SESSION, start * 1_000_000) if self.ledger.expires else None
        self.now += took
        if touch is not None:
            self.ledger.touched(touch, outcome, self.now * 1_000_000, said)
        self.ledger.end(said, outcome, self.now * 1_000_000)
        self.now += 1
        return said

    def look(self, *items: Item, limit: int | None = None) -> check.Finding:
        ledger = self.ledger
        bound = ledger.terms.capacity(limit)
        start, end = self.now * 1_000_000, (self.now + 1) * 1_000_000
        touch = ledger.touch("recall", SESSION, start) if ledger.expires else None
        listing = check.match(ledger, list(items), bound)
        check.note_shown(ledger, listing, end)
        if touch is not None:
            ledger.touched(touch, "ok", end, listing.shown)
        self.now += 2
        return check.judge(ledger, listing, start, end, bound)


def items(*entries: Entry) -> list[Item]:
    return [entry.item for entry in entries]


# deletes -------------------------------------------------------------------------------------------------------------


def test_what_was_deleted_is_not_owed_and_may_not_be_shown() -> None:
    told = Told()
    (one,) = told.say("one")
    number = told.ledger.begin_delete(SESSION, told.now * 1_000_000)
    told.ledger.end_delete(number, "ok", (told.now + 1) * 1_000_000)
    told.now += 2
    assert told.look() == check.Finding(checked=False, lossy=False, complaint=None)
    assert told.look(*items(one)).complaint == "deleted message"
    (two,) = told.say("two")
    assert told.look(*items(two)).checked
    assert told.look().lossy


@pytest.mark.parametrize(("outcome", "lossy"), [("fail", True), ("info", False), ("ok", False)])
def test_a_delete_excuses_unless_it_failed(outcome: Any, lossy: bool) -> None:
    told = Told()
    told.say("one")
    number = told.ledger.begin_delete(SESSION, told.now * 1_000_000)
    told.ledger.end_delete(number, outcome, (told.now + 1) * 1_000_000)
    told.now += 2
    assert told.look().lossy == lossy
    assert [delete.ok for delete in told.ledger.deletes] == ([] if outcome == "fail" else [outcome == "ok"])


def test_a_recall_waits_for_the_deletes_in_flight() -> None:
    told, judged = Told(), []
    first = told.ledger.begin_delete(SESSION, 1)
    told.ledger.when_settled(lambda: judged.append(1))
    second = told.ledger.begin_delete(SESSION, 2)
    assert not told.ledger.quiet
    told.ledger.end_delete(second, "ok", 3)
    assert judged == []
    told.ledger.end_delete(first, "ok", 4)
    assert judged == [1]
    assert told.ledger.quiet


# expiry --------------------------------------------------------------------------------------------------------------


def test_what_expired_is_not_owed_and_may_not_be_shown() -> None:
    told = Told(ttl=Ttl(seconds=0.1))
    (one,) = told.say("one")
    assert told.look(*items(one)) == check.SOUND
    assert told.look().lossy
    told.now += 94
    assert told.look() == check.Finding(checked=False, lossy=False, complaint=None)
    told.now += 100
    assert told.look(*items(one)).complaint == "expired message"


def test_a_touch_prolongs_what_was_said() -> None:
    told = Told(ttl=Ttl(seconds=0.1, refresh="read"))
    (one,) = told.say("one")
    for _ in range(3):
        told.now += 70
        assert told.look(*items(one)) == check.SOUND
    assert told.look().lossy


def test_an_unanswered_touch_may_have_prolonged() -> None:
    told = Told(ttl=Ttl(seconds=0.1, refresh="read"))
    (one,) = told.say("one")
    told.now += 90
    told.ledger.touched(told.ledger.touch("recall", SESSION, told.now * 1_000_000), "info", 0, ())
    told.now += 90
    assert told.look(*items(one)).complaint is None
    assert told.touches[1] == Touch("recall", 92_000_000, NEVER, SESSION, None)


def test_a_failed_touch_ends_and_reaches_nothing() -> None:
    told = Told(ttl=Ttl(seconds=0.1))
    told.say("one", outcome="fail")
    assert told.touches == [Touch("append", 0, 1_000_000, SESSION, None)]
    told.say("two")
    assert told.touches[1] == Touch("append", 2_000_000, 3_000_000, SESSION, frozenset({SESSION}))


def test_where_nothing_expires_nothing_is_asked_of_touches() -> None:
    told = Told()
    assert (told.ledger.expires, told.ledger.expiry, told.ledger.simple) == (False, None, True)
    told = Told(ttl=Ttl(seconds=0.1))
    assert (told.ledger.expires, told.ledger.simple) == (True, False)


def test_while_nothing_can_have_expired_the_end_of_the_ledger_is_sound() -> None:
    told = Told(ttl=Ttl(seconds=0.1))
    assert not told.ledger.young(5)
    told.say("one")
    assert told.ledger.young(99_999_999)
    assert not told.ledger.young(100_000_000)
    told.ledger.begin_delete(SESSION, 1)
    assert not told.ledger.young(5)
    told = Told(ttl=Ttl(seconds=0.1), visibility_ms=1)
    told.say("one")
    assert not told.ledger.young(5)


def test_the_users_other_conversations_keep_its_memory_alive() -> None:
    told = Told(ttl=Ttl(seconds=0.1, unit="user"))
    (one,) = told.say("one")
    other = Ledger(ADA, "session", 1, told.ledger.contract, told.touches)
    told.now += 70
    said = other.begin("phone", 1, [("user", "elsewhere")], told.now * 1_000_000)
    touch = other.touch("append", ADA.session(1), told.now * 1_000_000)
    other.touched(touch, "ok", (told.now + 1) * 1_000_000, said)
    told.now += 60
    assert told.look(*items(one)) == check.SOUND
    assert told.look().lossy


# windows -------------------------------------------------------------------------------------------------------------


def test_a_page_bounds_what_is_owed() -> None:
    told = Told(page=Page(default=2, max=3))
    one, two, three, four = (told.say(text)[0] for text in ("one", "two", "three", "four"))
    assert told.look(*items(three, four)) == check.SOUND
    assert told.look(*items(two, three, four), limit=9) == check.SOUND
    assert told.look(*items(one, two, three, four), limit=9).complaint == "window overrun"
    assert told.look(*items(four)).lossy


def test_tokens_are_counted_from_the_text_as_it_is_sent() -> None:
    told = Told(window=Window(tokens=60))
    one, two = told.say("x" * 20)[0], told.say("y" * 20)[0]
    size = len(one.content)
    assert (one.tokens_min, one.tokens_max) == (size // 6, -(-size // 2))
    assert told.look(*items(one, two)) == check.Finding(checked=True, lossy=False, complaint=None)
    assert told.look(*items(two)).lossy == (one.tokens_max + two.tokens_max <= 60)
    assert not told.look(Item("x", "system", "z" * 60), *items(two)).lossy


def test_turns_are_counted_by_append() -> None:
    told = Told(window=Window(turns=1))
    told.say("one", "two")
    three, four = told.say("three", "four")
    assert told.look(*items(three, four)) == check.Finding(checked=True, lossy=False, complaint=None)
    assert told.look(*items(four)).lossy


def test_a_role_that_is_not_stored_is_not_owed() -> None:
    told = Told(roles=("assistant",))
    told.say("one")
    assert not told.look().checked


def test_the_last_writer_may_overwrite() -> None:
    told = Told(concurrency="last-writer")
    first = told.ledger.begin("phone", 0, [("user", "one")], 0)
    second = told.ledger.begin("laptop", 0, [("user", "two")], 1)
    told.ledger.end(first, "ok", 2)
    told.ledger.end(second, "ok", 3)
    told.now = 9
    assert told.look(*items(*second)) == check.Finding(checked=False, lossy=False, complaint=None)


# elements ------------------------------------------------------------------------------------------------------------


def test_a_change_that_is_declared_is_no_corruption() -> None:
    for contract, complaint in ((Content(), "corrupted message"), (Content(nul="strip"), None)):
        told = Told(content=contract)
        (one,) = told.say("one\0two")
        listed = Item(one.token, "user", one.content.replace("\0", ""))
        assert told.look(listed).complaint == complaint
        assert told.look(Item(one.token, "system", listed.content)).complaint == "corrupted message"


def test_what_was_changed_is_kept_for_the_log() -> None:
    told = Told()
    (one,) = told.say("one\0two")
    (odd,) = check.match(told.ledger, [Item(one.token, "user", one.content.replace("\0", ""))], None).odd
    assert (odd.kind, odd.changes, odd.bytes) == ("altered", ["nul-stripped"], len(one.content) - 1)
    (odd,) = check.match(told.ledger, [Item(one.token, "user", one.content[:9])], None).odd
    assert (odd.kind, odd.changes, odd.bytes) == ("truncated", ["cut"], 9)
    (odd,) = check.match(told.ledger, [Item(one.token, "system", one.content)], None).odd
    assert (odd.kind, odd.changes) == ("role", [])


@pytest.mark.parametrize(
    ("isolation", "person", "complaint"),
    [
        (("tenant", "user", "session"), ADA, "foreign message"),
        (("tenant", "user"), ADA, None),
        (("tenant", "user"), BEN, "foreign message"),
        (("tenant",), BEN, None),
    ],
)
def test_only_those_kept_apart_are_foreign(isolation: Any, person: Person, complaint: str | None) -> None:
    told = Told(isolation=isolation)
    (one,) = told.say("one")
    stranger = Item(str(Token(person, "session", 7, "phone", 0)), "user", "")
    assert told.look(*items(one), stranger).complaint == complaint


def test_a_second_copy_is_one_where_resends_are_not_stored_again() -> None:
    told = Told()
    (one,) = told.say("one")
    assert told.look(*items(one, one)).complaint == "duplicated message"
    told = Told(dedupe="none")
    (one,) = told.say("one")
    assert told.look(*items(one, one)).complaint == "duplicated message"
    one.attempts = 2
    assert told.look(*items(one, one)).complaint is None


def test_any_order_will_do_where_none_is_promised() -> None:
    told = Told(order="unspecified")
    one, two = told.say("one")[0], told.say("two")[0]
    assert told.look(*items(two, one)) == check.SOUND
