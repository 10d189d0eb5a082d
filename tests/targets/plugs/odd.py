"""Libraries that go wrong in one way each, and one that tells what it was given."""

import os
import time
from pathlib import Path
from typing import Any

from goldfish import Library, Message, Surroundings


class Raising(Library):
    async def append(self, user: str, session: str, messages: list[Message]) -> None:
        raise ValueError(f"no room for {messages[0].text}")

    async def history(self, user: str, session: str, limit: int | None) -> list[Message]:
        listed: Any = [Message("user", ["part"])]  # type: ignore[arg-type]
        return listed


class Telling(Library):
    """Lists what start was given, and how many instances were starting while this one was."""

    async def start(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        inside = surroundings.folder / "starting"
        self.alone = not inside.exists()
        inside.touch()
        time.sleep(0.2)  # long enough for another to come in, if it could
        inside.unlink()

    async def append(self, user: str, session: str, messages: list[Message]) -> None:
        raise NotImplementedError

    async def history(self, user: str, session: str, limit: int | None) -> list[Message]:
        told = self.surroundings
        addresses = [told.postgres, told.redis] if session == "all" else [told.redis]
        facts = [told.instance, str(told.folder), str(self.alone), os.environ.get("LIBRARY_KEY", ""), *addresses]
        return [Message("system", fact, str(number)) for number, fact in enumerate(facts)]


class NotStarting(Telling):
    async def start(self, surroundings: Surroundings) -> None:
        raise RuntimeError("the key of the library's service is missing")


class NoLibrary:
    pass


class Holding(Telling):
    """Will not let go."""

    async def close(self) -> None:
        Path(self.surroundings.folder / "closing").touch()
        time.sleep(60)
