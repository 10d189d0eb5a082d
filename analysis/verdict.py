"""Pass, fail or inconclusive, and why.

A **fail** is proven: what was seen cannot happen within the budget. A **pass** is earned: every scenario was checked
enough, on a record that is whole. Everything between is **inconclusive**, and says what is missing; a run that checked
nothing must never look like a run that found nothing. Proof outranks doubt: a loss proven on conversations whose record
is whole fails the run even if another part of the record is damaged.

Every reason is a sentence for people: what was expected, what was seen, what to try.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from analysis import budgets
from analysis.completeness import doubts
from analysis.faults import Fault, idle_faults
from analysis.fitness import arrivals, load_processes, unfit
from analysis.judged import Judged
from analysis.power import UNTRIED, Power, blind
from analysis.reason import Reason
from analysis.record import Record
from analysis.tally import Tally
from analysis.vacuity import too_little, vacuity
from goldfish.anomalies import ANOMALIES
from goldfish.contract import Budget
from goldfish.words import count

Outcome = Literal["pass", "fail", "inconclusive"]
DISORDER = [entry for entry in ANOMALIES.values() if entry.severity == "disorder" or entry.name == "phantom"]
"""What is listed and may not be; a rejected message that is shown is a phantom of its own kind (zero-tolerance)."""
PHANTOM_ADVICE = "Elements of the memory's own, such as system prompts, need unmarked = 'allow' in the contract."


class Verdict(NamedTuple):
    """What the run proves."""

    outcome: Outcome
    exit_code: int
    """0 pass · 1 pass, but too many requests failed · 3 fail · 4 inconclusive"""
    reasons: list[Reason]
    """Those that fail the run first, then those that bar a pass, then the rest."""


def decide(
    record: Record,
    judged: Judged,
    tallies: Sequence[Tally],
    budget: Budget,
    *,
    same_contract: bool,
    may_refuse: bool = False,
    power: Power = UNTRIED,
    faults: Sequence[Fault] = (),
    faults_flaw: str | None = None,
) -> Verdict:
    """Judge a run.

    Args:
        record: the run as read.
        judged: all conversations.
        tallies: one for each scenario of the run or of the record.
        budget: what is tolerated.
        same_contract: whether the contract is the one the swarm judged by, so that its counts must be these.
        may_refuse: whether the contract lets appends at the same time be refused with 409.
        power: what the checker would have seen.
        faults: what was done to the deployment.
        faults_flaw: what is wrong with their record.
    """
    run, where = record.run, str(record.directory)
    fitness = unfit(load_processes(record.logs), arrivals(run.turns_per_second, run.counters))
    claimed = budgets.claims(tallies, budget, sequential=run.until_proven)
    slow, slow_doubts = budgets.too_slow(tallies, budget, reliable=not fitness)
    disorder = _disorder(judged, tallies, budget, where)
    failing = [
        *_zero_tolerance(judged, tallies, where),
        *budgets.exceeded(judged, claimed, budget, where),
        *(disorder if budget.disorder == "fail" else []),
        *slow,
    ]
    barring = [
        *blind(power),
        *doubts(record, judged, same_contract=same_contract),
        *(too_little(tallies, budget, interrupted=run.ended == "interrupted") if not failing else []),
        *vacuity(record, tallies),
        *idle_faults(faults, faults_flaw),
        *(budgets.unproven(claimed, budget) if not failing else []),
        *slow_doubts,
    ]
    requests = budgets.request_failures(judged, tallies, budget, may_refuse=may_refuse)
    noted = [*requests, *(disorder if budget.disorder == "report" else []), *fitness]
    if failing:
        return Verdict("fail", 3, [*failing, *barring, *noted])
    if barring:
        rest = [reason for reason in noted if reason not in requests]
        return Verdict("inconclusive", 4, [*requests, *barring, *rest])
    return Verdict("pass", 1 if requests else 0, noted)


def _zero_tolerance(judged: Judged, tallies: Sequence[Tally], where: str) -> list[Reason]:
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
                example = judged.examples.told(tally.name, anomaly, where)
                times = count(tally.zero_tolerance[code], "time")
                text = f"{times} a recall {seen}; one case is too many. {advice} {example}"
                reasons.append(Reason(code=code, scenario=tally.name, text=text))
    return reasons


def _disorder(judged: Judged, tallies: Sequence[Tally], budget: Budget, where: str) -> list[Reason]:
    """What was found beside loss: messages listed twice, out of order, too many, too long, or from nowhere."""
    effect = "" if budget.disorder == "fail" else " By the budget's disorder = 'report' it does not fail the run."
    reasons = []
    for tally in tallies:
        for anomaly in DISORDER:
            name = anomaly.name
            number = tally.findings[name]
            advice = f"{anomaly.remedies[0][:1].upper()}{anomaly.remedies[0][1:]}."
            if name == "phantom":
                number -= tally.zero_tolerance["rejected-yet-shown"]
                advice = PHANTOM_ADVICE
            if number:
                text = (
                    f"{count(number, 'finding')} in {count(tally.harmed_by[name], 'conversation')}: {anomaly.meaning}; "
                    f"expected none.{effect} {advice} {judged.examples.told(tally.name, name, where)}"
                )
                reasons.append(Reason(code=anomaly.code, scenario=tally.name, text=text))
    return reasons
