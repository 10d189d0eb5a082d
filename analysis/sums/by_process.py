"""Checked and lossy recalls by load process, to be compared with what each of them counted live."""

from __future__ import annotations

from collections import Counter

import numpy as np

from analysis.check import Checked
from analysis.proof.proven import Proven


class ByProcess:
    """Recalls by process and scenario."""

    def __init__(self) -> None:
        self.checked: Counter[tuple[str, str]] = Counter()
        self.lossy: Counter[tuple[str, str]] = Counter()
        self.doubted: set[str] = set()
        """Processes with a conversation that was not judged: their counts cannot be those counted live."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        process = checked.conversation.process
        self.checked[process, checked.conversation.scenario] += checked.recalls_checked
        self.lossy[process, checked.conversation.scenario] += checked.recalls_lossy
        if checked.doubt is not None:
            self.doubted.add(process)

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        checked = np.bincount(proven.recall_conversation[proven.checked], minlength=proven.size).tolist()
        for process, scenario, recalls in zip(proven.processes, proven.scenario.tolist(), checked, strict=True):
            self.checked[process, proven.scenarios[scenario]] += recalls

    def merge(self, other: ByProcess) -> None:
        """Take in another share."""
        self.checked.update(other.checked)
        self.lossy.update(other.lossy)
        self.doubted |= other.doubted
