"""The op log: what every load process writes, one JSON object a line, and nothing else is judged.

Times are ``time.monotonic_ns()``; ``start_ns`` is taken before the first byte is sent, ``end_ns`` after the body is
parsed, so an error of a stamp can only widen an interval. The first line is a header, the last a footer that counts the
lines: a log without its footer is unfinished, and that is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from goldfish.errors import RecordError

SCHEMA = 1
LINE_BYTES_MAX = 4 * 1024 * 1024
TEXT_CHARS_MAX = 280
"""How much of a text is kept in the log."""

Outcome = Literal["ok", "fail", "info"]
Phase = Literal["warmup", "load", "final"]
View = Literal["session", "user", "search", "context", "store"]
Reason = Literal[
    "refused",
    "dns",
    "tls",
    "timeout",
    "reset",
    "eof",
    "killed",
    "unparsable",
    "partial-ack",
    "status",
    "body-too-large",
]
Why = Literal["corrupted", "foreign", "other-run", "unmarked"]
Kind = Literal["truncated", "altered", "role"]
Change = Literal["cut", "nul-stripped", "surrogate-replaced"]
"""A difference between a text as sent and as listed that a contract may declare."""

Seq = Annotated[int, msgspec.Meta(ge=0)]


class Said(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message of an append."""

    seq: Seq
    turn: int
    role: str
    text: str
    """The first ``TEXT_CHARS_MAX`` characters."""
    bytes: int
    """Length of the whole text in UTF-8."""
    tokens: int | None = None
    """Its size in the memory's own tokens, where that is known."""


class Owner(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Whose message it is that turned up elsewhere."""

    tenant: str | None
    user: str
    session: str
    conversation: str


class Odd(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One listed element that is not simply the next own message."""

    at: Seq
    """Position in the list, from 0."""
    why: Why
    kind: Kind | None = None
    device: str | None = None
    seq: int | None = None
    owner: Owner | None = None
    text: str = ""
    """The first ``TEXT_CHARS_MAX`` characters."""
    changes: list[Change] = []
    """corrupted: all that was done to the text, if these three explain it wholly."""
    bytes: int | None = None
    """corrupted: length of the whole listed text in UTF-8."""


class Operation(msgspec.Struct, kw_only=True, gc=False, tag_field="kind"):
    """What every operation says of itself."""

    id: int
    """Counts within the process; sent as ``X-Request-Id: <process>-<id>``."""
    scenario: str
    tenant: str | None = None
    user: str
    session: str | None = None
    conversation: str
    device: str
    phase: Phase = "load"
    start_ns: int
    end_ns: int
    outcome: Outcome
    reason: Reason | None = None
    status: int | None = None
    instance: str | None = None
    connection: Literal["new", "kept"] = "new"


class Append(Operation, kw_only=True, tag="append"):
    """Messages sent in one request; the order inside one append is the list's."""

    attempt: int = 1
    messages: list[Said]


class Recall(Operation, kw_only=True, tag="recall"):
    """A history asked for, as runs of consecutive messages in the order returned, and the odd elements."""

    view: View
    limit: int | None = None
    asked: list[tuple[str, int]] = []
    """search: (device, seq) of the facts that are asked for."""
    seen: list[tuple[str, int, int]] = []
    """(device, first_seq, last_seq) of each run."""
    odd: list[Odd] = []

    @property
    def length(self) -> int:
        """Number of listed elements."""
        return sum(last - first + 1 for _, first, last in self.seen) + len(self.odd)


class Delete(Operation, kw_only=True, tag="delete"):
    """A request to delete the operation's session."""


class Touch(Operation, kw_only=True, tag="touch"):
    """Any other request that may refresh an expiry."""


class Sample(msgspec.Struct, kw_only=True, tag_field="kind", tag="sample"):
    """How a load process fares, once a second."""

    at_ns: int
    users: int
    in_flight: int
    cpu_pct: float
    lag_ms: float


class Header(msgspec.Struct, kw_only=True, tag_field="kind", tag="header"):
    """First line of a log."""

    schema: int = SCHEMA
    run: str
    process: str
    worker: int
    monotonic_ns: int
    wall: float
    """Seconds since the epoch at ``monotonic_ns``."""


class Footer(msgspec.Struct, kw_only=True, tag_field="kind", tag="footer"):
    """Last line of a finished log."""

    lines: int
    """Header and footer included."""
    counts: dict[str, int]
    """Rows per kind."""


Row = Append | Recall | Delete | Touch | Sample | Header | Footer


def encode_runs(items: list[tuple[str, int]]) -> list[tuple[str, int, int]]:
    """Fold (device, seq) in list order into runs of consecutive messages of one device."""
    runs: list[tuple[str, int, int]] = []
    for device, seq in items:
        if runs and runs[-1][0] == device and runs[-1][2] + 1 == seq:
            runs[-1] = (device, runs[-1][1], seq)
        else:
            runs.append((device, seq, seq))
    return runs


def listing(recall: Recall) -> Iterator[tuple[str, int] | Odd]:
    """The elements of a recalled list in order: (device, seq) of what is intact, else the odd element.

    Raises:
        RecordError: odd positions do not fit the list.
    """
    odd = iter(sorted(recall.odd, key=lambda element: element.at))
    following = next(odd, None)
    at = 0
    for device, first, last in recall.seen:
        for seq in range(first, last + 1):
            while following is not None and following.at == at:
                yield following
                following, at = next(odd, None), at + 1
            yield device, seq
            at += 1
    while following is not None:
        if following.at != at:
            raise RecordError(
                f"recall {recall.id}: an odd element stands at position {following.at}, but the list has {at} before it"
            )
        yield following
        following, at = next(odd, None), at + 1
