"""Counts per scenario: recalls and harm by user, messages by fate, findings by class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from operator import attrgetter

import numpy as np

from analysis.check import Checked
from analysis.fates import LOST, UNCHECKED, FateName
from analysis.proof.features import Mask
from analysis.proof.proven import Proven

User = tuple[str, str]
"""Tenant ("" for the default one) and user: the cluster of all rates."""


@dataclass(slots=True)
class UserCounts:
    """What one user went through in one scenario; ``analysis.users`` writes these in this order."""

    checked: int = 0
    """Checked recalls."""
    lossy: int = 0
    seen: int = 0
    """Conversations with a checked recall or a finding."""
    harmed: int = 0
    """Conversations with a finding."""
    messages: int = 0
    """Checked messages: shown in, or missing from, some recall."""
    lost: int = 0
    """Of them, those that are missing to the end."""


in_order = attrgetter(*(each.name for each in fields(UserCounts)))
"""The counts of a user as a tuple."""


@dataclass(slots=True)
class ScenarioCounts:
    """One scenario."""

    users: dict[User, UserCounts] = field(default_factory=dict)
    fates: Counter[str] = field(default_factory=Counter)
    surfaced: int = 0
    """Messages shown although they were rejected or never acknowledged."""
    unsettled: int = 0
    """Messages without an ok final recall after them, or indeterminate; rejected ones are settled."""
    delays_ms: list[float] = field(default_factory=list)
    """Of stale messages: from the acknowledgement until first shown."""
    still_missing_ms: list[float] = field(default_factory=list)
    """Of stale messages: from the acknowledgement to the start of each recall that lacked them."""
    final_recalls: int = 0
    """Ok final recalls."""
    findings: Counter[str] = field(default_factory=Counter)
    harmed_by: Counter[str] = field(default_factory=Counter)
    """Conversations with a finding of a class."""
    zero_tolerance: Counter[str] = field(default_factory=Counter)
    """Findings that fail the run each: foreign, corrupted, rejected-yet-shown."""

    def merge(self, other: ScenarioCounts) -> None:
        """Take in the same scenario of another share."""
        for name, theirs in other.users.items():
            ours = self.users.setdefault(name, UserCounts())
            ours.checked += theirs.checked
            ours.lossy += theirs.lossy
            ours.seen += theirs.seen
            ours.harmed += theirs.harmed
            ours.messages += theirs.messages
            ours.lost += theirs.lost
        self.fates += other.fates
        self.surfaced += other.surfaced
        self.unsettled += other.unsettled
        self.delays_ms += other.delays_ms
        self.still_missing_ms += other.still_missing_ms
        self.final_recalls += other.final_recalls
        self.findings += other.findings
        self.harmed_by += other.harmed_by
        self.zero_tolerance += other.zero_tolerance


class Counts:
    """All scenarios by name."""

    def __init__(self) -> None:
        self.scenarios: dict[str, ScenarioCounts] = {}

    def scenario(self, name: str) -> ScenarioCounts:
        """The counts of a scenario; new ones are empty."""
        return self.scenarios.setdefault(name, ScenarioCounts())

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        conversation = checked.conversation
        counts = self.scenario(conversation.scenario)
        recalls = checked.recalls_checked
        user = counts.users.setdefault((conversation.tenant or "", conversation.user), UserCounts())
        user.checked += recalls
        user.lossy += checked.recalls_lossy
        user.seen += bool(checked.findings or recalls)
        user.harmed += bool(checked.findings)
        counts.final_recalls += sum(entry.row.phase == "final" for entry in checked.listed)
        self._messages(counts, user, checked)
        self._findings(counts, checked)

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        checked = np.bincount(proven.recall_conversation[proven.checked], minlength=proven.size).tolist()
        shown = np.bincount(proven.message_conversation[proven.shown], minlength=proven.size).tolist()
        each = zip(proven.scenario.tolist(), proven.users, checked, shown, strict=True)
        for scenario, name, recalls, messages in each:
            user = self.scenario(proven.scenarios[scenario]).users.setdefault(name, UserCounts())
            user.checked += recalls
            user.seen += bool(recalls)
            user.messages += messages
        final = np.array([manner.phase == "final" for manner in proven.manners], bool)[proven.read]
        final_ns = np.full(proven.size, -1)
        np.maximum.at(final_ns, proven.recall_conversation[final], proven.start[final])
        surfaced = proven.shown & ~proven.acknowledged
        indeterminate = ~proven.shown & ~proven.rejected & ~proven.acknowledged
        unsettled = indeterminate | (
            (proven.shown | ~proven.rejected) & (proven.ended >= final_ns[proven.message_conversation])
        )
        fates: dict[FateName, Mask] = {
            "ok": proven.shown,
            "rejected": ~proven.shown & proven.rejected,
            "unchecked": ~proven.shown & proven.acknowledged,
            "indeterminate": indeterminate,
        }
        scenario_of_message = proven.scenario[proven.message_conversation]
        scenario_of_recall = proven.scenario[proven.recall_conversation]
        for number, called in enumerate(proven.scenarios):
            counts = self.scenario(called)
            own = scenario_of_message == number
            for fate, its in fates.items():
                counts.fates[fate] += int((own & its).sum())
            counts.surfaced += int((own & surfaced).sum())
            counts.unsettled += int((own & unsettled).sum())
            counts.final_recalls += int((final & (scenario_of_recall == number)).sum())

    def merge(self, other: Counts) -> None:
        """Take in another share."""
        for name, theirs in other.scenarios.items():
            self.scenario(name).merge(theirs)

    @staticmethod
    def _messages(counts: ScenarioCounts, user: UserCounts, checked: Checked) -> None:
        fates = checked.fates.values()
        for name, number in Counter([fate.name for fate in fates]).items():
            counts.fates[name] += number
            user.messages += number if name not in UNCHECKED else 0
            user.lost += number if name in LOST else 0
            counts.unsettled += number if name == "indeterminate" else 0
        counts.surfaced += sum([fate.surfaced for fate in fates])
        counts.delays_ms += [fate.delay_ns / 1e6 for fate in fates if fate.delay_ns is not None]
        final_ns = max((entry.row.start_ns for entry in checked.listed if entry.row.phase == "final"), default=-1)
        if final_ns <= max([row.end_ns for _, row in checked.conversation.appends], default=-1):
            # The final recalls cannot tell what became of these.
            counts.unsettled += sum(
                fate.name not in ("rejected", "indeterminate") and checked.sent_of(message).append.end_ns >= final_ns
                for message, fate in checked.fates.items()
            )

    @staticmethod
    def _findings(counts: ScenarioCounts, checked: Checked) -> None:
        for finding in checked.findings:
            counts.findings[finding.anomaly] += 1
            if finding.zero_tolerance:
                code = "rejected-yet-shown" if finding.anomaly == "phantom" else finding.anomaly
                counts.zero_tolerance[code] += 1
            message = finding.message
            if finding.anomaly == "missing" and message and checked.fates[message].delay_ns is not None:
                counts.still_missing_ms.append((finding.recall.start_ns - message.acked_ns) / 1e6)
        counts.harmed_by.update({finding.anomaly for finding in checked.findings})
