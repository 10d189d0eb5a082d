"""A device: a phone or a laptop on which a person says things and looks back at them.

Everything a device does is one attempt, is recorded, and is checked the moment it is answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from gevent import GreenletExit
from gevent.lock import BoundedSemaphore

from goldfish import oplog
from goldfish.oplog import Phase
from goldfish.token import Person
from stress.conversation import check
from stress.conversation.ledger import Entry, Ledger
from stress.conversation.texts import Script
from stress.swarm.http import Answer, AttemptError, Connection, Cookies
from stress.targets.outcome import KILLED
from stress.targets.target import Ask, Place, Request, Result, Target

if TYPE_CHECKING:
    from stress.swarm.lifecycle import Run

Other = TypeVar("Other", oplog.Delete, oplog.Touch)
ConnectionPolicy = Literal["kept", "session", "request"]


class ShownError(Exception):
    """What Locust's failures tab shows: it prints the representation, and the words should stand alone there."""

    def __repr__(self) -> str:
        return str(self)


class ContextLossError(ShownError):
    """A recall that lacks, mixes up or leaks something."""


class RequestFailedError(ShownError):
    """A request that got no good answer."""


class Conversation:
    """One conversation from its first message to its final recall."""

    __slots__ = ("checked", "ledger", "lossy", "person", "places", "scenario", "script", "sessions", "user_id", "wrong")

    def __init__(self, scenario: str, person: Person, ledger: Ledger, script: Script) -> None:
        self.scenario = scenario
        self.person = person
        self.user_id = person.id
        self.ledger = ledger
        self.script = script
        self.places: dict[int, Place] = {}
        """Sessions as the target knows them."""
        self.sessions: set[int] = set()
        """Sessions that something was said in."""
        self.checked = self.lossy = self.wrong = 0
        """Recalls as they were judged; wrong: with another complaint than of a loss."""


class Chat:
    """A session as a story holds it: where things are said and looked up."""

    __slots__ = ("conversation", "place", "session", "session_id")

    def __init__(self, target: Target, conversation: Conversation, session: int) -> None:
        self.conversation = conversation
        self.session = session
        self.session_id = conversation.person.session(session)
        place = conversation.places.get(session)
        if place is None:
            place = conversation.places[session] = target.place(conversation.user_id, self.session_id)
        self.place = place


class Device:
    """One device of one person."""

    __slots__ = ("_connection", "_cookies", "_phase", "_row", "_session", "name", "person", "run")

    def __init__(self, run: Run, person: Person, name: str, phase: Phase | None = None) -> None:
        self.run = run
        self.person = person
        self.name = name
        self._phase = phase
        self._cookies = Cookies()
        self._connection: Connection | None = None
        self._session: int | None = None
        self._row: oplog.Operation | None = None

    def say(self, chat: Chat) -> None:
        """Say the next thing; message and reply go to the memory in one append, if it takes several at a time."""
        turn = chat.conversation.script.turn()
        self.append(chat, [("user", turn.user), ("assistant", turn.assistant)])

    def append(self, chat: Chat, messages: list[tuple[str, str]]) -> None:
        """Send messages (role, text) in one append.

        A target that takes one message at a time gets as many appends; where the service writes the replies, those
        given here are not said.
        """
        target, ledger = self.run.target, chat.conversation.ledger
        said: list[tuple[str, str | None]] = list(messages)
        if target.replies != "ours":
            said = [(role, text) for role, text in messages if role != "assistant"]
        if target.batches and target.replies != "echo":
            if said:
                self._append(chat, said, None)
            return
        turn = ledger.next_turn
        for message in said:
            self._append(chat, [message, ("assistant", None)] if target.replies == "echo" else [message], turn)

    def _append(self, chat: Chat, messages: list[tuple[str, str | None]], turn: int | None) -> None:
        run, conversation, ledger = self.run, chat.conversation, chat.conversation.ledger
        if not (chat.place.open or self._opened(chat)):
            return
        conversation.sessions.add(chat.session)
        number = run.recorder.next_id()
        start_ns = time.monotonic_ns()
        said = ledger.begin(self.name, chat.session, messages, start_ns, turn)
        touch = ledger.touch("append", chat.session_id, start_ns) if ledger.expires else None
        row = oplog.Append(
            id=number,
            scenario=conversation.scenario,
            user=conversation.user_id,
            session=chat.session_id,
            conversation=ledger.name,
            device=self.name,
            start_ns=start_ns,
            end_ns=start_ns,
            outcome="info",
            messages=[_said(entry) for entry in said],
        )
        result = KILLED
        try:
            self._begin(row, chat)
            result = run.target.append(self._ask, chat.place, [entry.item for entry in said])
        finally:
            self._end(row, result)
            run.recorder.write(row)
            if touch is not None:
                ledger.touched(touch, result.outcome, row.end_ns, said)
            ledger.end(said, result.outcome, row.end_ns)
        run.report("append", conversation.scenario, start_ns, row.end_ns, _failure(result))

    def recall(self, chat: Chat, limit: int | None = None) -> bool:
        """Look back: at the session, or at everything of the person where the conversation spans all sessions.

        Tells whether there was an answer.
        """
        run, conversation, ledger = self.run, chat.conversation, chat.conversation.ledger
        if not (chat.place.open or self._opened(chat)):
            return False
        by_user = ledger.scope == "user"
        session_id = None if by_user else chat.session_id
        limit = run.target.asked(limit, by_user=by_user)
        capacity = ledger.terms.capacity(limit)
        number = run.recorder.next_id()
        start_ns = time.monotonic_ns()
        touch = ledger.touch("recall", session_id, start_ns) if ledger.expires else None
        row = oplog.Recall(
            id=number,
            scenario=conversation.scenario,
            user=conversation.user_id,
            session=session_id,
            conversation=ledger.name,
            device=self.name,
            start_ns=start_ns,
            end_ns=start_ns,
            outcome="info",
            view=ledger.scope,
            limit=limit,
        )
        result = KILLED
        listing: check.Listing | None = None
        try:
            self._begin(row, chat)
            result = run.target.recall(self._ask, chat.place, limit, by_user=by_user)
        finally:
            self._end(row, result)
            if result.items is not None:
                listing = check.match(ledger, result.items, capacity)
                check.note_shown(ledger, listing, row.end_ns)
                row.seen, row.odd = listing.seen, listing.odd
            if touch is not None:
                ledger.touched(touch, result.outcome, row.end_ns, listing.shown if listing is not None else ())
            run.recorder.write(row)
        if listing is None:
            run.report("recall", conversation.scenario, start_ns, row.end_ns, _failure(result))
        else:
            ledger.when_settled(partial(self._judge, conversation, listing, row, capacity))
        return listing is not None

    def forget(self, chat: Chat) -> None:
        """Delete a session."""
        ledger = chat.conversation.ledger
        if not (chat.place.open or self._opened(chat)):
            return
        start_ns = time.monotonic_ns()
        delete = ledger.begin_delete(chat.session_id, start_ns)
        row = self._row_of(oplog.Delete, chat, start_ns)
        try:
            self._carry_out("delete", row, chat, self.run.target.delete)
        finally:
            ledger.end_delete(delete, row.outcome, row.end_ns)

    def _opened(self, chat: Chat) -> bool:
        """Open a session that is not open yet, unless another device does so just now; whether it is open then."""
        place = chat.place
        if place.lock is None:
            place.lock = BoundedSemaphore()
        with place.lock:
            if not place.open:
                row = self._row_of(oplog.Touch, chat, time.monotonic_ns())
                self._carry_out("touch", row, chat, self.run.target.open)
                place.open = row.outcome == "ok"
            return place.open

    def _row_of(self, form: type[Other], chat: Chat, start_ns: int) -> Other:
        """The row of a request that neither says nor lists anything."""
        conversation = chat.conversation
        return form(
            id=self.run.recorder.next_id(),
            scenario=conversation.scenario,
            user=conversation.user_id,
            session=chat.session_id,
            conversation=conversation.ledger.name,
            device=self.name,
            start_ns=start_ns,
            end_ns=start_ns,
            outcome="info",
        )

    def _carry_out(self, kind: str, row: oplog.Operation, chat: Chat, act: Callable[[Ask, Place], Result]) -> None:
        """Make such a request, and record it; the row tells its outcome."""
        ledger = chat.conversation.ledger
        touch = ledger.touch("other", chat.session_id, row.start_ns) if ledger.expires else None
        result = KILLED
        try:
            self._begin(row, chat)
            result = act(self._ask, chat.place)
        finally:
            self._end(row, result)
            self.run.recorder.write(row)
            if touch is not None:
                ledger.touched(touch, result.outcome, row.end_ns, ())
        self.run.report(kind, row.scenario, row.start_ns, row.end_ns, _failure(result))

    def drop_connection(self) -> None:
        """Go offline; the next request opens a new connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _begin(self, row: oplog.Operation, chat: Chat) -> None:
        """From now on, requests belong to a row."""
        if self.run.connection == "session" and chat.session != self._session:
            self.drop_connection()
        self._session = chat.session
        chat.place.device = self.name
        self._row = row

    def _ask(self, request: Request) -> Answer:
        """One attempt; the row learns whether it went over a connection that was used before.

        Raises:
            AttemptError: there is no whole answer.
        """
        run, connection, row = self.run, self._connection, self._row
        assert row is not None
        try:
            if connection is None or not connection.usable:
                connection = self._connection = Connection(run.endpoint, run.endpoint.timeout_s)
            elif connection.used:
                row.connection = "kept"
            answer = connection.exchange(
                run.endpoint.request(request, run.recorder.request_id(row.id), self._cookies.header),
                run.endpoint.timeout_s,
            )
        except AttemptError:
            self._connection = None
            raise
        except GreenletExit:
            self.drop_connection()
            raise
        if answer.cookies:
            self._cookies.take(answer.cookies)
        if run.connection == "request":
            self.drop_connection()
        return answer

    def _end(self, row: oplog.Operation, result: Result) -> None:
        """Note in the row how the attempt ended just now."""
        row.end_ns = time.monotonic_ns()
        row.phase = self._phase or self.run.phase
        row.outcome = result.outcome
        row.reason = result.reason
        row.status = result.status
        row.instance = result.instance

    def _judge(
        self, conversation: Conversation, listing: check.Listing, row: oplog.Recall, capacity: int | None
    ) -> None:
        """Judge a recall, count it and show it in Locust's statistics."""
        run, scenario = self.run, conversation.scenario
        finding = check.judge(conversation.ledger, listing, row.start_ns, row.end_ns, capacity)
        run.recorder.count(scenario, checked=finding.checked, lossy=finding.lossy)
        conversation.checked += finding.checked
        conversation.lossy += finding.lossy
        conversation.wrong += finding.complaint is not None and not finding.lossy
        complaint = ContextLossError(finding.complaint) if finding.complaint else None
        run.report("recall", scenario, row.start_ns, row.end_ns, complaint)


def _said(entry: Entry) -> oplog.Said:
    return oplog.Said(
        seq=entry.seq,
        turn=entry.turn,
        role=entry.item.role,
        text=entry.item.content[: oplog.TEXT_CHARS_MAX],
        bytes=len(entry.item.content.encode()),
    )


def _failure(result: Result) -> RequestFailedError | None:
    return None if result.outcome == "ok" else RequestFailedError(result.detail)
