"""What a plug is: a class of some twenty lines between the host and a memory library.

    from goldfish import Library, Message, Surroundings

    class Notes(Library):
        async def start(self, surroundings: Surroundings) -> None:
            self._client = Redis.from_url(surroundings.redis)

        async def append(self, user: str, session: str, messages: list[Message]) -> None:
            await self._client.rpush(session, *(json.dumps(message) for message in messages))

        async def history(self, user: str, session: str, limit: int | None) -> Sequence[Message]:
            lines = await self._client.lrange(session, 0, -1)
            return self.newest([Message(*json.loads(line)) for line in lines], limit)

Every instance is a process with one object of the class. Requests run side by side in one event loop, so what blocks
belongs in ``asyncio.to_thread``. What is raised becomes an answer 500, which says that the outcome is unknown; a plug
catches nothing for our sake.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from stress.targets.message import Message


class Surroundings:
    """What the deployment offers an instance; all instances are offered the same."""

    def __init__(self, *, instance: str, folder: Path, postgres: str | None = None, redis: str | None = None) -> None:
        self.instance = instance
        """The instance's own name: m1, m2, …."""
        self.folder = folder
        """An empty folder for files that all instances share; it goes with the deployment."""
        self._postgres = postgres
        self._redis = redis

    @property
    def postgres(self) -> str:
        """A DSN: ``postgresql://postgres@/postgres?host=/folder/of/the/socket``. The database is empty."""
        return _needed("postgres", self._postgres)

    @property
    def redis(self) -> str:
        """A URL: ``unix:///path/of/the/socket``. The server is empty, evicts nothing, and keeps nothing on disk."""
        return _needed("redis", self._redis)


class NotOfferedError(Exception):
    """The library has nothing for this kind of request."""


class Library(ABC):
    """Base of all plugs; ``append`` and ``history`` are all that a plug must have."""

    async def start(self, surroundings: Surroundings) -> None:  # noqa: B027 - a library may need nothing
        """Import the library, connect, create what is missing.

        Instances start one after the other, so tables are made without races. What is imported only with the first
        request makes that request wait.
        """

    @abstractmethod
    async def append(self, user: str, session: str, messages: list[Message]) -> None:
        """Store the messages in their order. To return is to acknowledge them: from then on they are owed."""

    @abstractmethod
    async def history(self, user: str, session: str, limit: int | None) -> Sequence[Message]:
        """The newest ``limit`` messages of a session (None: all; 0: none), oldest first."""

    async def history_of_user(self, user: str, limit: int | None) -> Sequence[Message]:  # noqa: ARG002
        """The same over all sessions of a user. Without it the contract says ``scope = ["session"]``."""
        raise NotOfferedError("history_of_user")

    async def delete(self, user: str, session: str) -> None:  # noqa: ARG002
        """Forget a session, known or not."""
        raise NotOfferedError("delete")

    async def close(self) -> None:  # noqa: B027 - a library may hold nothing
        """Let go of all connections; instances are given a second or two to end."""

    @staticmethod
    def newest(messages: Sequence[Message], limit: int | None) -> Sequence[Message]:
        """The last ``limit`` messages, for libraries that know no limit."""
        # Not messages[-limit:], which with 0 would be all of them.
        return messages if limit is None else messages[max(0, len(messages) - limit) :]


def _needed(what: str, address: str | None) -> str:
    if address is None:
        raise RuntimeError(f'the library asks for {what}, which its target does not name: needs = ["{what}"]')
    return address
