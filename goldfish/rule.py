"""The rule of loss: when does a recall prove that something said earlier was lost?

A store is accused only of what *no* order of events compatible with the record can explain. Every operation has a start
and an end stamp and took effect somewhere between the two; an append without an acknowledgement took effect at any time
after its start, or never. So the rule works with relations that are *certain*:

* A message is **stored** by ``stored_ns``: the earlier of its acknowledgement and the end of the first recall that
  shows it. What was shown was stored, whatever became of the request that wrote it.
* n is **before** m if n was stored before m was sent, or if both went in one append and n stands earlier in it.
* m is **due** in a recall if it was stored before the recall can have read: the recall starts no earlier than its start
  stamp, and no earlier than the sending of anything it shows.

A recall that lacks a due message is not yet a loss: with a window of K, newer messages may have pushed it out.

* If the list has **room** (fewer than K elements), nothing was pushed out: everything due must be there. The recall is
  *lossy*.
* If the list is **full**, what is missing may stand before all that is shown, unless something that is shown is
  certainly older. Then the recall is lossy as well.

To *name* a missing message is harder than to see that one is missing: a list that is one short of its window lacks one
message, not the whole past. m is named if something shown is before m, or if even after everything that may stand
behind m is counted there would still be a place for it in the window.

Certain relations are strict, so equal stamps are concurrent and prove nothing.

This one implementation serves the swarm's quick check and the analyzer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

NEVER = 1 << 63
"""A stamp later than all: not acknowledged, not shown."""

Position = Literal["blank", "tail", "head", "gap", "unplaced"]


class Message(msgspec.Struct, eq=False, gc=False):
    """What is known of one message of a conversation."""

    device: str
    seq: int
    session: str
    sent_ns: int
    """Start of the append that carried it."""
    batch: int
    """Number of that append; messages of one append share it."""
    place: int
    """Position inside that append."""
    acked_ns: int = NEVER
    shown_ns: int = NEVER
    """End of the earliest recall that shows it."""
    failed: bool = False
    """The append was rejected or never left: not stored, unless it is shown all the same."""

    @property
    def stored_ns(self) -> int:
        """The earliest stamp by which the message certainly was stored; NEVER if nothing proves it."""
        return self.acked_ns if self.acked_ns < self.shown_ns else self.shown_ns

    @property
    def maybe_stored(self) -> bool:
        """Whether the store may hold the message."""
        return not self.failed or self.shown_ns < NEVER

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
    """K: the smallest of contract window and request limit; None if neither bounds the list."""
    length: int
    """Every element of the list, marked or not."""
    shown: Sequence[Message]
    """The conversation's own messages in list order: first copies only, corrupted copies with a legible token too."""


class Missing(NamedTuple):
    """A message that a recall certainly lacks, and where."""

    message: Message
    position: Position


class Judgement(NamedTuple):
    """What one recall proves."""

    checked: bool
    """Something was due, so a loss could have been seen."""
    lossy: bool
    missing: tuple[Missing, ...]
    """The messages that can be named; a lossy recall may name none."""


SOUND = Judgement(checked=True, lossy=False, missing=())
UNCHECKED = Judgement(checked=False, lossy=False, missing=())


def capacity(window: int | None, limit: int | None) -> int | None:
    """K of a recall: the smallest bound that applies, None if none does."""
    if window is None or limit is None:
        return window if limit is None else limit
    return min(window, limit)


def before(n: Message, m: Message) -> bool:
    """Whether n certainly stands before m in the order of the store."""
    if n.batch == m.batch:
        return n.place < m.place and n.stored_ns < NEVER
    return n.stored_ns < m.sent_ns


def judge(
    recall: Recall, messages: Iterable[Message], visibility_ns: int = 0, deletes: Sequence[Delete] = ()
) -> Judgement:
    """Judge one recall of a conversation.

    Args:
        recall: what was answered.
        messages: all messages of the conversation that were sent by ``recall.end_ns``; later ones are ignored.
        visibility_ns: the contract's delay between acknowledgement and visibility.
        deletes: deletes of sessions of this conversation that did not fail.

    A recall that asks for nothing (K < 1) is neither checked nor lossy, whatever it lists.

    Every append that was in flight at ``recall.end_ns`` must have ended by the time of the call; nothing else that
    happens later changes ``checked`` or ``lossy``.
    """
    if recall.capacity is not None and recall.capacity < 1:
        return UNCHECKED
    known = [m for m in messages if m.sent_ns <= recall.end_ns]
    shown_set = set(recall.shown)
    due = [m for m in _due(recall, known, visibility_ns) if not _excused(m, recall, deletes)]
    candidates = [m for m in due if m not in shown_set]
    if not candidates:
        return SOUND if due else UNCHECKED

    bound = recall.capacity
    room = bound is None or recall.length < bound
    older_shown = [m for m in candidates if any(before(s, m) for s in recall.shown)]
    if not room and not older_shown:
        return SOUND
    if bound is None:
        named = candidates
    else:
        certain = set(older_shown)
        rank = _Rank(recall, [m for m in known if m.maybe_stored and m not in shown_set])
        named = [m for m in candidates if m in certain or rank(m) < bound]
    return Judgement(True, True, tuple(Missing(m, position(m, recall.shown)) for m in named))


def position(m: Message, shown: Sequence[Message]) -> Position:
    """Where in the list the missing message would stand."""
    if not shown:
        return "blank"
    older = [s for s in shown if before(s, m)]
    if len(older) == len(shown):
        return "tail"
    newer = [s for s in shown if before(m, s)]
    if len(newer) == len(shown):
        return "head"
    return "gap" if older and newer else "unplaced"


def reordered(shown: Sequence[Message]) -> tuple[Message, Message] | None:
    """A pair (x, y) listed in this order although y certainly stands before x; None if the list is in order."""
    latest: Message | None = None
    last_part: dict[int, Message] = {}
    for y in shown:
        if latest is not None and y.stored_ns < latest.sent_ns:
            return latest, y
        earlier = last_part.get(y.batch)
        if earlier is not None and y.place < earlier.place and y.stored_ns < NEVER:
            return earlier, y
        if earlier is None or y.place > earlier.place:
            last_part[y.batch] = y
        if latest is None or y.sent_ns > latest.sent_ns:
            latest = y
    return None


def _due(recall: Recall, known: Sequence[Message], visibility_ns: int) -> list[Message]:
    if visibility_ns:
        seen_by = recall.start_ns - visibility_ns
        return [m for m in known if (m.acked_ns if m.acked_ns < NEVER else m.shown_ns) < seen_by]
    read_at = max([recall.start_ns, *(s.sent_ns for s in recall.shown)])
    last_place: dict[int, int] = {}
    for s in recall.shown:
        last_place[s.batch] = max(s.place, last_place.get(s.batch, -1))
    return [m for m in known if m.stored_ns < read_at or (m.acked_ns < NEVER and m.place < last_place.get(m.batch, -1))]


def _excused(m: Message, recall: Recall, deletes: Sequence[Delete]) -> bool:
    return any(
        d.session == m.session and d.start_ns <= recall.end_ns and not (d.ok and d.end_ns < m.sent_ns) for d in deletes
    )


class _Rank:
    """How many elements may stand behind a missing message: its rank from the end of the full history."""

    def __init__(self, recall: Recall, unshown: Sequence[Message]) -> None:
        self.length = recall.length
        self.shown = recall.shown
        self.unshown = unshown
        self.stored = sorted(m.stored_ns for m in unshown)

    def __call__(self, m: Message) -> int:
        shown_before = sum(before(s, m) for s in self.shown)
        unshown_before = bisect_left(self.stored, m.sent_ns) + sum(
            n.batch == m.batch and n.place < m.place and n.stored_ns < NEVER for n in self.unshown
        )
        others = len(self.unshown) - 1 - unshown_before
        return self.length - shown_before + others
