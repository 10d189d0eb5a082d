"""A bounded sample of harmed conversations, kept whole to be judged once more under other contracts."""

from __future__ import annotations

from zlib import crc32

from analysis.check import Checked
from analysis.record import Conversation

KEPT = 40
OPERATIONS_MAX = 400
"""A conversation with more operations is not kept: judging it takes too long to be done again and again."""


class Sample:
    """Lossy conversations, drawn by their names: the same ones however the work was shared out."""

    def __init__(self) -> None:
        self.harmed = 0
        """Lossy conversations in all."""
        self._drawn: list[tuple[int, str, Conversation]] = []

    @property
    def conversations(self) -> list[Conversation]:
        """Those that were drawn."""
        return [conversation for _, _, conversation in self._drawn]

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        if not checked.recalls_lossy:
            return
        self.harmed += 1
        conversation = checked.conversation
        if len(conversation.appends) + len(conversation.recalls) <= OPERATIONS_MAX:
            lot = crc32(conversation.name.encode("utf-8", "backslashreplace"))
            self._draw([(lot, conversation.name, conversation)])

    def merge(self, other: Sample) -> None:
        """Take in another share."""
        self.harmed += other.harmed
        self._draw(other._drawn)

    def _draw(self, more: list[tuple[int, str, Conversation]]) -> None:
        self._drawn = sorted([*self._drawn, *more], key=lambda entry: entry[:2])[:KEPT]
