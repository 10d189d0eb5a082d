"""The conversations with the gravest findings, kept whole to be shown as evidence."""

from __future__ import annotations

from analysis.check import Checked
from analysis.sums.place import Place, place

KEPT = 3


class Gravest:
    """The gravest first: leaks and altered contents, then lossy recalls, then the rest; of equals the earlier."""

    def __init__(self) -> None:
        self._ranked: list[tuple[tuple[int, int, int], Place, Checked]] = []

    @property
    def conversations(self) -> list[Checked]:
        """The gravest first."""
        return [checked for _, _, checked in self._ranked]

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        if checked.findings:
            self._offer([(_lightness(checked), place(checked.conversation), checked)])

    def merge(self, other: Gravest) -> None:
        """Take in another share."""
        self._offer(other._ranked)

    def _offer(self, more: list[tuple[tuple[int, int, int], Place, Checked]]) -> None:
        self._ranked = sorted([*self._ranked, *more], key=lambda entry: entry[:2])[:KEPT]


def _lightness(checked: Checked) -> tuple[int, int, int]:
    """Smaller for graver."""
    grave = sum(finding.zero_tolerance for finding in checked.findings)
    return -grave, -checked.recalls_lossy, -len(checked.findings)
