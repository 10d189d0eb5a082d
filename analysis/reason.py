"""One reason for a verdict."""

from __future__ import annotations

import msgspec


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One reason for the verdict, or one thing to know beside it."""

    code: str
    scenario: str | None = None
    """None: the whole run."""
    text: str
    """A sentence for people: what was expected, what was seen, what to try."""
