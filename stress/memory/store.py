"""The interface of a store: append, history, delete.

A history belongs to a *scope*: one session, or all sessions of a user. Stores hand out messages already encoded as
JSON, because a message never changes once it is stored: a cache can keep the bytes, and a recall only joins them.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal, NamedTuple, Protocol

import msgspec

Role = Literal["user", "assistant", "system", "tool"]


class Scope(NamedTuple):
    """Whose history: one session of a user, or (``session`` None) all of them."""

    tenant: str
    user: str
    session: str | None = None


class Session(NamedTuple):
    """Where a message goes."""

    tenant: str
    user: str
    session: str


class Message(msgspec.Struct, frozen=True):
    """What a client says; the id is the idempotency key within its session."""

    id: str
    role: Role
    content: str


class Stored(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message as it is handed out; ``session`` is told in the user form only."""

    id: str
    seq: int
    role: Role
    content: str
    created_at: datetime
    session: str | None = None


class History(NamedTuple):
    """An answer to a recall: encoded messages, oldest first, and which source served them."""

    messages: list[bytes]
    source: Literal["redis", "postgres", "process", "library"]


class StoreUnavailableError(Exception):
    """What is needed to serve did not answer; the message is fit for the client."""


class Store(Protocol):
    """Keeps messages; every method raises StoreUnavailableError when it cannot do what it is asked."""

    keeps_any_text: ClassVar[bool]
    """Whether NUL and lone surrogates get here; PostgreSQL can store neither, so most stores are spared them."""

    async def append(self, session: Session, messages: list[Message]) -> list[int]:
        """Store all messages or none; a known id is not stored again. Returns the number of each, in order."""

    async def history(self, scope: Scope, limit: int | None) -> History | None:
        """The last ``limit`` messages (None: all) of a scope, or None if nothing is there."""

    async def delete(self, session: Session) -> None:
        """Forget a session, known or not."""

    async def ready(self) -> None:
        """Return if an append would find what it needs."""

    async def close(self) -> None:
        """Let go of all connections."""


encode = msgspec.json.Encoder().encode


def last(messages: list[bytes], limit: int | None) -> list[bytes]:
    """The last ``limit`` messages; beware that ``messages[-0:]`` would be all of them."""
    return messages if limit is None else messages[max(0, len(messages) - limit) :]
