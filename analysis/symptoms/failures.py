"""Requests that did not succeed, by what they failed of."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from analysis.check import Checked
from goldfish.oplog import Append, Recall


class Failure(NamedTuple):
    """Why a request was no success."""

    scenario: str
    kind: str
    """append · recall · delete"""
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
        for rows in (conversation.appends, conversation.recalls, conversation.deletes):
            for _, row in rows:
                if row.outcome != "ok" and row.reason != "killed":
                    kind = "append" if isinstance(row, Append) else "recall" if isinstance(row, Recall) else "delete"
                    told = row.reason or "unknown"
                    why = str(row.status) if told in ("status", "unknown") and row.status is not None else told
                    self.number[Failure(row.scenario, kind, row.outcome, why)] += 1

    def merge(self, other: Failures) -> None:
        """Take in another share."""
        self.number.update(other.number)
