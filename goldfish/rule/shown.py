"""What may not be listed: an impossible order, too much, and what should be gone.

Like losses, these are accused only where nothing explains them:

* **reordered**: x is listed before y though y certainly stands before x.
* **window overrun**: more first copies than the list has places. In turns, only turns that are listed whole are
  counted; in tokens, lower bounds of the sizes. What is pinned, or kept in any case, is allowed for.
* **over-retained**: see ``goldfish.rule.expiry``.
* **resurrected**: m was stored before an acknowledged delete of its session began, and nothing can have stored it
  again (nor, where the last writer wins, can an append have undone the delete); yet a recall shows it that began after
  the delete, and its visibility delay, were over.

A message that may be stored twice proves no disorder, and if its copies may stand side by side, no overrun. (That an
older message is shown in place of a missing one is no overrun: it is the same loss.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from goldfish.rule.expiry import Expiry
from goldfish.rule.message import NEVER, Delete, Message, Recall
from goldfish.rule.terms import Terms

Wrong = Literal["window overrun", "over-retained", "resurrected"]


class Excess(NamedTuple):
    """Something that may not be listed."""

    anomaly: Wrong
    message: Message | None
    """None for an overrun: it is the list that is too long."""


def excess(
    recall: Recall,
    messages: Sequence[Message],
    terms: Terms,
    deletes: Sequence[Delete] = (),
    expiry: Expiry | None = None,
) -> list[Excess]:
    """What one recall lists too much.

    Args:
        recall: what was answered.
        messages: all messages of the conversation.
        terms: what is promised.
        deletes: deletes of sessions of this conversation that did not fail.
        expiry: the life of what was said, where the terms know an expiry.
    """
    found = [Excess("window overrun", None)] if overrun(recall, messages, terms) else []
    if expiry is not None:
        found += [Excess("over-retained", m) for m in recall.shown if expiry.over_retained(m, recall)]
    over = [d for d in deletes if d.ok and d.end_ns + terms.visibility_ns < recall.start_ns]
    if over and terms.last_writer:  # a write that read before the delete and wrote after it has undone it
        over = [d for d in over if not any(_overlaps(n, d) for n in messages if n.maybe_stored())]
    if over:
        found += [
            Excess("resurrected", m)
            for m in recall.shown
            if any(d.session == m.session and m.settled_ns < d.start_ns for d in over)
        ]
    return found


def _overlaps(n: Message, delete: Delete) -> bool:
    return n.sent_ns <= delete.end_ns and (delete.start_ns <= n.acked_ns or delete.start_ns <= n.resent_ns)


def overrun(recall: Recall, messages: Iterable[Message], terms: Terms) -> bool:
    """Whether more is listed than the list has places for."""
    shown = [m for m in recall.shown if terms.copies(m) == 1]
    if recall.capacity is not None and len(shown) > recall.capacity:
        return True
    if recall.search:
        return False
    if terms.turns is not None:
        return len(shown) > terms.turns and _whole_turns(shown, messages) > terms.turns + terms.pinned
    if terms.tokens is not None and len(shown) > terms.keep_at_least + terms.pinned:
        sizes = sorted(0 if m in recall.damaged else m.tokens_min for m in shown)
        return sum(sizes[: len(sizes) - terms.pinned]) > terms.tokens
    return False


def _whole_turns(shown: Sequence[Message], messages: Iterable[Message]) -> int:
    """How many turns are listed whole."""
    listed = set(shown)
    turns = {(m.device, m.turn) for m in shown}
    broken = {(m.device, m.turn) for m in messages if m not in listed}
    return len(turns - broken)


def reordered(shown: Sequence[Message], terms: Terms) -> tuple[Message, Message] | None:
    """A pair (x, y) listed in this order although y certainly stands before x; None if the list is in order."""
    slack_ns = terms.slack_ns
    if slack_ns is None:
        return None
    latest: Message | None = None
    last_part: dict[int, Message] = {}
    for y in shown:
        if y.loose:
            continue
        if latest is not None and y.stored_ns + slack_ns < latest.sent_ns:
            return latest, y
        earlier = last_part.get(y.batch)
        if earlier is not None and y.place < earlier.place and y.stored_ns < NEVER:
            return earlier, y
        if earlier is None or y.place > earlier.place:
            last_part[y.batch] = y
        if latest is None or y.sent_ns > latest.sent_ns:
            latest = y
    return None
