"""Closing keeps up with the stories that end, or holds new ones back."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import gevent
import pytest
from gevent.event import Event

from goldfish.token import Person
from stress.conversation.chance import chance
from stress.conversation.ledger import Ledger
from stress.conversation.texts import Script
from stress.swarm import closing
from stress.swarm.closing import Closing
from stress.swarm.device import Conversation


def ended(number: int) -> Conversation:
    person = Person("aaaaaa", 0, number)
    ledger = Ledger(person, "session")
    ledger.end(ledger.begin("phone", 0, [("user", "hello")], 1), "ok", 2)
    return Conversation("s", person, ledger, Script(chance("1"), "en"))


class Slow(Closing):
    """Closes nothing before it is told to."""

    def __init__(self) -> None:
        self.may = Event()
        self.at_once = 0
        self.closed: list[Conversation] = []
        run: Any = SimpleNamespace(closed=self.closed.append)
        super().__init__(run, settle_s=0)

    def _close(self, _: Conversation) -> None:
        self.at_once += 1
        self.may.wait()


@pytest.fixture
def slow() -> Iterator[Slow]:
    slow = Slow()
    yield slow
    slow.stop()


def test_the_more_wait_the_more_are_closed_at_once(slow: Slow) -> None:
    for number in range(closing.CLOSERS):
        slow.add(ended(number))
    few = len(slow._closers)
    for number in range(10 * closing.CLOSERS):
        slow.add(ended(number))
    with gevent.Timeout(5):
        while slow.at_once < len(slow._closers):
            gevent.sleep(0.001)
    assert few < slow.at_once
    slow.may.set()
    assert slow.wait(5)
    assert len(slow.closed) == 11 * closing.CLOSERS


def test_what_waits_is_bounded(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "WAITING_MAX", 50)
    monkeypatch.setattr(closing, "CLOSERS_MAX", 10)
    for number in range(70):
        slow.add(ended(number))
    assert slow.behind
    assert len(slow._closers) == 10
    slow.may.set()
    assert slow.wait(5)
    assert not slow.behind


def test_a_conversation_in_which_nothing_was_said_is_closed_at_once(slow: Slow) -> None:
    person = Person("aaaaaa", 0, 7)
    silent = Conversation("s", person, Ledger(person, "session"), Script(chance("1"), "en"))
    slow.add(silent)
    assert slow.closed == [silent]
    assert slow.wait(0)


class Deaf:
    """A device whose recalls get an answer only after a while."""

    def __init__(self, answered: int) -> None:
        self.recalls = 0
        self._answered = answered

    def recall(self, _: Any) -> bool:
        self.recalls += 1
        return self.recalls >= self._answered

    def drop_connection(self) -> None:
        pass


@pytest.mark.parametrize(("answered", "recalls"), [(1, 1), (3, 3), (99, 4)])
def test_a_final_recall_without_an_answer_is_repeated_a_few_times(
    slow: Slow, monkeypatch: pytest.MonkeyPatch, answered: int, recalls: int
) -> None:
    monkeypatch.setattr(closing, "AGAIN_S", (0, 0, 0))
    device: Any = Deaf(answered)
    chat: Any = None
    slow._look_back(device, chat)
    assert device.recalls == recalls
