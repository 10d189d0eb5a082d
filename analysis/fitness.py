"""Was the swarm itself fit? What it measured while it was out of breath is partly its own doing.

A load process that has no CPU left, or whose event loop is late, sends later than it means to and sees answers later
than they came. That bends latencies; it does not bend losses, for a stamp that is late only widens an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from analysis.reason import Reason
from analysis.record import Log
from goldfish.run import Counters
from goldfish.words import count

CPU_PCT_MAX = 90.0
LAG_MS_MAX = 100.0
"""How late the event loop of a load process may be."""
BUSY_SHARE_MAX = 0.1
"""Share of its seconds in which a load process may be over one of the limits."""
BUSY_S_MIN = 3
"""Fewer seconds than these are a hiccup."""
RAMP_S = 4
"""Seconds at the beginning and the end of a run that are not held against the rate."""
PUNCTUAL_SHARE_MIN = 0.8
"""Open arrivals: share of the turns due by time and rate that must at least have fallen due."""
LATE_MS_MAX = 100.0
"""Open arrivals: how late the 95th percentile of turns may begin."""


class LoadProcess(msgspec.Struct, frozen=True, kw_only=True):
    """How one load process fared; sampled once a second."""

    process: str
    seconds: int
    loaded: int
    """Seconds with users."""
    busy: int
    """Seconds with more CPU or lag than the limits."""
    users_max: int
    cpu_pct_max: float
    lag_ms_max: float
    saturated: bool


class Arrivals(msgspec.Struct, frozen=True, kw_only=True):
    """Open arrivals: how punctually turns began."""

    turns_per_second: float
    begun: int
    never_begun: int
    """Turns that were due and for which no user was free to the end."""
    p50_ms: float
    """Lateness of turns; of several load processes that of the worst."""
    p95_ms: float
    max_ms: float


def load_processes(logs: Sequence[Log]) -> list[LoadProcess]:
    """The fitness of every load process that was sampled."""
    found = []
    for log in logs:
        if not log.samples:
            continue
        # A sample stands for the time since the one before: a process that hangs is sampled seldom.
        ends_s = [sample.at_ns / 1e9 for sample in log.samples]
        lengths_s = [1.0, *(later - earlier for earlier, later in pairwise(ends_s))]
        busy_s = sum(
            length_s
            for sample, length_s in zip(log.samples, lengths_s, strict=True)
            if sample.cpu_pct >= CPU_PCT_MAX or sample.lag_ms >= LAG_MS_MAX
        )
        total_s = sum(lengths_s)
        found.append(
            LoadProcess(
                process=log.process,
                seconds=round(total_s),
                loaded=round(sum(n for sample, n in zip(log.samples, lengths_s, strict=True) if sample.users)),
                busy=round(busy_s),
                users_max=max(sample.users for sample in log.samples),
                cpu_pct_max=max(sample.cpu_pct for sample in log.samples),
                lag_ms_max=max(sample.lag_ms for sample in log.samples),
                saturated=busy_s >= BUSY_S_MIN and busy_s > BUSY_SHARE_MAX * total_s,
            )
        )
    return found


def arrivals(turns_per_second: float | None, counters: dict[str, Counters]) -> Arrivals | None:
    """The punctuality of open arrivals; None if users went at their own pace."""
    told = [each.lateness for each in counters.values() if each.lateness]
    if not turns_per_second or not told:
        return None
    return Arrivals(
        turns_per_second=turns_per_second,
        begun=sum(lateness.begun for lateness in told),
        never_begun=sum(lateness.waiting for lateness in told),
        p50_ms=max(lateness.p50_ms for lateness in told),
        p95_ms=max(lateness.p95_ms for lateness in told),
        max_ms=max(lateness.max_ms for lateness in told),
    )


def unfit(processes: Sequence[LoadProcess], punctuality: Arrivals | None) -> list[Reason]:
    """What to know before a latency of this run is believed. It bars no pass."""
    reasons = []
    saturated = [process for process in processes if process.saturated]
    if saturated:
        worst = max(saturated, key=lambda process: process.busy / process.seconds)
        text = (
            f"{count(len(saturated), 'load process', 'load processes')} of {len(processes)} had no time to spare: "
            f"{worst.process} was over {CPU_PCT_MAX:g} % CPU or {LAG_MS_MAX:g} ms late in {worst.busy} of "
            f"{count(worst.seconds, 'second')} (up to {worst.cpu_pct_max:g} % and {worst.lag_ms_max:,.0f} ms). "
            "Latencies of this run are partly its own and not reliable; losses are judged all the same. "
        )
        if worst.cpu_pct_max >= CPU_PCT_MAX:
            text += "Use more --processes, or fewer users."
        else:
            text += "The machine gave it no more CPU: run the load on one of its own, or with fewer users."
        reasons.append(Reason(code="load-saturated", text=text))
    due = punctuality.begun + punctuality.never_begun if punctuality else 0
    lasted_s = max((process.loaded for process in processes), default=0)
    if punctuality and due < PUNCTUAL_SHARE_MIN * punctuality.turns_per_second * (lasted_s - RAMP_S):
        text = (
            f"Only {due:,} turns fell due in {count(lasted_s, 'second')} at {punctuality.turns_per_second:g} a second: "
            "users came late, or a load process was lost or stood still."
        )
        reasons.append(Reason(code="late-arrivals", text=text))
    elif punctuality and (punctuality.p95_ms > LATE_MS_MAX or punctuality.never_begun):
        text = (
            f"Turns began late: {punctuality.turns_per_second:g} a second were due, {punctuality.begun:,} began, 5 % "
            f"of them more than {punctuality.p95_ms:,.0f} ms after their time, and {punctuality.never_begun:,} never. "
            "No user was free: give more of them (-u), or see why turns take so long."
        )
        reasons.append(Reason(code="late-arrivals", text=text))
    return reasons
