"""A sample of the judged conversations, whole: to find out what would have been seen in them.

Those with the smallest digests of their names are kept. So the sample is bounded, is the same however conversations are
shared out, and has nothing to do with what became of them.
"""

from __future__ import annotations

from hashlib import blake2b
from heapq import heappush, heappushpop

from analysis.check import Checked
from analysis.record import Conversation

KEPT_MAX = 50


def digest(name: str) -> int:
    """What decides whether a conversation is in the sample."""
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


class Sampled:
    """The conversations that are kept; they are those whose losses were judged and that have an answered recall."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, str, Conversation]] = []
        """A heap of negated digests: the largest digest is the first to go."""

    def wants(self, name: str) -> bool:
        """Whether a conversation of this name would be kept, as far as is known by now."""
        return len(self._kept) < KEPT_MAX or -digest(name) > self._kept[0][0]

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        if checked.doubt is None and checked.listed:
            self.keep(checked.conversation)

    def keep(self, conversation: Conversation) -> None:
        """Take in a conversation whose losses were judged and that has an answered recall."""
        self._keep(-digest(conversation.name), conversation.name, conversation)

    def merge(self, other: Sampled) -> None:
        """Take in another share."""
        for each in other._kept:
            self._keep(*each)

    def _keep(self, rank: int, name: str, conversation: Conversation) -> None:
        if len(self._kept) < KEPT_MAX:
            heappush(self._kept, (rank, name, conversation))
        else:
            heappushpop(self._kept, (rank, name, conversation))

    def conversations(self) -> list[Conversation]:
        """What is kept, in the order of the digests."""
        return [conversation for _, _, conversation in sorted(self._kept, key=lambda each: (-each[0], each[1]))]
