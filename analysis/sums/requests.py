"""Outcomes and latencies of all requests, per scenario and kind."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict

import numpy as np

from analysis.check import Checked
from analysis.proof.proven import Proven
from goldfish.oplog import Append, Operation, Recall
from goldfish.rule import NEVER


class Requests:
    """Every append, recall and delete of a record."""

    def __init__(self) -> None:
        self.outcomes: Counter[tuple[str, str, str]] = Counter()
        """By scenario, kind and outcome."""
        self.killed: Counter[str] = Counter()
        """By scenario: cut off by the end of the run or of a user."""
        self.took_ns: defaultdict[tuple[str, str], array[int]] = defaultdict(_stamps)
        """By scenario and kind: how long ok requests of the load phase took, in no order."""
        self.spans: dict[str, tuple[int, int]] = {}
        """By scenario: first start and last end of ok requests of the load phase."""
        self.last_ns = -1
        """End of the last request of all; -1 if there is none."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        conversation = checked.conversation
        for rows in (conversation.appends, conversation.recalls, conversation.deletes):
            for _, row in rows:
                self._count(row)

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        manners = proven.manners
        timed = np.array([manner.phase == "load" and manner.outcome == "ok" for manner in manners], bool)
        for kind, table in proven.operations.items():
            self.last_ns = max(self.last_ns, int(table["end"].max(initial=-1)))
            for number, scenario in enumerate(proven.scenarios):
                own = proven.scenario[table["conversation"]] == number
                counts = np.bincount(table["manner"][own], minlength=len(manners))
                for manner in np.flatnonzero(counts):
                    self.outcomes[scenario, kind, manners[manner].outcome] += int(counts[manner])
                    if manners[manner].reason == "killed":
                        self.killed[scenario] += int(counts[manner])
                own &= timed[table["manner"]]
                start, end = table["start"][own], table["end"][own]
                if len(start):
                    self.took_ns[scenario, kind].frombytes((end - start).tobytes())
                    self._widen(scenario, int(start.min()), int(end.max()))

    def merge(self, other: Requests) -> None:
        """Take in another share."""
        self.outcomes += other.outcomes
        self.killed += other.killed
        for key, took_ns in other.took_ns.items():
            self.took_ns[key].extend(took_ns)
        for scenario, span in other.spans.items():
            self._widen(scenario, *span)
        self.last_ns = max(self.last_ns, other.last_ns)

    def _count(self, row: Operation) -> None:
        kind = "append" if isinstance(row, Append) else "recall" if isinstance(row, Recall) else "delete"
        self.outcomes[row.scenario, kind, row.outcome] += 1
        self.killed[row.scenario] += row.reason == "killed"
        self.last_ns = max(self.last_ns, row.end_ns)
        if row.phase == "load" and row.outcome == "ok":
            self.took_ns[row.scenario, kind].append(row.end_ns - row.start_ns)
            self._widen(row.scenario, row.start_ns, row.end_ns)

    def _widen(self, scenario: str, start_ns: int, end_ns: int) -> None:
        first, last = self.spans.get(scenario, (NEVER, -1))
        self.spans[scenario] = min(first, start_ns), max(last, end_ns)


def _stamps() -> array[int]:
    return array("q")
