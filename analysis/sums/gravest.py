"""The conversations with the gravest findings, kept whole to be shown as evidence: of every scenario and class some."""

from __future__ import annotations

from analysis.check import Checked
from analysis.sums.place import Place, place

KEPT = 2
"""Conversations kept of each scenario and class."""

Lightness = tuple[int, int, int]
Ranked = tuple[Lightness, Place, Checked]


class Gravest:
    """By scenario and class, the gravest first: leaks and altered contents, then lossy recalls, then the rest."""

    def __init__(self) -> None:
        self._ranked: dict[tuple[str, str], list[Ranked]] = {}

    def conversations(self, most: int) -> list[Checked]:
        """The gravest of each scenario and class in turn, then the next gravest of each; each one once."""
        rounds = [
            sorted((ranked[at] for ranked in self._ranked.values() if at < len(ranked)), key=lambda entry: entry[:2])
            for at in range(KEPT)
        ]
        once = {entry[1]: entry[2] for ranked in rounds for entry in ranked}
        return list(once.values())[:most]

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        if not checked.findings:
            return
        entry = _lightness(checked), place(checked.conversation), checked
        for anomaly in {finding.anomaly for finding in checked.findings}:
            self._offer((checked.conversation.scenario, anomaly), [entry])

    def merge(self, other: Gravest) -> None:
        """Take in another share."""
        for key, ranked in other._ranked.items():
            self._offer(key, ranked)

    def _offer(self, key: tuple[str, str], more: list[Ranked]) -> None:
        self._ranked[key] = sorted([*self._ranked.get(key, []), *more], key=lambda entry: entry[:2])[:KEPT]


def _lightness(checked: Checked) -> Lightness:
    """Smaller for graver."""
    grave = sum(finding.zero_tolerance for finding in checked.findings)
    return -grave, -checked.recalls_lossy, -len(checked.findings)
