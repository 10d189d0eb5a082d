"""What a report tells, as plain data: the analyzer fills it, the page shows it.

Every string may come from the memory under test and is treated as hostile when it is shown. Shares are fractions of 1
(0.012 is 1.2 %); a share that nothing was measured for is None, never 0.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Verdict = Literal["pass", "fail", "inconclusive"]
Mark = Literal["ok", "missing", "foreign", "phantom", "duplicated", "corrupted", "reordered", "not-owed"]
ShownKind = Literal["same", "duplicate", "foreign", "unmarked", "corrupted"]


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One reason for the verdict."""

    code: str
    scenario: str | None
    """None: the whole run."""
    text: str


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What was tested; the host is shown as it is, so it must not hold secrets."""

    host: str
    store: str | None = None
    defects: list[str] = []
    instances: int | None = None
    balance: str | None = None


class Recalls(msgspec.Struct, frozen=True, kw_only=True):
    """Context-loss rate of one scenario."""

    checked: int
    lossy: int
    rate: float | None = None
    low: float | None = None
    high: float | None = None
    deff: float | None = None
    """Design effect: by how much clustered losses widen the interval."""
    clusters: int | None = None
    """Users with a checked recall."""


class Conversations(msgspec.Struct, frozen=True, kw_only=True):
    """Share of conversations that were harmed."""

    checked: int
    harmed: int
    rate: float | None = None
    low: float | None = None
    high: float | None = None


class Messages(msgspec.Struct, frozen=True, kw_only=True):
    """Messages by fate: a partition of all that were sent."""

    sent: int
    rejected: int = 0
    indeterminate: int = 0
    unchecked: int = 0
    ok: int = 0
    stale: int = 0
    flicker: int = 0
    lost: int = 0


class Requests(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of one kind by outcome; info is indeterminate."""

    ok: int = 0
    fail: int = 0
    info: int = 0


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Latency of one kind of request in milliseconds."""

    p50: float
    p95: float
    p99: float
    max: float


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """What one scenario measured."""

    name: str
    meaning: str
    """One line: what its users do."""
    recalls: Recalls
    conversations: Conversations
    messages: Messages
    findings: dict[str, int] = {}
    """Class of anomaly to number of findings."""
    requests: dict[str, Requests] = {}
    """Kind (append, recall, …) to outcomes."""
    latency_ms: dict[str, Latency] = {}


class LossSeries(msgspec.Struct, frozen=True, kw_only=True):
    """Recalls of one scenario by time; the three lists are of one length."""

    scenario: str
    seconds: list[float]
    """Start of each bin, since the start of the run."""
    checked: list[int]
    lossy: list[int]


class LossOverTime(msgspec.Struct, frozen=True, kw_only=True):
    """Loss by time, in bins of ``bin_s`` seconds that start at multiples of it."""

    bin_s: float
    series: list[LossSeries]


class InstanceMatrix(msgspec.Struct, frozen=True, kw_only=True):
    """Missing messages by the instance that acknowledged them and the one that answered the recall.

    ``pairs[w][r]`` counts checked pairs of message and recall (shown or missing), ``missing[w][r]`` those missing.
    """

    writing: list[str]
    reading: list[str]
    pairs: list[list[int]]
    missing: list[list[int]]


class Owed(msgspec.Struct, frozen=True, kw_only=True):
    """A message the recall had to show, or (mark ``not-owed``) one it did not have to."""

    device: str
    seq: int
    role: str
    text: str
    written_by: str | None = None
    """Instance that acknowledged it."""
    acknowledged_s: float | None = None
    """Since the start of the run; None: never acknowledged."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """An element of the recalled list."""

    kind: ShownKind
    text: str | None = None
    """None with kind ``same``: the text that was owed."""
    detail: str = ""
    """Whose message a foreign one is, or how a corrupted one was changed."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of owed beside shown, in the order of the recalled list, missing messages where they belong."""

    mark: Mark
    owed: Owed | None = None
    shown: Shown | None = None


class WorstConversation(msgspec.Struct, frozen=True, kw_only=True):
    """One recall of one conversation that went wrong, as evidence."""

    scenario: str
    conversation: str
    user: str
    story: str
    """One sentence: who read when, what was owed since when, what came back."""
    request_ids: list[str]
    rows: list[Row]


class Unverifiable(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was recorded but could not be checked."""

    count: int
    what: str
    why: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One judged run."""

    verdict: Verdict
    exit_code: int
    headline: str
    """The verdict in one sentence; without loss it names the power of the check."""
    run: str
    target: Target
    reasons: list[Reason] = []
    started: float | None = None
    """Seconds since the epoch."""
    duration_s: float | None = None
    users: int | None = None
    seed: int | None = None
    versions: dict[str, str] = {}
    command: str = ""
    """What to type to run it again."""
    confidence: float = 0.95
    """Level of all intervals."""
    scenarios: list[Scenario] = []
    loss_over_time: LossOverTime | None = None
    instance_matrix: InstanceMatrix | None = None
    worst_conversations: list[WorstConversation] = []
    unverifiable: list[Unverifiable] = []
