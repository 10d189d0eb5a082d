"""The HTTP interface of the reference memory service: how to ask it, and how to read its answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, TypeVar
from urllib.parse import quote

import msgspec

from stress.swarm.answer import Answer, AttemptError
from stress.targets.outcome import UnreadableError, accepted, partial, refused, unanswered, unreadable
from stress.targets.target import Advice, Ask, Item, Place, Request, Result, Target


class _Batch(msgspec.Struct, gc=False):
    messages: Sequence[Item]


class _Stored(msgspec.Struct, gc=False):
    id: str


class _Receipt(msgspec.Struct, gc=False):
    stored: list[_Stored]


class _History(msgspec.Struct, gc=False):
    messages: list[Item]


T = TypeVar("T")

_encode = msgspec.json.Encoder().encode
_receipts = msgspec.json.Decoder(_Receipt)
_histories = msgspec.json.Decoder(_History)


class ReferenceTarget(Target):
    """Append, recall and delete as ``docs/http-interface.md`` describes them."""

    name: ClassVar[str] = "reference"

    def append(self, ask: Ask, place: Place, messages: Sequence[Item]) -> Result:
        """Messages for one session of a user."""
        path = f"{_path(place.user, place.session)}/messages"
        try:
            answer = ask(Request("POST", path, _encode(_Batch(messages))))
        except AttemptError as error:
            return unanswered(error, write=True)
        if not 200 <= answer.status < 300:
            return refused(answer, write=True)
        try:
            stored = _read(_receipts, answer).stored
        except UnreadableError:
            return unreadable(answer, write=True)
        ids = [message.id for message in stored]
        return accepted(answer) if ids == [message.id for message in messages] else partial(answer)

    def recall(self, ask: Ask, place: Place, limit: int | None, *, by_user: bool) -> Result:
        """The history of one session, or of all of the user's."""
        query = f"?limit={limit}" if limit is not None else ""
        path = _path(place.user, None if by_user else place.session)
        try:
            answer = ask(Request("GET", f"{path}/messages{query}"))
        except AttemptError as error:
            return unanswered(error, write=False)
        if answer.status == 404:
            return accepted(answer, [])
        if not 200 <= answer.status < 300:
            return refused(answer, write=False)
        try:
            return accepted(answer, _read(_histories, answer).messages)
        except UnreadableError:
            return unreadable(answer, write=False)

    def delete(self, ask: Ask, place: Place) -> Result:
        """Forget one session."""
        try:
            answer = ask(Request("DELETE", _path(place.user, place.session)))
        except AttemptError as error:
            return unanswered(error, write=True)
        if 200 <= answer.status < 300 or answer.status == 404:
            return accepted(answer)
        return refused(answer, write=True)

    def advise(self, step: str, answer: Answer | None, requests: int) -> Advice:  # noqa: ARG002 - the step tells enough
        """The form that was expected."""
        listed = '2xx with {"messages": [{"id": …, "role": …, "content": …}]}'
        expected = {
            "append": '2xx with {"stored": [{"id": …}]}, the ids of what was sent',
            "recall": listed,
            "recall by user": f"{listed}, over all sessions of the user",
        }.get(step, "2xx")
        attempt = ""
        if step == "recall by user":
            attempt = "if the memory has no recall over all sessions of a user, say scope = ['session'] in the contract"
        elif answer is not None and "json" in answer.content_type and 200 <= answer.status < 300:
            attempt = "answer in the form that docs/http-interface.md describes; every listed element needs these three"
            attempt += ". If yours has another form, describe it in a mapping: `goldfish init` writes one"
        return Advice(expected=expected, attempt=attempt)


@lru_cache(maxsize=16384)
def _path(user: str, session: str | None) -> str:
    where = f"/sessions/{quote(session, safe='')}" if session is not None else ""
    return f"/v1/users/{quote(user, safe='')}{where}"


def _read(decoder: msgspec.json.Decoder[T], answer: Answer) -> T:
    try:
        return decoder.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        # Lone surrogates are legal JSON escapes that the fast decoder refuses; the standard library reads them.
        try:
            read: T = msgspec.convert(json.loads(answer.body), decoder.type)
        except (ValueError, RecursionError):
            raise UnreadableError(str(error)) from error
        return read
