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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from analysis.early import expired_early
from analysis.elements import level, unsound
from analysis.fates import Fate, fates
from analysis.finding import REJECTED, TORN_TURN, Finding
from analysis.guarantees import Seen, guarantee, torn, turns_of
from analysis.listed import Listed, Sent, extra_tokens, numbered, read_list, read_plain_list, read_sent
from analysis.order import Orders
from analysis.record import Conversation, Doubt
from analysis.tail import Tail
from analysis.touches import expiry_of
from goldfish.contract import Contract
from goldfish.rule import Delete, Excess, Judgement, Message, Terms, excess, judge, judge_search, reordered, terms_of
from goldfish.rule import Recall as Answered

__all__ = ["REJECTED", "Checked", "Finding", "Known", "check", "level"]


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
    terms: Terms
    """What it was judged by."""
    dumps: list[Listed]
    """What its store was seen to hold when all was quiet; evidence for causes, and not judged."""
    recalls_checked: int = field(init=False)
    """Recalls in which something was due, so a loss could have been seen."""
    recalls_lossy: int = field(init=False)
    """Recalls that prove a loss."""

    def __post_init__(self) -> None:
        self.recalls_checked = sum([entry.judgement.checked for entry in self.listed])
        self.recalls_lossy = sum([entry.judgement.lossy for entry in self.listed])

    def sent_of(self, message: Message) -> Sent:
        """The append that carried a message of this conversation."""
        return self.sent[message.device, message.seq]


class Known(NamedTuple):
    """What is proven already of a conversation in which nothing but losses can be found.

    Nothing contradicts in it, and no list holds a message twice, or one that was not sent.
    """

    judgements: Mapping[int, Judgement]
    """By line: recalls that are sound, or of which nothing is owed."""


def check(
    conversation: Conversation,
    contract: Contract,
    company: Sequence[Conversation] = (),
    known: Known | None = None,
) -> Checked:
    """Judge one conversation under a contract.

    Args:
        conversation: the conversation.
        contract: what is promised.
        company: all conversations of the same user, for contracts by which a user's memory expires as a whole.
        known: what ``analysis.proof`` has proven of it; nothing else is looked for then.
    """
    terms = terms_of(contract)
    sent = read_sent(conversation, contract)
    recalls = [(line, row) for line, row in conversation.recalls if row.outcome == "ok"]
    if known is None:
        answered = [read_list(line, row, sent) for line, row in recalls]
    else:
        messages = numbered(sent)
        answered = [read_plain_list(line, row, messages) for line, row in recalls]
    listed = [entry for entry in answered if entry.row.view != "store"]
    dumps = [entry for entry in answered if entry.row.view == "store"]
    listed.sort(key=lambda entry: (entry.row.end_ns, entry.line))
    _note_shown(listed, sent)
    doubt = None
    if known is None:
        doubt = conversation.doubt or _from_the_future(listed, sent) or _not_promised(conversation, contract)
    too_much: dict[int, list[Excess]] = {}
    if doubt is None:
        too_much = _judge(conversation, contract, sent, listed, company, known)
    findings: list[Finding] = []
    orders = Orders(terms)
    lossy = any(entry.judgement.missing for entry in listed)
    seen = Seen(listed)
    turns = turns_of(sent) if lossy else {}
    early = expired_early(conversation, listed, terms, company) if lossy and terms.ttl_ns is not None else []
    for entry in listed:
        if entry.judgement.lossy:
            findings += _missing(entry, seen, turns, terms)
        if known is None:
            findings += [finding for finding in early if finding.line == entry.line]
            findings += unsound(entry, sent, contract)
        findings += [_excess(entry, wrong) for wrong in too_much.get(entry.line, ())]
        if known is not None or entry.search:  # in order already, or by relevance and in no order
            continue
        opposed = orders.contradicts(entry.shown, entry.row.start_ns)  # always asked: it takes the list in
        if opposed or (doubt is None and reordered(entry.shown, terms)):
            findings.append(Finding(entry.line, entry.row, "reordered"))
    ends = fates([s.message for s in sent.values()], listed)
    return Checked(conversation, sent, listed, findings, ends, doubt, terms, dumps)


def _note_shown(listed: Sequence[Listed], sent: Mapping[tuple[str, int], Sent]) -> None:
    """What a recall shows was stored by its end; if only refused attempts had been made by then, one of them did it."""
    for entry in listed:
        end_ns = entry.row.end_ns
        for message in entry.shown:
            if message.shown_ns <= end_ns:  # as an earlier list did; they come in the order of their ends
                continue
            message.shown_ns = end_ns
            if end_ns < message.sent_ns:
                tried = sent[message.device, message.seq].tried
                message.sent_ns = tried.start_ns
                message.batch = tried.id
                message.place = next(at for at, said in enumerate(tried.messages) if said.seq == message.seq)


def _from_the_future(listed: Sequence[Listed], sent: Mapping[tuple[str, int], Sent]) -> Doubt | None:
    for entry in listed:
        for message in entry.shown:
            if message.sent_ns > entry.row.end_ns:
                return Doubt(
                    "clocks",
                    f"the recall on line {entry.line} ended at {entry.row.end_ns} ns and lists message {message.seq} "
                    f"by {message.device}, which was sent at {sent[message.device, message.seq].sent_ns} ns",
                )
    return None


def _not_promised(conversation: Conversation, contract: Contract) -> Doubt | None:
    if conversation.scope is None or conversation.scope in contract.scope:
        return None
    return Doubt("not-promised", f"it is recalled by {conversation.scope}, which the contract's scope leaves out")


def _judge(
    conversation: Conversation,
    contract: Contract,
    sent: Mapping[tuple[str, int], Sent],
    listed: Sequence[Listed],
    company: Sequence[Conversation],
    known: Known | None,
) -> dict[int, list[Excess]]:
    """Set the judgement of every recall, now that all is known; returns by line what is listed too much."""
    terms = terms_of(contract)
    messages = sorted((s.message for s in sent.values()), key=lambda message: message.sent_ns)
    stamps = [message.sent_ns for message in messages]
    deletes = [
        Delete(row.session or "", row.start_ns, row.end_ns, row.outcome == "ok")
        for _, row in conversation.deletes
        if row.outcome != "fail"
    ]
    expiry = expiry_of(conversation, listed, terms, company)
    tail = Tail(messages, terms) if not deletes and expiry is None else None
    too_much: dict[int, list[Excess]] = {}
    for entry in listed:
        if known is not None and entry.line in known.judgements:
            entry.judgement = known.judgements[entry.line]
            continue
        row = entry.row
        bound = terms.capacity(row.limit, search=entry.search)
        answered = Answered(row.start_ns, row.end_ns, bound, row.length, entry.shown, search=entry.search)
        if terms.tokens is not None:
            answered = answered._replace(damaged=entry.damaged, extra_tokens=extra_tokens(entry, contract))
        if entry.search:
            sent_by_then = messages[: bisect_right(stamps, row.end_ns)]
            asked = {sent[device, seq].message for device, seq in row.asked if (device, seq) in sent}
            answers = sum(m in asked for m in entry.own)
            entry.judgement = judge_search(answered, asked, answers, sent_by_then, terms, deletes, expiry)
        elif tail is not None:
            entry.judgement = tail.judge(answered)
        else:
            sent_by_then = messages[: bisect_right(stamps, row.end_ns)]
            entry.judgement = judge(answered, sent_by_then, terms, deletes, expiry)
        if known is None:
            too_much[entry.line] = excess(answered, messages, terms, deletes, expiry)
    return too_much


def _missing(
    entry: Listed,
    seen: Seen,
    turns: Mapping[tuple[str, int], Sequence[Message]],
    terms: Terms,
) -> list[Finding]:
    """The findings of a lossy recall."""
    judgement = entry.judgement
    anomaly = "unretrieved" if entry.search else "missing"
    if not judgement.missing:
        return [Finding(entry.line, entry.row, anomaly, position=None if entry.search else "unplaced")]
    shown = set(entry.shown)
    return [
        Finding(
            entry.line,
            entry.row,
            anomaly,
            message,
            None if entry.search else position,
            guarantee(message, entry, seen, terms),
            TORN_TURN if not entry.search and torn(message, shown, turns) else None,
            device=message.device,
            seq=message.seq,
        )
        for message, position in judgement.missing
    ]


def _excess(entry: Listed, wrong: Excess) -> Finding:
    message = wrong.message
    if message is None:
        return Finding(entry.line, entry.row, wrong.anomaly)
    return Finding(entry.line, entry.row, wrong.anomaly, message, device=message.device, seq=message.seq)
