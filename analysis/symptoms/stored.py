"""What a dump of the store says of missing messages: were they stored and not served, or not stored?"""

from __future__ import annotations

from collections import Counter

from analysis.check import Checked


class Stored:
    """Messages that some recall lacked, in conversations whose store was dumped."""

    def __init__(self) -> None:
        self.kept: Counter[str] = Counter()
        """By scenario: in the dump."""
        self.absent: Counter[str] = Counter()
        """By scenario: not in the dump."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        if not checked.dumps:
            return
        held = {message for entry in checked.dumps for message in entry.shown}
        missed = {lost.message for entry in checked.listed for lost in entry.judgement.missing}
        self.kept[checked.conversation.scenario] += len(missed & held)
        self.absent[checked.conversation.scenario] += len(missed - held)

    def merge(self, other: Stored) -> None:
        """Take in another share."""
        self.kept.update(other.kept)
        self.absent.update(other.absent)
