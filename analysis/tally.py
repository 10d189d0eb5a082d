"""Counts per scenario: what was sent, recalled, lost and refused, and at which rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pandas as pd

from analysis.clusters import rates
from analysis.judged import Judged
from analysis.rates import Rate
from analysis.sums.requests import Requests

KINDS = ("append", "recall", "delete", "touch")
OUTCOMES = ("ok", "fail", "info")
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


@dataclass(slots=True)
class Tally:
    """One scenario in numbers."""

    name: str
    recalls: Rate
    """Lossy among checked recalls."""
    conversations: Rate
    """Harmed among checked conversations."""
    messages: Rate
    """Lost to the end among checked messages."""
    incidents: int
    """Episodes of faults that cost something and are too few for an interval."""
    fates: Counter[str]
    surfaced: int
    """Messages shown although they were rejected or never acknowledged."""
    unsettled: int
    """Messages without an ok final recall after them, or indeterminate; rejected ones are settled."""
    delays_ms: list[float]
    """Of stale messages: from the acknowledgement until first shown. An upper bound: nobody looked earlier."""
    still_missing_ms: list[float]
    """Of stale messages: from the acknowledgement to the start of a recall that lacked them. A lower bound."""
    final_recalls: int
    """Ok final recalls."""
    findings: Counter[str]
    """Findings per class."""
    harmed_by: Counter[str]
    """Conversations with a finding of a class."""
    zero_tolerance: Counter[str]
    """Findings that fail the run each: foreign, corrupted, rejected-yet-shown."""
    foreign_of: Counter[str] = field(default_factory=Counter)
    """Foreign elements by whose they are: session, user, tenant."""
    requests: dict[str, dict[str, int]] = field(default_factory=dict)
    """Kind to outcome to number."""
    killed: int = 0
    """Requests cut off by the end of the run or of a user; neither success nor failure."""
    latency_ms: dict[str, dict[str, float] | None] = field(default_factory=dict)
    """Ok requests of the load phase; None if there are none."""
    timed: dict[str, int] = field(default_factory=dict)
    """Ok requests of the load phase, by kind."""
    throughput: dict[str, float | None] = field(default_factory=dict)
    """Ok requests of the load phase per second."""

    @property
    def sent(self) -> int:
        """Messages sent."""
        return self.fates.total()


def tally(judged: Judged, scenarios: Iterable[str], confidence: float) -> list[Tally]:
    """Count everything, per scenario.

    Args:
        judged: all conversations.
        scenarios: the scenarios of the run; those of ``judged`` that are not among them come behind.
        confidence: level of the intervals.
    """
    names = list(dict.fromkeys([*scenarios, *sorted(judged.counts.scenarios)]))
    tallies = [_count(name, judged, confidence) for name in names]
    for entry in tallies:
        _requests(entry, judged.requests)
    return tallies


def _count(name: str, judged: Judged, confidence: float) -> Tally:
    counts = judged.counts.scenario(name)
    found = rates(name, counts.users, judged.exposure, confidence)
    foreign_of: Counter[str] = Counter()
    for leak, number in judged.symptoms.disorder.leaks.items():
        if leak.scenario == name:
            foreign_of[leak.level] += number
    return Tally(
        name=name,
        recalls=found.recalls,
        conversations=found.conversations,
        messages=found.messages,
        incidents=found.incidents,
        fates=counts.fates,
        surfaced=counts.surfaced,
        unsettled=counts.unsettled,
        delays_ms=counts.delays_ms,
        still_missing_ms=counts.still_missing_ms,
        final_recalls=counts.final_recalls,
        findings=counts.findings,
        harmed_by=counts.harmed_by,
        zero_tolerance=counts.zero_tolerance,
        foreign_of=foreign_of,
    )


def _requests(entry: Tally, requests: Requests) -> None:
    """Outcomes, latencies and throughput of the scenario's requests, by kind."""
    name = entry.name
    entry.killed = requests.killed[name]
    start_ns, end_ns = requests.spans.get(name, (0, 0))
    span_s = (end_ns - start_ns) / 1e9
    for kind in KINDS:
        entry.requests[kind] = {outcome: requests.outcomes[name, kind, outcome] for outcome in OUTCOMES}
        if kind not in ("append", "recall"):
            continue
        took_ms = pd.Series(requests.took_ns.get((name, kind), ()), dtype="int64") / 1e6
        quantiles = took_ms.quantile(list(QUANTILES.values()))
        entry.latency_ms[kind] = (
            {key: round(float(quantiles[share]), 3) for key, share in QUANTILES.items()} if len(took_ms) else None
        )
        entry.timed[kind] = len(took_ms)
        entry.throughput[kind] = round(len(took_ms) / span_s, 3) if span_s > 0 else None
