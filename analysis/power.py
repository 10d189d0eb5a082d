"""Would a loss have been seen? A run that finds nothing proves only as much as it would have found.

From a copy of some of the run's conversations shown messages are taken away, one from a recall, and the copy is judged
by the same checker, from its op log on. **Power** is the share of shown messages whose absence was named. It is below 1
wherever a memory may have had a reason: a window that is full, a write under way, an expiry.

The **positive control** is the part of it that leaves no excuse: a message that was acknowledged before the recall
began, in a list that nothing bounds or beside a message that is certainly older. That such an absence is a loss follows
from the contract by a few comparisons, made here and not by the rule that is being tested. All of these must be named;
if one is not, the checker is broken, and whatever it says about the run is worth nothing.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

from analysis.crew import Alone
from analysis.episodes import NONE
from analysis.judging import Assignment, judge
from analysis.reading import read
from analysis.reason import Reason
from analysis.record import Conversation
from analysis.sums.sampled import digest
from goldfish.contract import Contract, Page, Ttl
from goldfish.oplog import Append, Footer, Header, Odd, Recall, encode_runs, listing
from goldfish.rule import NEVER
from goldfish.run import TRANSCRIPT, Run, read_run, write_run

RECALLS_MAX = 8
"""So many recalls of a conversation lose a message."""
CONTROLS_MAX = 200
LISTINGS = ("session", "user")
"""The views that list what was said; a search is another question."""
COPY = "copy"
Name = tuple[str, int]
"""A message of a conversation: device and number."""


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """Planted losses that leave no excuse, and how many of them the checker found."""

    planted: int
    found: int


class Power(msgspec.Struct, frozen=True, kw_only=True):
    """What the run would have seen."""

    share: float | None
    """Of shown own messages, those whose absence would have been named; None if none was shown."""
    sampled: int
    """Recalls that were tried, one message in each."""
    conversations: int
    """Conversations that they are from."""
    control: Control
    obstacle: str | None = None
    """Why nothing could be tried, if that failed."""


UNTRIED = Power(share=None, sampled=0, conversations=0, control=Control(planted=0, found=0))
"""Nothing was there to be tried."""


class Planted(NamedTuple):
    """One message taken from one recall."""

    conversation: str
    recall: int
    """The operation's number in the copy."""
    message: Name
    weight: int
    """Messages shown in the recall, which this one stands for."""
    certain: bool
    """There is no excuse for its absence."""


def power(conversations: Sequence[Conversation], contract: Contract) -> Power:
    """Take messages away from a copy of these conversations, and judge it.

    Args:
        conversations: a sample of those that were judged.
        contract: what they were judged by.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="goldfish-") as folder:
            planted, untried = _plant(Path(folder), conversations, contract)
            named = _named(Path(folder), contract)
    except OSError as error:
        return msgspec.structs.replace(UNTRIED, obstacle=f"the copy cannot be written: {error.strerror}")
    seen = [(each.conversation, f"{COPY}-{each.recall}", each.message) in named for each in planted]
    weight = untried + sum(each.weight for each in planted)
    hit = sum(each.weight for each, is_named in zip(planted, seen, strict=True) if is_named)
    certain = [is_named for each, is_named in zip(planted, seen, strict=True) if each.certain][:CONTROLS_MAX]
    return Power(
        share=hit / weight if weight else None,
        sampled=len(planted),
        conversations=len(conversations),
        control=Control(planted=len(certain), found=sum(certain)),
    )


def blind(told: Power) -> list[Reason]:
    """The reason not to believe a checker that missed a planted loss."""
    control = told.control
    if told.obstacle is not None:
        text = (
            f"No loss could be planted into a copy of this run to see whether it is found: {told.obstacle}. Make room "
            "in the folder for temporary files, and analyze the run again."
        )
        return [Reason(code="positive-control", text=text)]
    if control.found == control.planted:
        return []
    text = (
        f"Of {control.planted} losses planted into a copy of this run the checker found {control.found}; expected all. "
        "What it says of the run itself is worth nothing. This is a fault of the tool: report it with the record."
    )
    return [Reason(code="positive-control", text=text)]


def _plant(folder: Path, conversations: Sequence[Conversation], contract: Contract) -> tuple[list[Planted], int]:
    """Write the copy; tells what was taken away, and the weight of recalls from which nothing could be."""
    rows: list[Append | Recall | msgspec.Struct] = []
    planted: list[Planted] = []
    untried = 0
    for conversation in conversations:
        thief = _Thief(conversation, contract)
        for _, row in sorted(conversation.operations(), key=lambda each: (each[1].end_ns, each[0])):
            if isinstance(row, Recall) and thief.passes_by(row):
                continue
            copy = msgspec.structs.replace(row, id=len(rows))
            if isinstance(row, Recall) and isinstance(copy, Recall) and thief.visits(row):
                taken = thief.take(copy)
                if taken is None:
                    untried += thief.shown(copy)
                else:
                    copy, loss = taken
                    planted.append(loss)
            rows.append(copy)
    (folder / TRANSCRIPT).mkdir()
    head = Header(run=COPY, process=COPY, worker=0, monotonic_ns=0, wall=0.0)
    counts: dict[str, int] = {}
    for each in rows:
        kind = str(type(each).__struct_config__.tag)
        counts[kind] = counts.get(kind, 0) + 1
    lines = [head, *rows, Footer(lines=len(rows) + 2, counts=counts)]
    encode = msgspec.json.Encoder().encode
    (folder / TRANSCRIPT / f"{COPY}.jsonl").write_bytes(b"".join(encode(line) + b"\n" for line in lines))
    write_run(folder, Run(run=COPY, contract=contract, processes=[COPY]))
    return planted, untried


def _named(folder: Path, contract: Contract) -> set[tuple[str, str, Name]]:
    """The absences that the checker names: conversation, request and message. It is judged as any run is."""
    shares = Alone(lambda _: None)
    outline = read(folder, shares, read_run(folder), contract)
    rows = judge(shares, Assignment.of(outline, contract, NONE)).found.rows()
    return {
        (row.conversation, row.request_id, (row.device, row.seq))
        for row in rows
        if row.anomaly == "missing" and row.device is not None and row.seq is not None
    }


class _Thief:
    """Takes messages away from the recalls of one conversation."""

    def __init__(self, conversation: Conversation, contract: Contract) -> None:
        self._name = conversation.name
        self._contract = contract
        self._chance = Random(digest(conversation.name))
        self._appends: dict[Name, Append] = {
            (append.device, said.seq): append for _, append in conversation.appends for said in append.messages
        }
        self._roles = {(a.device, said.seq): said.role for _, a in conversation.appends for said in a.messages}
        answered = [row for _, row in conversation.recalls if row.outcome == "ok"]
        listings = [row for row in answered if row.view in LISTINGS]
        few = self._chance.sample(listings, min(len(listings), RECALLS_MAX))
        self._visited = {row.id for row in few}
        # A message that was acknowledged before anybody saw it stays known as stored when a recall does not show it. To
        # all others the recalls that show them may be the only witness.
        self._witnessed = {name for name, append in self._appends.items() if append.outcome != "ok"}
        self._witnessed |= self._seen_under_way(conversation, answered)
        self._begun_ns = min((append.start_ns for _, append in conversation.appends), default=0)
        self._sessions = {append.session for _, append in conversation.appends}
        deletes = [row.start_ns for _, row in conversation.deletes if row.outcome != "fail"]
        self._deleted_ns = min(deletes, default=NEVER)
        self._plain = contract.concurrency != "last-writer" and not any(
            append.attempt > 1 for _, append in conversation.appends
        )

    def visits(self, recall: Recall) -> bool:
        """Whether a recall is one of those that are tried."""
        return recall.id in self._visited

    def passes_by(self, recall: Recall) -> bool:
        """Whether a recall proves nothing about others, and need not be in the copy: a long story has many."""
        if self._contract.ttl is not None or self.visits(recall):
            return False
        return not any(_shows(recall, name) for name in self._witnessed)

    def shown(self, recall: Recall) -> int:
        """How many own messages a recall shows."""
        return len(self._own(recall))

    def take(self, recall: Recall) -> tuple[Recall, Planted] | None:
        """The recall without one of its messages; None if it shows none that can be taken without side effects."""
        own = self._own(recall)
        odd = {(element.device, element.seq) for element in recall.odd}
        within_reach = sorted(name for name in own if name not in self._witnessed and name not in odd)
        if not within_reach:
            return None
        name = self._chance.choice(within_reach)
        seen: list[Name] = []
        left: list[Odd] = []
        for element in listing(recall):
            if isinstance(element, Odd):
                left.append(msgspec.structs.replace(element, at=len(seen) + len(left)))
            elif element != name:
                seen.append(element)
        without = msgspec.structs.replace(recall, seen=encode_runs(seen), odd=left)
        return without, Planted(self._name, recall.id, name, len(own), self._certain(recall, name, own))

    @staticmethod
    def _seen_under_way(conversation: Conversation, answered: Sequence[Recall]) -> set[Name]:
        """Messages that a recall shows which ended before they were acknowledged."""
        appends = sorted((row for _, row in conversation.appends), key=lambda row: row.start_ns)
        begun_ns = [row.start_ns for row in appends]
        longest_ns = max((row.end_ns - row.start_ns for row in appends), default=0)
        found = set()
        for recall in answered:
            first = bisect_left(begun_ns, recall.end_ns - longest_ns)
            for append in appends[first : bisect_right(begun_ns, recall.end_ns)]:
                if append.end_ns > recall.end_ns:
                    names = ((append.device, said.seq) for said in append.messages)
                    found |= {name for name in names if _shows(recall, name)}
        return found

    def _own(self, recall: Recall) -> set[Name]:
        return {element for element in listing(recall) if not isinstance(element, Odd) and element in self._appends}

    def _certain(self, recall: Recall, name: Name, own: set[Name]) -> bool:
        """Whether the contract leaves no excuse for the absence of this message."""
        contract, append = self._contract, self._appends[name]
        bounded = not contract.window.unbounded or recall.limit is not None or contract.page != Page()
        return (
            self._plain
            and recall.end_ns < self._deleted_ns
            and recall.limit != 0
            and (contract.roles is None or self._roles[name] in contract.roles)
            and append.end_ns + contract.visibility_ns < recall.start_ns
            and (contract.ttl is None or self._fresh(recall, contract.ttl))
            and (not bounded or self._older(append, own - {name}))
        )

    def _fresh(self, recall: Recall, ttl: Ttl) -> bool:
        """Whether nothing of the conversation can have expired; what a user said elsewhere nobody looks up here."""
        return ttl.unit != "user" and recall.end_ns < self._begun_ns + ttl.seconds * 1e9

    def _older(self, append: Append, others: set[Name]) -> bool:
        """Whether a list shows something that certainly stands before what an append wrote."""
        contract = self._contract
        if contract.order == "unspecified" or contract.window.pinned or contract.window.turns is not None:
            return False  # what is listed first, or belongs to a turn that goes on, may be there for another reason
        if len(self._sessions) > 1 and not contract.window.unbounded:
            return False  # a window may be cut session by session, so that one of them says nothing of another
        return any(
            other.outcome == "ok" and other.end_ns + contract.order_slack_ms * 1e6 < append.start_ns
            for other in map(self._appends.__getitem__, others)
        )


def _shows(recall: Recall, name: Name) -> bool:
    """Whether a recall lists a message, intact or not."""
    device, seq = name
    return any(device == owner and first <= seq <= last for owner, first, last in recall.seen) or any(
        element.why == "corrupted" and (element.device, element.seq) == name for element in recall.odd
    )
