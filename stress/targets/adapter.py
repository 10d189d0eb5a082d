"""Adapters: a memory's interface in Python, for what a mapping cannot say.

Client-side read-modify-write, signed requests, streams: an adapter is one small class with the same steps as a mapping.
It makes requests through the chat it is given, which sends each exactly once over the device's own connection, so that
what happened to it is known precisely. Nothing else may be used to reach the memory.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from goldfish.errors import UsageError
from goldfish.token import PREFIX
from stress.swarm.answer import Answer, AttemptError
from stress.targets.message import Message
from stress.targets.outcome import REJECTED, Item, Result, accepted, refused, unanswered, unreadable
from stress.targets.plug import module_of
from stress.targets.target import Advice, Ask, Place, Replies, Request, Target

GROUP = "goldfish.adapters"
_READS = ("GET", "HEAD")


class Reply:
    """The answer to one request."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.status = answer.status
        self.body = answer.body

    def json(self) -> Any:
        """The body, read as JSON.

        Raises:
            ValueError: it is none; the swarm takes that for an answer nobody can read.
        """
        return json.loads(self.body)


class RefusedError(Exception):
    """A status that was not expected."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"status {answer.status}")
        self.answer = answer


class AdapterChat:
    """A session of a user, as an adapter sees it in one step."""

    def __init__(self, ask: Ask, place: Place) -> None:
        self.user = place.user
        self.session = place.session
        self.device = place.device
        self.saved = place.values
        """What ``open`` noted, for all later steps of this session."""
        self.last: Answer | None = None
        self.wrote = 0
        """Requests sent that may have changed something."""
        self._ask = ask

    def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        expect: Sequence[int] = (),
    ) -> Reply:
        """Make one request; a status that is neither 2xx nor expected ends the step.

        Args:
            method: GET, POST, …
            path: below the base URL, percent-encoded, with its query.
            json: a body to be sent as JSON.
            body: or its bytes.
            headers: beside those of the target.
            expect: statuses to go on with beside 2xx.
        """
        lines = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        if lines.count("\n") != len(headers or {}) or "\0" in lines:
            raise ValueError("a header has more than one line")
        data = msgspec.json.encode(json) if json is not None else body
        if method not in _READS:
            self.wrote += 1
        self.last = answer = self._ask(Request(method, path, data, lines))
        if not (200 <= answer.status < 300 or answer.status in expect):
            raise RefusedError(answer)
        return Reply(answer)


class Adapter:
    """How to speak to a memory; subclass it and write the steps.

    class Notes(Adapter):
        '''A service that keeps a whole chat in one document.'''

        def append(self, chat, messages):
            notes = chat.request("GET", f"/notes/{chat.session}", expect=[404])
            said = notes.json()["lines"] if notes.status == 200 else []
            said += [{"who": message.role, "line": message.text} for message in messages]
            chat.request("PUT", f"/notes/{chat.session}", json={"lines": said})

        def recall(self, chat, limit):
            notes = chat.request("GET", f"/notes/{chat.session}", expect=[404])
            if notes.status == 404:
                return []
            return [Message(line["who"], line["line"]) for line in notes.json()["lines"]]
    """

    batches: ClassVar[bool] = True
    """Whether one append may carry several messages."""
    replies: ClassVar[Replies] = "ours"
    """As of ``reply`` in a mapping's [turn]: "echo" or "free" where the service writes what the assistant says."""

    def open(self, chat: AdapterChat) -> None:
        """Make a session ready; note in ``chat.saved`` what later steps need."""
        raise NotImplementedError

    def append(self, chat: AdapterChat, messages: Sequence[Message]) -> None:
        """Store messages; return only when they are acknowledged."""
        raise NotImplementedError

    def recall(self, chat: AdapterChat, limit: int | None) -> Sequence[Message]:
        """List a session, oldest first."""
        raise NotImplementedError

    def recall_user(self, chat: AdapterChat, limit: int | None) -> Sequence[Message]:
        """List everything of a user, oldest first."""
        raise NotImplementedError

    def delete(self, chat: AdapterChat) -> None:
        """Forget a session."""
        raise NotImplementedError


class AdaptedTarget(Target):
    """A target made of an adapter."""

    def __init__(self, adapter: Adapter, where: str) -> None:
        """Look which steps it has.

        Raises:
            UsageError: it cannot append or recall.
        """
        self._adapter, self._where = adapter, where
        self._raised = ""
        """What an adapter's own mistake was, and where."""
        has = {step: getattr(type(adapter), step) is not getattr(Adapter, step) for step in _STEPS}
        missing = [step for step in ("append", "recall") if not has[step]]
        if missing:
            raise UsageError(
                f"{where} has no {' and no '.join(missing)}: an adapter needs append(chat, messages) and "
                "recall(chat, limit)"
            )
        self.opens, self.by_user, self.deletes = has["open"], has["recall_user"], has["delete"]
        self.batches, self.replies = adapter.batches, adapter.replies

    def open(self, ask: Ask, place: Place) -> Result:
        """Make a session ready."""
        chat = AdapterChat(ask, place)
        return self._step(chat, lambda: self._adapter.open(chat), write=True)

    def append(self, ask: Ask, place: Place, messages: Sequence[Item]) -> Result:
        """Store messages."""
        chat = AdapterChat(ask, place)
        said = [Message(item.role, item.content, item.id) for item in messages]
        if self.replies != "ours":
            said = said[:1]
        return self._step(chat, lambda: self._adapter.append(chat, said), write=True)

    def recall(self, ask: Ask, place: Place, limit: int | None, *, by_user: bool) -> Result:
        """List a session or everything of its user."""
        chat = AdapterChat(ask, place)
        step = self._adapter.recall_user if by_user else self._adapter.recall
        items: list[Item] = []

        def read() -> None:
            items.extend(_item(message) for message in step(chat, limit))

        result = self._step(chat, read, write=False)
        return msgspec.structs.replace(result, items=items) if result.outcome == "ok" else result

    def delete(self, ask: Ask, place: Place) -> Result:
        """Forget a session."""
        chat = AdapterChat(ask, place)
        return self._step(chat, lambda: self._adapter.delete(chat), write=True)

    def advise(self, step: str, answer: Answer | None, requests: int) -> Advice:  # noqa: ARG002
        """What to tell about a step that failed."""
        name = {"recall by user": "recall_user"}.get(step, step)
        return Advice(
            expected=f"{name} to end without an error",
            found=self._raised,
            at=f"{self._where}.{name}",
            attempt="does the adapter ask for what the service documents, and read what it answers?",
        )

    def misread(self, messages: Sequence[Item], items: Sequence[Item], answer: Answer) -> Advice | None:  # noqa: ARG002
        """Whether the adapter hands on what is listed in our words."""
        by_text = {item.content: item for item in items}
        for message in messages:
            found = by_text.get(message.content)
            if found is not None and found.role != message.role:
                return Advice(
                    expected=f"Message({message.role!r}, …), the role as it was said",
                    found=f"Message({found.role!r}, …)",
                    at=f"{self._where}.recall",
                    attempt="translate the service's roles back to ours",
                )
        if any(message.content in by_text for message in messages):
            return None
        return Advice(
            expected="what was said, word for word, with the mark that each text begins with",
            found=f"{len(items)} messages, none of which it is",
            at=f"{self._where}.recall",
            attempt="is it the same session? are texts handed on as they are?",
        )

    def _step(self, chat: AdapterChat, act: Any, *, write: bool) -> Result:
        """What a step comes to. Whatever fails before anything was written is a failure, and nothing is stored."""
        try:
            act()
        except AttemptError as error:
            return unanswered(error, write=write and chat.wrote > 0)
        except RefusedError as error:
            # Of several writes, an earlier one may have done something.
            rejected = REJECTED if chat.wrote < 2 else frozenset()
            return refused(error.answer, write=write and chat.wrote > 0, rejected=rejected)
        except Exception as error:  # noqa: BLE001 - whatever an adapter makes of an answer, it could not read it
            self._raised = _raised(error)
            return unreadable(chat.last or Answer(), write=write and chat.wrote > 0)
        return accepted(chat.last or Answer())


def _raised(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    return f"{type(error).__name__}: {error}" + (f" at {last.filename}:{last.lineno}" if last is not None else "")


_STEPS = ("open", "append", "recall", "recall_user", "delete")


def _item(message: Message) -> Item:
    name, text = message.id, message.text
    if not name.startswith(PREFIX):
        end = text.find("]")
        name = text[1:end] if end > 0 and text.startswith("[" + PREFIX) else ""
    return Item(name, message.role, text)


def adapted(reference: str, folder: Path) -> AdaptedTarget:
    """The target of an adapter class.

    Args:
        reference: "file.py:Class", "module:Class", or the name of an entry point.
        folder: what a file is looked for in.

    Raises:
        UsageError: it cannot be found or made.
    """
    found = find_class(reference, folder, GROUP)
    if not (isinstance(found, type) and issubclass(found, Adapter)):
        raise UsageError(f"{reference} is no adapter: expected a subclass of goldfish.Adapter")
    try:
        return AdaptedTarget(found(), reference)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{reference} cannot be made: {type(error).__name__}: {error}") from error


def find_class(reference: str, folder: Path, group: str) -> Any:
    """What "file.py:Class", "module:Class" or an entry point's name stands for.

    Raises:
        UsageError: there is no such thing, or importing it fails.
    """
    place, colon, name = reference.rpartition(":")
    try:
        if not colon:
            (point,) = entry_points(group=group, name=reference) or [None]
            if point is None:
                raise UsageError(
                    f"no entry point '{reference}' of the group {group}; expected file.py:Class or module:Class"
                )
            return point.load()
        if place.endswith(".py") and not (folder / place).is_file():
            raise UsageError(f"cannot read {folder / place}: there is no such file")
        module = module_of(str(folder / place) if place.endswith(".py") else place)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"cannot import {place or reference}: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        raise UsageError(f"{place} has no {name}")
    return getattr(module, name)
