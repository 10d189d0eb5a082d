"""The ledger finds what was said, and is no bottomless book."""

from __future__ import annotations

import pytest

from goldfish.errors import UsageError
from goldfish.token import Person
from stress.conversation import ledger as module
from stress.conversation.ledger import Ledger


def test_a_message_is_found_by_device_and_number() -> None:
    ledger = Ledger(Person("aaaaaa", 0, 1), "user")
    (first,) = ledger.begin("phone", 0, [("user", "one")], 1)
    (other,) = ledger.begin("laptop", 1, [("user", "two")], 2)
    second, third = ledger.begin("phone", 1, [("user", "three"), ("assistant", "four")], 3)
    assert [ledger.entry("phone", seq) for seq in range(4)] == [first, second, third, None]
    assert ledger.entry("laptop", 0) is other
    assert ledger.entry("tablet", 0) is None


def test_a_conversation_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MESSAGES_MAX", 3)
    ledger = Ledger(Person("aaaaaa", 0, 1), "session")
    for now in range(3):
        ledger.end(ledger.begin("phone", 0, [("user", "more")], now), "ok", now)
    with pytest.raises(UsageError, match="yield"):
        ledger.begin("phone", 0, [("user", "more")], 9)
