"""A pool of connections to PostgreSQL, and what its errors mean to a client."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from stress.memory.store import StoreUnavailableError

CONNECTIONS_MAX = 10
"""Per instance; the deployment gives PostgreSQL room for that."""
_ACQUIRE_S = 2.0
_COMMAND_S = 5.0
# InternalClientError is asyncpg's word for a connection that the server ended while it was idle, used before the end
# was noticed.
_TROUBLE = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)

log = logging.getLogger("goldfish.memory")


class Database:
    """Hands out connections; trouble inside a ``connection()`` block becomes StoreUnavailableError."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    @classmethod
    async def open(cls, dsn: str) -> Database:
        """Connect."""
        pool = await asyncpg.create_pool(
            dsn,
            min_size=2,
            max_size=CONNECTIONS_MAX,
            command_timeout=_COMMAND_S,
            # Sessions here set nothing that would have to be reset: spares a round trip per request.
            reset=_nothing_to_reset,
            server_settings={"application_name": "goldfish-memory", "jit": "off"},
        )
        return cls(pool)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[asyncpg.Connection]:
        """One connection for the length of the block."""
        try:
            async with self._pool.acquire(timeout=_ACQUIRE_S) as connection:
                yield connection
        except _TROUBLE as error:
            log.warning("PostgreSQL: %s: %s", type(error).__name__, error)
            # The client is told no more: driver messages carry addresses and statements.
            raise StoreUnavailableError("the database did not answer; whether it stored anything is unknown") from None

    async def ready(self) -> None:
        """Return if PostgreSQL answers."""
        async with self.connection() as connection:
            await connection.fetchval("select 1")

    async def close(self) -> None:
        """Close all connections, at once: whoever still uses one has lost already."""
        self._pool.terminate()


async def _nothing_to_reset(_connection: asyncpg.Connection) -> None:
    return
