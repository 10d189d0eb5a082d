"""What does one recall prove lost?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from goldfish.rule.excuses import Excuses, due
from goldfish.rule.expiry import Expiry
from goldfish.rule.message import EVER, NEVER, Delete, Message, Recall, before
from goldfish.rule.room import Room
from goldfish.rule.terms import Terms

Position = Literal["blank", "tail", "head", "gap", "unplaced"]


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


def judge(
    recall: Recall,
    messages: Iterable[Message],
    terms: Terms,
    deletes: Sequence[Delete] = (),
    expiry: Expiry | None = None,
) -> Judgement:
    """Judge one recall of a conversation.

    Args:
        recall: what was answered.
        messages: all messages of the conversation that were sent by ``recall.end_ns``; later ones are ignored.
        terms: what is promised.
        deletes: deletes of sessions of this conversation that did not fail.
        expiry: the life of what was said, where the terms know an expiry.

    A recall that asks for nothing (K < 1), or for less than is pinned, is neither checked nor lossy, whatever it lists.

    Every append and delete that was in flight at ``recall.end_ns`` must have ended by the time of the call; nothing
    else that happens later changes ``checked`` or ``lossy``.
    """
    if recall.capacity is not None and recall.capacity < max(1, terms.pinned):
        return UNCHECKED
    known = [m for m in messages if m.sent_ns <= recall.end_ns]
    excuses = Excuses(recall, known, terms, deletes, expiry)
    owed = due(recall, known, terms)
    if not excuses.none:
        owed = [m for m in owed if not excuses(m)]
    shown = set(recall.shown)
    candidates = [m for m in owed if m not in shown]
    if not candidates:
        return SOUND if owed else UNCHECKED
    room = Room(recall, known, terms, excuses, recall.end_ns)
    if not any(room.pins(m) or room.follows_shown(m) or room.has_room(m) or room.has_place(m) for m in candidates):
        return SOUND
    if any(recall.end_ns <= m.shown_ns < NEVER == m.acked_ns for m in known if m not in shown):
        room = Room(recall, known, terms, excuses, EVER)  # more is known by now
    named = [
        m for m in candidates if room.pins(m) or (room.follows_shown(m) and room.names_follower(m)) or room.has_place(m)
    ]
    return Judgement(True, True, tuple(Missing(m, position(m, recall.shown, terms)) for m in named))


def judge_search(
    recall: Recall,
    asked: Collection[Message],
    answers: int,
    messages: Iterable[Message],
    terms: Terms,
    deletes: Sequence[Delete] = (),
    expiry: Expiry | None = None,
) -> Judgement:
    """Judge a search: did it return the facts that were asked for?

    Args:
        recall: what was answered.
        asked: the facts.
        answers: how many of the listed elements are such facts, second copies too.
        messages: as in ``judge``, like all that follows.
        terms: what is promised.
        deletes: deletes that did not fail.
        expiry: the life of what was said.

    What is asked for outranks everything else. So a search is lossy if an asked fact that is due is not returned though
    the list has room or holds something that was not asked for; it is named if all other asked facts together leave it
    a place.
    """
    bound = recall.capacity
    if bound is not None and bound < 1:
        return UNCHECKED
    known = [m for m in messages if m.sent_ns <= recall.end_ns]
    excuses = Excuses(recall, known, terms, deletes, expiry)
    owed = [m for m in due(recall, known, terms) if m in asked and not excuses(m)]
    shown = set(recall.shown)
    candidates = [m for m in owed if m not in shown]
    if not candidates:
        return SOUND if owed else UNCHECKED
    if bound is not None and answers >= bound:
        return SOUND
    rivals = [m for m in known if m in asked and (m.maybe_stored() or m in shown)]
    named = candidates if bound is None else [m for m in candidates if _leave_a_place(rivals, m, bound, terms)]
    return Judgement(True, True, tuple(Missing(m, "unplaced") for m in named))


def _leave_a_place(rivals: Sequence[Message], m: Message, bound: int, terms: Terms) -> bool:
    return sum(terms.copies(n) for n in rivals if n is not m) < bound


def position(m: Message, shown: Sequence[Message], terms: Terms) -> Position:
    """Where in the list the missing message would stand."""
    if not shown:
        return "blank"
    older = [s for s in shown if before(s, m, terms.slack_ns)]
    if len(older) == len(shown):
        return "tail"
    newer = [s for s in shown if before(m, s, terms.slack_ns)]
    if len(newer) == len(shown):
        return "head"
    return "gap" if older and newer else "unplaced"
