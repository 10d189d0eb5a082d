"""The first finding of each scenario and class, in a sentence."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from analysis.check import Checked, Finding
from analysis.sums.place import Place, place
from goldfish.anomalies import ANOMALIES

_UNNAMED = {
    "missing": "more than fits, but nobody can be named",
    "unretrieved": "facts it was asked for, but none can be named",
    "expired early": "all of it",
    "window overrun": "more than it may",
}


class Example(NamedTuple):
    """One finding, told."""

    place: Place
    conversation: str
    sentence: str


class Examples:
    """By scenario and class."""

    def __init__(self) -> None:
        self.first: dict[tuple[str, str], Example] = {}

    def told(self, scenario: str, anomaly: str, directory: str) -> str:
        """The first finding of a class in a sentence, and how to see more; empty if there is none."""
        example = self.first.get((scenario, anomaly))
        if example is None:
            return ""
        return f"{example.sentence} See: goldfish show {shlex.join([directory, example.conversation])}"

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        told: set[str] = set()
        for finding in checked.findings:
            if finding.anomaly not in told:
                told.add(finding.anomaly)
                key = checked.conversation.scenario, finding.anomaly
                here = place(checked.conversation)
                if key not in self.first or here < self.first[key].place:
                    self.first[key] = Example(here, checked.conversation.name, _tell(checked, finding))

    def merge(self, other: Examples) -> None:
        """Take in another share."""
        for key, theirs in other.first.items():
            if key not in self.first or theirs.place < self.first[key].place:
                self.first[key] = theirs


def _tell(checked: Checked, finding: Finding) -> str:
    recall = finding.recall
    request = f"request {checked.conversation.process}-{recall.id}"
    at = f", answered by {recall.instance}" if recall.instance else ""
    verb = "lacks" if ANOMALIES[finding.anomaly].severity == "loss" else "lists"
    if finding.device is None or finding.seq is None:
        return f"First: {request}{at}, {verb} {_UNNAMED.get(finding.anomaly, 'it')}."
    owner = f" of user {finding.owner.user}, session {finding.owner.session}" if finding.owner else ""
    where = f" ({finding.position or finding.detail})" if finding.position or finding.detail else ""
    return f"First: {request}{at}, {verb} message {finding.seq} by {finding.device}{owner}{where}."
