"""Was enough checked for the absence of losses to mean something?

A run that checked nothing must never look like a run that found nothing. What is too little bars a pass; it does not
excuse a loss that is proven.
"""

from __future__ import annotations

from collections.abc import Sequence

from analysis.reason import Reason
from analysis.record import Record
from analysis.tally import Tally
from goldfish.contract import Budget
from goldfish.words import count, share

UNSETTLED_MAX = 0.05
"""Share of a scenario's messages that may be unsettled after the final recalls."""
PROBLEMS_MAX = 5


def too_little(tallies: Sequence[Tally], budget: Budget, *, interrupted: bool) -> list[Reason]:
    """Scenarios with fewer checked conversations than a pass needs."""
    how = "Run longer (-t) or with more users (-u), or lower min_conversations."
    if interrupted:
        how = "The run was interrupted; let it end by itself."
    return [
        Reason(
            code="few-conversations",
            scenario=tally.name,
            text=f"{count(tally.conversations.trials, 'conversation')} checked, at least {budget.min_conversations:,} "
            f"expected: {budget.min_conversations - tally.conversations.trials:,} more needed. {how}",
        )
        for tally in tallies
        if tally.conversations.trials < budget.min_conversations and not _idle(tally)
    ]


def _idle(tally: Tally) -> bool:
    return not tally.sent and not any(sum(outcomes.values()) for outcomes in tally.requests.values())


def vacuity(record: Record, tallies: Sequence[Tally]) -> list[Reason]:
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
        if finals and tally.unsettled > UNSETTLED_MAX * tally.sent and tally.name not in record.run.cancelling:
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
