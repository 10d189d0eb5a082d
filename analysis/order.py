"""Do the recalls of a conversation agree on one order?

The order of two messages in the store is fixed once. If one recall lists x before y and another y before x, no single
order explains both. Where the stamps tell the order of the two, the list that contradicts them is known to be the wrong
one, and the right one is not blamed for its company; so only pairs that the stamps leave open are compared here.

Where a message's place may change for a while after it was stored, a list tells only the order of those whose place was
settled when the recall began. Messages that may be stored twice tell nothing, and without order there is nothing to
compare.

Lists are mostly windows on one history, so they are merged into one order as they come. Only when a list does not fit
the merged order, which may be the fault of an arbitrary choice in merging, is it compared with every earlier list.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from goldfish.rule import Message, Terms, before


class Orders:
    """The lists of one conversation so far."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._merged: list[Message] = []
        self._rank: dict[Message, int] = {}
        self._lists: list[Sequence[Message]] = []
        self._unmerged: list[Sequence[Message]] = []

    def contradicts(self, shown: Sequence[Message], start_ns: int) -> bool:
        """Take in a list; whether an earlier one shows two of its messages in the opposite order.

        Args:
            shown: the first copies of its own messages.
            start_ns: the start of the recall.
        """
        terms = self._terms
        if terms.slack_ns is None:
            return False
        if terms.slack_ns or any(m.loose for m in shown):
            shown = [m for m in shown if not m.loose and self._settled(m, start_ns)]
        fits = self._fits(shown)
        opposed = any(_opposed(shown, earlier, terms) for earlier in (self._unmerged if fits else self._lists))
        if fits:
            self._merge(shown)
        else:
            self._unmerged.append(shown)
        self._lists.append(shown)
        return opposed

    def _settled(self, m: Message, start_ns: int) -> bool:
        """Whether a recall that starts then reads m in its final place."""
        slack_ns = self._terms.slack_ns
        return not slack_ns or m.stored_ns + slack_ns + self._terms.visibility_ns < start_ns

    def _fits(self, shown: Sequence[Message]) -> bool:
        highest = -1
        for message in shown:
            rank = self._rank.get(message)
            if rank is not None:
                if rank < highest:
                    return False
                highest = rank
        return True

    def _merge(self, shown: Sequence[Message]) -> None:
        """Put what is new behind the message it follows in this list."""
        place = 0
        inserted = False
        for message in shown:
            rank = self._rank.get(message)
            if rank is not None and not inserted:
                place = rank + 1
            elif rank is not None:
                place = self._merged.index(message, place) + 1
            elif place == len(self._merged):
                self._rank[message] = place
                self._merged.append(message)
                place += 1
            else:
                self._merged.insert(place, message)
                place += 1
                inserted = True
        if inserted:
            self._rank = {message: rank for rank, message in enumerate(self._merged)}


def _opposed(later: Sequence[Message], earlier: Sequence[Message], terms: Terms) -> bool:
    """Whether two messages stand in opposite orders in the two lists, and no stamps tell which list is wrong."""
    rank = {message: at for at, message in enumerate(earlier)}
    common = [message for message in later if message in rank]
    places = [rank[message] for message in common]
    if all(here < there for here, there in pairwise(places)):
        return False
    return any(
        places[first] > places[second]
        and not before(x, common[second], terms.slack_ns)
        and not before(common[second], x, terms.slack_ns)
        for first, x in enumerate(common)
        for second in range(first + 1, len(common))
    )
