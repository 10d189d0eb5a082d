"""Which users have conversations with a finding of a class: the cluster counts of a class's rate."""

from __future__ import annotations

from collections import Counter, defaultdict

from analysis.check import Checked
from analysis.sums.counts import User


class ByClass:
    """By scenario and class: user to number of conversations with a finding of it."""

    def __init__(self) -> None:
        self.harmed: defaultdict[tuple[str, str], Counter[User]] = defaultdict(Counter)

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        conversation = checked.conversation
        for anomaly in {finding.anomaly for finding in checked.findings}:
            self.harmed[conversation.scenario, anomaly][conversation.tenant or "", conversation.user] += 1

    def merge(self, other: ByClass) -> None:
        """Take in another share."""
        for key, users in other.harmed.items():
            self.harmed[key].update(users)
