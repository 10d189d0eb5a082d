"""How many histories the evidence is tried on. `EVIDENCE_SCALE=20` tries twenty times as many."""

from __future__ import annotations

import os
from collections import Counter

SCALE = int(os.environ.get("EVIDENCE_SCALE", "1"))
OCCURRENCES_MIN = 50
"""What occurred less often than this was not tried."""


def told(title: str, counts: Counter[str]) -> str:
    """The counts as lines, the rarest first."""
    return "\n".join([title, *(f"{count:8d}  {name}" for name, count in sorted(counts.items(), key=lambda c: c[1]))])


def rare(counts: Counter[str], names: frozenset[str]) -> dict[str, int]:
    """Those of these names that did not occur often enough."""
    return {name: counts[name] for name in names if counts[name] < OCCURRENCES_MIN}
