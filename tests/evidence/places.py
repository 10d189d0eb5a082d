"""The places in the list of one recall: can what it lacks have been pushed out?"""

from __future__ import annotations

import math

from .facts import EVER, Facts
from .histories import Key, Own


class Places:
    """One recall, by what it shows and others had shown before a stamp."""

    def __init__(self, facts: Facts, number: int, by_ns: float) -> None:
        self.facts = facts
        self.contract = facts.contract
        self.number = number
        self.by_ns = by_ns
        self.recall = facts.recalls[number]
        self.shown = facts.own[number]
        self._pinned: set[Key] | None = None
        maybe = facts.may_be_stored
        self.stored = [m for m in facts.sent if m in self.shown or maybe(m, number, by_ns)]
        """All that may be stored; what is shown is."""

    def length_max(self) -> float:
        """K(r): the smallest of window, limit (the page's default if none was asked) and page; infinity if none."""
        asked = self.recall.limit if self.recall.limit is not None else self.contract.page_default
        bounds = [asked, self.contract.page_max]
        if self.recall.asked is None:
            bounds.append(self.contract.window)
        return min((n for n in bounds if n is not None), default=math.inf)

    def proves_a_loss(self, m: Key) -> bool:
        """r must have shown m, or something else in its place."""
        return self.certainly_pinned(m) or self.follows_shown(m) or self.has_room(m) or self.has_place(m)

    def names(self, m: Key) -> bool:
        """r must have shown m and nothing else."""
        in_its_session = self.has_place_in_its_session(m) or self.follows_in_its_session(m)
        return self.certainly_pinned(m) or (self.follows_shown(m) and in_its_session) or self.has_place(m)

    # Pinned

    def certainly_pinned(self, m: Key) -> bool:
        """Fewer than p elements may stand before m. Of elements that are not ours nobody knows the age."""
        contract = self.contract
        if not contract.pinned or self.strangers_may_be_stored():
            return False
        others = [n for n in self.stored if n != m and not self._before(m, n)]
        return sum(self.facts.copies(n) for n in others) < contract.pinned

    def pinned_shown(self) -> set[Key]:
        """What is shown and certainly pinned."""
        if self._pinned is None:
            self._pinned = {s for s in self.shown if self.certainly_pinned(s)}
        return self._pinned

    # Something shown is older

    def older_shown(self, m: Key) -> set[Key]:
        """What is shown and certainly stands before m. In windows of turns its whole turn does, or it is m's own."""
        older = {s for s in self.shown if not self.facts.loose(s) and self._before(s, m)}
        if self.contract.turns is None:
            return older
        return {s for s in older if self.facts.turn(s) == self.facts.turn(m) or self._turn_before(s, m)}

    def _turn_before(self, s: Key, m: Key) -> bool:
        turns = self.facts.turn
        first = [n for n in self.stored if turns(n) == turns(s)]
        second = [n for n in self.stored if turns(n) == turns(m)]
        return all(not self.facts.loose(x) and self._before(x, y) for x in first for y in second)

    def follows_shown(self, m: Key) -> bool:
        """More is shown that is pinned or older than m than can be shown for being pinned.

        In tokens a store may keep a small older message of another session when it had to let the large m go.
        """
        if self.contract.tokens is not None and not self.has_place_in_its_session(m):
            return self.follows_in_its_session(m)
        return len(self.pinned_shown() | self.older_shown(m)) > self.contract.pinned

    def follows_in_its_session(self, m: Key) -> bool:
        """More is shown of m's session that is older than m than can be shown for being pinned in it."""
        session = {n: self.facts.sent[n].message.session for n in self.facts.sent}
        older = {s for s in self.older_shown(m) if session[s] == session[m]}
        return len(older) > self.contract.pinned

    # Room for everything

    def has_room(self, m: Key) -> bool:
        """Nothing can have been pushed out: the list is short, and so it was when it was cut at a write."""
        if self.others_came_and_went():
            return False
        if len(self.recall.items) - len(self.pinned_shown()) >= self.length_max() - self.contract.pinned:
            return False
        may_be_cut = any(self.pushed_out_and_went(n, m) for n in self.unshown_behind(m))
        window = self.contract.window
        if window is not None and may_be_cut and self.rank(m) >= window - self.contract.pinned:
            return False
        if not self.sized() or self.fits(m):
            return True
        return len(self.recall.items) < self.contract.keep_at_least and not may_be_cut

    def pushed_out_and_went(self, n: Key, m: Key) -> bool:
        """n may have pushed m out of a window that is cut at writes, and then have gone without m."""
        facts, ttl = self.facts, self.contract.ttl
        other_session = facts.sent[n].message.session != facts.sent[m].message.session
        if ttl is not None and ttl.unit == "message" and facts.may_have_expired(n, self.number):
            return True
        if not other_session:
            return False
        expired = ttl is not None and ttl.unit == "session" and facts.may_have_expired(n, self.number)
        return expired or facts.may_be_deleted(n, m, self.number)

    # A place for one

    def has_place(self, m: Key) -> bool:
        """There is a place for m even if everything that may stand behind it does."""
        if self.others_came_and_went():
            return False
        if self.rank(m) >= self.length_max() - self.contract.pinned:
            return False
        return not self.sized() or self.fits(m) or self.rank(m) < self.contract.keep_at_least

    def rank(self, m: Key) -> int:
        """How many elements may stand behind m: all that is listed but what is pinned or older, and what is unshown."""
        listed = len(self.recall.items) - len(self.pinned_shown() | self.older_shown(m))
        return listed + sum(self.facts.copies(n) for n in self.unshown_behind(m))

    def unshown_behind(self, m: Key) -> list[Key]:
        """What may be stored behind m without being shown."""
        return [
            n for n in self.stored if n != m and n not in self.shown and (self.facts.loose(n) or not self._before(n, m))
        ]

    def has_place_in_its_session(self, m: Key) -> bool:
        """m had a place even if the window is cut for each session by itself."""
        facts, contract = self.facts, self.contract
        session = {n: facts.sent[n].message.session for n in facts.sent}
        if len({session[n] for n in self.stored}) < 2:
            return True
        behind = [n for n in self.stored if n != m and session[n] == session[m] and self._takes_room(n, m)]
        number = sum(facts.copies(n) for n in behind)
        if contract.window is not None:
            return number < contract.window - contract.pinned
        if not self.sized() or number < contract.keep_at_least:
            return True
        older = [n for n in self.stored if n != m and session[n] == session[m] and n not in behind]
        return self._size([m, *behind]) + self._largest(older) <= self._budget()

    def _largest(self, messages: list[Key]) -> int:
        """The size of so many of them as may be pinned."""
        return sum(sorted((self._size([n]) for n in messages), reverse=True)[: self.contract.pinned])

    # Turns and tokens

    def sized(self) -> bool:
        """The window is counted in turns or tokens."""
        return self.contract.turns is not None or self.contract.tokens is not None

    def fits(self, m: Key) -> bool:
        """What is listed, m, and all that may stand behind m unshown fit into the window together.

        In turns: behind anything of the turn of m, which may have been cut before it went on.
        So many older ones as may be pinned count as well, the largest ones: they may have gone, or be missing, or be
        pinned in a session alone.
        In tokens nobody knows the size of what was altered.
        """
        altered = any(isinstance(item, Own) and item.content == "altered" for item in self.recall.items)
        if self.strangers_may_be_stored() or (self.contract.tokens is not None and altered):
            return False
        listed = [item.key for item in self.recall.items if isinstance(item, Own)]
        again = [key for place, key in enumerate(listed) if key in listed[:place]]
        if self.contract.turns is not None:
            more = len(self.recall.items) - len(self.shown)
        else:
            more = sum(self.facts.sent[key].message.tokens_max for key in again)
        behind = [n for n in self.stored if n != m and n not in self.shown and self._takes_room(n, m)]
        more += self._largest([n for n in self.stored if n not in self.shown and n != m and n not in behind])
        return more + self._size([*self.shown, m, *behind]) <= self._budget()

    def _takes_room(self, n: Key, m: Key) -> bool:
        turn = [m]
        if self.contract.turns is not None:
            turn = [y for y in self.stored if self.facts.turn(y) == self.facts.turn(m)]
        return self.facts.loose(n) or not all(self._before(n, y) for y in turn)

    def others_came_and_went(self) -> bool:
        """The user's other sessions share a window, may have pushed something out, and may have gone since."""
        windowed = self.contract.window is not None or self.sized()
        return windowed and not self.contract.isolation & {"session"}

    def strangers_may_be_stored(self) -> bool:
        """Elements of the memory's own, or of the user's other sessions."""
        return self.contract.unmarked == "allow" or not self.contract.isolation & {"session"}

    def _size(self, messages: list[Key]) -> int:
        facts = self.facts
        if self.contract.turns is not None:
            again = sum(facts.copies(n) - 1 for n in messages)
            return len({facts.turn(n) for n in messages}) + again
        return sum(facts.sent[n].message.tokens_max * facts.copies(n) for n in messages)

    def _budget(self) -> int:
        return self.contract.turns or self.contract.tokens or 0

    def _before(self, n: Key, m: Key) -> bool:
        return self.facts.before(n, m, EVER if n in self.shown else self.by_ns)
