"""What the rule knows of a conversation: messages, deletes, and what one recall listed.

Times are nanoseconds of one clock. ``NEVER`` stands for what did not happen, or not yet.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

NEVER = 1 << 63
"""A stamp later than all: not acknowledged, not shown."""

EVER = NEVER
"""What is known before it is all that will ever be known."""


class Message(msgspec.Struct, eq=False, gc=False):
    """What is known of one message of a conversation."""

    device: str
    seq: int
    session: str
    sent_ns: int
    """Start of the append that carried it: of the first attempt that did not fail."""
    batch: int
    """Number of that append; messages of one append share it."""
    place: int
    """Position inside that append."""
    role: str = ""
    turn: int = 0
    """Number of the device's turn that it belongs to."""
    acked_ns: int = NEVER
    """End of the first attempt that was acknowledged."""
    shown_ns: int = NEVER
    """End of the earliest recall that shows it."""
    failed: bool = False
    """Every attempt was rejected or never left: not stored, unless it is shown all the same."""
    attempts: int = 1
    """How often it was sent."""
    resent_ns: int = 0
    """Sent more than once: by when the last attempt has taken effect; ``NEVER`` if one is indeterminate."""
    loose: bool = False
    """It may have been stored more than once, so that its place proves nothing: sent more than once, where a resend is
    stored again, where what was stored can go and a resend bring it back, or where places change."""
    tokens_min: int = 0
    tokens_max: int = 0
    """Bounds of its size, where the window is counted in tokens."""

    @property
    def stored_ns(self) -> int:
        """The earliest stamp by which the message certainly was stored; NEVER if nothing proves it."""
        return self.acked_ns if self.acked_ns < self.shown_ns else self.shown_ns

    @property
    def settled_ns(self) -> int:
        """The stamp from which on nothing that was sent can store it (again); NEVER if nothing proves that."""
        return self.stored_ns if self.attempts == 1 else max(self.stored_ns, self.resent_ns)

    def maybe_stored(self, by_ns: int = EVER) -> bool:
        """Whether the store may hold the message, by what was known before a stamp."""
        return not self.failed or self.shown_ns < by_ns

    def __repr__(self) -> str:
        return f"{self.device}.{self.seq}"


class Delete(NamedTuple):
    """A request to delete one session that did not fail."""

    session: str
    start_ns: int
    end_ns: int
    ok: bool


class Recall(NamedTuple):
    """One answered recall: its stamps, its capacity K, and what it listed."""

    start_ns: int
    end_ns: int
    capacity: int | None
    """K: the smallest of contract window, request limit and page; None if nothing bounds the list."""
    length: int
    """Every element of the list, marked or not."""
    shown: Sequence[Message]
    """The conversation's own messages in list order: first copies only, corrupted copies with a legible token too."""
    damaged: Collection[Message] = ()
    """Those of them that are not listed as they were sent."""
    extra_tokens: int | None = 0
    """Upper bound of the tokens of all that is listed beside intact first copies; None: they cannot be bounded."""
    search: bool = False
    """It asks for facts, wherever in the history they stand."""


def before(n: Message, m: Message, slack_ns: int | None = 0, by_ns: int = EVER) -> bool:
    """Whether n certainly stands before m in the order of the store.

    Args:
        n: the one that may be earlier.
        m: the other.
        slack_ns: how long after its storing a message's place may still change; None: lists have no order.
        by_ns: only what was shown before this stamp counts as known to be stored.
    """
    if slack_ns is None:
        return False
    if n.batch == m.batch:
        return n.place < m.place and (n.acked_ns < NEVER or n.shown_ns < by_ns)
    return n.stored_ns + slack_ns < m.sent_ns
