"""Windows: can what a recall lacks have been pushed out of its list?

Three arguments say no.

* Something that is shown is certainly older. A list is the newest part of the history; whoever shows s and not m, which
  came after s, has a hole. With the first p messages **pinned**, at most p of what is shown may be shown for that
  reason, so more than p messages are needed that are pinned or older than m. Where turns are counted they may be kept
  whole, by their first or by their last message; so there the whole turn of s must be older than that of m.
* The list has **room**: fewer than K elements. Nothing was pushed out. With pinned messages the places left for all
  others are counted: K - p, without the pinned ones shown. A window in turns or tokens has room for m if the sizes
  (upper bounds) of what is shown, of m, and of everything unshown that may stand behind m fit into it together.
* m is itself certainly pinned: fewer than p others may stand before it.

Whether *one* message can be named takes more than room in the list: its **rank**, the number of elements that may stand
behind it, must leave it a place. Rank counts what is listed without being older than m, and all that may have been
stored without being shown or older; a message that may be stored twice counts twice.

A window may be a *view* (the whole history is kept, a recall cuts it) or a *trim* (each write cuts it, for the
conversation as a whole or for each session); the contract does not tell. So where messages can go (deletes, expiry),
what may have pushed m out of a trimmed window and then gone itself counts as still in its place; and where messages of
other sessions take places as well, nobody knows what was there, so that only what is shown proves something. In a
conversation of several sessions, a message with a whole window of its own session behind it is not named for what other
sessions show; in tokens, where a small message may be kept for which a large one had to go, it is not missed for that
either.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence

from goldfish.rule.excuses import Excuses
from goldfish.rule.message import EVER, NEVER, Message, Recall, before
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
            by_ns: what only other recalls showed, from this stamp on, is not used. Whether a recall is *lossy* is
                decided by what is known when it completes; whom it *names* by all that is ever known.
        """
        self._recall = recall
        self._terms = terms
        self._excuses = excuses
        self._by_ns = by_ns
        self._shown = set(recall.shown)
        self._stored = [m for m in known if m.maybe_stored(by_ns) or m in self._shown]
        self._unshown = [m for m in self._stored if m not in self._shown]
        self._loose = any(m.loose for m in self._unshown)
        self._several_sessions = len({m.session for m in self._stored}) > 1
        # What proves order: a message that may be stored twice is shown in a place that tells nothing.
        self._proving = [s for s in recall.shown if not s.loose]
        self._oldest_ns = min([s.stored_ns for s in self._proving], default=NEVER)
        self._batches: dict[int, int] = {}
        for s in self._proving:
            self._batches[s.batch] = min(s.place, self._batches.get(s.batch, s.place))
        self._turns: dict[tuple[str, int], list[Message]] = {}
        for m in self._stored if terms.turns is not None else ():
            self._turns.setdefault((m.device, m.turn), []).append(m)
        self._pinned = {s for s in recall.shown if self.pins(s)} if terms.pinned else set()
        countable = not (terms.pinned or terms.sized)
        self._filled = countable and recall.capacity is not None and recall.length >= recall.capacity
        self._shown_stamps: _Stamps | None = None
        self._unshown_stamps: _Stamps | None = None
        """Made when somebody's rank is asked for."""

    def pins(self, m: Message) -> bool:
        """Whether m certainly is one of the first messages, which are always listed."""
        terms = self._terms
        return terms.pinned > 0 and terms.alone and self._places_before(m) < terms.pinned

    def follows_shown(self, m: Message) -> bool:
        """Whether something shown, and not for being pinned, certainly stands before m."""
        terms = self._terms
        if terms.pinned or terms.sized:
            if terms.tokens is not None and not self._kept_by_session(m):
                return self._follows_in_session(m)
            return len(self._pinned | self._older(m)) > terms.pinned
        if terms.slack_ns is None:
            return False
        if m.batch in self._batches and self._batches[m.batch] < m.place:
            return True
        return self._oldest_ns + terms.slack_ns < m.sent_ns

    def names_follower(self, m: Message) -> bool:
        """Whether m, which follows something shown, had a place even in a window that is cut for each session."""
        return self._kept_by_session(m) or self._follows_in_session(m)

    def has_room(self, m: Message) -> bool:
        """Whether the list has room for m: nothing can have been pushed out."""
        recall, terms = self._recall, self._terms
        if self._open:
            return False
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
        if self._open:
            return False
        if bound is not None and self._filled and not self.follows_shown(m):
            return False  # all that is listed may stand behind it
        if bound is not None and self.rank(m) >= bound - terms.pinned:
            return False
        return not terms.sized or self._fits(m) or self.rank(m) < terms.keep_at_least

    def rank(self, m: Message) -> int:
        """How many elements may stand behind m."""
        return self._recall.length - self._shown_before(m) + self._unshown_behind(m)

    def _before(self, n: Message, m: Message) -> bool:
        return before(n, m, self._terms.slack_ns, EVER if n in self._shown else self._by_ns)

    def _older(self, m: Message) -> set[Message]:
        """What is shown and certainly stands before m: where turns are kept whole, its turn before the turn of m."""
        older = {s for s in self._proving if self._before(s, m)}
        if self._terms.turns is None:
            return older
        return {s for s in older if self._turn_before(s, m)}

    def _turn_before(self, s: Message, m: Message) -> bool:
        if (s.device, s.turn) == (m.device, m.turn):
            return True
        turns = self._turns
        return all(not x.loose and self._before(x, y) for x in turns[s.device, s.turn] for y in turns[m.device, m.turn])

    def _shown_before(self, m: Message) -> int:
        """How much of what is listed certainly stands before m, or is pinned."""
        terms = self._terms
        if terms.pinned or terms.turns is not None or terms.slack_ns is None:
            return len(self._pinned | self._older(m))
        if self._shown_stamps is None:
            self._shown_stamps = _Stamps(self._proving)
        return self._shown_stamps.before(m, terms.slack_ns, EVER)

    def _places_before(self, m: Message) -> int:
        """How many others may stand before m."""
        return sum(self._terms.copies(n) for n in self._stored if n is not m and not self._before(m, n))

    def _unshown_behind(self, m: Message) -> int:
        terms = self._terms
        if self._loose or terms.slack_ns is None:
            return sum(map(terms.copies, self._behind(m)))
        if self._unshown_stamps is None:
            self._unshown_stamps = _Stamps(self._unshown)
        earlier = self._unshown_stamps.before(m, terms.slack_ns, self._by_ns)
        return len(self._unshown) - (m not in self._shown) - earlier

    def _behind(self, m: Message) -> list[Message]:
        """What may be stored behind m and is not shown."""
        return [n for n in self._unshown if n is not m and (n.loose or not self._before(n, m))]

    def _takes_room(self, n: Message, m: Message) -> bool:
        """Whether n may have been there when m would have had to go for it."""
        if n.loose:
            return True
        if self._terms.turns is None:
            return not self._before(n, m)
        return not all(self._before(n, y) for y in self._turns[m.device, m.turn])

    def _left_room(self, m: Message) -> bool:
        """Whether something may have pushed m out of a trimmed window and be gone."""
        return self._excuses.any_may_be_gone and any(self._excuses.leaves_room(n, m) for n in self._behind(m))

    def _follows_in_session(self, m: Message) -> bool:
        """Whether more is shown of m's session that is older than m than may be pinned of it."""
        return sum(s.session == m.session for s in self._older(m)) > self._terms.pinned

    def _kept_by_session(self, m: Message) -> bool:
        """Whether m has a place in a window of its session alone, where that session's first messages are pinned."""
        terms = self._terms
        if not self._several_sessions or not (terms.messages or terms.sized):
            return True
        session = [n for n in self._stored if n is not m and n.session == m.session]
        behind = [n for n in session if self._takes_room(n, m)]
        number = sum(map(terms.copies, behind))
        if terms.messages is not None:
            return number < terms.messages - terms.pinned
        if number < terms.keep_at_least:
            return True
        return self._size([m, *behind]) + self._largest(set(session).difference(behind)) <= self._budget

    def _largest(self, messages: Collection[Message]) -> int:
        """The size of so many of them as may be pinned."""
        return sum(sorted((self._size([n]) for n in messages), reverse=True)[: self._terms.pinned])

    @property
    def _open(self) -> bool:
        """Whether messages that are not known here may have pushed something out of a window and then have gone."""
        return self._terms.shared and (self._terms.messages is not None or self._terms.sized)

    @property
    def _budget(self) -> int:
        return self._terms.turns or self._terms.tokens or 0

    def _fits(self, m: Message) -> bool:
        """Whether all that may take room in a window of turns or tokens fits into it beside m.

        That is what is shown, and what may stand behind m unshown (behind anything of its turn, for a turn that others
        interrupt may have been cut before it went on). What may be pinned counts as well, though it went, is missing,
        or is pinned in a session alone. Of strangers that are not shown nobody knows the size.
        """
        recall, terms = self._recall, self._terms
        extra = recall.length - len(recall.shown) if terms.turns else recall.extra_tokens
        if extra is None or not terms.alone:
            return False
        behind = [n for n in self._unshown if n is not m and self._takes_room(n, m)]
        if terms.pinned:
            extra += self._largest(set(self._unshown).difference(behind, [m]))
        return extra + self._size([*recall.shown, m, *behind]) <= self._budget

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
