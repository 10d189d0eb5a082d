"""Sessions of the OpenAI Agents SDK: on one SQLite file, on PostgreSQL through SQLAlchemy, on Redis.

The SDK's name of a session is any text; its examples use a user's id. So every message goes into two SDK sessions: that
of the chat, which a device reads when it opens the chat, and that of the user, which it reads after a reconnect. Each
list that is served is what ``get_items`` of one SDK session returned. An item is stored as the SDK's runner stores what
a user says, without an id; the text names it.

A chat can be deleted, but not taken out of what its user's session holds: the SDK can only clear a session whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from goldfish import Library, Message, Surroundings


class Sessions(Library):
    """What the three have in common."""

    def session(self, name: str) -> AbstractAsyncContextManager[Any]:
        """The SDK's session of this name, made for one request as a web service does."""
        raise NotImplementedError

    async def append(self, user: str, session: str, messages: list[Message]) -> None:
        """Add the items to the chat's session and to the user's."""
        items = [{"role": message.role, "content": message.text} for message in messages]
        for name in (session, user):
            async with self.session(name) as chat:
                await chat.add_items(items)

    async def history(self, user: str, session: str, limit: int | None) -> list[Message]:  # noqa: ARG002
        """The items of the chat's session."""
        return await self._items(session, limit)

    async def history_of_user(self, user: str, limit: int | None) -> list[Message]:
        """The items of the user's session."""
        return await self._items(user, limit)

    async def delete(self, user: str, session: str) -> None:  # noqa: ARG002
        """Clear the chat's session."""
        async with self.session(session) as chat:
            await chat.clear_session()

    async def _items(self, name: str, limit: int | None) -> list[Message]:
        async with self.session(name) as chat:
            return [Message(item["role"], item["content"]) for item in await chat.get_items(limit)]


class SqliteSessions(Sessions):
    """``SQLiteSession``: one file that all instances open."""

    async def start(self, surroundings: Surroundings) -> None:
        """Create the file."""
        from agents import SQLiteSession

        self._class = SQLiteSession
        self._file = surroundings.folder / "conversations.db"
        await self._items("", 0)

    @asynccontextmanager
    async def session(self, name: str) -> AsyncIterator[Any]:
        """Opened and closed in a thread, as it touches the file."""
        session = await asyncio.to_thread(self._class, name, self._file)
        try:
            yield session
        finally:
            await asyncio.to_thread(session.close)


class SqlalchemySessions(Sessions):
    """``SQLAlchemySession`` on PostgreSQL, through asyncpg."""

    async def start(self, surroundings: Surroundings) -> None:
        """Create the engine that all sessions share, and the tables."""
        from agents.extensions.memory import SQLAlchemySession
        from sqlalchemy.ext.asyncio import create_async_engine

        self._engine = create_async_engine(surroundings.postgres.replace("postgresql://", "postgresql+asyncpg://"))
        self._class = SQLAlchemySession
        await SQLAlchemySession("", engine=self._engine, create_tables=True).get_items(0)

    @asynccontextmanager
    async def session(self, name: str) -> AsyncIterator[Any]:
        """A session on the engine."""
        yield self._class(name, engine=self._engine)

    async def close(self) -> None:
        """Disconnect."""
        await self._engine.dispose()


class RedisSessions(Sessions):
    """``RedisSession``, with one client for all sessions."""

    async def start(self, surroundings: Surroundings) -> None:
        """Create the client."""
        from agents.extensions.memory import RedisSession
        from redis.asyncio import Redis

        self._class = RedisSession
        self._client = Redis.from_url(surroundings.redis)

    @asynccontextmanager
    async def session(self, name: str) -> AsyncIterator[Any]:
        """A session on the client."""
        yield self._class(name, redis_client=self._client)

    async def close(self) -> None:
        """Disconnect."""
        await self._client.aclose()
