"""Outcomes and latencies of all requests, per scenario and kind."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from analysis.check import Checked
from analysis.proof.proven import Proven
from goldfish.oplog import Operation
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
        self._count(conversation.scenario, "append", [row for _, row in conversation.appends])
        self._count(conversation.scenario, "recall", [row for _, row in conversation.recalls])
        self._count(conversation.scenario, "delete", [row for _, row in conversation.deletes])
        self._count(conversation.scenario, "touch", [row for _, row in conversation.touches])

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

    def _count(self, scenario: str, kind: str, rows: Sequence[Operation]) -> None:
        if not rows:
            return
        for outcome, number in Counter([row.outcome for row in rows]).items():
            self.outcomes[scenario, kind, outcome] += number
        self.killed[scenario] += sum([row.reason == "killed" for row in rows])
        self.last_ns = max(self.last_ns, max([row.end_ns for row in rows]))
        timed = [row for row in rows if row.outcome == "ok" and row.phase == "load"]
        if timed:
            self.took_ns[scenario, kind].extend([row.end_ns - row.start_ns for row in timed])
            self._widen(scenario, min([row.start_ns for row in timed]), max([row.end_ns for row in timed]))

    def _widen(self, scenario: str, start_ns: int, end_ns: int) -> None:
        first, last = self.spans.get(scenario, (NEVER, -1))
        self.spans[scenario] = min(first, start_ns), max(last, end_ns)


def _stamps() -> array[int]:
    return array("q")
