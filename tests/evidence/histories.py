"""What was sent to a conversation and what it answered, as plain values.

A `History` is one conversation: its contract and its operations, numbered from 0 in the order given. An operation has a
start and an end stamp in nanoseconds and an outcome: *ok* (done), *fail* (refused, certainly not done) or *info*
(indeterminate: done never, at once, or at any time after its start, also after its end).

A recall carries the returned list, element by element: an own message (its token was legible, its content may have
suffered), a message of somebody else, one of another run, or an element without a token.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

NS_PER_MS = 1_000_000
CASES_FILE = Path(__file__).parent.parent / "cases" / "recalls.json"

Outcome: TypeAlias = Literal["ok", "fail", "info"]
Content: TypeAlias = Literal["intact", "truncated", "altered", "role", "stripped"]
Phase: TypeAlias = Literal["load", "final"]
Level: TypeAlias = Literal["session", "user", "tenant"]
Unit: TypeAlias = Literal["session", "user", "message"]
Refresh: TypeAlias = Literal["write", "read", "none"]
Key: TypeAlias = tuple[int, int]
"""The name of a message: device and seq."""

CHARS_PER_TOKEN = (2, 6)


@dataclass(frozen=True, slots=True)
class Ttl:
    """What was said expires: `life_ns` after it was written or refreshed, and may linger for `granularity_ns`."""

    life_ns: int
    unit: Unit
    refresh: Refresh
    granularity_ns: int = 0


@dataclass(frozen=True, slots=True)
class Contract:
    """What the memory promises; by default all of the history, at once, in order and for ever."""

    window: int | None = None
    """The newest messages."""
    visibility_ns: int = 0
    unmarked: Literal["forbid", "allow"] = "forbid"
    turns: int | None = None
    tokens: int | None = None
    """The newest turns, or the newest messages of so many tokens; at most one of the three windows is set."""
    pinned: int = 0
    keep_at_least: int = 0
    page_default: int | None = None
    page_max: int | None = None
    ttl: Ttl | None = None
    slack_ns: int = 0
    ordered: bool = True
    stores_resends: bool = False
    last_writer: bool = False
    roles: frozenset[str] | None = None
    isolation: frozenset[Level] = frozenset({"session", "user", "tenant"})
    strips_nul: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One message as sent. `session` tells the sessions of a user conversation apart; `turn` counts per device."""

    seq: int
    role: str = "user"
    text: str = ""
    session: int = 0
    turn: int | None = None
    """None: a turn of its own."""
    chars: int = 0
    """Length of the text, of which every character is one byte; used where a window counts tokens."""
    tokens: int | None = None
    """Its true number of tokens, if that is known."""

    @property
    def tokens_min(self) -> int:
        """The fewest tokens it may have."""
        return self.chars // CHARS_PER_TOKEN[1] if self.tokens is None else self.tokens

    @property
    def tokens_max(self) -> int:
        """The most."""
        return -(-self.chars // CHARS_PER_TOKEN[0]) if self.tokens is None else self.tokens


@dataclass(frozen=True, slots=True)
class Append:
    """One request that writes one message or several, in list order; a later attempt sends the same again."""

    device: int
    start_ns: int
    end_ns: int
    outcome: Outcome
    messages: tuple[Message, ...]
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Delete:
    """One request that deletes a session of the conversation, or all of it (None)."""

    device: int
    start_ns: int
    end_ns: int
    outcome: Outcome
    session: int | None = None


@dataclass(frozen=True, slots=True)
class Touch:
    """One request of another kind, which may refresh an expiry: of a session, or of all (None)."""

    device: int
    start_ns: int
    end_ns: int
    outcome: Outcome
    session: int | None = None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What the same user did in another conversation: an append, or a recall that shows something or nothing."""

    start_ns: int
    end_ns: int
    outcome: Outcome
    kind: Literal["append", "recall"]
    shows: bool = False


@dataclass(frozen=True, slots=True)
class Own:
    """An element whose token names a message of this conversation."""

    device: int
    seq: int
    content: Content = "intact"

    @property
    def key(self) -> Key:
        return (self.device, self.seq)


@dataclass(frozen=True, slots=True)
class Foreign:
    """An element whose token names another conversation, and how far away that one lives."""

    owner: Level


@dataclass(frozen=True, slots=True)
class OtherRun:
    """An element whose token was made by another run."""


@dataclass(frozen=True, slots=True)
class Unmarked:
    """An element without a legible token."""


Item: TypeAlias = Own | Foreign | OtherRun | Unmarked


@dataclass(frozen=True, slots=True)
class Recall:
    """One request that reads the conversation, or searches it for what is `asked`. `items` is the list as returned;
    only an ok recall shows anything."""

    device: int
    start_ns: int
    end_ns: int
    limit: int | None
    outcome: Outcome
    items: tuple[Item, ...]
    phase: Phase = "load"
    asked: tuple[Key, ...] | None = None
    """The facts a search asks for; None: it is no search."""


Op: TypeAlias = Append | Delete | Recall | Touch


@dataclass(frozen=True, slots=True)
class History:
    """One conversation. `features` and `faults` name what a generator put into it; no rule reads them."""

    contract: Contract
    ops: tuple[Op, ...]
    scope: Literal["session", "user"] = "session"
    elsewhere: tuple[Elsewhere, ...] = ()
    features: frozenset[str] = field(default=frozenset(), compare=False)
    faults: frozenset[str] = field(default=frozenset(), compare=False)

    def __post_init__(self) -> None:
        sent: set[tuple[int, Key]] = set()
        for op in self.ops:
            if op.start_ns > op.end_ns:
                raise ValueError(f"ends before it starts: {op}")
            if isinstance(op, Append):
                keys = {(op.attempt, (op.device, message.seq)) for message in op.messages}
                if len(keys) < len(op.messages) or keys & sent:
                    raise ValueError(f"a message is sent once, or in a later attempt: {op}")
                sent |= keys
        for op in self.ops:
            if isinstance(op, Recall):
                for item in op.items:
                    if isinstance(item, Own) and (1, item.key) not in sent:
                        raise ValueError(f"an own message that nobody sent: {item}")

    def ok_recalls(self) -> Iterator[tuple[int, Recall]]:
        """The recalls that can be judged, with their operation numbers."""
        for number, op in enumerate(self.ops):
            if isinstance(op, Recall) and op.outcome == "ok":
                yield number, op


def known_at(history: History, number: int) -> History:
    """The history as far as it is known when this recall completes: what ends later is still indeterminate."""
    end_ns = history.ops[number].end_ns

    def known(other: int, op: Op) -> Op:
        if (op.end_ns, other) <= (end_ns, number):
            return op
        return replace(op, outcome="info", items=()) if isinstance(op, Recall) else replace(op, outcome="info")

    return replace(history, ops=tuple(known(other, op) for other, op in enumerate(history.ops)))


@cache
def own(device: int, seq: int, content: Content = "intact") -> Own:
    """The element that shows this message; equal ones are one object."""
    return Own(device, seq, content)


@dataclass(frozen=True, slots=True)
class Case:
    """A worked example: a history, its verdict as written down, and why."""

    name: str
    why: str
    history: History
    expected: Mapping[str, Any]


def load_cases(path: Path = CASES_FILE) -> list[Case]:
    """The worked examples."""
    raws = json.loads(path.read_text(encoding="utf-8"))
    return [Case(raw["name"], raw["why"], _history(raw["contract"], raw["ops"]), raw["expected"]) for raw in raws]


def _history(contract: Mapping[str, Any], ops: Sequence[Sequence[Any]]) -> History:
    given = set(contract) | {f"window.{key}" for key in contract.get("window", ())}
    unknown = given - {"window", "window.messages", "visibility_ms", "ttl"}
    if unknown:
        raise ValueError(f"no example has had {unknown} so far")
    ttl = contract.get("ttl")
    return History(
        Contract(
            window=contract.get("window", {}).get("messages"),
            visibility_ns=contract.get("visibility_ms", 0) * NS_PER_MS,
            ttl=Ttl(round(ttl["seconds"] * 1e9), ttl["unit"], ttl["refresh"]) if ttl else None,
        ),
        tuple(_operation(*op) for op in ops),
    )


def _operation(kind: str, device: int, start_ms: int, end_ms: int, *rest: Any) -> Op:
    start_ns, end_ns = start_ms * NS_PER_MS, end_ms * NS_PER_MS
    if kind == "append":
        outcome, seqs = rest
        return Append(device, start_ns, end_ns, outcome, tuple(Message(seq) for seq in seqs))
    if kind == "delete":
        (outcome,) = rest
        return Delete(device, start_ns, end_ns, outcome)
    if kind == "recall":
        limit, shown, *tail = rest
        recalled: Outcome = tail[0] if tail else "ok"
        return Recall(device, start_ns, end_ns, limit, recalled, tuple(own(author, seq) for author, seq in shown))
    raise ValueError(f"unknown operation: {kind}")
