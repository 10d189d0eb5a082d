"""The product's answers on a history: the analyzer's at the end, and the swarm's as it would have been live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analysis.check import Checked
from analysis.check import check as check_conversation
from analysis.record import Conversation
from goldfish import contract as product
from goldfish import oplog
from goldfish.rule.expiry import TouchKind
from goldfish.token import Person, Token
from stress.conversation import check
from stress.conversation.ledger import Entry, Ledger
from stress.targets.outcome import Item

from .histories import (
    CHARS_PER_TOKEN,
    Append,
    Contract,
    Delete,
    Foreign,
    History,
    Message,
    Op,
    OtherRun,
    Own,
    Recall,
    Touch,
)
from .oracle import Finding

ADA = Person("aaaaaa", 0, 1)
BEN = Person("aaaaaa", 0, 2)
EARLIER = Person("zzzzzz", 0, 1)
TURN_OF_ITS_OWN = 1_000_000


@dataclass(slots=True)
class Answer:
    """What the analyzer reports, in the oracle's terms."""

    checked: set[int] = field(default_factory=set)
    lossy: set[int] = field(default_factory=set)
    missing: set[tuple[int, int, int, str]] = field(default_factory=set)
    unnamed: set[int] = field(default_factory=set)
    unretrieved: set[tuple[int, int | None, int | None]] = field(default_factory=set)
    other: set[Finding] = field(default_factory=set)
    detail: set[tuple[int, str, int | None, int | None, str]] = field(default_factory=set)
    flags: set[tuple[int, int, int, str]] = field(default_factory=set)
    fate: dict[tuple[int, int], str] = field(default_factory=dict)
    early: set[tuple[int, int | None, int | None]] = field(default_factory=set)
    """Units that look as if they had expired too early: a reading of losses, which no other definition repeats."""
    doubted: bool = False


def contract_of(contract: Contract) -> product.Contract:
    """The contract in the product's form."""
    ttl = contract.ttl
    tokens = {"chars_per_token": CHARS_PER_TOKEN} if contract.tokens is not None else {}
    return product.Contract(
        window=product.Window(
            messages=contract.window,
            turns=contract.turns,
            tokens=contract.tokens,
            pinned=contract.pinned,
            keep_at_least=contract.keep_at_least,
            **tokens,
        ),
        page=product.Page(default=contract.page_default, max=contract.page_max),
        ttl=None
        if ttl is None
        else product.Ttl(
            seconds=ttl.life_ns / 1e9,
            unit=ttl.unit,
            refresh=ttl.refresh,
            granularity_ms=ttl.granularity_ns / 1e6,
        ),
        visibility_ms=contract.visibility_ns / 1e6,
        order="append" if contract.ordered else "unspecified",
        order_slack_ms=contract.slack_ns / 1e6,
        dedupe="none" if contract.stores_resends else "id",
        concurrency="last-writer" if contract.last_writer else "serialize",
        isolation=tuple(sorted(contract.isolation)),
        roles=tuple(sorted(contract.roles)) if contract.roles is not None else None,
        unmarked=contract.unmarked,
        content=product.Content(nul="strip" if contract.strips_nul else "keep"),
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
            sessions = {m.session for m in op.messages}
            assert len(sessions) == 1, "an append goes to one session"
            row = oplog.Append(
                **shared, attempt=op.attempt, messages=[_said(m) for m in op.messages], session=str(sessions.pop())
            )
            conversation.appends.append((number, row))
        elif isinstance(op, Delete):
            sessions = {m.session for a in history.ops if isinstance(a, Append) for m in a.messages}
            for session in sessions if op.session is None else {op.session}:
                conversation.deletes.append((number, oplog.Delete(**shared, session=str(session))))
            if not sessions:
                conversation.touches.append((number, oplog.Touch(**shared)))
        elif isinstance(op, Touch):
            session = None if op.session is None else str(op.session)
            conversation.touches.append((number, oplog.Touch(**shared, session=session)))
        else:
            conversation.recalls.append((number, _recall(history, op, shared)))
    return conversation


def _recall(history: History, op: Recall, shared: dict[str, object]) -> oplog.Recall:
    intact = [(device_name(i.device), i.seq) for i in op.items if isinstance(i, Own) and i.content == "intact"]
    return oplog.Recall(
        **shared,
        phase=op.phase,
        view=history.scope if op.asked is None else "search",
        session="0" if history.scope == "session" and op.asked is None else None,
        limit=op.limit,
        asked=[(device_name(device), seq) for device, seq in op.asked or ()],
        seen=oplog.encode_runs(intact),
        odd=[odd for at, i in enumerate(op.items) if (odd := _odd(at, i)) is not None],
    )


def _said(message: Message) -> oplog.Said:
    text, size = message.text, len(message.text)
    if message.chars:
        text, size = "x" * message.chars, message.chars
    turn = TURN_OF_ITS_OWN + message.seq if message.turn is None else message.turn
    tokens = message.tokens if message.chars or message.tokens is not None else 0
    return oplog.Said(seq=message.seq, turn=turn, role=message.role, text=text, bytes=size, tokens=tokens)


def company_of(history: History) -> list[Conversation]:
    """What the same user did elsewhere; recalls there show the first thing said there."""
    if not history.elsewhere:
        return []
    assert history.elsewhere[0].kind == "append"
    other = Conversation("elsewhere", "w0", Path("w0.jsonl"), "scenario", None, ADA.id, scope="session")
    for number, op in enumerate(history.elsewhere):
        shared = {
            "id": 10_000 + number,
            "scenario": "scenario",
            "user": ADA.id,
            "conversation": "elsewhere",
            "session": "elsewhere",
            "device": "d0",
            "start_ns": op.start_ns,
            "end_ns": op.end_ns,
            "outcome": op.outcome,
        }
        if op.kind == "append":
            said = [oplog.Said(seq=number, turn=0, role="user", text="", bytes=0)]
            other.appends.append((number, oplog.Append(**shared, messages=said)))
        else:
            seen = [("d0", 0, 0)] if op.shows else []
            other.recalls.append((number, oplog.Recall(**shared, view="session", seen=seen)))
    return [other]


def _odd(at: int, item: object) -> oplog.Odd | None:
    if isinstance(item, Own):
        if item.content == "intact":
            return None
        stripped = item.content == "stripped"
        return oplog.Odd(
            at=at,
            why="corrupted",
            kind="altered" if stripped else item.content,
            device=device_name(item.device),
            seq=item.seq,
            changes=["nul-stripped"] if stripped else [],
        )
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
    company = company_of(history)
    conversation = conversation_of(history)
    result: Checked = check_conversation(conversation, contract_of(history.contract), [conversation, *company])
    answer = Answer(doubted=result.doubt is not None)
    for entry in result.listed:
        if entry.judgement.checked:
            answer.checked.add(entry.line)
        if entry.judgement.lossy:
            answer.lossy.add(entry.line)
    for finding in result.findings:
        named = finding.device is not None and finding.message is not None
        key = (int(finding.device[1:]), finding.seq) if named and finding.device else (None, None)
        if finding.anomaly == "expired early":
            answer.early.add((finding.line, *key))
            continue
        if finding.anomaly == "unretrieved":
            answer.unretrieved.add((finding.line, *key))
        elif finding.anomaly != "missing":
            answer.other.add((finding.line, finding.anomaly, *key))
            default = {"duplicated": "", "reordered": "certain"}.get(finding.anomaly, finding.anomaly)
            answer.detail.add((finding.line, finding.anomaly, *key, finding.detail or default))
            continue
        elif finding.message is None:
            answer.unnamed.add(finding.line)
        else:
            answer.missing.add((finding.line, *key, finding.position))
        if named:
            answer.flags |= {(finding.line, *key, flag) for flag in (finding.guarantee, finding.detail) if flag}
    answer.fate = {(int(m.device[1:]), m.seq): str(fate.name) for m, fate in result.fates.items()}
    return answer


def live(history: History) -> tuple[set[int], set[int]] | None:
    """Checked and lossy recalls as the swarm counts them while the operations happen.

    None where the swarm would not come to know such a history: it neither sends again nor searches, nor does anything
    but append, recall and delete, and nothing is listed before it is sent.
    """
    beyond = (op for op in history.ops if isinstance(op, Touch) or getattr(op, "attempt", 1) > 1)
    if any(beyond) or any(isinstance(op, Recall) and op.asked is not None for op in history.ops):
        return None
    return _Live(history).run() if not history.elsewhere else None


class _Live:
    """A history replayed through the swarm's ledger and quick check."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.ledger = Ledger(ADA, history.scope, contract=contract_of(history.contract))
        self.checked: set[int] = set()
        self.lossy: set[int] = set()
        self.said: dict[int, list[Entry]] = {}
        self.known: dict[tuple[int, int], Entry] = {}
        self.touches: dict[int, int] = {}
        self.deletes: dict[int, list[int]] = {}
        self.sessions = {m.session for op in history.ops if isinstance(op, Append) for m in op.messages}

    def run(self) -> tuple[set[int], set[int]] | None:
        ops = self.history.ops
        events = sorted(
            [(op.start_ns, 0, number) for number, op in enumerate(ops)]
            + [(op.end_ns, 1, number) for number, op in enumerate(ops)]
        )
        for _, ending, number in events:
            if not ending:
                self._begin(number, ops[number])
            elif not self._end(number, ops[number]):
                return None
        return self.checked, self.lossy

    def _touch(self, number: int, kind: TouchKind, session: str | None, start_ns: int) -> None:
        if self.ledger.expires:
            self.touches[number] = self.ledger.touch(kind, session, start_ns)

    def _touched(self, number: int, op: Op, shown: Sequence[Entry] = ()) -> None:
        if self.ledger.expires:
            self.ledger.touched(self.touches[number], op.outcome, op.end_ns, shown)

    def _begin(self, number: int, op: Op) -> None:
        ledger = self.ledger
        if isinstance(op, Append):
            messages = [(m.role, m.text) for m in op.messages]
            session = op.messages[0].session
            said = ledger.begin(device_name(op.device), session, messages, op.start_ns)
            for entry, message in zip(said, op.messages, strict=True):
                self.known[op.device, message.seq] = entry  # found again by the history's own number
                entry.turn = TURN_OF_ITS_OWN + message.seq if message.turn is None else message.turn
                entry.tokens_min, entry.tokens_max = message.tokens_min, message.tokens_max
            self.said[number] = said
            self._touch(number, "append", said[0].session, op.start_ns)
        elif isinstance(op, Delete):
            sessions = self.sessions if op.session is None else {op.session}
            self._touch(number, "other", self._session(op.session), op.start_ns)
            self.deletes[number] = [ledger.begin_delete(ADA.session(session), op.start_ns) for session in sessions]
        elif isinstance(op, Recall):
            session = None if self.history.scope == "user" else 0
            self._touch(number, "recall", self._session(session), op.start_ns)

    @staticmethod
    def _session(session: int | None) -> str | None:
        return None if session is None else ADA.session(session)

    def _end(self, number: int, op: Op) -> bool:
        ledger = self.ledger
        if isinstance(op, Append):
            self._touched(number, op, self.said[number])
            ledger.end(self.said[number], op.outcome, op.end_ns)
        elif isinstance(op, Delete):
            self._touched(number, op)
            for delete in self.deletes[number]:
                ledger.end_delete(delete, op.outcome, op.end_ns)
        elif isinstance(op, Recall):
            if op.outcome != "ok":
                self._touched(number, op)
                return True
            items = [_item(self.known, item) for item in op.items]
            if None in items:
                return False
            bound = ledger.terms.capacity(op.limit)
            listing = check.match(ledger, [item for item in items if item], bound)
            check.note_shown(ledger, listing, op.end_ns)
            self._touched(number, op, listing.shown)

            def judge(op: Recall = op, number: int = number, listing: check.Listing = listing) -> None:
                finding = check.judge(ledger, listing, op.start_ns, op.end_ns, ledger.terms.capacity(op.limit))
                self.checked.update({number} if finding.checked else ())
                self.lossy.update({number} if finding.lossy else ())

            ledger.when_settled(judge)
        return True


def _item(known: dict[tuple[int, int], Entry], item: object) -> Item | None:
    if isinstance(item, Own):
        entry = known.get((item.device, item.seq))
        if entry is None:
            return None
        text = {
            "truncated": entry.content[:-1],
            "altered": entry.content + "!",
            "stripped": entry.content.replace("\0", ""),
        }.get(item.content, entry.content)
        return Item(entry.token, "other" if item.content == "role" else entry.role, text)
    if isinstance(item, Foreign):
        return Item(str(Token(BEN, "session", 0, "d0", 0)), "user", "")
    return Item(str(Token(EARLIER, "session", 0, "d0", 0)) if isinstance(item, OtherRun) else "", "user", "")
