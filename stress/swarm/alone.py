"""One user alone at a memory: every step in its own request, each of them kept for people to read.

This is what a run does before its load (``preflight``) and ``goldfish probe`` does at length.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from goldfish.errors import TargetError
from goldfish.token import Person, Series, mark
from stress.swarm.http import Answer, AttemptError, Connection, Cookies, Endpoint
from stress.targets.outcome import KILLED, Item, Result
from stress.targets.target import Advice, Place, Request, Target

EXCERPT_CHARS = 400
"""Of an answer that is shown to people: enough for what a service says of a request that it does not take."""
READ_BYTES = 64 * 1024
SAID_AT_ONCE = 2
"""Messages in one append, as in most scenarios."""


class Exchange(msgspec.Struct, frozen=True):
    """One request, and what came back."""

    request: Request
    answer: Answer | None
    error: AttemptError | None = None


class Step(msgspec.Struct):
    """One step of one user: its requests, and what it came to."""

    name: str
    exchanges: list[Exchange]
    result: Result = KILLED

    @property
    def outcome(self) -> str:
        """As in the op log."""
        return self.result.outcome

    @property
    def status(self) -> int | None:
        """Of the answer; None if there was none."""
        return self.result.status

    @property
    def detail(self) -> str:
        """What went wrong, in a word."""
        return self.result.detail

    @property
    def items(self) -> list[Item] | None:
        """What a recall that is ok listed."""
        return self.result.items


class Alone:
    """One user at a target, asking one thing after the other."""

    def __init__(self, endpoint: Endpoint, target: Target, person: Person, timeout_s: float) -> None:
        """Ask nothing yet.

        Args:
            endpoint: where the memory listens.
            target: how it is asked.
            person: who asks; nobody else may be this one.
            timeout_s: how long one answer may take.
        """
        self.endpoint = endpoint
        self._timeout_s = timeout_s
        self.target = target
        self.person = person
        self.steps: list[Step] = []
        self._cookies = Cookies()
        self._places: dict[int, Place] = {}
        self._seq: dict[int, int] = {}

    def place(self, session: int) -> Place:
        """A session, as the target knows it."""
        if session not in self._places:
            self._places[session] = self.target.place(self.person.id, self.person.session(session))
        return self._places[session]

    def messages(self, session: int, texts: Sequence[tuple[str, str]]) -> list[Item]:
        """The next messages (role, text) of a session, as they are sent and should be listed."""
        series = Series(self.person, "session", session, "probe")
        first = self._seq.get(session, 0)
        self._seq[session] = first + len(texts)
        return [
            Item(series.token(first + at), role, mark(series.token(first + at), text))
            for at, (role, text) in enumerate(texts)
        ]

    @property
    def sessions(self) -> list[int]:
        """Those that may be used, or were made."""
        return [session for session, place in self._places.items() if place.open]

    def say(self, session: int, texts: Sequence[tuple[str, str]]) -> list[Item]:
        """Say things (user's text, assistant's), as a device would; returns what should be listed now.

        Raises:
            TargetError: a step failed.
        """
        self.open(session)
        target, said = self.target, []
        if target.replies == "ours":
            said = self.messages(session, [pair for mine, yours in texts for pair in _turn(mine, yours)])
            at_once = SAID_AT_ONCE if target.batches else 1
            for first in range(0, len(said), at_once):
                self.need(self.append(session, said[first : first + at_once]))
            return said
        for mine, _ in texts:
            (message,) = self.messages(session, [("user", mine)])
            said.append(message)
            (reply,) = self.messages(session, [("assistant", "")])
            reply = Item(reply.id, "assistant", message.content)
            self.need(self.append(session, [message, reply]))
            if target.replies == "echo":
                said.append(reply)
        return said

    def need(self, step: Step) -> Step:
        """A step that must succeed.

        Raises:
            TargetError: it did not.
        """
        if step.outcome != "ok":
            raise self.failure(step)
        return step

    def open(self, session: int) -> None:
        """Open a session, if the target wants that and it is not open.

        Raises:
            TargetError: that failed.
        """
        place = self.place(session)
        if place.open:
            return
        step = self._begin("open")
        step.result = self.target.open(self._ask, place)
        self.need(step)
        place.open = True

    def append(self, session: int, messages: Sequence[Item]) -> Step:
        """Send messages."""
        step = self._begin("append")
        step.result = self.target.append(self._ask, self.place(session), messages)
        return step

    def recall(self, session: int, limit: int | None = None, *, by_user: bool = False) -> Step:
        """Look back."""
        step = self._begin("recall by user" if by_user else "recall")
        step.result = self.target.recall(self._ask, self.place(session), limit, by_user=by_user)
        return step

    def delete(self, session: int) -> Step:
        """Forget a session."""
        step = self._begin("delete")
        step.result = self.target.delete(self._ask, self.place(session))
        return step

    def _begin(self, name: str) -> Step:
        step = Step(name, [])
        self.steps.append(step)
        return step

    def _ask(self, request: Request) -> Answer:
        exchanges = self.steps[-1].exchanges
        try:
            connection = Connection(self.endpoint, self._timeout_s)
            try:
                answer = connection.exchange(
                    self.endpoint.request(request, "preflight", self._cookies.header), self._timeout_s
                )
            finally:
                connection.close()
        except AttemptError as error:
            exchanges.append(Exchange(request, None, error))
            raise
        exchanges.append(Exchange(request, answer))
        self._cookies.take(answer.cookies)
        return answer

    def failure(self, step: Step, advice: Advice | None = None) -> TargetError:
        """A step that failed, in words: what was asked, what was expected, what came, what to try."""
        return TargetError(explain(self.endpoint, self.target, step, advice))


def _turn(mine: str, yours: str) -> list[tuple[str, str]]:
    return [("user", mine), ("assistant", yours)]


_ADVICE = {
    "refused": "is it running, and is the port right? `goldfish up` starts a deployment to try with",
    "dns": "is the host name spelled right?",
    "tls": "does the server speak TLS on this port, with a certificate this machine trusts?",
    "timeout": "is the address reachable from here, and does the service answer at all?",
    "reset": "does something else listen on this port?",
    "eof": "does something else listen on this port?",
}


def explain(endpoint: Endpoint, target: Target, step: Step, advice: Advice | None = None) -> str:
    """What was asked, what was expected, what came, where it is written, what to try."""
    last = step.exchanges[-1] if step.exchanges else None
    answer = last.answer if last else None
    advice = advice or target.advise(step.name, answer, len(step.exchanges))
    lines = ["the target does not answer as a memory should"]
    lines.append(f"step:     {step.name}")
    attempt = advice.attempt
    if last is not None:
        lines.append(f"asked:    {last.request.method} {endpoint}{endpoint.mask(last.request.path)}")
    lines.append(f"expected: {advice.expected}")
    if advice.found:
        lines.append(f"found:    {_short(endpoint.mask(advice.found))}")
    if last is None:
        pass
    elif last.error is not None:
        lines.append(f"found:    no answer: {endpoint.mask(str(last.error))}")
        attempt = _ADVICE.get(last.error.reason, "") or attempt or "does an HTTP service listen there?"
    elif answer is not None:
        lines.append(f"{'answer:  ' if advice.found else 'found:   '} {describe(endpoint, answer)}")
    # An address that the command gave is not written in the file.
    if advice.at and (last is None or last.error is None or str(endpoint) in advice.at or "${" in advice.at):
        lines.append(f"written:  {advice.at}")
    elif advice.at:
        lines.append("written:  in the address that was given: --host")
    attempt = attempt or (
        "is this the memory's own address, with the path prefix it needs? `goldfish up` serves the interface"
    )
    lines.append(f"try:      {attempt}")
    return "\n  ".join(lines)


def describe(endpoint: Endpoint, answer: Answer) -> str:
    """Status, kind and the start of the body, without secrets."""
    # Masked before it is cut: the first part of a secret is one, too.
    excerpt = endpoint.mask(answer.body[:READ_BYTES].decode("utf-8", "replace"))
    shown = _short("".join(c if c.isprintable() else " " for c in excerpt).strip())
    return f"status {answer.status}, {_kind(answer)}" + (f": {shown!r}" if shown else "")


def _short(text: str) -> str:
    return text if len(text) <= EXCERPT_CHARS else f"{text[:EXCERPT_CHARS]}…"


def _kind(answer: Answer) -> str:
    if not answer.body:
        return "an empty body"
    if "html" in answer.content_type or answer.body.lstrip()[:1] == b"<":
        return "a web page"
    if answer.content_encoding not in ("", "identity"):
        return f"a body encoded as {answer.content_encoding}, which was not asked for"
    return f"{len(answer.body)} bytes of {answer.content_type.partition(';')[0] or 'unknown type'}"
