"""How many histories the evidence is tried on.

`EVIDENCE_SCALE=1` are the numbers that the project promises, and `make evidence` tries them; without it a tenth, which
the test suite has time for. `EVIDENCE_SCALE=20` tries twenty times as many.
"""

from __future__ import annotations

import os
from collections import Counter

SCALE = float(os.environ.get("EVIDENCE_SCALE", "0.1"))
OCCURRENCES_MIN = max(1, round(50 * min(SCALE, 1)))
"""What occurred less often than this was not tried; a tenth of the histories holds a tenth of it."""


def scaled(number: int) -> int:
    """So many histories at scale 1."""
    return round(number * SCALE)


def told(title: str, counts: Counter[str]) -> str:
    """The counts as lines, the rarest first."""
    return "\n".join([title, *(f"{count:8d}  {name}" for name, count in sorted(counts.items(), key=lambda c: c[1]))])


def rare(counts: Counter[str], names: frozenset[str], parts: int = 1) -> dict[str, int]:
    """Those of these names that did not occur often enough, in one of so many parts."""
    return {name: counts[name] for name in names if counts[name] * parts < OCCURRENCES_MIN}
