"""What a list holds that it should not: second copies, altered contents, messages of others, messages nobody stored.

These need no knowledge of what else was sent, so they are told even where a conversation is incomplete and its losses
cannot be judged. What the contract declares is no finding: elements of the memory's own, messages from a distance that
it does not keep apart, changes of a text, a resend stored again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from analysis.finding import AFTER_A_RETRY, REJECTED, Finding
from analysis.listed import Listed, Sent
from goldfish.content import declared
from goldfish.contract import Contract, Level
from goldfish.oplog import Odd, Owner, Recall
from goldfish.rule import Message, terms_of


def unsound(entry: Listed, sent: Mapping[tuple[str, int], Sent], contract: Contract) -> list[Finding]:
    """The findings of one recall."""
    findings = list(_duplicated(entry, sent, contract))
    for odd in sorted(entry.row.odd, key=lambda element: element.at):
        finding = _odd(entry, odd, sent, contract)
        if finding is not None:
            findings.append(finding)
    findings += [
        Finding(entry.line, entry.row, "phantom", message, detail=REJECTED, device=message.device, seq=message.seq)
        for message in entry.shown
        if _was_rejected(message, sent[message.device, message.seq], entry.row)
    ]
    return findings


def level(recall: Recall, owner: Owner) -> Level:
    """How far a foreign message came: from another session, user or tenant."""
    if owner.tenant != recall.tenant:
        return "tenant"
    return "session" if owner.user == recall.user else "user"


def _duplicated(entry: Listed, sent: Mapping[tuple[str, int], Sent], contract: Contract) -> Iterator[Finding]:
    if len(entry.own) == len(entry.shown):
        return
    terms = terms_of(contract)
    copies = Counter(entry.own)
    for message in entry.shown:
        if copies[message] > terms.copies(message):
            detail = AFTER_A_RETRY if sent[message.device, message.seq].attempts > 1 else None
            yield Finding(
                entry.line, entry.row, "duplicated", message, detail=detail, device=message.device, seq=message.seq
            )


def _odd(entry: Listed, odd: Odd, sent: Mapping[tuple[str, int], Sent], contract: Contract) -> Finding | None:
    """An element that is not simply the next own message."""
    line, row = entry.line, entry.row
    if odd.why == "corrupted":
        named = sent.get((odd.device or "", odd.seq if odd.seq is not None else -1))
        if named is not None and declared(odd, named.said.bytes, contract.content):
            return None
        message = named.message if named else None
        return Finding(line, row, "corrupted", message, detail=odd.kind, device=odd.device, seq=odd.seq)
    if odd.why == "foreign" and odd.owner is not None:
        far = level(row, odd.owner)
        if not contract.isolates(far) or (far == "session" and entry.search):  # a search spans all sessions of a user
            return None
        return Finding(line, row, "foreign", detail=far, owner=odd.owner, device=odd.device, seq=odd.seq)
    if odd.why == "unmarked" and contract.unmarked == "allow":
        return None
    return Finding(line, row, "phantom", detail=odd.why)


def _was_rejected(message: Message, sent: Sent, recall: Recall) -> bool:
    """Whether a listed message can only come from an attempt that was refused."""
    return message.failed or sent.tried.start_ns <= recall.end_ns < sent.sent_ns
