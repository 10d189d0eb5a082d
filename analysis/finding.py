"""One proven anomaly, seen by one recall."""

from __future__ import annotations

from dataclasses import dataclass

from goldfish.oplog import Owner, Recall
from goldfish.rule import Message

REJECTED = "rejected"
"""Detail of a phantom whose append was refused."""

TORN_TURN = "torn turn"
"""Detail of a missing message: the other half of its acknowledged turn is shown."""

AFTER_A_RETRY = "after a retry"
"""Detail of a duplicated message: it was sent more than once."""


@dataclass(slots=True)
class Finding:
    """One proven anomaly, seen by one recall; see ``analysis.findings`` for the table it becomes."""

    line: int
    recall: Recall
    anomaly: str
    message: Message | None = None
    """The message it names, where that is one of this conversation."""
    position: str | None = None
    guarantee: str | None = None
    detail: str | None = None
    """corrupted: truncated, altered, role · foreign: session, user, tenant · phantom: rejected, other-run, unmarked ·
    missing: torn turn · duplicated: after a retry."""
    owner: Owner | None = None
    device: str | None = None
    """The author's device and number, where a message is named, be it of this conversation or of another."""
    seq: int | None = None

    @property
    def zero_tolerance(self) -> bool:
        """Whether this one case fails the run: a leak, an altered content, or a rejected message that was stored."""
        return self.anomaly in ("foreign", "corrupted") or self.detail == REJECTED
