"""The HTTP interface of the reference memory service: how to ask it, and how to read its answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar
from urllib.parse import quote

import msgspec

from stress.swarm.http import Answer


class Item(msgspec.Struct, frozen=True, gc=False):
    """One message as it is sent, or one element of a recalled list."""

    id: str
    role: str
    content: str


class Request(msgspec.Struct, frozen=True, gc=False):
    """A request in the target's own terms."""

    method: str
    path: str
    body: bytes = b""


class UnreadableError(Exception):
    """A 2xx answer that has not the form the interface promises."""


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


class ReferenceTarget:
    """Append, recall and delete in HTTP."""

    name = "reference"

    def append(self, user: str, session: str, messages: Sequence[Item]) -> Request:
        """Messages for one session of a user."""
        return Request("POST", f"{_path(user, session)}/messages", _encode(_Batch(messages)))

    def recall(self, user: str, session: str | None, limit: int | None) -> Request:
        """The history of one session, or of all of the user's when ``session`` is None."""
        query = f"?limit={limit}" if limit is not None else ""
        return Request("GET", f"{_path(user, session)}/messages{query}")

    def delete(self, user: str, session: str) -> Request:
        """Forget one session."""
        return Request("DELETE", _path(user, session))

    def stored(self, answer: Answer) -> list[str]:
        """The ids a 2xx answer to an append acknowledges, in its order.

        Raises:
            UnreadableError: the answer has another form.
        """
        return [message.id for message in _read(_receipts, answer).stored]

    def listed(self, answer: Answer) -> list[Item]:
        """The list in a 2xx answer to a recall.

        Raises:
            UnreadableError: the answer has another form.
        """
        return _read(_histories, answer).messages


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
