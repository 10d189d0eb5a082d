"""A library in the process of each instance: here one Redis list for each session, without a library between."""

import json
from collections.abc import Sequence

from redis.asyncio import Redis

from goldfish import Library, Message, Surroundings


class Lists(Library):
    async def start(self, surroundings: Surroundings) -> None:
        self.redis = Redis.from_url(surroundings.redis)

    async def append(self, user: str, session: str, messages: Sequence[Message]) -> None:
        await self.redis.rpush(session, *(json.dumps(message) for message in messages))

    async def history(self, user: str, session: str, limit: int | None) -> Sequence[Message]:
        lines = await self.redis.lrange(session, 0, -1)
        return self.newest([Message(*json.loads(line)) for line in lines], limit)

    async def delete(self, user: str, session: str) -> None:
        await self.redis.delete(session)
