"""Recalls that were recorded and prove nothing."""

from __future__ import annotations

from analysis.check import Checked


class Unproven:
    """How many, by reason."""

    def __init__(self) -> None:
        self.unanswered = 0
        """Failed or cut off."""
        self.owed_nothing = 0
        """Answered, but nothing was certainly owed."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        self.unanswered += sum(row.outcome != "ok" for _, row in checked.conversation.recalls)
        if checked.doubt is None:
            self.owed_nothing += sum(not entry.judgement.checked for entry in checked.listed)

    def merge(self, other: Unproven) -> None:
        """Take in another share."""
        self.unanswered += other.unanswered
        self.owed_nothing += other.owed_nothing
