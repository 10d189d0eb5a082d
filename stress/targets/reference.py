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


class _Rendered(msgspec.Struct, gc=False):
    messages: list[msgspec.Raw]


T = TypeVar("T")

_encode = msgspec.json.Encoder().encode
_receipts = msgspec.json.Decoder(_Receipt)
_histories = msgspec.json.Decoder(_History)
_split = msgspec.json.Decoder(_Rendered).decode
_item = msgspec.json.Decoder(Item).decode


class Reading:
    """The list that a conversation was shown last: every element as it was rendered, and as it was read.

    A deployment renders a message in the same bytes every time, and two lists of one conversation have most elements in
    common. What has been read once is recognised by its bytes, and not read again.
    """

    __slots__ = ("_items", "_rendered")

    def __init__(self) -> None:
        self._rendered: list[msgspec.Raw] = []
        self._items: list[Item] = []

    def listed(self, body: bytes) -> list[Item] | None:
        """The list in the body of an answer; None if it cannot be read this way."""
        try:
            rendered = _split(body).messages
            kept = self._kept(rendered)
            new = rendered[kept:]
            items = [_item(element) for element in new]
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        dropped = len(self._rendered) - kept
        # Copies, so that the body they were cut from is free.
        self._rendered = [*self._rendered[dropped:], *(element.copy() for element in new)]
        self._items = [*self._items[dropped:], *items]
        return self._items

    def _kept(self, rendered: list[msgspec.Raw]) -> int:
        """With how many of the newest elements of the last list this one begins."""
        if not rendered or rendered[0] not in self._rendered:
            return 0
        common = self._rendered[self._rendered.index(rendered[0]) :]
        return len(common) if rendered[: len(common)] == common else 0


class ReferenceTarget:
    """Append, recall and delete in HTTP."""

    name = "reference"

    def append(self, user: str, session: str, messages: Sequence[Item]) -> Request:
        """Messages for one session of a user."""
        return Request(
            "POST", f"/v1/users/{_quoted(user)}/sessions/{_quoted(session)}/messages", _encode(_Batch(messages))
        )

    def recall(self, user: str, session: str | None, limit: int | None) -> Request:
        """The history of one session, or of all of the user's when ``session`` is None."""
        where = f"/sessions/{_quoted(session)}" if session is not None else ""
        query = f"?limit={limit}" if limit is not None else ""
        return Request("GET", f"/v1/users/{_quoted(user)}{where}/messages{query}")

    def delete(self, user: str, session: str) -> Request:
        """Forget one session."""
        return Request("DELETE", f"/v1/users/{_quoted(user)}/sessions/{_quoted(session)}")

    def stored(self, answer: Answer) -> list[str]:
        """The ids a 2xx answer to an append acknowledges, in its order.

        Raises:
            UnreadableError: the answer has another form.
        """
        return [message.id for message in _read(_receipts, answer).stored]

    def listed(self, answer: Answer, last: Reading | None = None) -> list[Item]:
        """The list in a 2xx answer to a recall; ``last`` is what was read last of the same conversation.

        Raises:
            UnreadableError: the answer has another form.
        """
        items = last.listed(answer.body) if last is not None else None
        return _read(_histories, answer).messages if items is None else items


@lru_cache(maxsize=65536)
def _quoted(text: str) -> str:
    return quote(text, safe="")


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
