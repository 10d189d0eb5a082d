"""The circumstances of what should not have been listed: copies, inversions, changed contents, messages of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from analysis.check import Checked
from analysis.finding import AFTER_A_RETRY, Finding
from analysis.symptoms.scale import bin_of
from goldfish.rule import NEVER, Message, reordered


class Copy(NamedTuple):
    """A message that was listed more than once."""

    scenario: str
    resent: bool
    """It was sent in more than one attempt."""


class Inversion(NamedTuple):
    """Two messages that stamps order, listed the other way round."""

    scenario: str
    one_append: bool
    one_device: bool
    one_instance: bool
    apart: int
    """Bin of the time between their acknowledgements."""


class Change(NamedTuple):
    """A message that was listed with another content."""

    scenario: str
    how: str
    """truncated · altered · role"""
    size: int
    """Number of bits of its length in bytes; 0 if it is not in the record."""
    ascii: bool
    role: str


class Leak(NamedTuple):
    """A message of another conversation that was listed."""

    scenario: str
    level: str
    """session · user · tenant"""
    read_by: str | None


class Leaky(NamedTuple):
    """A conversation that listed messages of others."""

    scenario: str
    since: int
    """Its lists from the first one that holds a foreign message."""
    holding: int
    """Those of them that hold one."""
    alike: bool
    """A foreign message is of another user or tenant, and of a session with the id of one of its own."""


class Overrun(NamedTuple):
    """A list that was longer than it may be."""

    scenario: str
    asked: bool
    """It had more messages than the request asked for, and not only more than the contract allows."""
    length: int
    """Its messages, each once."""


class Disorder:
    """Findings that are not losses, by circumstance."""

    def __init__(self) -> None:
        self.copies: Counter[Copy] = Counter()
        self.inversions: Counter[Inversion] = Counter()
        self.unordered: Counter[str] = Counter()
        """By scenario: lists that contradict another list, where no stamps tell which one is wrong."""
        self.changes: Counter[Change] = Counter()
        self.leaks: Counter[Leak] = Counter()
        self.leaky: Counter[Leaky] = Counter()
        self.phantoms: Counter[tuple[str, str]] = Counter()
        """By scenario and kind: rejected · other-run · unmarked."""
        self.overruns: Counter[Overrun] = Counter()

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        if not checked.findings:
            return
        scenario = checked.conversation.scenario
        lists = {entry.line: entry for entry in checked.listed}
        for finding in checked.findings:
            if finding.anomaly == "duplicated":
                self.copies[Copy(scenario, finding.detail == AFTER_A_RETRY)] += 1
            elif finding.anomaly == "reordered":
                inversion = _inversion(checked, lists[finding.line].shown) if checked.doubt is None else None
                if inversion is None:
                    self.unordered[scenario] += 1
                else:
                    self.inversions[inversion] += 1
            elif finding.anomaly == "corrupted":
                self.changes[_change(checked, finding)] += 1
            elif finding.anomaly == "foreign":
                self.leaks[Leak(scenario, finding.detail or "session", finding.recall.instance)] += 1
            elif finding.anomaly == "phantom":
                self.phantoms[scenario, finding.detail or ""] += 1
            elif finding.anomaly == "window overrun":
                length, limit = len(lists[finding.line].shown), finding.recall.limit
                self.overruns[Overrun(scenario, limit is not None and length > limit, length)] += 1

        foreign = [finding for finding in checked.findings if finding.anomaly == "foreign"]
        if foreign:
            self.leaky[_leaky(checked, foreign)] += 1

    def merge(self, other: Disorder) -> None:
        """Take in another share."""
        for name, numbers in vars(self).items():
            numbers.update(vars(other)[name])


def _leaky(checked: Checked, foreign: Sequence[Finding]) -> Leaky:
    lines = {finding.line for finding in foreign}
    holding = [entry.line in lines for entry in checked.listed]
    sessions = {row.session for _, row in checked.conversation.appends}
    sessions |= {entry.row.session for entry in checked.listed}
    alike = any(
        finding.detail != "session" and finding.owner is not None and finding.owner.session in sessions
        for finding in foreign
    )
    return Leaky(checked.conversation.scenario, len(holding) - holding.index(True), sum(holding), alike)


def _inversion(checked: Checked, shown: Sequence[Message]) -> Inversion | None:
    pair = reordered(shown, checked.terms)
    if pair is None:
        return None
    later, earlier = (checked.sent_of(message) for message in pair)
    known = later.message.acked_ns < NEVER and earlier.message.acked_ns < NEVER
    return Inversion(
        checked.conversation.scenario,
        later.append.id == earlier.append.id,
        later.append.device == earlier.append.device,
        later.append.instance == earlier.append.instance,
        bin_of(abs(later.message.acked_ns - earlier.message.acked_ns)) if known else 0,
    )


def _change(checked: Checked, finding: Finding) -> Change:
    sent = checked.sent.get((finding.device or "", finding.seq if finding.seq is not None else -1))
    return Change(
        checked.conversation.scenario,
        finding.detail or "altered",
        sent.said.bytes.bit_length() if sent else 0,
        sent.said.text.isascii() if sent else True,
        sent.said.role if sent else "",
    )
