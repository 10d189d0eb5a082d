"""Windows: can what a recall lacks have been pushed out of its list?

Three arguments say no.

* Something that is shown is certainly older. A list is the newest part of the history; whoever shows s and not m, which
  came after s, has a hole. With the first p messages **pinned**, at most p of what is shown may be shown for that
  reason, so more than p messages are needed that are pinned or older than m.
* The list has **room**: fewer than K elements. Nothing was pushed out. With pinned messages the places left for all
  others are counted: K - p, without the pinned ones shown. A window in turns or tokens has room for m if the sizes
  (upper bounds) of what is shown, of m, and of everything unshown that may stand behind m fit into it together.
* m is itself certainly pinned: fewer than p others may stand before it.

Whether *one* message can be named takes more than room in the list: its **rank**, the number of elements that may stand
behind it, must leave it a place. Rank counts what is listed without being older than m, and all that may have been
stored without being shown or older; a message that may be stored twice counts twice.

A window may be a *view* (the whole history is kept, a recall cuts it) or a *trim* (each write cuts it, for the
conversation as a whole or for each session); the contract does not tell. So where messages can go (deletes, expiry),
what may have pushed m out of a trimmed window and then gone itself counts as still in its place; and in a conversation
of several sessions a message with a whole window of its own session behind it is not named for what other sessions
show.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from goldfish.rule.excuses import Excuses
from goldfish.rule.message import NEVER, Message, Recall, before
from goldfish.rule.terms import Terms


class Room:
    """The places in the list of one recall, by what was known at some stamp."""

    def __init__(self, recall: Recall, known: Sequence[Message], terms: Terms, excuses: Excuses, by_ns: int) -> None:
        """Take stock of a list.

        Args:
            recall: the recall, with a capacity of at least one and of all that is pinned.
            known: every message sent by its end.
            terms: what is promised.
            excuses: what may be gone.
            by_ns: what was shown after this stamp is not used. Whether a recall is *lossy* is decided by what is known
                when it completes; whom it *names* by all that is ever known.
        """
        self._recall = recall
        self._terms = terms
        self._excuses = excuses
        self._by_ns = by_ns
        self._shown = set(recall.shown)
        self._stored = [m for m in known if m.maybe_stored(by_ns) or m in self._shown]
        self._unshown = [m for m in self._stored if m not in self._shown]
        self._several_sessions = len({m.session for m in self._stored}) > 1
        # What proves order: a message that may be stored twice is shown in a place that tells nothing.
        self._proving = [s for s in recall.shown if not terms.repeated(s)]
        self._oldest_ns = min([s.stored_ns for s in self._proving], default=NEVER)
        self._batches: dict[int, int] = {}
        for s in self._proving:
            self._batches[s.batch] = min(s.place, self._batches.get(s.batch, s.place))
        self._pinned = {s for s in recall.shown if self.pins(s)} if terms.pinned else set()
        self._filled = recall.capacity is not None and not terms.pinned and recall.length >= recall.capacity
        self._shown_stamps: _Stamps | None = None
        self._unshown_stamps: _Stamps | None = None
        """Made when somebody's rank is asked for."""

    def pins(self, m: Message) -> bool:
        """Whether m certainly is one of the first messages, which are always listed."""
        places = self._terms.pinned
        return places > 0 and self._places_before(m) < places

    def follows_shown(self, m: Message) -> bool:
        """Whether something shown, and not for being pinned, certainly stands before m."""
        if self._terms.pinned:
            return len(self._pinned | self._older(m)) > self._terms.pinned
        slack_ns = self._terms.slack_ns
        if slack_ns is None:
            return False
        if m.batch in self._batches and self._batches[m.batch] < m.place:
            return True
        return self._oldest_ns + slack_ns < m.sent_ns

    def has_room(self, m: Message) -> bool:
        """Whether the list has room for m: nothing can have been pushed out."""
        recall, terms = self._recall, self._terms
        bound = recall.capacity
        if bound is not None and recall.length - len(self._pinned) >= bound - terms.pinned:
            return False
        if terms.messages is not None and self._left_room(m) and self.rank(m) >= terms.messages - terms.pinned:
            return False
        if not terms.sized or self._fits(m):
            return True
        return recall.length < terms.keep_at_least and not self._left_room(m)

    def has_place(self, m: Message) -> bool:
        """Whether there was a place for m even if everything that may stand behind it does."""
        bound, terms = self._recall.capacity, self._terms
        if bound is not None and self._filled and not self.follows_shown(m):
            return False  # all that is listed may stand behind it
        if bound is not None and self.rank(m) >= bound - terms.pinned:
            return False
        return not terms.sized or self._fits(m) or self.rank(m) < terms.keep_at_least

    def kept_by_session(self, m: Message) -> bool:
        """Whether m had a place even in a window that is cut for each session by itself."""
        terms = self._terms
        if not self._several_sessions or not (terms.messages or terms.sized):
            return True
        behind = [n for n in self._stored if n is not m and n.session == m.session and not self._before(n, m)]
        number = sum(map(terms.copies, behind))
        if terms.messages is not None:
            return number < terms.messages - terms.pinned
        if number < terms.keep_at_least:
            return True
        return self._size([m, *behind]) <= self._budget

    def rank(self, m: Message) -> int:
        """How many elements may stand behind m."""
        return self._recall.length - self._shown_before(m) + self._unshown_behind(m)

    def _before(self, n: Message, m: Message) -> bool:
        return before(n, m, self._terms.slack_ns, self._by_ns)

    def _older(self, m: Message) -> set[Message]:
        """What is shown and certainly stands before m."""
        return {s for s in self._proving if self._before(s, m)}

    def _shown_before(self, m: Message) -> int:
        """How much of what is listed certainly stands before m, or is pinned."""
        slack_ns = self._terms.slack_ns
        if self._terms.pinned or slack_ns is None:
            return len(self._pinned | self._older(m))
        if self._shown_stamps is None:
            self._shown_stamps = _Stamps(self._proving)
        return self._shown_stamps.before(m, slack_ns, self._by_ns)

    def _places_before(self, m: Message) -> int:
        """How many elements may stand before m; what is listed beside own messages may be the memory's own first."""
        others = (n for n in self._stored if n is not m and not self._before(m, n))
        return self._recall.length - len(self._shown) + sum(map(self._terms.copies, others))

    def _unshown_behind(self, m: Message) -> int:
        terms = self._terms
        if terms.stores_resends or terms.slack_ns is None:
            return sum(map(terms.copies, self._behind(m)))
        if self._unshown_stamps is None:
            self._unshown_stamps = _Stamps(self._unshown)
        earlier = self._unshown_stamps.before(m, terms.slack_ns, self._by_ns)
        return len(self._unshown) - (m not in self._shown) - earlier

    def _behind(self, m: Message) -> list[Message]:
        """What may be stored behind m and is not shown."""
        repeated = self._terms.repeated
        return [n for n in self._unshown if n is not m and (repeated(n) or not self._before(n, m))]

    def _left_room(self, m: Message) -> bool:
        """Whether something may have pushed m out of a trimmed window and be gone."""
        return self._excuses.any_may_be_gone and any(self._excuses.leaves_room(n, m) for n in self._behind(m))

    @property
    def _budget(self) -> int:
        return self._terms.turns or self._terms.tokens or 0

    def _fits(self, m: Message) -> bool:
        """Whether what is shown, m, and all that may stand behind m unshown fit into a window of turns or tokens."""
        recall = self._recall
        extra = recall.length - len(recall.shown) if self._terms.turns else recall.extra_tokens
        return extra is not None and extra + self._size([*recall.shown, m, *self._behind(m)]) <= self._budget

    def _size(self, messages: Sequence[Message]) -> int:
        terms = self._terms
        if terms.turns:
            again = sum(terms.copies(n) - 1 for n in messages)
            return len({(n.device, n.turn) for n in messages}) + again
        return sum(n.tokens_max * terms.copies(n) for n in messages)


class _Stamps:
    """When messages were stored, sorted, so that those before another one need not be counted one by one."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._stored_ns = sorted(m.stored_ns for m in messages)
        self._of_append: dict[int, list[Message]] = {}
        for m in messages:
            self._of_append.setdefault(m.batch, []).append(m)

    def before(self, m: Message, slack_ns: int, by_ns: int) -> int:
        """How many certainly stand before m."""
        # None of the same append was stored before that was sent, so none is counted twice.
        beside = sum(before(n, m, slack_ns, by_ns) for n in self._of_append.get(m.batch, ()))
        return bisect_left(self._stored_ns, m.sent_ns - slack_ns) + beside
