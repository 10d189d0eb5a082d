"""The worst conversations, as evidence: what was owed beside what was shown, and a sentence."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

from analysis.check import Checked, level
from analysis.listed import Listed, Sent, named, spoken
from analysis.report.model import Mark, Owed, Row, Shown, WorstConversation
from analysis.sums.gravest import Gravest
from goldfish.oplog import Odd, listing
from goldfish.rule import NEVER, Message, reordered

NOT_OWED_MAX = 100
"""Messages that a recall neither showed nor owed, kept for context: the latest ones."""


WORST = 8
"""Conversations shown."""


def worst_conversations(gravest: Gravest, start_ns: int, directory: Path) -> list[WorstConversation]:
    """The conversations with the gravest findings, of every scenario and class first one."""
    return [_evidence(checked, start_ns, directory) for checked in gravest.conversations(WORST)]


def _evidence(checked: Checked, start_ns: int, directory: Path) -> WorstConversation:
    """The recall with the most findings stands for its conversation."""

    grave = Counter(finding.line for finding in checked.findings if finding.zero_tolerance)
    found = Counter(finding.line for finding in checked.findings)
    entry = max(checked.listed, key=lambda listed: (grave[listed.line], found[listed.line]))
    process = checked.conversation.process
    lost = [missing.message for missing in entry.judgement.missing]
    appends = dict.fromkeys(checked.sent_of(message).append.id for message in lost)
    return WorstConversation(
        scenario=checked.conversation.scenario,
        conversation=checked.conversation.name,
        user=checked.conversation.user,
        story=story(checked, entry, start_ns),
        request_ids=[f"{process}-{entry.row.id}", *(f"{process}-{id_}" for id_ in appends)],
        rows=_rows(checked, entry, start_ns),
        classes=sorted({finding.anomaly for finding in checked.findings}),
        command=shlex.join(["goldfish", "show", str(directory), checked.conversation.name]),
    )


def story(checked: Checked, entry: Listed, start_ns: int) -> str:
    """One recall in a sentence: who read when, what was owed since when, what came back."""
    row = entry.row
    answered = f"{row.instance} returned" if row.instance else "it returned"
    read = f"{row.device} read at {(row.start_ns - start_ns) / 1e9:.2f} s"
    lost = [missing.message for missing in entry.judgement.missing]
    oldest = min(lost, key=lambda message: message.acked_ns, default=None)
    if oldest is not None and oldest.acked_ns < NEVER:
        wrote = checked.sent_of(oldest).append.instance
        by = f" by {wrote}" if wrote else ""
        age = (row.start_ns - oldest.acked_ns) / 1e9
        since = f"{age:.2f} s after" if age >= 0 else "while"
        read += f", {since} {_name(oldest)} was acknowledged{by}"
    elif entry.judgement.lossy and not lost:
        read += ", and owed more than it got, though no single message can be named"
    listed = f"{row.length} element{'' if row.length == 1 else 's'}" if row.length else "nothing"
    sentence = f"{read}; {answered} {listed}"
    if lost:
        names = ", ".join(_name(message) for message in lost[:5])
        sentence += f", without {names}" + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
    others = dict.fromkeys(
        finding.anomaly for finding in checked.findings if finding.line == entry.line and finding.anomaly != "missing"
    )
    return f"{sentence}{', with ' + ', '.join(others) + ' elements' if others else ''}."


def _rows(checked: Checked, entry: Listed, start_ns: int) -> list[Row]:
    """The recalled list from top to bottom, with what is missing where it would stand."""
    lost = {missing.message for missing in entry.judgement.missing}
    first_copies = set(entry.shown)
    unshown = sorted(
        (
            sent.message
            for sent in checked.sent.values()
            if sent.message not in first_copies and sent.message.sent_ns <= entry.row.end_ns
        ),
        key=lambda message: (message.sent_ns, message.place),
    )
    kept = lost.union([message for message in unshown if message not in lost][-NOT_OWED_MAX:])
    waiting = [message for message in unshown if message in kept]
    inversion = reordered(entry.shown, checked.terms)
    rows: list[Row] = []
    seen: set[Message] = set()
    for element in listing(entry.row):
        copied = named(element, checked.sent)
        message = copied.message if copied else None
        if message is not None and message not in seen:
            while waiting and waiting[0].sent_ns < message.sent_ns:
                rows.append(_absent(checked, waiting.pop(0), lost, start_ns))
        rows.append(_present(checked, entry, element, message, message in seen, inversion, start_ns))
        if message is not None:
            seen.add(message)
    return rows + [_absent(checked, message, lost, start_ns) for message in waiting]


def _absent(checked: Checked, message: Message, lost: set[Message], start_ns: int) -> Row:
    return Row(mark="missing" if message in lost else "not-owed", owed=_owed(checked.sent_of(message), start_ns))


def _present(
    checked: Checked,
    entry: Listed,
    element: tuple[str, int] | Odd,
    message: Message | None,
    again: bool,
    inversion: tuple[Message, Message] | None,
    start_ns: int,
) -> Row:
    """One listed element."""
    owed = _owed(checked.sent_of(message), start_ns) if message else None
    if isinstance(element, Odd) and element.why == "corrupted":
        changed = Shown(kind="corrupted", text=spoken(element.text), detail=element.kind or "")
        return Row(mark="corrupted" if _found(checked, entry, element) else "ok", owed=owed, shown=changed)
    if isinstance(element, Odd) and element.why == "foreign" and not _found(checked, entry, element):
        return Row(mark="not-owed", shown=Shown(kind="unmarked", text=spoken(element.text), detail="allowed"))
    if isinstance(element, Odd) and element.owner is not None and element.why == "foreign":
        owner = element.owner
        whose = f"another {level(entry.row, owner)}: user {owner.user}, session {owner.session}"
        if owner.tenant is not None:
            whose += f", tenant {owner.tenant}"
        return Row(mark="foreign", shown=Shown(kind="foreign", text=spoken(element.text), detail=whose))
    if isinstance(element, Odd):
        if not any(found.line == entry.line and found.detail == element.why for found in checked.findings):
            return Row(mark="not-owed", shown=Shown(kind="unmarked", text=spoken(element.text), detail="allowed"))
        detail = "of another run" if element.why == "other-run" else "without a token"
        return Row(mark="phantom", shown=Shown(kind="unmarked", text=spoken(element.text), detail=detail))
    if message is None:
        return Row(mark="phantom", shown=Shown(kind="unmarked", text="", detail="its sending is not recorded"))
    if again:
        return Row(mark="duplicated", owed=owed, shown=Shown(kind="duplicate"))
    if message.failed:
        return Row(mark="phantom", owed=owed, shown=Shown(kind="same", detail="its append was refused"))
    mark: Mark = "reordered" if inversion and message in inversion else "ok"
    return Row(mark=mark, owed=owed, shown=Shown(kind="same"))


def _found(checked: Checked, entry: Listed, odd: Odd) -> bool:
    """Whether an element is a finding, and not what the contract declares."""
    return any(
        (found.line, found.anomaly, found.device, found.seq) == (entry.line, odd.why, odd.device, odd.seq)
        for found in checked.findings
    )


def _owed(sent: Sent, start_ns: int) -> Owed:
    acked_ns = sent.message.acked_ns
    return Owed(
        device=sent.message.device,
        seq=sent.message.seq,
        role=sent.said.role,
        text=spoken(sent.said.text),
        written_by=sent.append.instance,
        acknowledged_s=(acked_ns - start_ns) / 1e9 if acked_ns < NEVER else None,
    )


def _name(message: Message) -> str:
    return f"message {message.seq} by {message.device}"
