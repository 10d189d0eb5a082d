"""Judges one conversation: what does each recall prove?

The swarm judged every recall at the moment it completed. Here the same rule (``goldfish.rule``) is applied once more,
with *final* knowledge: which appends were acknowledged in the end, and which indeterminate ones turned up later.
Nothing that happens later changes whether a recall was checked or lossy, so live and final counts must agree; that is
tested in every run.

Beside what is missing there is what should not be there: second copies, impossible orders, altered contents, messages
of others, and messages that nobody stored. These need no knowledge of what else was sent, so they are reported even
where a conversation is incomplete and its losses cannot be judged.

No pandas here: the command imports this module to show a single conversation.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.fates import Fate, fates
from analysis.listed import Listed, Sent, read_list, read_sent
from analysis.order import Orders
from analysis.record import Conversation, Doubt
from goldfish.contract import Contract
from goldfish.oplog import Owner, Recall
from goldfish.rule import NEVER, Delete, Message, capacity, judge, reordered
from goldfish.rule import Recall as Answered

FirstSeen = dict[tuple[str, Message], int]

REJECTED = "rejected"
"""Detail of a phantom whose append was refused."""


@dataclass(slots=True)
class Finding:
    """One proven anomaly, seen by one recall; see ``analysis.findings`` for the table it becomes."""

    line: int
    recall: Recall
    anomaly: str
    message: Message | None = None
    """The message it names, where that is one of this conversation."""
    position: str | None = None
    guarantee: str | None = None
    detail: str | None = None
    """corrupted: truncated, altered, role · foreign: session, user, tenant · phantom: rejected, other-run, unmarked."""
    owner: Owner | None = None
    device: str | None = None
    """The author's device and number, where a message is named, be it of this conversation or of another."""
    seq: int | None = None

    @property
    def zero_tolerance(self) -> bool:
        """Whether this one case fails the run: a leak, an altered content, or a rejected message that was stored."""
        return self.anomaly in ("foreign", "corrupted") or self.detail == REJECTED


@dataclass(slots=True)
class Checked:
    """One conversation, judged."""

    conversation: Conversation
    sent: dict[tuple[str, int], Sent]
    listed: list[Listed]
    """Every ok recall in the order of their ends."""
    findings: list[Finding]
    """In the order of ``listed``."""
    fates: dict[Message, Fate]
    doubt: Doubt | None
    """Why its losses were not judged; None if they were."""

    @property
    def recalls_checked(self) -> int:
        """Recalls in which something was due, so a loss could have been seen."""
        return sum(entry.judgement.checked for entry in self.listed)

    @property
    def recalls_lossy(self) -> int:
        """Recalls that prove a loss."""
        return sum(entry.judgement.lossy for entry in self.listed)

    def sent_of(self, message: Message) -> Sent:
        """The append that carried a message of this conversation."""
        return self.sent[message.device, message.seq]


def check(conversation: Conversation, contract: Contract) -> Checked:
    """Judge one conversation under a contract."""
    sent = read_sent(conversation)
    listed = [read_list(line, row, sent) for line, row in conversation.recalls if row.outcome == "ok"]
    listed.sort(key=lambda entry: (entry.row.end_ns, entry.line))
    for entry in listed:
        for message in entry.shown:
            if entry.row.end_ns < message.shown_ns:
                message.shown_ns = entry.row.end_ns
    doubt = conversation.doubt or _from_the_future(listed) or _not_promised(conversation, contract)
    if doubt is None:
        _judge(conversation, contract, sent, listed)
    findings: list[Finding] = []
    orders = Orders()
    seen = _first_seen(listed) if any(entry.judgement.missing for entry in listed) else {}
    for entry in listed:
        findings += _missing(entry, seen)
        findings += _unsound(entry, contract)
        opposed = orders.contradicts(entry.shown)  # always asked: it takes the list in
        if opposed or (doubt is None and reordered(entry.shown)):
            findings.append(Finding(entry.line, entry.row, "reordered"))
    return Checked(conversation, sent, listed, findings, fates([s.message for s in sent.values()], listed), doubt)


def _from_the_future(listed: Sequence[Listed]) -> Doubt | None:
    for entry in listed:
        for message in entry.shown:
            if message.sent_ns > entry.row.end_ns:
                return Doubt(
                    "clocks",
                    f"the recall on line {entry.line} ended at {entry.row.end_ns} ns and lists message {message.seq} "
                    f"by {message.device}, which was sent at {message.sent_ns} ns",
                )
    return None


def _not_promised(conversation: Conversation, contract: Contract) -> Doubt | None:
    if conversation.scope is None or conversation.scope in contract.scope:
        return None
    return Doubt("not-promised", f"it is recalled by {conversation.scope}, which the contract's scope leaves out")


def _judge(
    conversation: Conversation,
    contract: Contract,
    sent: dict[tuple[str, int], Sent],
    listed: Sequence[Listed],
) -> None:
    """Set the judgement of every recall, now that all is known."""
    messages = sorted((s.message for s in sent.values()), key=lambda message: message.sent_ns)
    stamps = [message.sent_ns for message in messages]
    deletes = [
        Delete(row.session or "", row.start_ns, row.end_ns, row.outcome == "ok")
        for _, row in conversation.deletes
        if row.outcome != "fail"
    ]
    for entry in listed:
        row = entry.row
        bound = capacity(contract.window.messages, row.limit)
        answered = Answered(row.start_ns, row.end_ns, bound, row.length, entry.shown)
        sent_by_then = messages[: bisect_right(stamps, row.end_ns)]
        entry.judgement = judge(answered, sent_by_then, contract.visibility_ns, deletes)


def _missing(entry: Listed, seen: FirstSeen) -> list[Finding]:
    judgement = entry.judgement
    if judgement.lossy and not judgement.missing:
        return [Finding(entry.line, entry.row, "missing", position="unplaced")]
    return [
        Finding(
            entry.line,
            entry.row,
            "missing",
            message,
            position,
            _guarantee(message, entry.row, seen),
            device=message.device,
            seq=message.seq,
        )
        for message, position in judgement.missing
    ]


def _first_seen(listed: Sequence[Listed]) -> FirstSeen:
    """When each device first saw each message: the earliest end of a recall that shows it."""
    seen: FirstSeen = {}
    for entry in listed:  # in the order of their ends
        for message in entry.shown:
            seen.setdefault((entry.row.device, message), entry.row.end_ns)
    return seen


def _guarantee(message: Message, row: Recall, seen: FirstSeen) -> str | None:
    """The session guarantee that the reading device certainly lost; the others are not told apart here."""
    if message.device == row.device and message.acked_ns < row.start_ns:
        return "read-your-writes"
    if seen.get((row.device, message), NEVER) < row.start_ns:
        return "monotonic-reads"
    return None


def _unsound(entry: Listed, contract: Contract) -> list[Finding]:
    """Second copies, altered contents, messages of others, and messages that nobody stored."""
    findings: list[Finding] = []
    line, row = entry.line, entry.row
    if len(entry.own) > len(entry.shown):
        copies = Counter(entry.own)
        findings += [
            Finding(line, row, "duplicated", message, device=message.device, seq=message.seq)
            for message in entry.shown
            if copies[message] > 1
        ]
    for odd in sorted(row.odd, key=lambda element: element.at):
        if odd.why == "unmarked" and contract.unmarked == "allow":
            continue
        finding = Finding(line, row, "phantom", detail=odd.why)
        if odd.why == "corrupted":
            named = next((m for m in entry.shown if m.device == odd.device and m.seq == odd.seq), None)
            finding = Finding(line, row, "corrupted", named, detail=odd.kind, device=odd.device, seq=odd.seq)
        elif odd.why == "foreign" and odd.owner is not None:
            far = level(row, odd.owner)
            finding = Finding(line, row, "foreign", detail=far, owner=odd.owner, device=odd.device, seq=odd.seq)
        findings.append(finding)
    findings += [
        Finding(line, row, "phantom", message, detail=REJECTED, device=message.device, seq=message.seq)
        for message in entry.shown
        if message.failed
    ]
    return findings


def level(recall: Recall, owner: Owner) -> str:
    """How far a foreign message came: from another session, user or tenant."""
    if owner.tenant != recall.tenant:
        return "tenant"
    return "session" if owner.user == recall.user else "user"
