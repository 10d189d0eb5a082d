"""What is certain about a history: when each message was sent, stored and settled, what was before what, what was due,
and what excuses its absence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from .histories import Append, Delete, History, Item, Key, Message, Own, Recall, Touch

EVER = math.inf


class Attempt(NamedTuple):
    """One append that carried a message: the append's operation number and the message's place in the list."""

    number: int
    place: int
    append: Append


class Sent(NamedTuple):
    """A message and the appends it went in."""

    message: Message
    attempts: tuple[Attempt, ...]


class Facts:
    """A history and the definitions every rule builds on."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.contract = history.contract
        self.recalls: dict[int, Recall] = dict(history.ok_recalls())
        self.deletes = [op for op in history.ops if isinstance(op, Delete)]
        self.own = {number: first_copies(recall) for number, recall in self.recalls.items()}
        self.sent: dict[Key, Sent] = {}
        for number, op in enumerate(history.ops):
            if isinstance(op, Append):
                for place, message in enumerate(op.messages):
                    key = (op.device, message.seq)
                    earlier = self.sent[key].attempts if key in self.sent else ()
                    self.sent[key] = Sent(message, (*earlier, Attempt(number, place, op)))
        # What depends on the message alone is asked for so often that it is kept.
        self._tried = {key: self._attempts(key) for key in self.sent}
        self._first = {key: self._counted_from(key) for key in self.sent}
        self._rejected = {key: all(a.append.outcome == "fail" for a in self.sent[key].attempts) for key in self.sent}
        self._loose = {key: self._may_be_stored_again(key) for key in self.sent}
        self._touches = {key: list(self._prolonging(key)) for key in self.sent} if self.contract.ttl else {}
        self.kappa = {key: self._kappa(key) for key in self.sent}

    # A message and its attempts

    def tried(self, m: Key) -> list[Attempt]:
        """The attempts that may have stored m, in the order they began; all of them if every one was refused."""
        return self._tried[m]

    def _attempts(self, m: Key) -> list[Attempt]:
        every = sorted(self.sent[m].attempts, key=lambda a: (a.append.start_ns, a.append.attempt))
        return [a for a in every if a.append.outcome != "fail"] or every

    def rejected(self, m: Key) -> bool:
        """Every attempt at m was refused."""
        return self._rejected[m]

    def was_acknowledged(self, m: Key) -> bool:
        """Some attempt at m was acknowledged."""
        return any(a.append.outcome == "ok" for a in self.sent[m].attempts)

    def start_ns(self, m: Key) -> int:
        """a(m): the start of the first attempt that was not refused.

        If m was shown before that, a refused attempt stored it after all: the start of the first of all.
        """
        return self._first[m].append.start_ns

    def _counted_from(self, m: Key) -> Attempt:
        first = self.tried(m)[0]
        if any(self.recalls[r].end_ns < first.append.start_ns for r in self.recalls if m in self.own[r]):
            return min(self.sent[m].attempts, key=lambda a: (a.append.start_ns, a.append.attempt))
        return first

    def acknowledged_ns(self, m: Key) -> float:
        """b(m): the end of the first attempt that was acknowledged, else infinity."""
        return min((a.append.end_ns for a in self.tried(m) if a.append.outcome == "ok"), default=math.inf)

    def batch(self, m: Key) -> tuple[int, int]:
        """The append that m counts as a part of, and its place in it."""
        first = self._first[m]
        return first.number, first.place

    def copies(self, m: Key) -> int:
        """How many copies of m the store may hold beside each other."""
        return len(self.tried(m)) if self.contract.stores_resends and not self.rejected(m) else 1

    def loose(self, m: Key) -> bool:
        """m may have been stored more than once, so that its place proves nothing."""
        return self._loose[m]

    def _may_be_stored_again(self, m: Key) -> bool:
        may_go = self.contract.ttl is not None or any(delete.outcome != "fail" for delete in self.deletes)
        several = len(self.tried(m)) > 1 and not self.rejected(m)
        return several and (self.contract.stores_resends or may_go or self.contract.slack_ns > 0)

    def settled_ns(self, m: Key) -> float:
        """When nothing that was sent can store m (again): κ if it was sent once, else when all attempts have ended."""
        if len(self.tried(m)) == 1 or self.rejected(m):
            return self.kappa[m]
        ends = [a.append.end_ns if a.append.outcome == "ok" else math.inf for a in self.tried(m)]
        return max(self.kappa[m], *ends)

    def turn(self, m: Key) -> tuple[int, object]:
        """The turn m belongs to; one without a number is a turn of its own."""
        message = self.sent[m].message
        return m[0], ("seq", message.seq) if message.turn is None else message.turn

    # What was shown

    def shown(self, m: Key, by_ns: float = EVER) -> bool:
        """Does a recall that ended before then show m? Then it counts as stored, whatever its outcome was."""
        return any(m in self.own[r] and self.recalls[r].end_ns < by_ns for r in self.recalls)

    def seen_ns(self, device: int, m: Key) -> float:
        """When this device had seen m."""
        ends = [op.end_ns for r, op in self.recalls.items() if op.device == device and m in self.own[r]]
        return min(ends, default=math.inf)

    def only_rejected_by(self, m: Key, at_ns: int) -> bool:
        """All attempts at m were refused, or all that had begun at a stamp."""
        if self.rejected(m):
            return True
        begun = [a for a in self.sent[m].attempts if a.append.start_ns <= at_ns]
        return bool(begun) and all(a.append.outcome == "fail" for a in begun)

    @staticmethod
    def damaged(item: Item, m: Key) -> bool:
        """Is this element a copy of m that is not as it was sent?"""
        return isinstance(item, Own) and item.key == m and item.content != "intact"

    # Order

    def _kappa(self, m: Key) -> float:
        """κ(m): m is stored at this time at the latest; infinity if nothing proves that it ever was."""
        showings = (recall.end_ns for number, recall in self.recalls.items() if m in self.own[number])
        return min([self.acknowledged_ns(m), *showings])

    def before(self, n: Key, m: Key, by_ns: float = EVER) -> bool:
        """n certainly stands before m in the order of storage, by what had been shown at a stamp."""
        if not self.contract.ordered:
            return False
        (first_batch, first_place), (second_batch, second_place) = self.batch(n), self.batch(m)
        if first_batch == second_batch:
            return first_place < second_place and (self.was_acknowledged(n) or self.shown(n, by_ns))
        return self.kappa[n] + self.contract.slack_ns < self.start_ns(m)

    # What is due

    def reads_after_ns(self, number: int) -> int:
        """t(r): the recall reads at this time at the earliest: after its start, and after all it shows was sent."""
        return max([self.recalls[number].start_ns, *(self.start_ns(s) for s in self.own[number])])

    def due(self, m: Key, number: int) -> bool:
        """m was certainly stored, and its visibility delay over, when r read; and its role is one that is stored."""
        roles = self.contract.roles
        if roles is not None and self.sent[m].message.role not in roles:
            return False
        if self.start_ns(m) > self.recalls[number].end_ns:
            return False
        if self.contract.visibility_ns == 0:
            if self.kappa[m] < self.reads_after_ns(number):
                return True
            batch, place = self.batch(m)
            later_parts = [s for s in self.own[number] if self.batch(s)[0] == batch and self.batch(s)[1] > place]
            return self.contract.ordered and self.was_acknowledged(m) and bool(later_parts)
        stored_ns = self.acknowledged_ns(m) if self.was_acknowledged(m) else self.kappa[m]
        return stored_ns + self.contract.visibility_ns < self.recalls[number].start_ns

    def owed(self, number: int) -> list[Key]:
        """What r owes, whether it shows it or not: due and not excused."""
        return [m for m in self.sent if self.due(m, number) and not self.excused(m, number)]

    def may_be_stored(self, m: Key, number: int, by_ns: float = EVER) -> bool:
        """m may take a place in r: sent by its end, and not refused (what a recall shows was not refused)."""
        sent = self.start_ns(m) <= self.recalls[number].end_ns
        return sent and (not self.rejected(m) or self.shown(m, by_ns))

    # What excuses

    def excused(self, m: Key, number: int) -> bool:
        """m may be gone: deleted, expired, or overwritten."""
        return (
            self.may_be_deleted(m, m, number) or self.may_have_expired(m, number) or self.may_be_overwritten(m, number)
        )

    def may_be_deleted(self, n: Key, since: Key, number: int) -> bool:
        """A delete of n's session may have taken n, and did not end before n or `since` was sent."""
        return any(
            delete.session in (None, self.sent[n].message.session)
            and delete.start_ns <= self.recalls[number].end_ns
            and delete.outcome != "fail"
            and not (delete.outcome == "ok" and delete.end_ns < max(self.start_ns(n), self.start_ns(since)))
            for delete in self.deletes
        )

    def may_be_overwritten(self, m: Key, number: int) -> bool:
        """Where the last writer wins: another append, begun by the end of r, overlaps that of m."""
        return self.contract.last_writer and any(
            self.batch(n)[0] != self.batch(m)[0]
            and (n in self.own[number] or self.may_be_stored(n, number, self.recalls[number].end_ns))
            and self.overlaps(n, self.start_ns(m), self.kappa[m])
            for n in self.sent
        )

    def overlaps(self, n: Key, from_ns: float, to_ns: float) -> bool:
        """Some attempt at n that may have stored it was under way in this stretch, or may have been."""
        if len(self.tried(n)) == 1:
            return self.start_ns(n) <= to_ns and from_ns <= self.acknowledged_ns(n)
        ends = [a.append.end_ns if a.append.outcome == "ok" else math.inf for a in self.tried(n)]
        return self.start_ns(n) <= to_ns and from_ns <= max(ends)

    def may_have_expired(self, m: Key, number: int) -> bool:
        """m may have expired by the end of r.

        A message by itself: its own time is over. Without refresh: that of the first append that may have begun its
        unit is. Else: unless a chain of certain touches that starts at m leads to r, every gap, from the start of one
        to the end of the next, shorter than the time to live.
        """
        ttl, recall = self.contract.ttl, self.recalls[number]
        if ttl is None:
            return False
        if ttl.unit == "message":
            return self.start_ns(m) + ttl.life_ns <= recall.end_ns
        if ttl.refresh == "none":
            return min(self._beginnings(m)) + ttl.life_ns <= recall.end_ns
        reached = {self.start_ns(m)}
        while True:
            further = {
                start_ns
                for start_ns, end_ns in self._certain_touches(m, number)
                if any(end_ns < earlier + ttl.life_ns for earlier in reached)
            }
            if further <= reached:
                return not any(recall.end_ns < start_ns + ttl.life_ns for start_ns in reached)
            reached |= further

    def must_have_expired(self, m: Key, number: int) -> bool:
        """There was a stretch after m was settled, longer than life and granularity, without any possible touch.

        It ended before r began (with visibility: so long before).
        """
        ttl, recall = self.contract.ttl, self.recalls[number]
        if ttl is None:
            return False
        life_ns = ttl.life_ns + ttl.granularity_ns
        settled_ns = self.settled_ns(m)
        touches = [] if ttl.unit == "message" or ttl.refresh == "none" else list(self._possible_touches(m))
        for from_ns in [settled_ns, *(end_ns for _, end_ns in touches if end_ns >= settled_ns)]:
            to_ns = from_ns + life_ns
            if to_ns < recall.start_ns - self.contract.visibility_ns and not any(
                start_ns <= to_ns and end_ns > from_ns for start_ns, end_ns in touches
            ):
                return True
        return False

    def _in_unit(self, session: int | None, m: Key) -> bool:
        """Does something that happens in a session (None: in all) happen in the unit of m?"""
        ttl = self.contract.ttl
        assert ttl is not None
        return ttl.unit == "user" or session in (None, self.sent[m].message.session)

    def _beginnings(self, m: Key) -> Iterator[int]:
        """The starts of all appends that may have begun the unit of m, refused ones included."""
        for op in self.history.ops:
            if isinstance(op, Append) and self._in_unit(op.messages[0].session, m):
                yield op.start_ns
        if self.contract.ttl is not None and self.contract.ttl.unit == "user":
            yield from (other.start_ns for other in self.history.elsewhere if other.kind == "append")

    def _certain_touches(self, m: Key, number: int) -> Iterator[tuple[int, int]]:
        """Start and end of what surely prolonged the unit of m, and was visible when r began."""
        delay_ns = self.contract.visibility_ns
        for start_ns, end_ns in self._touches[m]:
            if not delay_ns or end_ns + delay_ns < self.recalls[number].start_ns:
                yield start_ns, end_ns

    def _prolonging(self, m: Key) -> Iterator[tuple[int, int]]:
        """Start and end of what surely prolonged the unit of m.

        Acknowledged appends, but not resends, which may have been taken for known; with refresh by reading, recalls
        that show something of the unit.
        """
        ttl = self.contract.ttl
        assert ttl is not None
        for op in self.history.ops:
            if isinstance(op, Append) and op.outcome == "ok" and op.attempt == 1:
                if self._in_unit(op.messages[0].session, m):
                    yield op.start_ns, op.end_ns
            elif isinstance(op, Recall) and op.outcome == "ok" and ttl.refresh == "read":
                shown = [item.key for item in op.items if isinstance(item, Own)]
                if any(self._in_unit(self.sent[s].message.session, m) for s in shown):
                    yield op.start_ns, op.end_ns
        for other in self.history.elsewhere if ttl.unit == "user" else ():
            reading = other.kind == "recall" and other.shows and ttl.refresh == "read"
            if other.outcome == "ok" and (other.kind == "append" or reading):
                yield other.start_ns, other.end_ns

    def _possible_touches(self, m: Key) -> Iterator[tuple[int, float]]:
        """Start and end of all that may have prolonged the unit of m; what is indeterminate never ends."""
        ttl = self.contract.ttl
        assert ttl is not None
        reading = ttl.refresh == "read"
        for op in self.history.ops:
            if isinstance(op, Append):
                session: int | None = op.messages[0].session
            elif isinstance(op, Delete | Touch):
                session = op.session
            elif reading:
                session = None if self.history.scope == "user" or op.asked is not None else 0
            else:
                continue
            if self._in_unit(session, m):
                yield op.start_ns, math.inf if op.outcome == "info" else op.end_ns
        if ttl.unit == "user":
            for other in self.history.elsewhere:
                if other.kind == "append" or reading:
                    yield other.start_ns, math.inf if other.outcome == "info" else other.end_ns


def first_copies(recall: Recall) -> list[Key]:
    """own(r) in the order listed, a corrupted copy with a legible token included."""
    own: list[Key] = []
    for item in recall.items:
        if isinstance(item, Own) and item.key not in own:
            own.append(item.key)
    return own
