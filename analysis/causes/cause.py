"""A likely cause, with the evidence for and against it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analysis.causes.known import KNOWN


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One case of a cause: who said what when, and which recall went wrong."""

    text: str
    command: str
    """What to type to see the whole conversation."""


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One likely cause of the harm that was found."""

    code: str
    title: str
    """The cause in plain words, with the parts it names: "m2 serves a copy of its own"."""
    anomaly: str
    """The class of findings it explains."""
    explains: float
    """About which share of that class's harm it accounts for, from 0 to 1."""
    evidence_for: list[str]
    evidence_against: list[str]
    remedy: str
    """Where to look and what to do."""
    example: Example | None = None
    """One case of it; None if no conversation was kept."""


def suspect(
    code: str, explains: float, evidence_for: Sequence[str], against: Sequence[str] = (), title: str | None = None
) -> Cause:
    """A known cause with what speaks for and against it in a run, and its title where the run tells it more exactly."""
    known = KNOWN[code]
    return Cause(
        code=code,
        title=title or known.title,
        anomaly=known.anomaly,
        explains=min(1.0, explains),
        evidence_for=list(evidence_for),
        evidence_against=list(against),
        remedy=known.remedy,
    )
