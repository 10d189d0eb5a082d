"""Pass, fail or inconclusive, and why.

A **fail** is proven: what was seen cannot happen within the budget. A **pass** is earned: every scenario was checked
enough, on a record that is whole. Everything between is **inconclusive**, and says what is missing; a run that checked
nothing must never look like a run that found nothing. Proof outranks doubt: a loss proven on conversations whose record
is whole fails the run even if another part of the record is damaged.

Every reason is a sentence for people: what was expected, what was seen, what to try.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Literal, NamedTuple

from analysis.completeness import doubts
from analysis.fitness import arrivals, load_processes, unfit
from analysis.judged import Judged
from analysis.rates import exceeds, holm, trials_for_fail, trials_for_pass, users_for_zero
from analysis.reason import Reason
from analysis.record import Record
from analysis.tally import Tally
from goldfish.contract import Budget
from goldfish.table import count, share, span

Outcome = Literal["pass", "fail", "inconclusive"]
UNSETTLED_MAX = 0.05
"""Share of a scenario's messages that may be unsettled after the final recalls."""

PROBLEMS_MAX = 5
ADVICE = {
    "duplicated": "Take the message id as the idempotency key.",
    "reordered": "Order by a sequence that the store assigns.",
    "phantom": "Elements of the memory's own, such as system prompts, need unmarked = 'allow' in the contract.",
}


class Verdict(NamedTuple):
    """What the run proves."""

    outcome: Outcome
    exit_code: int
    """0 pass · 1 pass, but too many requests failed · 3 fail · 4 inconclusive"""
    reasons: list[Reason]
    """Those that fail the run first, then those that bar a pass, then the rest."""


def decide(record: Record, judged: Judged, tallies: Sequence[Tally], budget: Budget, *, same_contract: bool) -> Verdict:
    """Judge a run.

    Args:
        record: the run as read.
        judged: all conversations.
        tallies: one for each scenario of the run or of the record.
        budget: what is tolerated.
        same_contract: whether the contract is the one the swarm judged by, so that its counts must be these.
    """
    disorder = _disorder(record, judged, tallies, budget)
    failing = [
        *_zero_tolerance(record, judged, tallies),
        *_losses(record, judged, tallies, budget),
        *(disorder if budget.disorder == "fail" else []),
    ]
    barring = [
        *doubts(record, judged, same_contract=same_contract),
        *(_too_little(tallies, budget) if not failing else []),
        *_vacuity(record, tallies),
        *(_unproven(tallies, budget) if budget.context_loss and not failing else []),
    ]
    requests = _request_failures(tallies, budget)
    run = record.run
    fitness = unfit(load_processes(record.logs), arrivals(run.turns_per_second, run.counters))
    noted = [*requests, *(disorder if budget.disorder == "report" else []), *fitness]
    if failing:
        return Verdict("fail", 3, [*failing, *barring, *noted])
    if barring:
        return Verdict("inconclusive", 4, [*barring, *noted])
    return Verdict("pass", 1 if requests else 0, noted)


def _zero_tolerance(record: Record, judged: Judged, tallies: Sequence[Tally]) -> list[Reason]:
    """A leak, an altered content, a rejected message that was stored: one proven case fails the run."""
    what = {
        "foreign": ("listed a message of another conversation", "Look at what instances share between requests."),
        "corrupted": (
            "listed a message with another content than was sent",
            "Look at roles, column sizes and encodings.",
        ),
        "rejected-yet-shown": (
            "listed a message whose append was refused",
            "Validate before storing, or answer what was stored.",
        ),
    }
    reasons = []
    for tally in tallies:
        for code, (seen, advice) in what.items():
            if tally.zero_tolerance[code]:
                anomaly = "phantom" if code == "rejected-yet-shown" else code
                example = _example(record, judged, tally.name, anomaly)
                times = count(tally.zero_tolerance[code], "time")
                text = f"{times} a recall {seen}; one case is too many. {advice} {example}"
                reasons.append(Reason(code=code, scenario=tally.name, text=text))
    return reasons


def _losses(record: Record, judged: Judged, tallies: Sequence[Tally], budget: Budget) -> list[Reason]:
    """Scenarios whose loss is proven to be over the budget."""
    if budget.context_loss == 0:
        over = [tally for tally in tallies if tally.recalls.events]
        expected = "expected none"
    else:
        tested = [tally for tally in tallies if tally.recalls.trials]
        rejected = holm([exceeds(tally.recalls, budget.context_loss) for tally in tested], 1 - budget.confidence)
        over = [tally for tally, is_over in zip(tested, rejected, strict=True) if is_over]
        expected = f"expected at most {share(budget.context_loss)}"
    reasons = []
    for tally in over:
        rate = tally.recalls
        interval = f"{budget.confidence:.0%} interval {span(rate.low, rate.high)}"
        text = (
            f"{rate.events:,} of {count(rate.trials, 'checked recall')} lacked a message they owed "
            f"({share(rate.rate)}, {interval}); {expected}. "
            f"{_fates(tally)} {_example(record, judged, tally.name, 'missing')}"
        )
        reasons.append(Reason(code="context-loss", scenario=tally.name, text=text))
    return reasons


def _too_little(tallies: Sequence[Tally], budget: Budget) -> list[Reason]:
    """Scenarios with fewer checked conversations than a pass needs."""
    return [
        Reason(
            code="few-conversations",
            scenario=tally.name,
            text=f"{count(tally.conversations.trials, 'conversation')} checked, at least {budget.min_conversations:,} "
            f"expected: {budget.min_conversations - tally.conversations.trials:,} more needed. Run longer (-t) or with "
            "more users (-u), or lower min_conversations.",
        )
        for tally in tallies
        if tally.conversations.trials < budget.min_conversations and not _idle(tally)
    ]


def _idle(tally: Tally) -> bool:
    return not tally.sent and not any(sum(outcomes.values()) for outcomes in tally.requests.values())


def _vacuity(record: Record, tallies: Sequence[Tally]) -> list[Reason]:
    """Too little was checked for the absence of losses to mean something."""
    reasons = []
    if not tallies:
        reasons.append(
            Reason(code="nothing-checked", text="No scenario ran and no operation is recorded; run at least one.")
        )
    finals = any(tally.final_recalls for tally in tallies)
    if tallies and not finals:
        text = (
            "No final recall was answered, so a late message cannot be told from a lost one; expected one from every "
            "device after its conversation settled. Let the run end by itself, or look for failed recalls."
        )
        reasons.append(Reason(code="no-final-recall", text=text))
    for tally in tallies:
        if _idle(tally):
            text = (
                "The scenario is listed as run, but no operation of it is recorded. Run longer, and with at least as "
                f"many users as scenarios ({len(tallies)})."
            )
            reasons.append(Reason(code="no-operations", scenario=tally.name, text=text))
            continue
        if not tally.recalls.trials:
            text = (
                f"Nothing was checked: {count(tally.sent, 'message')} sent, but no answered recall owed any. "
                "Look at failed requests, and whether the contract owes anything so soon: visibility_ms, window."
            )
            reasons.append(Reason(code="nothing-checked", scenario=tally.name, text=text))
        if finals and tally.unsettled > UNSETTLED_MAX * tally.sent:
            text = (
                f"{tally.unsettled:,} of {count(tally.sent, 'message')} ({share(tally.unsettled / tally.sent)}) are "
                "unsettled: their append was neither acknowledged nor refused and they were never shown, or no final "
                f"recall came after them; expected at most {share(UNSETTLED_MAX)}, for nobody knows what became of "
                "them. Look at appends that time out or answer 5xx (what is certainly not stored should answer 4xx), "
                "and at final recalls that got no answer."
            )
            reasons.append(Reason(code="unsettled", scenario=tally.name, text=text))
    for problem in record.run.problems[:PROBLEMS_MAX]:
        text = f"{problem} What the rest of it would have found is unknown; mend it and run again."
        reasons.append(Reason(code="swarm-problem", text=text))
    if record.run.ended == "aborted":
        text = "The run was aborted before its conversations were closed. Run it again to the end."
        reasons.append(Reason(code="aborted", text=text))
    return reasons


def _unproven(tallies: Sequence[Tally], budget: Budget) -> list[Reason]:
    """Scenarios that are neither proven over the budget nor proven within it."""
    reasons = []
    for tally in tallies:
        rate = tally.recalls
        if rate.rate is None or rate.high <= budget.context_loss:
            continue
        seen = (
            f"The loss rate is {share(rate.rate)} in {count(rate.trials, 'checked recall')} of "
            f"{count(rate.clusters, 'user')}, and may be as high as {share(rate.high)}; the budget is "
            f"{share(budget.context_loss)}."
        )
        if not rate.events:
            users = users_for_zero(budget.context_loss, budget.confidence)
            needed = f"Without a loss, {count(users - rate.clusters, 'more user', 'more users')} would prove a pass."
        elif trials := trials_for_pass(rate, budget.context_loss, budget.confidence):
            needed = f"At this rate about {count(trials - rate.trials, 'more recall')} would prove a pass."
        elif trials := trials_for_fail(rate, budget.context_loss, budget.confidence):
            # Several scenarios share one level, so this one alone may have enough.
            needed = f"At this rate about {count(max(trials - rate.trials, 1), 'more recall')} would prove a fail."
        else:
            needed = "The rate is exactly the budget: no number of recalls tells on which side it is."
        reasons.append(Reason(code="rate-unproven", scenario=tally.name, text=f"{seen} {needed}"))
    return reasons


def _request_failures(tallies: Sequence[Tally], budget: Budget) -> list[Reason]:
    """The share of requests that failed or stayed unanswered, of all but those cut off by the end."""
    total = sum(sum(outcomes.values()) for tally in tallies for outcomes in tally.requests.values())
    failed = sum(outcomes["fail"] + outcomes["info"] for tally in tallies for outcomes in tally.requests.values())
    killed = sum(tally.killed for tally in tallies)
    total, failed = total - killed, failed - killed
    if not total or failed / total <= budget.request_failures:
        return []
    text = (
        f"{failed:,} of {count(total, 'request')} failed or got no answer ({share(failed / total)}); expected at most "
        f"{share(budget.request_failures)}. Look at the target's log, or send less."
    )
    return [Reason(code="request-failures", text=text)]


def _disorder(record: Record, judged: Judged, tallies: Sequence[Tally], budget: Budget) -> list[Reason]:
    """What was found beside loss: messages listed twice, in an impossible order, or from nowhere."""
    what = {
        "duplicated": "a message listed more than once",
        "reordered": "lists in an order that cannot be the stored one",
        "phantom": "an element that nobody stored",
    }
    effect = "" if budget.disorder == "fail" else " By the budget's disorder = 'report' it does not fail the run."
    reasons = []
    for tally in tallies:
        for anomaly, seen in what.items():
            number = tally.findings[anomaly]
            if anomaly == "phantom":
                number -= tally.zero_tolerance["rejected-yet-shown"]
            if number:
                text = (
                    f"{count(number, 'finding')} in {count(tally.harmed_by[anomaly], 'conversation')}: {seen}; "
                    f"expected none.{effect} {ADVICE[anomaly]} {_example(record, judged, tally.name, anomaly)}"
                )
                reasons.append(Reason(code=anomaly, scenario=tally.name, text=text))
    return reasons


def _fates(tally: Tally) -> str:
    """What became of the messages that were missed."""
    fates = tally.fates
    lost = fates["lost: never visible"] + fates["lost: vanished"]
    parts = [f"{count(lost, 'message')} lost (missing to the end, see settle_ms)"] if lost else []
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


def _example(record: Record, judged: Judged, scenario: str, anomaly: str) -> str:
    """The first finding of a class in a sentence, and how to see more."""
    example = judged.examples.first.get((scenario, anomaly))
    if example is None:
        return ""
    return f"{example.sentence} See: goldfish show {shlex.join([str(record.directory), example.conversation])}"
