"""Expiry: which messages may be gone by the time of a recall, and which must be.

What expires as a whole is a *unit*: a session, a user, or a message by itself. An operation that prolongs it is a
*touch*. Two kinds of knowledge are kept apart, as everywhere in the rule:

* A touch is **certain** if it surely took effect: an acknowledged append; with refresh by reading also a recall that
  shows something of the unit. A message is excused unless a chain of certain touches leads from it to the recall, with
  every gap, from the start of one to the end of the next, below the time to live. A touch that comes after expiry
  revives nothing, so one gap breaks the chain.
* A touch is **possible** if it was sent at all: failed, cut off or unanswered, it may have prolonged the unit. A
  message is *over-retained* if it is shown although there was a stretch without any possible touch, longer than the
  time to live and the granularity together, after the message was stored and before the recall can have read.

With a visibility delay a touch, like an append, is certain to be seen only so long after its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from goldfish.rule.message import NEVER, Message, Recall
from goldfish.rule.terms import Terms

TouchKind = Literal["append", "recall", "other"]


class Touch(NamedTuple):
    """An operation that may prolong the life of what was said."""

    kind: TouchKind
    """other: a delete, or a request of another kind."""
    start_ns: int
    end_ns: int
    """``NEVER`` while it is in flight, and if it is indeterminate."""
    session: str | None
    """The session it goes to; None: to all of the user's."""
    reaches: frozenset[str] | None
    """ok: the sessions that it certainly reached (a recall: those it shows something of); else None."""


class Expiry:
    """The life of the units of one conversation."""

    def __init__(self, terms: Terms, touches: Iterable[Touch]) -> None:
        """Sort what prolongs what.

        Args:
            terms: what is promised, an expiry among it.
            touches: all operations of the conversation, and of the user's other conversations where the unit is the
                user.
        """
        assert terms.ttl_ns is not None
        self._terms = terms
        self._ttl_ns = terms.ttl_ns
        self._touches = sorted(touches, key=lambda touch: touch.start_ns)
        self._certain: dict[str | None, list[Touch]] = {}
        self._possible: dict[str | None, list[tuple[int, int]]] = {}

    def unit(self, m: Message) -> str | None:
        """What m expires with: its session, or (None) all that the user said."""
        return m.session if self._terms.unit == "session" else None

    def alive_after_ns(self, unit: str | None, recall: Recall) -> int:
        """What of a unit was sent after this stamp is certainly alive through the recall, and nothing else is."""
        alive_after = recall.end_ns - self._ttl_ns
        if self._terms.unit == "message":
            return alive_after
        if self._terms.refresh == "none":
            return alive_after if self._begun_ns(unit) > alive_after else recall.end_ns
        visible_by = recall.start_ns - self._terms.visibility_ns if self._terms.visibility_ns else NEVER
        for touch in reversed(self._certain_touches(unit)):
            if touch.end_ns >= visible_by:
                continue
            if touch.start_ns <= alive_after:
                break
            alive_after = min(alive_after, touch.end_ns - self._ttl_ns)
        return alive_after

    def over_retained(self, m: Message, recall: Recall) -> bool:
        """Whether m must have expired before a recall that shows it."""
        terms = self._terms
        life_ns = self._ttl_ns + terms.granularity_ns
        dead_by = recall.start_ns - terms.visibility_ns
        alive_until = m.settled_ns
        if dead_by - alive_until <= life_ns:
            return False
        if terms.unit != "message" and terms.refresh != "none":
            for start_ns, end_ns in self._possible_touches(self.unit(m)):
                if min(start_ns, dead_by) - alive_until > life_ns:
                    return True
                alive_until = max(alive_until, end_ns)
        return dead_by - alive_until > life_ns

    def _begun_ns(self, unit: str | None) -> int:
        """The start of the first append that may have begun a unit."""
        return min((t.start_ns for t in self._touches if t.kind == "append" and _meets(t, unit)), default=NEVER)

    def _certain_touches(self, unit: str | None) -> Sequence[Touch]:
        """Those that surely prolonged a unit, in the order of their starts."""
        found = self._certain.get(unit)
        if found is None:
            kinds = ("append", "recall") if self._terms.refresh == "read" else ("append",)
            found = self._certain[unit] = [
                touch
                for touch in self._touches
                if touch.kind in kinds and touch.reaches and (unit is None or unit in touch.reaches)
            ]
        return found

    def _possible_touches(self, unit: str | None) -> Sequence[tuple[int, int]]:
        """Start and end of all that may have prolonged a unit, in the order of their starts."""
        found = self._possible.get(unit)
        if found is None:
            reading = self._terms.refresh == "read"
            found = self._possible[unit] = [
                (touch.start_ns, touch.end_ns)
                for touch in self._touches
                if (reading or touch.kind != "recall") and _meets(touch, unit)
            ]
        return found


def _meets(touch: Touch, unit: str | None) -> bool:
    return unit is None or touch.session is None or touch.session == unit
