"""The last messages of a scope in Redis: a cache that may be lost, because it says what it is true for.

One string per scope, so that Redis evicts all of a window or nothing: a header of fixed width (the head, whether the
window is the whole history, how many messages) and one line of JSON for each message. The fixed width lets a writer
overwrite the header in place and append its lines without carrying the window across.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import NamedTuple, cast
from urllib.parse import quote

import redis.asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from stress.memory.store import Scope

MESSAGES_MAX = 256
BYTES_MAX = 256 * 1024
"""A larger window is not kept: moving it costs more than the query it spares."""
KEPT_S = 120
"""A window that nobody has written for so long is dropped, and filled again by the next recall: Redis keeps what is
talked about, not all that ever was."""
_CONNECTIONS_MAX = 32
_TIMEOUT_S = 0.25
_PAUSE_S = 1.0
"""After an error Redis is left alone for this long, so that a dead Redis costs one request in many its patience."""
_TROUBLE = (RedisError, OSError, TimeoutError)

_HEADER = "{head:020d}{complete:d}{count:010d}\n"
_HEADER_BYTES = 32

# KEYS: windows. ARGV: most messages, most bytes, seconds to keep; then for each window its head before, its head after,
# the number of messages, and their lines. A window that is not at the head before is left alone: a recall will fill it.
_APPEND = """
local most, size, kept_s = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
for i, key in ipairs(KEYS) do
  local before, after, added, lines = ARGV[4 * i], ARGV[4 * i + 1], tonumber(ARGV[4 * i + 2]), ARGV[4 * i + 3]
  local header = redis.call('GETRANGE', key, 0, 31)
  local complete, count = '1', 0
  local first = tonumber(before) == 0
  if not first then
    complete, count = string.sub(header, 21, 21), tonumber(string.sub(header, 22, 31))
  end
  if first or string.sub(header, 1, 20) == before then
    if first then redis.call('SET', key, '') end
    count = count + added
    if count <= most then
      redis.call('SETRANGE', key, 0, after .. complete .. string.format('%010d', count) .. '\\n')
      redis.call('APPEND', key, lines)
    else
      local kept = string.sub(redis.call('GET', key), 33) .. lines
      local from = 1
      for _ = 1, count - most do from = string.find(kept, '\\n', from, true) + 1 end
      redis.call('SET', key, after .. '0' .. string.format('%010d', most) .. '\\n' .. string.sub(kept, from))
    end
    if redis.call('STRLEN', key) > size then redis.call('DEL', key) else redis.call('EXPIRE', key, kept_s) end
  end
end
"""

log = logging.getLogger("goldfish.memory")


class Window(NamedTuple):
    """The last messages of a scope, encoded, and the head they are true for."""

    head: int
    complete: bool
    """Whether they are the whole history."""
    messages: list[bytes]

    @classmethod
    def of(cls, head: int, messages: list[bytes], *, complete: bool) -> Window:
        """The window of the last of these messages."""
        return cls(head, complete and len(messages) <= MESSAGES_MAX, messages[-MESSAGES_MAX:])

    def answers(self, limit: int | None) -> bool:
        """Whether a recall of ``limit`` messages finds all of them here."""
        return self.complete or (limit is not None and limit <= len(self.messages))


class Addition(NamedTuple):
    """What an append adds to a window that is at the head before it."""

    scope: Scope
    before: int
    after: int
    messages: list[bytes]


class Windows:
    """Reads and writes windows; trouble with Redis is a miss, and never an error."""

    def __init__(self, socket: str) -> None:
        self._redis = redis.Redis(
            unix_socket_path=socket,
            socket_timeout=_TIMEOUT_S,
            socket_connect_timeout=_TIMEOUT_S,
            max_connections=_CONNECTIONS_MAX,
            retry=Retry(NoBackoff(), 0),
        )
        self._script = self._redis.register_script(_APPEND)
        self._paused_until_s = 0.0

    async def read(self, scope: Scope) -> Window | None:
        """The window of a scope, if there is one."""
        if self._paused():
            return None
        try:
            value = cast(bytes | None, await self._redis.get(_key(scope)))
        except _TROUBLE as error:
            self._pause(error)
            return None
        if not value:
            return None
        lines = value[_HEADER_BYTES:-1].split(b"\n")
        return Window(int(value[:20]), value[20:21] == b"1", lines)

    async def put(self, scope: Scope, window: Window) -> None:
        """Keep this window, whatever is there."""
        header = _HEADER.format(head=window.head, complete=window.complete, count=len(window.messages)).encode()
        value = header + b"".join(line + b"\n" for line in window.messages)
        if self._paused() or len(value) > BYTES_MAX:
            return
        try:
            await self._redis.set(_key(scope), value, ex=KEPT_S)
        except _TROUBLE as error:
            self._pause(error)

    async def append(self, *additions: Addition) -> None:
        """Move windows that are at the head before an append to the head after it, in one round trip."""
        if self._paused():
            return
        arguments: list[bytes | str | int] = [MESSAGES_MAX, BYTES_MAX, KEPT_S]
        for addition in additions:
            lines = b"".join(line + b"\n" for line in addition.messages)
            arguments += [f"{addition.before:020d}", f"{addition.after:020d}", len(addition.messages), lines]
        try:
            await self._script(keys=[_key(addition.scope) for addition in additions], args=arguments)
        except _TROUBLE as error:
            self._pause(error)

    async def forget(self, scopes: list[Scope]) -> None:
        """Drop windows. They would not be served any more, but what is deleted should not lie around."""
        if self._paused():
            return
        try:
            await self._redis.delete(*map(_key, scopes))
        except _TROUBLE as error:
            self._pause(error)

    async def close(self) -> None:
        """Disconnect."""
        await self._redis.aclose()

    def _paused(self) -> bool:
        return monotonic() < self._paused_until_s

    def _pause(self, error: Exception) -> None:
        log.warning("Redis: %s: %s", type(error).__name__, error)
        self._paused_until_s = monotonic() + _PAUSE_S


def _key(scope: Scope) -> str:
    # Quoted, so that no id can contain the separator and two scopes can never share a key.
    return "goldfish:" + ":".join(quote(part, safe="") for part in scope if part is not None)
