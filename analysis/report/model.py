"""What a report tells, as plain data: the analyzer fills it, the page shows it.

The numbers are those of ``results.json``, so that page and file cannot disagree; what stands here is what the page
shows beside them.

Every string may come from the memory under test and is treated as hostile when it is shown. Shares are fractions of 1
(0.012 is 1.2 %); a share that nothing was measured for is None, never 0.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from analysis.causes.cause import Cause
from analysis.causes.effective import EffectiveContract
from analysis.faults import Fault
from analysis.fitness import Arrivals, LoadProcess
from analysis.power import UNTRIED, Power
from analysis.reason import Reason
from analysis.results import Scenario
from analysis.symptoms.pairs import Kin
from analysis.verdict import Outcome
from goldfish.run import Skipped

Mark = Literal["ok", "missing", "foreign", "phantom", "duplicated", "corrupted", "reordered", "not-owed"]
ShownKind = Literal["same", "duplicate", "foreign", "unmarked", "corrupted"]


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What was tested; the host is shown as it is, so it must not hold secrets."""

    host: str
    store: str | None = None
    defects: list[str] = []
    instances: int | None = None
    balance: str | None = None


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


class AgeSeries(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of one scenario by age, one number a bin."""

    scenario: str
    kin: Kin
    missing: list[int]
    pairs: list[int]
    """Shown or missing."""


class AgeCurve(msgspec.Struct, frozen=True, kw_only=True):
    """Missing messages by how long ago they had been acknowledged when the recall began."""

    edges_ms: list[float]
    """Ends of the bins: the first bin is below the first of them, the last one at or above the last."""
    series: list[AgeSeries]


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that were no success, of one kind and for one reason."""

    scenario: str
    kind: str
    outcome: Literal["fail", "info"]
    """info: nobody knows whether it was done."""
    why: str
    number: int


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """One clause of the contract."""

    name: str
    declared: str
    behaves: str | None = None
    """What the memory behaves like, where that is known and something else."""


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
    classes: list[str] = []
    """Classes of its findings."""
    command: str = ""
    """What to type to see all of it."""


class Unverifiable(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was recorded but could not be checked."""

    count: int
    what: str
    why: str


class Untested(msgspec.Struct, frozen=True, kw_only=True):
    """A class of findings that the run gave no occasion for."""

    class_: str
    why: str
    part: str = ""
    """The part of the class that is meant; empty: all of it."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One judged run."""

    verdict: Outcome
    exit_code: int
    headline: str
    """The verdict in one sentence: the gravest that was found, or what was checked."""
    also: list[str] = []
    """Further sentences: other kinds of harm, and how far a pass reaches."""
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
    owed: str = ""
    """What the memory promised and what was tolerated, in words."""
    confidence: float = 0.95
    """Level of all intervals."""
    scenarios: list[Scenario] = []
    meanings: dict[str, str] = {}
    """Scenario to one line: what its users do."""
    skipped: list[Skipped] = []
    load_processes: list[LoadProcess] = []
    latency_reliable: bool = True
    """Whether no load process was saturated."""
    arrivals: Arrivals | None = None
    """With open arrivals: how punctually turns began."""
    loss_over_time: LossOverTime | None = None
    power: Power = UNTRIED
    faults: list[Fault] = []
    instance_matrix: InstanceMatrix | None = None
    ages: AgeCurve | None = None
    causes: list[Cause] = []
    """Likely causes, the likeliest first."""
    causes_sample: str = ""
    """A sentence on where circumstances of losses were counted; empty: in all conversations."""
    promises: list[Promise] = []
    effective: EffectiveContract | None = None
    """How the contract that is kept was found; None if nothing was lost."""
    failures: list[Failed] = []
    worst_conversations: list[WorstConversation] = []
    unverifiable: list[Unverifiable] = []
    untested: list[Untested] = []
