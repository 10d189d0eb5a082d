"""The product's answers on a history: the analyzer's at the end, and the swarm's as it would have been live."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from analysis.check import Checked
from analysis.check import check as check_conversation
from analysis.record import Conversation
from goldfish import oplog
from goldfish.contract import Contract, Window
from goldfish.token import Person, Token
from stress.conversation import check
from stress.conversation.ledger import Entry, Ledger
from stress.targets.reference import Item

from .histories import Append, Delete, Foreign, History, Op, OtherRun, Own, Recall
from .oracle import Finding

ADA = Person("aaaaaa", 0, 1)
BEN = Person("aaaaaa", 0, 2)
EARLIER = Person("zzzzzz", 0, 1)


@dataclass(slots=True)
class Answer:
    """What the analyzer reports, in the oracle's terms."""

    checked: set[int] = field(default_factory=set)
    lossy: set[int] = field(default_factory=set)
    missing: set[tuple[int, int, int, str]] = field(default_factory=set)
    unnamed: set[int] = field(default_factory=set)
    other: set[Finding] = field(default_factory=set)
    fate: dict[tuple[int, int], str] = field(default_factory=dict)
    doubted: bool = False


def contract_of(history: History) -> Contract:
    """The contract in the product's form."""
    return Contract(
        window=Window(messages=history.contract.window),
        visibility_ms=history.contract.visibility_ns / 1e6,
        unmarked=history.contract.unmarked,
    )


def device_name(device: int) -> str:
    """Devices have numbers there and names here."""
    return f"d{device}"


def conversation_of(history: History) -> Conversation:
    """The op-log rows that the swarm would have written; the line of a row is its operation's number."""
    conversation = Conversation("c", "w0", Path("w0.jsonl"), "scenario", None, ADA.id, scope=history.scope)
    for number, op in enumerate(history.ops):
        shared = {
            "id": number,
            "scenario": "scenario",
            "user": ADA.id,
            "conversation": "c",
            "device": device_name(op.device),
            "start_ns": op.start_ns,
            "end_ns": op.end_ns,
            "outcome": op.outcome,
        }
        if isinstance(op, Append):
            said = [oplog.Said(seq=m.seq, turn=0, role=m.role, text=m.text, bytes=0) for m in op.messages]
            sessions = {m.session for m in op.messages}
            assert len(sessions) == 1, "an append goes to one session"
            row = oplog.Append(**shared, messages=said, session=str(sessions.pop()))
            conversation.appends.append((number, row))
        elif isinstance(op, Delete):
            sessions = {m.session for a in history.ops if isinstance(a, Append) for m in a.messages}
            for session in sessions if op.session is None else {op.session}:
                conversation.deletes.append((number, oplog.Delete(**shared, session=str(session))))
        else:
            intact = [(device_name(i.device), i.seq) for i in op.items if isinstance(i, Own) and i.content == "intact"]
            conversation.recalls.append(
                (
                    number,
                    oplog.Recall(
                        **shared,
                        phase=op.phase,
                        view=history.scope,
                        session=None if history.scope == "user" else "0",
                        limit=op.limit,
                        seen=oplog.encode_runs(intact),
                        odd=[odd for at, i in enumerate(op.items) if (odd := _odd(at, i)) is not None],
                    ),
                )
            )
    return conversation


def _odd(at: int, item: object) -> oplog.Odd | None:
    if isinstance(item, Own):
        if item.content == "intact":
            return None
        return oplog.Odd(at=at, why="corrupted", kind=item.content, device=device_name(item.device), seq=item.seq)
    if isinstance(item, Foreign):
        owner = oplog.Owner(
            tenant="elsewhere" if item.owner == "tenant" else None,
            user=BEN.id if item.owner == "user" else ADA.id,
            session="9",
            conversation="other",
        )
        return oplog.Odd(at=at, why="foreign", owner=owner)
    return oplog.Odd(at=at, why="other-run" if isinstance(item, OtherRun) else "unmarked")


def analyzed(history: History) -> Answer:
    """The analyzer's verdict."""
    result: Checked = check_conversation(conversation_of(history), contract_of(history))
    answer = Answer(doubted=result.doubt is not None)
    for entry in result.listed:
        if entry.judgement.checked:
            answer.checked.add(entry.line)
        if entry.judgement.lossy:
            answer.lossy.add(entry.line)
    for finding in result.findings:
        key = (int(finding.device[1:]), finding.seq) if finding.device is not None and finding.message else (None, None)
        if finding.anomaly != "missing":
            answer.other.add((finding.line, finding.anomaly, *key))
        elif finding.message is None:
            answer.unnamed.add(finding.line)
        else:
            answer.missing.add((finding.line, *key, finding.position))
    answer.fate = {(int(m.device[1:]), m.seq): str(fate.name) for m, fate in result.fates.items()}
    return answer


def live(history: History) -> tuple[set[int], set[int]] | None:
    """Checked and lossy recalls as the swarm counts them while the operations happen.

    None where the swarm would not come to know such a history: sessions are deleted after the last recall only, and
    nothing is listed before it is sent.
    """
    if any(isinstance(op, Delete) for op in history.ops):
        return None
    ledger = Ledger(ADA, history.scope, contract=contract_of(history))
    checked: set[int] = set()
    lossy: set[int] = set()
    said: dict[int, list[Entry]] = {}
    known: dict[tuple[int, int], Entry] = {}
    events = sorted(
        [(op.start_ns, 0, number) for number, op in enumerate(history.ops)]
        + [(op.end_ns, 1, number) for number, op in enumerate(history.ops)]
    )
    for _, ending, number in events:
        op: Op = history.ops[number]
        if isinstance(op, Append):
            if ending:
                ledger.end(said[number], op.outcome, op.end_ns)
            else:
                said[number] = _begin(ledger, op, known)
        elif isinstance(op, Recall) and ending and op.outcome == "ok":
            items = [_item(known, item) for item in op.items]
            if None in items:
                return None
            bound = ledger.terms.capacity(op.limit)
            listing = check.match(ledger, [item for item in items if item], bound)
            check.note_shown(ledger, listing, op.end_ns)

            def judge(op: Recall = op, number: int = number, listing: check.Listing = listing) -> None:
                bound = ledger.terms.capacity(op.limit)
                finding = check.judge(ledger, listing, op.start_ns, op.end_ns, bound)
                checked.update({number} if finding.checked else ())
                lossy.update({number} if finding.lossy else ())

            ledger.when_settled(judge)
    return checked, lossy


def _begin(ledger: Ledger, op: Append, known: dict[tuple[int, int], Entry]) -> list[Entry]:
    messages = [(m.role, m.text) for m in op.messages]
    said = ledger.begin(device_name(op.device), op.messages[0].session, messages, op.start_ns)
    for entry, message in zip(said, op.messages, strict=True):
        known[op.device, message.seq] = entry  # found again by the history's own number
    return said


def _item(known: dict[tuple[int, int], Entry], item: object) -> Item | None:
    if isinstance(item, Own):
        entry = known.get((item.device, item.seq))
        if entry is None:
            return None
        text = {"truncated": entry.content[:-1], "altered": entry.content + "!"}.get(item.content, entry.content)
        return Item(entry.token, "other" if item.content == "role" else entry.role, text)
    if isinstance(item, Foreign):
        return Item(str(Token(BEN, "session", 0, "d0", 0)), "user", "")
    return Item(str(Token(EARLIER, "session", 0, "d0", 0)) if isinstance(item, OtherRun) else "", "user", "hello")
