"""A likely cause, with the evidence for and against it."""

from __future__ import annotations

import msgspec


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
