"""What the swarm asks of a memory product, whatever its interface: append, recall, delete, and perhaps open first.

A target turns such a step into requests, and their answers into an outcome. It does not send anything itself: the
device hands it ``ask``, which makes exactly one attempt. So a step may take several requests (a page after another, a
read before a write), and every byte still goes over a connection of the device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from stress.swarm.answer import Answer
from stress.targets.outcome import Item, Result

__all__ = ["Advice", "Ask", "Item", "Place", "Request", "Result", "Target"]

Replies = Literal["ours", "echo", "free"]


class Request(msgspec.Struct, frozen=True, gc=False):
    """A request in the target's own terms."""

    method: str
    path: str
    """With its query, percent-encoded."""
    body: bytes = b""
    headers: str = ""
    """Lines beside those that every request has, each with its end of line."""


Ask = Callable[[Request], Answer]
"""Makes one attempt.

Raises:
    AttemptError: there is no whole answer.
"""


class Place:
    """Where something is said: a session of a person, as the target knows it."""

    __slots__ = ("device", "lock", "open", "session", "user", "values")

    def __init__(self, user: str, session: str, *, is_open: bool) -> None:
        self.user = user
        self.session = session
        self.device = ""
        self.open = is_open
        """Whether it may be used; if not, ``Target.open`` comes first."""
        self.values: dict[str, Any] = {}
        """What else the target wants to remember of it, such as an id that the service gave."""
        self.lock: Any = None
        """Keeps two devices from opening it both."""


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a step, for people."""

    expected: str
    found: str = ""
    """Beside status and body."""
    at: str = ""
    """The line that says so: file and number, table and key."""
    attempt: str = ""
    """What to try."""


class Target(ABC):
    """How to speak to one product."""

    name: ClassVar[str] = ""
    batches: bool = True
    """Whether one append may carry several messages."""
    opens: bool = False
    """Whether a session has to be opened."""
    replies: Replies = "ours"
    """Who writes what the assistant says: we do; the service, repeating what it was told; or the service, freely."""
    by_user: bool = True
    """Whether everything of a user can be recalled."""
    tells_ids: bool = True
    """Whether a list tells the ids of messages; else the start of a text does."""
    deletes: bool = True
    """Whether a session can be deleted."""

    def place(self, user: str, session: str) -> Place:
        """Where a person's session is, by our own ids."""
        return Place(user, session, is_open=not self.opens)

    def asked(self, limit: int | None, *, by_user: bool) -> int | None:  # noqa: ARG002 - some offer none
        """The limit that a recall really asks for: None where the product lists everything, always."""
        return limit

    def open(self, ask: Ask, place: Place) -> Result:
        """Make a session ready; what its answers tell is kept in ``place.values``."""
        raise NotImplementedError

    @abstractmethod
    def append(self, ask: Ask, place: Place, messages: Sequence[Item]) -> Result:
        """Store messages; ok only if all of them are acknowledged."""

    @abstractmethod
    def recall(self, ask: Ask, place: Place, limit: int | None, *, by_user: bool) -> Result:
        """List a session, or everything of its user; oldest first."""

    @abstractmethod
    def delete(self, ask: Ask, place: Place) -> Result:
        """Forget a session."""

    def advise(self, step: str, answer: Answer | None, requests: int) -> Advice:  # noqa: ARG002 - some know no more
        """What to tell people about a step that failed.

        Args:
            step: its name.
            answer: the last one; None if there was none.
            requests: how many the step made.
        """
        return Advice(expected="2xx")

    def tells_id(self, message: Item, answer: Answer) -> bool:  # noqa: ARG002
        """Whether an answer lists a message under the id that it was sent with."""
        return self.tells_ids

    def misread(self, messages: Sequence[Item], items: Sequence[Item], answer: Answer) -> Advice | None:  # noqa: ARG002
        """Why a list does not show messages that it should: for how it is read, not for what the memory forgot.

        Args:
            messages: what was said, by one user alone.
            items: the list, as it was read.
            answer: the last one that it was read from.
        """
        return None

    def misread_pages(self, said: int, listed: int, requests: int) -> Advice | None:  # noqa: ARG002
        """Why a long list is not whole: for how its pages are asked for.

        Args:
            said: messages that were said.
            listed: how many of them are listed.
            requests: how many it took.
        """
        return None
