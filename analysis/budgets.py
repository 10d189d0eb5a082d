"""What a run tolerates: loss, harm, latency and failed requests, each held against what was measured.

A loss budget is exceeded if that is proven, and met if the upper end of the interval is within it; between the two the
run has to go on. Several hypotheses are tested at once, one a scenario and loss budget, and share one level (Holm): a
sound memory fails a run in at most ``1 - confidence`` of all runs, however many scenarios it has. A budget of 0 needs
no test: a single proven case is more than none.

The other budgets are held against the figure itself: latencies come in waves, and what a quantile's interval would rest
on nobody knows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from analysis.fates import LOST
from analysis.judged import Judged
from analysis.rates import Rate, exceeds, holm, users_for_fail, users_for_pass
from analysis.reason import Reason
from analysis.tally import Tally
from goldfish.contract import Budget
from goldfish.sequential import Wager, pass_level, wager
from goldfish.words import count, share, span

TIMED_MIN = 100
"""Fewer requests than these have no 95th percentile worth the name."""
REFUSAL = ("append", "409")
"""An answer as any other, where the contract lets the second of two appends at once be refused."""
WHYS = {
    "refused": "connection refused",
    "reset": "connection reset",
    "eof": "connection closed without an answer",
    "timeout": "no answer in time",
}
"""Reasons that are told in other words than the record's."""


class Claim(NamedTuple):
    """One loss budget, in one scenario."""

    tally: Tally
    code: str
    rate: Rate
    most: float
    """The budget."""
    sequential: bool
    """The run was to end when something was proven, so tests are those that allow for it."""
    what: str
    """What the rate counts, in the singular."""
    wrong: str
    """What is wrong with it."""


def claims(tallies: Sequence[Tally], budget: Budget, *, sequential: bool = False) -> list[Claim]:
    """All that the loss budgets claim of the scenarios in which something was checked.

    Args:
        tallies: one for each scenario.
        budget: what is tolerated.
        sequential: whether the run was to end when something was proven.
    """
    found = []
    for tally in tallies:
        found.append(
            Claim(
                tally,
                "context-loss",
                tally.recalls,
                budget.context_loss,
                sequential,
                "checked recall",
                "lacked a message they owed",
            )
        )
        if budget.conversations_harmed is not None:
            most = budget.conversations_harmed
            found.append(
                Claim(
                    tally,
                    "conversations-harmed",
                    tally.conversations,
                    most,
                    sequential,
                    "checked conversation",
                    "were harmed",
                )
            )
    return [claim for claim in found if claim.rate.trials]


def exceeded(judged: Judged, claimed: Sequence[Claim], budget: Budget, where: str) -> list[Reason]:
    """Claims that are proven wrong.

    Args:
        judged: for an example of each.
        claimed: all claims.
        budget: for the confidence.
        where: the run directory.
    """
    tested = [claim for claim in claimed if claim.most > 0]
    rejected = holm([_chance(claim) for claim in tested], 1 - budget.confidence)
    over = {id(claim) for claim, is_over in zip(tested, rejected, strict=True) if is_over}
    over |= {id(claim) for claim in claimed if claim.most == 0 and claim.rate.events}
    return [_exceeded(judged, claim, budget, where) for claim in claimed if id(claim) in over]


def _chance(claim: Claim) -> float:
    """How often a memory that keeps the budget would look so bad."""
    if claim.sequential and claim.most < 1:
        return math.exp(-max(_wagered(claim).over, 0))
    return exceeds(claim.rate, claim.most)


def _wagered(claim: Claim) -> Wager:
    """What the users of a scenario add up to; see ``goldfish.sequential``."""
    total = Wager()
    users = claim.rate.users
    for events, trials, number in zip(users.events, users.trials, users.number, strict=True):
        total = total.plus(wager(float(events / trials), claim.most).times(float(number)))
    return total


def _kept(claim: Claim, budget: Budget) -> bool:
    """Whether a budget is proven to be kept."""
    if claim.sequential and 0 < claim.most < 1:
        return _wagered(claim).within >= -math.log(pass_level(budget))
    return claim.rate.high <= claim.most


def _exceeded(judged: Judged, claim: Claim, budget: Budget, where: str) -> Reason:
    rate, tally = claim.rate, claim.tally
    incidents = tally.incidents and (rate.low, rate.high) == (0, 1)
    sure = (
        f"in {count(tally.incidents, 'incident')}, see faults"
        if incidents
        else f"{budget.confidence:.0%} interval {span(rate.low, rate.high)}"
    )
    expected = f"at most {share(claim.most)}" if claim.most else "none"
    anomaly = "missing" if claim.code == "context-loss" else next(iter(tally.findings), "missing")
    fates = f"{_fates(tally)} " if claim.code == "context-loss" else ""
    text = (
        f"{rate.events:,} of {count(rate.trials, claim.what)} {claim.wrong} ({share(rate.rate)}, {sure}); expected "
        f"{expected}. {fates}{judged.examples.told(tally.name, anomaly, where)}"
    )
    return Reason(code=claim.code, scenario=tally.name, text=text)


def unproven(claimed: Sequence[Claim], budget: Budget) -> list[Reason]:
    """Claims that are neither proven wrong nor proven right, and what more it would take. For runs that do not fail."""
    reasons = []
    for claim in claimed:
        rate, most = claim.rate, claim.most
        if most == 0 or rate.rate is None or _kept(claim, budget):
            continue
        if claim.tally.incidents and (rate.low, rate.high) == (0, 1):
            text = (
                f"{rate.events:,} of {count(rate.trials, claim.what)} {claim.wrong}, some of them in "
                f"{count(claim.tally.incidents, 'incident')}: how much the next fault would cost, so few do not tell. "
                "Let the fault strike five times or more (every=…), or tolerate nothing (a budget of 0)."
            )
            reasons.append(Reason(code="incidents", scenario=claim.tally.name, text=text))
            continue
        if claim.sequential:
            reached = math.exp(_wagered(claim).within)
            text = (
                f"{share(rate.rate)} of {count(rate.trials, claim.what)} of {count(rate.clusters, 'user')} "
                f"{claim.wrong}; that is {reached:.2g} times as likely with a fifth of the budget as with the whole of "
                f"{share(most)}, and {1 / pass_level(budget):.0f} times would prove it kept. Let it run longer (-t)."
            )
            reasons.append(Reason(code="rate-unproven", scenario=claim.tally.name, text=text))
            continue
        seen = (
            f"{share(rate.rate)} of {count(rate.trials, claim.what)} of {count(rate.clusters, 'user')} {claim.wrong}, "
            f"and the true rate may be as high as {share(rate.high)}; the budget is {share(most)}."
        )
        if users := users_for_pass(rate, most, budget.confidence):
            how = "At this rate" if rate.events else "Without a loss"
            needed = f"{how} about {count(max(users - rate.clusters, 1), 'more user')} would prove a pass."
        elif users := users_for_fail(rate, most, budget.confidence):
            # Several claims share one level, so this one alone may have enough.
            needed = f"At this rate about {count(max(users - rate.clusters, 1), 'more user')} would prove a fail."
        else:
            needed = "The rate is exactly the budget: no number of users tells on which side it is."
        reasons.append(Reason(code="rate-unproven", scenario=claim.tally.name, text=f"{seen} {needed}"))
    return reasons


def too_slow(tallies: Sequence[Tally], budget: Budget, *, reliable: bool) -> tuple[list[Reason], list[Reason]]:
    """Latencies over budget, and what keeps one from telling.

    Args:
        tallies: one for each scenario.
        budget: what is tolerated.
        reliable: whether latencies are the memory's and not the swarm's own.

    Returns:
        Reasons that fail the run, and reasons that bar a pass.
    """
    limits = {"recall": budget.recall_p95_ms, "append": budget.append_p95_ms}
    set_limits = {kind: most_ms for kind, most_ms in limits.items() if most_ms is not None}
    if not set_limits:
        return [], []
    if not reliable:
        names = " and ".join(f"{kind}_p95_ms" for kind in set_limits)
        text = (
            f"Nothing can be said about {names}: the swarm itself was late (see load-saturated and late-arrivals), so "
            "latencies are partly its own. Use more --processes, fewer users, or a machine of its own."
        )
        return [], [Reason(code="latency-unreliable", text=text)]
    failing, barring = [], []
    for tally in tallies:
        for kind, most_ms in set_limits.items():
            latency, timed = tally.latency_ms.get(kind), tally.timed.get(kind, 0)
            if timed < TIMED_MIN and tally.requests.get(kind):
                text = (
                    f"{count(timed, f'answered {kind}')} in the load phase; expected at least {TIMED_MIN}, or there is "
                    f"no 95th percentile to hold against {kind}_p95_ms = {most_ms:g}. Run longer (-t)."
                )
                barring.append(Reason(code="latency-unproven", scenario=tally.name, text=text))
            elif latency and latency["p95"] > most_ms:
                text = (
                    f"The 95th percentile of {count(timed, f'answered {kind}')} is {latency['p95']:,.1f} ms (median "
                    f"{latency['p50']:,.1f}, 99th {latency['p99']:,.1f}); expected at most {most_ms:g} ms."
                )
                failing.append(Reason(code="latency", scenario=tally.name, text=text))
    return failing, barring


def request_failures(judged: Judged, tallies: Sequence[Tally], budget: Budget, *, may_refuse: bool) -> list[Reason]:
    """The share of requests that failed or stayed unanswered.

    Those cut off by the end are left out, and so are those under way in a fault: there they are to be expected. Where
    the contract lets appends be refused with 409, such a refusal is an answer as any other.
    """
    refused = sum(
        number
        for failure, number in judged.symptoms.failures.number.items()
        if may_refuse and (failure.kind, failure.why) == REFUSAL
    )
    total = sum(sum(outcomes.values()) for tally in tallies for outcomes in tally.requests.values())
    failed = sum(outcomes["fail"] + outcomes["info"] for tally in tallies for outcomes in tally.requests.values())
    killed = sum(tally.killed for tally in tallies)
    total -= killed + judged.exposure.requests
    failed -= killed + judged.exposure.failed + refused
    if total <= 0 or failed / total <= budget.request_failures:
        return []
    outside = " outside of faults" if judged.exposure.requests else ""
    whys = _mostly(judged, may_refuse=may_refuse)
    text = (
        f"{failed:,} of {count(total, 'request')}{outside} failed or got no answer ({share(failed / total)}); expected "
        f"at most {share(budget.request_failures)}. {whys}Look at the target's log, or send less."
    )
    return [Reason(code="request-failures", text=text)]


def _mostly(judged: Judged, *, may_refuse: bool) -> str:
    """What requests of the whole run failed of, the most frequent first."""
    whys: Counter[str] = Counter()
    for failure, number in judged.symptoms.failures.number.items():
        if not (may_refuse and (failure.kind, failure.why) == REFUSAL):
            whys[failure.why] += number
    told = []
    for why, number in whys.most_common(3):
        words = f"status {why}" if why.isdigit() else WHYS.get(why, why)
        told.append(f"{words} ({number:,})")
    return f"In the whole run they failed of: {', '.join(told)}. " if told else ""


def _fates(tally: Tally) -> str:
    """What became of the messages that were missed."""
    fates = tally.fates
    lost = sum(fates[name] for name in LOST)
    parts = [f"{count(lost, 'message')} lost (missing to the last recall)"] if lost else []
    if fates["stale"]:
        parts.append(f"{fates['stale']:,} late{_lateness(tally)}")
    if fates["flicker"]:
        parts.append(f"{fates['flicker']:,} shown and missing by turns")
    return f"In the end: {', '.join(parts)}." if parts else "No single message can be named."


def _lateness(tally: Tally) -> str:
    """How late, as far as the recalls tell: the last that lacked a message, the first that showed it."""
    missing, seen = max(tally.still_missing_ms, default=None), max(tally.delays_ms, default=None)
    if missing is None or seen is None:
        return ""
    return f" (still missing up to {missing:,.0f} ms after their acknowledgement, all seen by {seen:,.0f} ms)"
