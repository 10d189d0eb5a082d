"""``journal``, the sound store: append-only rows in PostgreSQL, and Redis as a cache that can be lost at any time.

**Numbers.** One counter per user numbers everything the user does. An append takes the counter's row lock and keeps it
until commit, so the order of the numbers is the order of the commits, and a message is acknowledged after its commit.
The number of the last change is the *head*: one per user, one per session (taken from the same counter). Deleting a
session moves the user's head and ends the session's; as the counter never goes back, a head is never used twice.

**Why the cache cannot lie.** What a scope holds is a pure function of its head. A window in Redis carries the head it
is true for, and is served only if PostgreSQL says, within the same recall, that this is the head. Late, lost, reordered
or flushed writes of the cache can therefore cost a recall its cheap way, never its truth; and Redis in trouble is no
trouble of the request.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import asyncpg

from stress.memory.config import InstanceConfig
from stress.memory.store import History, Message, Scope, Session, Stored, encode, last
from stress.memory.stores.postgres import Database
from stress.memory.stores.window import MESSAGES_MAX, Addition, Window, Windows

# The usual append is one statement, so its row locks are held for one round trip. The users' counter comes first in
# every statement that locks: two appends cannot wait for each other in a circle.
_APPEND = """
with counter as (
    insert into journal_user as u (tenant, user_id, head) values ($1, $2, cardinality($4::text[]))
    on conflict (tenant, user_id) do update set head = u.head + excluded.head
    returning coalesce(old.head, 0) as before, new.head as head, clock_timestamp() as at
), session as (
    insert into journal_session as s (tenant, user_id, session_id, head)
    select $1, $2, $3, counter.head from counter
    on conflict (tenant, user_id, session_id) do update set head = excluded.head
    returning coalesce(old.head, 0) as before
), written as (
    insert into journal_message (tenant, user_id, session_id, seq, message_id, role, content, created_at)
    select $1, $2, $3, counter.before + line.place, line.id, line.role, line.content, counter.at
    from counter, unnest($4::text[], $5::text[], $6::text[]) with ordinality as line(id, role, content, place)
)
select counter.before as user_before, session.before as session_before, counter.head, counter.at from counter, session
"""

# Messages come along only if the head is not the one that the caller knows already.
_SESSION_HISTORY = """
select s.head, m.*
from journal_session s left join lateral (
    select message_id, seq, role, content, created_at, null as session_id from journal_message
    where tenant = s.tenant and user_id = s.user_id and session_id = s.session_id and s.head <> $4
    order by seq desc limit $5
) m on true
where s.tenant = $1 and s.user_id = $2 and s.session_id = $3 order by m.seq
"""
_USER_HISTORY = """
select u.head, m.*
from journal_user u left join lateral (
    select message_id, seq, role, content, created_at, session_id from journal_message
    where tenant = u.tenant and user_id = u.user_id and u.head <> $3
    order by seq desc limit $4
) m on true
where u.tenant = $1 and u.user_id = $2 order by m.seq
"""

_LOCK = "select from journal_user where tenant = $1 and user_id = $2 for update"
_KNOWN = """
select message_id, seq from journal_message
where tenant = $1 and user_id = $2 and session_id = $3 and message_id = any($4::text[])
"""
_DELETE_SESSION = "delete from journal_session where tenant = $1 and user_id = $2 and session_id = $3 returning 1"
_DELETE_MESSAGES = "delete from journal_message where tenant = $1 and user_id = $2 and session_id = $3"
_MOVE_HEAD = "update journal_user set head = head + 1 where tenant = $1 and user_id = $2"

_NO_HEAD = 0


class _Appended(NamedTuple):
    """What an append did: the heads before it, the head after it, the time it was stored."""

    user_before: int
    session_before: int
    head: int
    at: Any


class Journal:
    """See the module; implements ``stress.memory.store.Store``."""

    keeps_any_text = False

    def __init__(self, database: Database, windows: Windows) -> None:
        self._database = database
        self._windows = windows

    @classmethod
    async def open(cls, config: InstanceConfig) -> Journal:
        """Connect to PostgreSQL; Redis is connected to when it is first needed."""
        return cls(await Database.open(config.postgres), Windows(config.redis))

    async def append(self, session: Session, messages: list[Message]) -> list[int]:
        """Store, commit, acknowledge; then refresh the windows."""
        async with self._database.connection() as connection:
            try:
                done = await _append(connection, session, messages)
            except asyncpg.UniqueViolationError:
                return await self._append_unknown(connection, session, messages)
        await self._refresh(session, messages, done)
        return _numbers(done, messages)

    async def _append_unknown(
        self, connection: asyncpg.Connection, session: Session, messages: list[Message]
    ) -> list[int]:
        """Store those messages whose ids are not there yet: a retry, or a batch that overlaps an earlier one."""
        async with connection.transaction():
            await connection.fetch(_LOCK, session.tenant, session.user)
            rows = await connection.fetch(_KNOWN, *session, [message.id for message in messages])
            numbers: dict[str, int] = {row["message_id"]: row["seq"] for row in rows}
            unknown = [message for message in messages if message.id not in numbers]
            if unknown:
                done = await _append(connection, session, unknown)
                numbers |= zip((message.id for message in unknown), _numbers(done, unknown), strict=True)
        # The windows are left at the head before: the next recall misses them and fills them again.
        return [numbers[message.id] for message in messages]

    async def history(self, scope: Scope, limit: int | None) -> History | None:
        """Ask Redis for a window, and PostgreSQL for the head and, if the window is not of that head, for messages."""
        window = await self._windows.read(scope)
        usable = window is not None and window.answers(limit)
        known_head = window.head if window is not None and usable else _NO_HEAD
        fetched = None if limit is None else max(limit, MESSAGES_MAX)
        statement = _USER_HISTORY if scope.session is None else _SESSION_HISTORY
        identity = [part for part in scope if part is not None]
        async with self._database.connection() as connection:
            rows = await connection.fetch(statement, *identity, known_head, fetched)
        if not rows:
            return None
        head = rows[0]["head"]
        if window is not None and head == known_head:
            return History(last(window.messages, limit), "redis")
        if rows[0]["seq"] is None:  # a user whose sessions are all deleted
            return None
        messages = [encode(Stored(*row[1:])) for row in map(tuple, rows)]
        complete = fetched is None or len(messages) < fetched
        await self._windows.put(scope, Window.of(head, messages, complete=complete))
        return History(last(messages, limit), "postgres")

    async def delete(self, session: Session) -> None:
        """Delete under the user's lock: an append is wholly before or wholly after."""
        async with self._database.connection() as connection, connection.transaction():
            # A statement of its own: later ones see what the transaction committed that held the lock before.
            await connection.fetch(_LOCK, session.tenant, session.user)
            if await connection.fetchval(_DELETE_SESSION, *session) is not None:
                await connection.execute(_DELETE_MESSAGES, *session)
                await connection.execute(_MOVE_HEAD, session.tenant, session.user)
        await self._windows.forget([Scope(*session), Scope(session.tenant, session.user)])

    async def ready(self) -> None:
        """PostgreSQL is all that is needed to serve."""
        await self._database.ready()

    async def close(self) -> None:
        """Disconnect from both."""
        await self._windows.close()
        await self._database.close()

    async def _refresh(self, session: Session, messages: list[Message], done: _Appended) -> None:
        told = [
            Stored(message.id, seq, message.role, message.content, done.at)
            for message, seq in zip(messages, _numbers(done, messages), strict=True)
        ]
        of_session = [encode(stored) for stored in told]
        # The user form is the same object with the session at its end.
        ending = b',"session":' + encode(session.session) + b"}"
        of_user = [line[:-1] + ending for line in of_session]
        await self._windows.append(
            Addition(Scope(*session), done.session_before, done.head, of_session),
            Addition(Scope(session.tenant, session.user), done.user_before, done.head, of_user),
        )


async def _append(connection: asyncpg.Connection, session: Session, messages: list[Message]) -> _Appended:
    columns = zip(*((message.id, message.role, message.content) for message in messages), strict=True)
    row = await connection.fetchrow(_APPEND, *session, *map(list, columns))
    return _Appended(*row)


def _numbers(done: _Appended, messages: list[Message]) -> list[int]:
    return list(range(done.head - len(messages) + 1, done.head + 1))
