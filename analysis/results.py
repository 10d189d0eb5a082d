"""``results.json``: what a run proved, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from analysis.causes.cause import Cause
from analysis.causes.effective import EffectiveContract
from analysis.delays import Delay, delay
from analysis.diagnosis import CausesSample, ClassRate, Diagnosis
from analysis.fates import LOST
from analysis.faults import Fault
from analysis.fitness import Arrivals, LoadProcess, arrivals, load_processes
from analysis.power import UNTRIED, Power
from analysis.rates import Rate
from analysis.reason import Reason
from analysis.record import Record
from analysis.tally import Tally
from analysis.verdict import Outcome, Verdict
from goldfish.contract import Budget, Contract
from goldfish.run import Skipped

SCHEMA = 1


class Recalls(msgspec.Struct, frozen=True, kw_only=True):
    """The context-loss rate: lossy among checked recalls."""

    checked: int
    lossy: int
    rate: float | None
    """None if nothing was checked; then the interval is the whole of 0 to 1."""
    low: float
    high: float
    deff: float | None
    """Design effect of the clustering by user; None where it cannot be told."""
    clusters: int
    """Users with a checked recall."""


class Conversations(msgspec.Struct, frozen=True, kw_only=True):
    """Harmed among checked conversations."""

    checked: int
    harmed: int
    rate: float | None
    low: float
    high: float
    deff: float | None = None
    clusters: int = 0


class Messages(msgspec.Struct, frozen=True, kw_only=True):
    """Messages by fate.

    sent = rejected + indeterminate + unchecked + checked, and checked = ok + stale + flicker + lost.
    """

    sent: int
    rejected: int
    indeterminate: int
    unchecked: int
    checked: int
    ok: int
    stale: int
    flicker: int
    lost: int
    rate: float | None = None
    """Lost among checked; None if nothing was checked."""
    low: float = 0.0
    high: float = 1.0
    deff: float | None = None
    clusters: int = 0


class Requests(msgspec.Struct, frozen=True, kw_only=True):
    """Requests by outcome; info: nobody knows whether it was done."""

    ok: int
    fail: int
    info: int


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds from before the first byte is sent until the answer is parsed; ok requests of the load phase."""

    p50: float
    p95: float
    p99: float
    max: float


class Lateness(msgspec.Struct, frozen=True, kw_only=True):
    """How late messages were that were missing at first and then shown for good: between two looks, so two bounds."""

    missing_ms: Delay | None
    """When recalls began that lacked one of them: later than that it came."""
    shown_ms: Delay | None
    """When the first recall ended that showed it: by then it had come."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario in numbers."""

    name: str
    recalls: Recalls
    conversations: Conversations
    messages: Messages
    incidents: int = 0
    """Episodes of faults that cost something and are fewer than five, so that rates they touch have no interval."""
    requests: dict[str, Requests]
    anomalies: dict[str, int]
    """Findings per class."""
    classes: dict[str, ClassRate] = {}
    """Conversations with a finding of a class, for every class that was found in some scenario."""
    zero_tolerance: dict[str, int] = {}
    """Findings one of which fails the run: foreign, corrupted, rejected-yet-shown."""
    foreign_of: dict[str, int] = {}
    """Foreign elements by whose they are: of another session, of another user, of another tenant."""
    final_recalls: int = 0
    """Answered recalls that were made when the conversation had settled, to tell lost from late."""
    lateness: Lateness | None = None
    """None if no message was late."""
    latency_ms: dict[str, Latency | None]
    throughput: dict[str, float | None]
    """Ok requests of the load phase per second, by kind."""


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``results.json``; what was not measured is null or empty."""

    schema: int = SCHEMA
    run: str
    verdict: Outcome
    exit_code: int
    reasons: list[Reason]
    contract: Contract
    budget: Budget
    effective_contract: EffectiveContract | None = None
    """What the memory behaves like, if something was lost."""
    causes: list[Cause] = []
    """Likely causes of the harm, the likeliest first; none if nothing was harmed."""
    causes_sample: CausesSample | None = None
    """Where causes of losses were sought, if so many conversations lost something that a sample is enough; null: in all
    conversations. Everything else is counted in all of them."""
    power: Power
    """What the run would have seen, had it happened."""
    faults: list[Fault] = []
    """What was done to the deployment, in the order it was asked for."""
    until_proven: bool = False
    """The run was to end when something was proven: its budgets are tested accordingly; its intervals are still those
    of a run of fixed length."""
    skipped: list[Skipped]
    scenarios: list[Scenario]
    load_processes: list[LoadProcess]
    latency_reliable: bool
    """Whether no load process was saturated, so that latencies are the memory's."""
    arrivals: Arrivals | None
    """With open arrivals: how punctually turns began."""


def results(
    record: Record,
    contract: Contract,
    budget: Budget,
    tallies: Sequence[Tally],
    verdict: Verdict,
    *,
    power: Power = UNTRIED,
    faults: Sequence[Fault] = (),
    diagnosis: Diagnosis | None = None,
) -> Results:
    """Put together what was counted, decided and suspected."""
    run = record.run
    diagnosis = diagnosis or Diagnosis()
    processes = load_processes(record.logs)
    return Results(
        run=run.run,
        verdict=verdict.outcome,
        exit_code=verdict.exit_code,
        reasons=verdict.reasons,
        contract=contract,
        budget=budget,
        effective_contract=diagnosis.effective,
        causes=diagnosis.causes,
        causes_sample=diagnosis.causes_sample,
        power=power,
        faults=list(faults),
        until_proven=run.until_proven,
        skipped=run.skipped,
        scenarios=[_scenario(tally, diagnosis.classes.get(tally.name, {})) for tally in tallies],
        load_processes=processes,
        latency_reliable=not any(process.saturated for process in processes),
        arrivals=arrivals(run.turns_per_second, run.counters),
    )


def _scenario(tally: Tally, classes: dict[str, ClassRate]) -> Scenario:
    recalls, harmed = tally.recalls, tally.conversations
    return Scenario(
        name=tally.name,
        recalls=Recalls(checked=recalls.trials, lossy=recalls.events, **_interval(recalls)),
        conversations=Conversations(checked=harmed.trials, harmed=harmed.events, **_interval(harmed)),
        messages=_messages(tally),
        incidents=tally.incidents,
        requests={
            kind: Requests(**outcomes)
            for kind, outcomes in tally.requests.items()
            if kind in ("append", "recall") or any(outcomes.values())
        },
        anomalies=dict(sorted(tally.findings.items(), key=lambda item: (-item[1], item[0]))),
        classes=classes,
        zero_tolerance=dict(sorted((+tally.zero_tolerance).items())),
        foreign_of=dict(sorted(tally.foreign_of.items())),
        final_recalls=tally.final_recalls,
        lateness=_lateness(tally),
        latency_ms={kind: Latency(**latency) if latency else None for kind, latency in tally.latency_ms.items()},
        throughput=tally.throughput,
    )


def _messages(tally: Tally) -> Messages:
    fates = tally.fates
    lost = sum(fates[name] for name in LOST)
    return Messages(
        sent=tally.sent,
        rejected=fates["rejected"],
        indeterminate=fates["indeterminate"],
        unchecked=fates["unchecked"],
        checked=fates["ok"] + fates["stale"] + fates["flicker"] + lost,
        ok=fates["ok"],
        stale=fates["stale"],
        flicker=fates["flicker"],
        lost=lost,
        **_interval(tally.messages),
    )


def _lateness(tally: Tally) -> Lateness | None:
    missing, shown = delay(tally.still_missing_ms), delay(tally.delays_ms)
    return Lateness(missing_ms=missing, shown_ms=shown) if missing or shown else None


def _interval(rate: Rate) -> dict[str, Any]:
    return {
        "rate": rate.rate,
        "low": rate.low,
        "high": rate.high,
        "deff": rate.deff,
        "clusters": rate.clusters,
    }
