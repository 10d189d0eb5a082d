"""The instance's side: a store of the memory service (stress.memory.store) that a library keeps.

It adds nothing to the library and forgives nothing: no retry, no lock, no copy. What the library raises is logged and
answered 500, so that the outcome counts as unknown; what it returns is what it said.
"""

from __future__ import annotations

import fcntl
import json
import logging
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from goldfish import token
from stress.memory import store
from stress.memory.config import InstanceConfig
from stress.memory.problems import ProblemError
from stress.memory.service import DEFAULT_TENANT
from stress.memory.store import History, Scope, Session, encode
from stress.targets.host.hosted import Hosted
from stress.targets.host.library import Library, NotOfferedError, Surroundings
from stress.targets.message import Message
from stress.targets.plug import module_of

log = logging.getLogger("goldfish.memory")


class LibraryStore:
    """See the module; implements ``stress.memory.store.Store``."""

    keeps_any_text = True  # what becomes of it is the library's affair

    def __init__(self, library: Library) -> None:
        self._library = library

    @classmethod
    async def open(cls, config: InstanceConfig) -> LibraryStore:
        """Load the library and start it, after the instances before us have started theirs.

        Raises:
            SystemExit: it cannot be loaded or started; the log says why, last of all in one line.
        """
        hosted, folder = config.library, Path(config.folder or "")
        assert hosted is not None
        library = load(hosted)
        surroundings = Surroundings(
            instance=config.name,
            folder=folder,
            postgres=config.postgres if "postgres" in hosted.needs else None,
            redis=f"unix://{config.redis}" if "redis" in hosted.needs else None,
        )
        with _one_at_a_time(folder.with_suffix(".lock")):
            try:
                await library.start(surroundings)
            except Exception as error:  # noqa: BLE001 - the library\'s own, whatever it is
                traceback.print_exc()
                raise SystemExit(f"library '{hosted.library}' did not start: {_told(error)}") from None
        return cls(library)

    async def append(self, session: Session, messages: list[store.Message]) -> list[int]:
        """Have the library store them; it counts nothing, so the numbers are the places in the batch."""
        _check_tenant(session.tenant)
        said = [Message(message.role, message.content, message.id) for message in messages]
        with _failures_told("append"):
            await self._library.append(session.user, session.session, said)
        return list(range(1, len(messages) + 1))

    async def history(self, scope: Scope, limit: int | None) -> History:
        """What the library lists, in its order."""
        _check_tenant(scope.tenant)
        with _failures_told("history" if scope.session is not None else "history_of_user"):
            if scope.session is not None:
                messages = await self._library.history(scope.user, scope.session, limit)
            else:
                messages = await self._library.history_of_user(scope.user, limit)
            return History(_encoded(messages), "library")

    async def delete(self, session: Session) -> None:
        """Have the library forget it."""
        _check_tenant(session.tenant)
        with _failures_told("delete"):
            await self._library.delete(session.user, session.session)

    async def ready(self) -> None:
        """It has started, which is all that is known of a library."""

    async def close(self) -> None:
        """Have the library let go of what it holds."""
        try:
            await self._library.close()
        except Exception:
            log.exception("the library's close failed")


def load(hosted: Hosted) -> Library:
    """Import the class and make the one object of this process.

    Raises:
        SystemExit: there is no such class, it is no Library, or importing it failed.
    """
    where, _, name = hosted.library.rpartition(":")
    try:
        module = module_of(where)
        found: Any = getattr(module, name, None)
        if not (isinstance(found, type) and issubclass(found, Library)):
            raise SystemExit(f"library '{hosted.library}': {name} is not a class there that derives goldfish.Library")
        made: Library = found()
    except ImportError as error:
        traceback.print_exc()
        raise SystemExit(f"library '{hosted.library}' cannot be imported: {error}; is its package installed?") from None
    except Exception as error:  # noqa: BLE001 - the library\'s own, whatever it is
        traceback.print_exc()
        raise SystemExit(f"library '{hosted.library}' cannot be loaded: {_told(error)}") from None
    return made


@contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    """Hold a lock that all instances share; nothing is served yet, so it may block."""
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _failures_told(method: str) -> Iterator[None]:
    """Turn what the library raises into an answer: whoever tests a library wants to read what it said."""
    try:
        yield
    except NotOfferedError:
        # Not 404, which would be an empty history, and a loss where one was promised.
        raise ProblemError(501, "not-offered", f"this library's plug has no {method}") from None
    except Exception as error:
        log.exception("the library's %s failed", method)
        raise ProblemError(500, "library-failed", f"the library's {method} raised {_told(error)}") from None


def _encoded(messages: Sequence[Message]) -> list[bytes]:
    """The messages as they go out; one whose id the library did not keep is named by its text."""
    encoded = []
    for role, text, known_id in messages:
        if not isinstance(text, str):
            raise TypeError(f"text is {type(text).__name__}, expected str")
        listed = {"id": known_id or _id_in(text), "role": role, "content": text}
        try:
            encoded.append(encode(listed))
        except UnicodeEncodeError:  # half a surrogate pair, which only the standard library writes as an escape
            encoded.append(json.dumps(listed).encode())
    return encoded


def _id_in(text: str) -> str:
    named = token.read(None, text)
    return "" if named is None else str(named)


def _check_tenant(tenant: str) -> None:
    if tenant != DEFAULT_TENANT:
        raise ProblemError(422, "no-tenants", "a hosted library has no tenants")


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
