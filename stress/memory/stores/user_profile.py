"""``user-profile``: memory by user, so that a reconnect in another session finds what was said in the last one.

The history of a user is one row, a JSON list, read and written whole: the shape in which many teams store a "memory
object" first. It is sound as long as whoever writes holds the row's lock from the read to the write, and whoever reads
asks the row. Both rules are easy to lose, and each defect loses one:

``lost-update``
    *What teams did:* load the object, append, save it, without a lock; by hand nobody is fast enough to see the gap
    between load and save. *How it shows:* two devices of a user write at once, both are acknowledged, and one of the
    messages is gone, for good, from the middle or the end. *How it is cured:* ``select … for update``, a version that
    the write checks, or appending rows instead of rewriting a list.

``instance-cache``
    *What teams did:* keep the loaded object in the process, to spare the query. *How it shows:* the instance that took
    the write answers right, the others answer with their old copy until it expires; behind a balancer history
    flickers, and a reconnect lands on an instance that knows nothing. *How it is cured:* no copy without asking
    whether it is the newest (see ``journal``), or one shared cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from typing import NamedTuple

import asyncpg
import msgspec

from stress.memory.config import InstanceConfig
from stress.memory.registry import Settings
from stress.memory.store import History, Message, Scope, Session, Stored, encode, last
from stress.memory.stores.postgres import Database

COPIES_MAX = 10_000

_READ = "select history from user_profile where tenant = $1 and user_id = $2"
_READ_LOCKED = f"{_READ} for update"
# There must be a row before it can be locked; who comes second waits for the first and finds its row.
_ENSURE = "insert into user_profile (tenant, user_id, history) values ($1, $2, '[]') on conflict do nothing"
_WRITE = """
insert into user_profile (tenant, user_id, history) values ($1, $2, $3)
on conflict (tenant, user_id) do update set history = excluded.history
"""

_decode = msgspec.json.Decoder(list[Stored]).decode


class _Owner(NamedTuple):
    tenant: str
    user: str


class UserProfile:
    """See the module; implements ``stress.memory.store.Store``."""

    keeps_any_text = False

    def __init__(self, database: Database, defects: Settings) -> None:
        self._database = database
        self._lost_update = defects.get("lost-update")
        self._instance_cache = defects.get("instance-cache")
        self._copies = _Copies(self._instance_cache["ttl"]) if self._instance_cache else None

    @classmethod
    async def open(cls, config: InstanceConfig) -> UserProfile:
        """Connect to PostgreSQL; this store has no use for Redis."""
        return cls(await Database.open(config.postgres), config.defects)

    async def append(self, session: Session, messages: list[Message]) -> list[int]:
        """Add to the user's list what is not in it yet."""
        numbers: dict[str, int] = {}

        def add(history: list[Stored]) -> list[Stored]:
            numbers.update((stored.id, stored.seq) for stored in history if stored.session == session.session)
            unknown = [message for message in messages if message.id not in numbers]
            first = history[-1].seq + 1 if history else 1
            numbers.update((message.id, seq) for seq, message in enumerate(unknown, first))
            now = datetime.now(UTC)
            return history + [
                Stored(message.id, numbers[message.id], message.role, message.content, now, session.session)
                for message in unknown
            ]

        await self._change(_Owner(session.tenant, session.user), add)
        return [numbers[message.id] for message in messages]

    async def delete(self, session: Session) -> None:
        """Take the session's messages out of the user's list."""

        def remove(history: list[Stored]) -> list[Stored]:
            return [stored for stored in history if stored.session != session.session]

        await self._change(_Owner(session.tenant, session.user), remove)

    async def history(self, scope: Scope, limit: int | None) -> History | None:
        """Read the user's list, and of it the session asked for."""
        owner = _Owner(scope.tenant, scope.user)
        copy = self._copies.get(owner) if self._copies is not None else None
        if copy is not None:  # instance-cache: served without asking whether another instance has written since
            history = copy
        else:
            history = await self._read(owner)
        if scope.session is not None:
            history = [_without_session(stored) for stored in history if stored.session == scope.session]
        if not history:
            return None
        return History(last([encode(stored) for stored in history], limit), "postgres" if copy is None else "process")

    async def ready(self) -> None:
        """PostgreSQL is all that is needed to serve."""
        await self._database.ready()

    async def close(self) -> None:
        """Disconnect."""
        await self._database.close()

    async def _read(self, owner: _Owner) -> list[Stored]:
        async with self._database.connection() as connection:
            history = _list(await connection.fetchval(_READ, *owner))
        if self._copies is not None:
            self._copies.put(owner, history)
        return history

    async def _change(self, owner: _Owner, change: Callable[[list[Stored]], list[Stored]]) -> None:
        """Read the list, change it, write it back whole."""
        async with self._database.connection() as connection, connection.transaction():
            if self._lost_update is None:
                history = await _read_locked(connection, owner)
            else:  # lost-update: whoever writes in the gap is overwritten
                history = _list(await connection.fetchval(_READ, *owner))
                await asyncio.sleep(self._lost_update["gap_ms"] / 1000)
            changed = change(history)
            if changed != history:
                await connection.execute(_WRITE, *owner, encode(changed).decode())
        if self._copies is not None:  # instance-cache: this process hears of the write, the others do not
            self._copies.put(owner, changed)


class _Copies:
    """The histories that one process trusts for a while."""

    def __init__(self, ttl_s: float) -> None:
        self._ttl_s = ttl_s
        self._copies: dict[_Owner, tuple[float, list[Stored]]] = {}

    def get(self, owner: _Owner) -> list[Stored] | None:
        taken_s, history = self._copies.get(owner, (0.0, None))
        return history if history is not None and monotonic() - taken_s < self._ttl_s else None

    def put(self, owner: _Owner, history: list[Stored]) -> None:
        self._copies.pop(owner, None)
        self._copies[owner] = (monotonic(), history)
        if len(self._copies) > COPIES_MAX:
            del self._copies[next(iter(self._copies))]  # the oldest, as every put moves to the end


async def _read_locked(connection: asyncpg.Connection, owner: _Owner) -> list[Stored]:
    history = await connection.fetchval(_READ_LOCKED, *owner)
    if history is None:
        await connection.execute(_ENSURE, *owner)
        history = await connection.fetchval(_READ_LOCKED, *owner)
    return _list(history)


def _list(history: str | None) -> list[Stored]:
    return [] if history is None else _decode(history)


def _without_session(stored: Stored) -> Stored:
    return msgspec.structs.replace(stored, session=None)
