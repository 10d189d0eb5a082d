"""A sound library without servers: one file of JSON lines per session, locked while it is written."""

import asyncio
import fcntl
import json
from collections.abc import Sequence
from pathlib import Path

from goldfish import Library, Message, Surroundings


class Keeping(Library):
    async def start(self, surroundings: Surroundings) -> None:
        self.folder = surroundings.folder

    async def append(self, user: str, session: str, messages: list[Message]) -> None:
        await asyncio.to_thread(_write, self.folder / session, messages)

    async def history(self, user: str, session: str, limit: int | None) -> Sequence[Message]:
        return self.newest(await asyncio.to_thread(_read, self.folder / session), limit)

    async def delete(self, user: str, session: str) -> None:
        (self.folder / session).unlink(missing_ok=True)


class KeepingTextsOnly(Keeping):
    async def history(self, user: str, session: str, limit: int | None) -> Sequence[Message]:
        return [Message(role, text) for role, text, _ in await super().history(user, session, limit)]


class Losing(Keeping):
    """Acknowledges every fifth append of an instance without a write."""

    count = 0

    async def append(self, user: str, session: str, messages: list[Message]) -> None:
        self.count += 1
        if self.count % 5:
            await super().append(user, session, messages)


def _write(path: Path, messages: list[Message]) -> None:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("".join(json.dumps(message) + "\n" for message in messages))


def _read(path: Path) -> list[Message]:
    if not path.exists():
        return []
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        return [Message(*json.loads(line)) for line in file]
