"""Counts per scenario: what was sent, recalled, lost and refused, and at which rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from analysis.check import Checked
from analysis.rates import Rate, estimate
from goldfish.oplog import Append, Operation, Recall

KINDS = ("append", "recall", "delete")
OUTCOMES = ("ok", "fail", "info")
_REQUEST_TYPES = {
    "scenario": "str",
    "kind": "str",
    "outcome": "str",
    "killed": "bool",
    "load": "bool",
    "start_ns": "int64",
    "end_ns": "int64",
}
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


@dataclass(slots=True)
class Tally:
    """One scenario in numbers."""

    name: str
    recalls: Rate
    """Lossy among checked recalls."""
    conversations: Rate
    """Harmed among checked conversations. One with a finding but without a checked recall counts as checked: its harm
    was seen, so it was looked at."""
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
    requests: dict[str, dict[str, int]] = field(default_factory=dict)
    """Kind to outcome to number."""
    killed: int = 0
    """Requests cut off by the end of the run or of a user; neither success nor failure."""
    latency_ms: dict[str, dict[str, float] | None] = field(default_factory=dict)
    """Ok requests of the load phase; None if there are none."""
    throughput: dict[str, float | None] = field(default_factory=dict)
    """Ok requests of the load phase per second."""

    @property
    def sent(self) -> int:
        """Messages sent."""
        return self.fates.total()


def tally(judged: Mapping[str, Checked], scenarios: Iterable[str], confidence: float) -> list[Tally]:
    """Count everything, per scenario.

    Args:
        judged: all conversations by name.
        scenarios: the scenarios of the run; those of ``judged`` that are not among them come behind.
        confidence: level of the intervals.
    """
    grouped: dict[str, list[Checked]] = {name: [] for name in scenarios}
    for checked in judged.values():
        grouped.setdefault(checked.conversation.scenario, []).append(checked)
    tallies = [_count(name, conversations, confidence) for name, conversations in grouped.items()]
    _requests(tallies, judged)
    return tallies


def _still_missing(checked: Checked) -> Iterator[float]:
    for finding in checked.findings:
        message = finding.message
        if finding.anomaly == "missing" and message and checked.fates[message].delay_ns is not None:
            yield (finding.recall.start_ns - message.acked_ns) / 1e6


def _count(name: str, conversations: list[Checked], confidence: float) -> Tally:
    recalls, harmed = _clusters(conversations)
    found = [finding for checked in conversations for finding in checked.findings]
    fates = [fate for checked in conversations for fate in checked.fates.values()]
    return Tally(
        name=name,
        recalls=estimate(recalls["events"], recalls["trials"], confidence),
        conversations=estimate(harmed["events"], harmed["trials"], confidence),
        fates=Counter(fate.name for fate in fates),
        surfaced=sum(fate.surfaced for fate in fates),
        unsettled=sum(_unsettled(checked) for checked in conversations),
        delays_ms=[fate.delay_ns / 1e6 for fate in fates if fate.delay_ns is not None],
        still_missing_ms=[age for checked in conversations for age in _still_missing(checked)],
        final_recalls=sum(entry.row.phase == "final" for checked in conversations for entry in checked.listed),
        findings=Counter(finding.anomaly for finding in found),
        harmed_by=Counter(
            anomaly for checked in conversations for anomaly in {finding.anomaly for finding in checked.findings}
        ),
        zero_tolerance=Counter(
            "rejected-yet-shown" if finding.anomaly == "phantom" else finding.anomaly
            for finding in found
            if finding.zero_tolerance
        ),
    )


def _clusters(conversations: list[Checked]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Events and trials per user: lossy among checked recalls, harmed among checked conversations."""
    frame = pd.DataFrame(
        [
            (
                (checked.conversation.tenant or "", checked.conversation.user),
                checked.recalls_lossy,
                checked.recalls_checked,
                bool(checked.findings),
                bool(checked.findings or checked.recalls_checked),
            )
            for checked in conversations
        ],
        columns=["user", "lossy", "checked", "harmed", "seen"],
    )
    users = frame.groupby("user", sort=False)[["lossy", "checked", "harmed", "seen"]].sum()
    return (
        users.rename(columns={"lossy": "events", "checked": "trials"})[["events", "trials"]],
        users.rename(columns={"harmed": "events", "seen": "trials"})[["events", "trials"]],
    )


def _unsettled(checked: Checked) -> int:
    """Messages of which the final recalls cannot tell what became of them."""
    final_ns = max((entry.row.start_ns for entry in checked.listed if entry.row.phase == "final"), default=-1)
    return sum(
        fate.name != "rejected" and (fate.name == "indeterminate" or checked.sent_of(message).append.end_ns >= final_ns)
        for message, fate in checked.fates.items()
    )


def _requests(tallies: list[Tally], judged: Mapping[str, Checked]) -> None:
    """Outcomes, latencies and throughput of all requests, per scenario and kind."""
    rows = [
        (row.scenario, _kind(row), row.outcome, row.reason == "killed", row.phase == "load", row.start_ns, row.end_ns)
        for checked in judged.values()
        for rows in (checked.conversation.appends, checked.conversation.recalls, checked.conversation.deletes)
        for _, row in rows
    ]
    frame = pd.DataFrame(rows, columns=[*_REQUEST_TYPES]).astype(_REQUEST_TYPES)
    outcomes = frame.groupby(["scenario", "kind", "outcome"]).size().to_dict()
    killed = frame[frame["killed"]].groupby("scenario").size().to_dict()
    timed = frame[frame["load"] & (frame["outcome"] == "ok")]
    timed = timed.assign(latency_ms=(timed["end_ns"] - timed["start_ns"]) / 1e6)
    latency = timed.groupby(["scenario", "kind"])["latency_ms"].quantile(np.array([*QUANTILES.values()])).to_dict()
    number = timed.groupby(["scenario", "kind"]).size().to_dict()
    spans = timed.groupby("scenario").agg(start=("start_ns", "min"), end=("end_ns", "max"))
    seconds = ((spans["end"] - spans["start"]) / 1e9).to_dict()
    for entry in tallies:
        name = entry.name
        entry.killed = int(killed.get(name, 0))
        for kind in KINDS:
            entry.requests[kind] = {outcome: int(outcomes.get((name, kind, outcome), 0)) for outcome in OUTCOMES}
            if kind == "delete":
                continue
            timed_number = number.get((name, kind), 0)
            entry.latency_ms[kind] = (
                {key: round(float(latency[name, kind, share]), 3) for key, share in QUANTILES.items()}
                if timed_number
                else None
            )
            span = seconds.get(name, 0)
            entry.throughput[kind] = round(timed_number / span, 3) if span > 0 else None


def _kind(row: Operation) -> str:
    return "append" if isinstance(row, Append) else "recall" if isinstance(row, Recall) else "delete"
