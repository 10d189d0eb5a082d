"""LlamaIndex's ``RedisChatStore``: a Redis list for each chat. It keeps no ids; the text names its message."""

from __future__ import annotations

from collections.abc import Sequence

from goldfish import Library, Message, Surroundings


class RedisChats(Library):
    """The store under its asynchronous methods, the chat's id as its key.

    It has no limit: whoever wants the newest few reads the whole list.
    """

    async def start(self, surroundings: Surroundings) -> None:
        """Connect."""
        from llama_index.core.llms import ChatMessage
        from llama_index.storage.chat_store.redis import RedisChatStore
        from redis import Redis
        from redis.asyncio import Redis as AsyncRedis

        self._message = ChatMessage
        self._client = AsyncRedis.from_url(surroundings.redis)
        # It wants a client of both kinds; the methods used here take the asynchronous one.
        self._store = RedisChatStore(redis_client=Redis.from_url(surroundings.redis), aredis_client=self._client)

    async def append(self, user: str, session: str, messages: list[Message]) -> None:  # noqa: ARG002
        """Add one after the other; the store has no method for several."""
        for message in messages:
            await self._store.async_add_message(session, self._message(role=message.role, content=message.text))

    async def history(self, user: str, session: str, limit: int | None) -> Sequence[Message]:  # noqa: ARG002
        """Read the chat's list."""
        listed = await self._store.aget_messages(session)
        return self.newest([Message(message.role.value, message.content) for message in listed], limit)

    async def delete(self, user: str, session: str) -> None:  # noqa: ARG002
        """Delete the chat's list."""
        await self._store.adelete_messages(session)

    async def close(self) -> None:
        """Disconnect."""
        await self._client.aclose()
