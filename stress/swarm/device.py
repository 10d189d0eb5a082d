"""A device: a phone or a laptop on which a person says things and looks back at them.

Everything a device does is one attempt, is recorded, and is checked the moment it is answered.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from gevent import GreenletExit

from goldfish import oplog, rule
from goldfish.oplog import Phase
from goldfish.token import Person
from stress.conversation import check
from stress.conversation.ledger import Entry, Ledger
from stress.conversation.texts import Script
from stress.swarm import exchange
from stress.swarm.exchange import Result
from stress.swarm.http import Answer, AttemptError, Connection, Cookies
from stress.targets.reference import Request

if TYPE_CHECKING:
    from stress.swarm.lifecycle import Run

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

    __slots__ = ("ledger", "person", "scenario", "script", "sessions", "user_id")

    def __init__(self, scenario: str, person: Person, ledger: Ledger, script: Script) -> None:
        self.scenario = scenario
        self.person = person
        self.user_id = person.id
        self.ledger = ledger
        self.script = script
        self.sessions: set[int] = set()
        """Sessions that something was said in."""


class Chat:
    """A session as a story holds it: where things are said and looked up."""

    __slots__ = ("conversation", "session", "session_id")

    def __init__(self, conversation: Conversation, session: int) -> None:
        self.conversation = conversation
        self.session = session
        self.session_id = conversation.person.session(session)


class Device:
    """One device of one person."""

    __slots__ = ("_connection", "_cookies", "_phase", "_session", "name", "person", "run")

    def __init__(self, run: Run, person: Person, name: str, phase: Phase | None = None) -> None:
        self.run = run
        self.person = person
        self.name = name
        self._phase = phase
        self._cookies = Cookies()
        self._connection: Connection | None = None
        self._session: int | None = None

    def say(self, chat: Chat) -> None:
        """Say the next thing; message and reply go to the memory in one append."""
        turn = chat.conversation.script.turn()
        self.append(chat, [("user", turn.user), ("assistant", turn.assistant)])

    def append(self, chat: Chat, messages: list[tuple[str, str]]) -> None:
        """Send messages (role, text) in one append."""
        run, conversation, ledger = self.run, chat.conversation, chat.conversation.ledger
        conversation.sessions.add(chat.session)
        number = run.recorder.next_id()
        start_ns = time.monotonic_ns()
        said = ledger.begin(self.name, chat.session, messages, start_ns)
        request = run.target.append(conversation.user_id, chat.session_id, [entry.item for entry in said])
        result, kept = exchange.KILLED, False
        try:
            answer, kept = self._attempt(request, number, chat.session)
            result = exchange.of_append(run.target, [entry.token for entry in said], answer)
        finally:
            end_ns = time.monotonic_ns()
            run.recorder.write(
                oplog.Append(
                    messages=[_said(entry) for entry in said],
                    **self._stamped(number, chat, start_ns, end_ns, result, kept),
                )
            )
            ledger.end(said, result.outcome, end_ns)
        run.report("append", conversation.scenario, start_ns, end_ns, _failure(result))

    def recall(self, chat: Chat, limit: int | None = None) -> None:
        """Look back: at the session, or at everything of the person where the conversation spans all sessions."""
        run, conversation, ledger = self.run, chat.conversation, chat.conversation.ledger
        number = run.recorder.next_id()
        whole = ledger.scope == "user"
        request = run.target.recall(conversation.user_id, None if whole else chat.session_id, limit)
        capacity = rule.capacity(run.settings.contract.window.messages, limit)
        result, kept = exchange.KILLED, False
        listing: check.Listing | None = None
        start_ns = time.monotonic_ns()
        try:
            answer, kept = self._attempt(request, number, chat.session)
            result = exchange.of_recall(run.target, answer)
        finally:
            end_ns = time.monotonic_ns()
            if result.items is not None:
                listing = check.match(ledger, result.items, capacity)
                check.note_shown(ledger, listing, end_ns)
            run.recorder.write(
                oplog.Recall(
                    view=ledger.scope,
                    limit=limit,
                    seen=listing.seen if listing else [],
                    odd=listing.odd if listing else [],
                    **self._stamped(number, chat, start_ns, end_ns, result, kept, whole=whole),
                )
            )
        if listing is None:
            run.report("recall", conversation.scenario, start_ns, end_ns, _failure(result))
            return

        def judge() -> None:
            finding = check.judge(ledger, listing, start_ns, end_ns, capacity, run.settings.contract)
            run.recorder.count(conversation.scenario, checked=finding.checked, lossy=finding.lossy)
            complaint = ContextLossError(finding.complaint) if finding.complaint else None
            run.report("recall", conversation.scenario, start_ns, end_ns, complaint)

        ledger.when_settled(judge)

    def forget(self, chat: Chat) -> None:
        """Delete a session."""
        run = self.run
        number = run.recorder.next_id()
        request = run.target.delete(chat.conversation.user_id, chat.session_id)
        result, kept = exchange.KILLED, False
        start_ns = time.monotonic_ns()
        try:
            answer, kept = self._attempt(request, number, chat.session)
            result = exchange.of_delete(answer)
        finally:
            end_ns = time.monotonic_ns()
            run.recorder.write(oplog.Delete(**self._stamped(number, chat, start_ns, end_ns, result, kept)))
        run.report("delete", chat.conversation.scenario, start_ns, end_ns, _failure(result))

    def drop_connection(self) -> None:
        """Go offline; the next request opens a new connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _attempt(self, request: Request, number: int, session: int) -> tuple[Answer | AttemptError, bool]:
        """One attempt; also tells whether it went over a connection that was used before."""
        policy = self.run.connection
        if policy == "session" and session != self._session:
            self.drop_connection()
        self._session = session
        kept = False
        try:
            if self._connection is None or not self._connection.usable:
                self._connection = Connection(self.run.endpoint)
            kept = self._connection.used > 0
            answer = self._connection.exchange(self._bytes(request, number))
        except AttemptError as error:
            self._connection = None
            return error, kept
        except GreenletExit:
            self.drop_connection()
            raise
        if answer.cookies:
            self._cookies.take(answer.cookies)
        if policy == "request":
            self.drop_connection()
        return answer, kept

    def _bytes(self, request: Request, number: int) -> bytes:
        return self.run.endpoint.request(
            request.method, request.path, self.run.recorder.request_id(number), self._cookies.header, request.body
        )

    def _stamped(
        self,
        number: int,
        chat: Chat,
        start_ns: int,
        end_ns: int,
        result: Result,
        kept: bool,
        *,
        whole: bool = False,
    ) -> dict[str, Any]:
        """The fields that every operation records; a recall of the whole person names no session."""
        return {
            "id": number,
            "scenario": chat.conversation.scenario,
            "user": chat.conversation.user_id,
            "session": None if whole else chat.session_id,
            "conversation": chat.conversation.ledger.name,
            "device": self.name,
            "phase": self._phase or self.run.phase,
            "start_ns": start_ns,
            "end_ns": end_ns,
            "outcome": result.outcome,
            "reason": result.reason,
            "status": result.status,
            "instance": result.instance,
            "connection": "kept" if kept else "new",
        }


def _said(entry: Entry) -> oplog.Said:
    return oplog.Said(
        seq=entry.seq,
        turn=entry.turn,
        role=entry.role,
        text=entry.content[: oplog.TEXT_CHARS_MAX],
        bytes=len(entry.content.encode()),
    )


def _failure(result: Result) -> RequestFailedError | None:
    return None if result.outcome == "ok" else RequestFailedError(result.detail)
