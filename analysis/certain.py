"""Conversations in which everything has one certain order: a recall of the newest K is judged by counting places.

One device that waits for each answer before it goes on makes such a conversation: every message was acknowledged before
the next append was sent. Then whatever the rule asks of pairs of messages is told by their places. With N messages, of
which the oldest that is shown has place f, and a list of L elements that are all own messages, each shown once:

* everything is due, since it was acknowledged before the recall began;
* a message follows something shown if its place is behind f;
* the list has room if L < K;
* N - 1 - i elements may stand behind the message of place i.

The answer is exactly that of ``goldfish.rule.judge``, and nothing is said where one of these does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldfish.rule import NEVER, SOUND, Judgement, Message, Missing, Position, Recall


def in_certain_order(messages: Sequence[Message]) -> bool:
    """Whether messages, in the order of their sending, have one certain order, in one session."""
    acked_ns, batch, place, session = -1, None, -1, None
    for m in messages:
        if m.failed or m.loose or m.acked_ns == NEVER or m.stored_ns < m.sent_ns:
            return False
        if m.batch == batch:
            if m.place <= place or m.acked_ns != acked_ns:
                return False
        elif m.sent_ns <= acked_ns or (session is not None and m.session != session):
            return False
        acked_ns, batch, place, session = m.acked_ns, m.batch, m.place, m.session
    return True


def judge_by_places(recall: Recall, messages: Sequence[Message], places: Mapping[Message, int]) -> Judgement | None:
    """Judge a recall; None if it takes more than counting.

    Args:
        recall: what was answered.
        messages: those that were sent by its end, in certain order.
        places: of all messages of the conversation.
    """
    total, bound, length = len(messages), recall.capacity, recall.length
    if not total or not bound or bound < 1 or length != len(recall.shown):
        return None
    if messages[-1].acked_ns >= recall.start_ns:
        return None
    shown = {places[m] for m in recall.shown}
    if len(shown) != length or any(at >= total for at in shown):
        return None
    first, last = (min(shown), max(shown)) if shown else (total, -1)
    room = length < bound
    # Without room only what follows something shown was not pushed out.
    begin = min(first, total - bound) if room else first
    named = [at for at in range(max(begin, 0), total) if at not in shown]
    if not (named or (room and total > length)):
        return SOUND
    missing = [Missing(messages[at], _position(at, first, last, shown=bool(shown))) for at in named]
    return Judgement(checked=True, lossy=True, missing=tuple(missing))


def _position(at: int, first: int, last: int, *, shown: bool) -> Position:
    if not shown:
        return "blank"
    return "tail" if at > last else "head" if at < first else "gap"
