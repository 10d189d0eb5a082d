"""The quick check: what each listed element is, and what is said of it live."""

from __future__ import annotations

import pytest

from goldfish.token import Person, Token
from stress.conversation import check
from stress.conversation.ledger import Entry, Ledger
from stress.targets.outcome import Item

ADA, BEN = Person("aaaaaa", 0, 1), Person("aaaaaa", 0, 2)


class Told:
    """A conversation of three acknowledged messages."""

    def __init__(self) -> None:
        self.ledger = Ledger(ADA, "session", 0)
        self.now = 0
        self.said = [self.say(text) for text in ("one", "two", "three")]

    def say(self, text: str, outcome: str = "ok") -> Entry:
        (entry,) = self.ledger.begin("phone", 0, [("user", text)], self.now)
        self.ledger.end([entry], outcome, self.now + 1)
        self.now += 2
        return entry

    def complaint(self, *items: Item, bound: int | None = None) -> str | None:
        listing = check.match(self.ledger, list(items), bound)
        self.now += 2
        check.note_shown(self.ledger, listing, self.now)
        return check.judge(self.ledger, listing, self.now - 1, self.now, bound).complaint


def item(entry: Entry, **changed: str) -> Item:
    return Item(**{"id": entry.token, "role": entry.role, "content": entry.content} | changed)


@pytest.fixture
def told() -> Told:
    return Told()


def test_the_end_of_the_ledger_is_sound(told: Told) -> None:
    one, two, three = told.said
    assert told.complaint(item(one), item(two), item(three)) is None
    assert told.complaint(item(two), item(three), bound=2) is None


def test_losses_are_named_by_where_they_stand(told: Told) -> None:
    one, two, three = told.said
    assert told.complaint() == "context loss: blank"
    assert told.complaint(item(two), item(three)) == "context loss: head"
    assert told.complaint(item(one), item(three)) == "context loss: gap"
    assert told.complaint(item(one), item(two)) == "context loss: tail"


def test_a_duplicate_does_not_hide_a_loss(told: Told) -> None:
    one, two, _ = told.said
    assert told.complaint(item(one), item(two), item(two)) == "context loss: tail"


def test_a_duplicate_alone_is_one(told: Told) -> None:
    one, two, three = told.said
    assert told.complaint(item(one), item(two), item(two), item(three)) == "duplicated message"


def test_a_wrong_order_is_one(told: Told) -> None:
    one, two, three = told.said
    assert told.complaint(item(one), item(three), item(two)) == "reordered messages"


@pytest.mark.parametrize(
    ("changed", "kind"),
    [({"content": "[gf"}, "truncated"), ({"content": "something else"}, "altered"), ({"role": "system"}, "role")],
)
def test_a_damaged_copy_is_named_and_still_shown(told: Told, changed: dict[str, str], kind: str) -> None:
    one, two, three = told.said
    items = [item(one), item(two, **changed), item(three)]
    assert told.complaint(*items) == "corrupted message"
    (odd,) = check.match(told.ledger, items, None).odd
    assert (odd.at, odd.why, odd.kind, odd.device, odd.seq) == (1, "corrupted", kind, "phone", 1)


def test_a_message_of_somebody_else_is_foreign(told: Told) -> None:
    token = Token(BEN, "session", 4, "laptop", 7)
    items = [*(item(entry) for entry in told.said), Item(str(token), "user", "hers")]
    assert told.complaint(*items) == "foreign message"
    (odd,) = check.match(told.ledger, items, None).odd
    assert odd.owner is not None
    assert (odd.owner.user, odd.owner.session, odd.owner.conversation) == (BEN.id, BEN.session(4), "0.2.s4")


def test_another_session_of_the_same_person_is_foreign_to_a_session_only(told: Told) -> None:
    assert told.complaint(*map(item, told.said), Item(str(Token(ADA, "session", 1, "phone", 0)), "user", "")) == (
        "foreign message"
    )
    ledger = Ledger(ADA, "user", 0)
    (first,) = ledger.begin("phone", 0, [("user", "a")], 0)
    ledger.end([first], "ok", 1)
    (second,) = ledger.begin("phone", 1, [("user", "b")], 2)
    ledger.end([second], "ok", 3)
    assert check.match(ledger, [item(first), item(second)], None).odd == []


def test_what_has_no_token_or_an_old_one_is_a_phantom(told: Told) -> None:
    old = Token(Person("zzzzzz", 0, 1), "session", 0, "phone", 0)
    assert told.complaint(*map(item, told.said), Item("x", "system", "You are helpful")) == "phantom message"
    assert told.complaint(*map(item, told.said), Item(str(old), "user", "")) == "phantom message"


def test_a_token_of_ours_that_nobody_sent_is_unmarked(told: Told) -> None:
    never = Token(ADA, "session", 0, "phone", 99)
    (odd,) = check.match(told.ledger, [Item(str(never), "user", "")], None).odd
    assert odd.why == "unmarked"


def test_a_rejected_message_that_is_shown_is_a_phantom_and_owed_from_then_on(told: Told) -> None:
    one, two, three = told.said
    rejected = told.say("refused", outcome="fail")
    assert told.complaint(item(one), item(two), item(three)) is None
    assert told.complaint(item(one), item(two), item(three), item(rejected)) == "phantom message"
    assert told.complaint(item(one), item(two), item(three)) == "context loss: tail"


def test_an_indeterminate_message_may_be_there_or_not(told: Told) -> None:
    one, two, three = told.said
    open_ended = told.say("who knows", outcome="info")
    assert told.complaint(item(one), item(two), item(three)) is None
    assert told.complaint(item(one), item(two), item(three), item(open_ended)) is None
    assert told.complaint(item(one), item(two), item(three)) == "context loss: tail"


def test_a_recall_is_judged_when_the_appends_in_flight_have_ended(told: Told) -> None:
    ledger, judged = told.ledger, []
    flying = ledger.begin("laptop", 0, [("user", "in flight")], told.now)
    ledger.when_settled(lambda: judged.append(1))
    later = ledger.begin("phone", 0, [("user", "begun later")], told.now)
    assert judged == []
    ledger.end(flying, "ok", told.now + 1)
    assert judged == [1]
    ledger.end(later, "ok", told.now + 1)
    ledger.when_settled(lambda: judged.append(2))
    assert judged == [1, 2]


def test_recalled_text_is_bounded_and_encodable(told: Told) -> None:
    (odd,) = check.match(told.ledger, [Item("x", "user", "\ud83d" * 1000)], None).odd
    assert odd.text.encode()
    assert odd.text.startswith("\\ud83d")
    assert len(odd.text) <= 280 * 6
