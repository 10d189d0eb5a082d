"""Recalls that were recorded and prove nothing."""

from __future__ import annotations

import numpy as np

from analysis.check import Checked
from analysis.proof.proven import Proven


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

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        ok = np.array([manner.outcome == "ok" for manner in proven.manners], bool)
        self.unanswered += int((~ok[proven.operations["recall"]["manner"]]).sum())
        self.owed_nothing += int((~proven.checked).sum())

    def merge(self, other: Unproven) -> None:
        """Take in another share."""
        self.unanswered += other.unanswered
        self.owed_nothing += other.owed_nothing
