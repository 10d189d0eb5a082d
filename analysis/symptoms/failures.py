"""Requests that did not succeed, by what they failed of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from analysis.check import Checked
from analysis.proof.proven import Proven
from goldfish.oplog import Operation


class Failure(NamedTuple):
    """Why a request was no success."""

    scenario: str
    kind: str
    """append · recall · delete · touch: to open a session, or to prolong it"""
    outcome: str
    """fail · info: nobody knows whether it was done"""
    why: str
    """A status such as "503", else a reason such as "timeout"."""


class Failures:
    """Numbers of requests that were no success, those cut off by the end left out."""

    def __init__(self) -> None:
        self.number: Counter[Failure] = Counter()

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        conversation = checked.conversation
        kinds: dict[str, Sequence[tuple[int, Operation]]] = {
            "append": conversation.appends,
            "recall": conversation.recalls,
            "delete": conversation.deletes,
            "touch": conversation.touches,
        }
        for kind, rows in kinds.items():
            for _, row in rows:
                if row.outcome != "ok" and row.reason != "killed":
                    self.number[Failure(row.scenario, kind, row.outcome, _why(row.reason, row.status))] += 1

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        bad = [at for at, how in enumerate(proven.manners) if how.outcome != "ok" and how.reason != "killed"]
        for kind, table in proven.operations.items():
            failed = np.flatnonzero(np.isin(table["manner"], bad))
            scenarios = proven.scenario[table["conversation"][failed]].tolist()
            for (scenario, manner), number in Counter(
                zip(scenarios, table["manner"][failed].tolist(), strict=True)
            ).items():
                how = proven.manners[manner]
                failure = Failure(proven.scenarios[scenario], kind, how.outcome, _why(how.reason, how.status))
                self.number[failure] += number

    def merge(self, other: Failures) -> None:
        """Take in another share."""
        self.number.update(other.number)


def _why(reason: str | None, status: int | None) -> str:
    return str(status) if reason in ("status", None) and status is not None else reason or "unknown"
