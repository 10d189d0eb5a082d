"""What a recall owes, and what excuses it.

* m is **due** if it was stored before the recall can have read: the recall starts no earlier than its start stamp, and
  no earlier than the sending of anything it shows. Whoever shows the later part of an acknowledged append has stored
  the earlier part as well. With a visibility delay m is due so long after its acknowledgement; if it has none, so long
  after it was first shown. Messages of roles that are not stored are never due.
* m is **excused** if it may be gone: deleted, expired, or where the last writer wins overwritten by another append at
  the same time. (That may be an earlier append of the same device which was never answered.)
"""

from __future__ import annotations

from collections.abc import Sequence

from goldfish.rule.expiry import Expiry
from goldfish.rule.message import NEVER, Delete, Message, Recall
from goldfish.rule.terms import Terms


def due(recall: Recall, known: Sequence[Message], terms: Terms) -> list[Message]:
    """The messages that a recall must have found stored."""
    stored = _stored(recall, known, terms)
    return stored if terms.roles is None else [m for m in stored if m.role in terms.roles]


def _stored(recall: Recall, known: Sequence[Message], terms: Terms) -> list[Message]:
    if terms.visibility_ns:
        seen_by = recall.start_ns - terms.visibility_ns
        return [m for m in known if (m.acked_ns if m.acked_ns < NEVER else m.shown_ns) < seen_by]
    read_at = max([recall.start_ns, *(s.sent_ns for s in recall.shown)])
    if terms.slack_ns is None:
        return [m for m in known if m.stored_ns < read_at]
    last_place: dict[int, int] = {}
    for s in recall.shown:
        last_place[s.batch] = max(s.place, last_place.get(s.batch, -1))
    return [m for m in known if m.stored_ns < read_at or (m.acked_ns < NEVER and m.place < last_place.get(m.batch, -1))]


class Excuses:
    """Why a message may be absent from one recall although it was stored."""

    def __init__(
        self,
        recall: Recall,
        known: Sequence[Message],
        terms: Terms,
        deletes: Sequence[Delete] = (),
        expiry: Expiry | None = None,
    ) -> None:
        self._recall = recall
        self._terms = terms
        self._deletes = [d for d in deletes if d.start_ns <= recall.end_ns]
        self._expiry = expiry
        self._alive_after: dict[str | None, int] = {}
        self._writers: list[Message] = []
        if terms.last_writer:
            shown = set(recall.shown)
            self._writers = [n for n in known if n.maybe_stored(recall.end_ns) or n in shown]

    def __call__(self, m: Message) -> bool:
        """Whether m may be gone."""
        return self._deleted(m, m) or self._expired(m) or self._overwritten(m)

    def leaves_room(self, n: Message, m: Message) -> bool:
        """Whether n may have pushed m out of a window that is cut when it is written to, and then be gone itself.

        Whatever took n along with m is an excuse of m's own and not meant here.
        """
        if self._terms.unit == "message" and self._expired(n):
            return True
        return n.session != m.session and (self._deleted(n, m) or (self._terms.unit == "session" and self._expired(n)))

    @property
    def none(self) -> bool:
        """Whether nothing at all may be gone."""
        return not (self._deletes or self._writers) and self._expiry is None

    @property
    def any_may_be_gone(self) -> bool:
        """Whether there is anything that makes messages go."""
        return bool(self._deletes) or self._expiry is not None

    def _deleted(self, n: Message, m: Message) -> bool:
        """Whether a delete may have taken n after m was stored (n itself: after it was)."""
        return any(
            d.session == n.session and not (d.ok and (d.end_ns < n.sent_ns or d.end_ns < m.sent_ns))
            for d in self._deletes
        )

    def _expired(self, m: Message) -> bool:
        if self._expiry is None:
            return False
        unit = self._expiry.unit(m)
        if unit not in self._alive_after:
            self._alive_after[unit] = self._expiry.alive_after_ns(unit, self._recall)
        return m.sent_ns <= self._alive_after[unit]

    def _overwritten(self, m: Message) -> bool:
        """Whether another append overlaps that of m, as far as the recall can have read it."""
        return any(
            n.batch != m.batch and n.sent_ns <= m.stored_ns and (m.sent_ns <= n.acked_ns or m.sent_ns <= n.resent_ns)
            for n in self._writers
        )
