"""What the harm of a run consists of, by class, and what it points at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from analysis.causes.cause import Cause
from analysis.causes.effective import EffectiveContract, effective_contract
from analysis.causes.example import with_examples
from analysis.causes.likely import likely_causes
from analysis.faults import Fault
from analysis.judged import Judged
from analysis.rates import estimate
from goldfish.anomalies import ANOMALIES
from goldfish.contract import Contract

EXAMPLES_AMONG = 40
"""Of so many of the gravest conversations the plainest case is taken."""


class ClassRate(msgspec.Struct, frozen=True, kw_only=True):
    """How many conversations of a scenario have a finding of a class."""

    findings: int
    conversations: int
    """Conversations with one."""
    checked: int
    """Conversations that were looked at."""
    rate: float | None
    """None if none was looked at; then the interval is the whole of 0 to 1."""
    low: float
    high: float


class CausesSample(msgspec.Struct, frozen=True, kw_only=True):
    """In which conversations the circumstances of losses were counted, where that is not all of them."""

    conversations: int
    of: int
    """All that were judged."""

    def __str__(self) -> str:
        return (
            f"So many conversations lost something that the circumstances of losses were counted in a sample: "
            f"{self.conversations:,} of {self.of:,} conversations, drawn by their names."
        )


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Classes by scenario, likely causes, and the contract that is kept."""

    classes: dict[str, dict[str, ClassRate]] = {}
    """Scenario → class → its rate; classes that were found in no scenario are left out."""
    causes: list[Cause] = []
    causes_sample: CausesSample | None = None
    effective: EffectiveContract | None = None


def diagnose(
    judged: Judged,
    contract: Contract,
    confidence: float,
    faults: Sequence[Fault] = (),
    directory: Path = Path("RUN"),
) -> Diagnosis:
    """Look at what the sums over a run, and what was done to the deployment, say of its harm.

    Args:
        judged: the sums.
        contract: what is promised.
        confidence: level of the intervals.
        faults: what was done to the deployment.
        directory: of the run, to be named in commands.
    """
    effective = effective_contract(judged.symptoms.sample, contract)
    likely = likely_causes(judged, contract, effective, faults)
    if effective is not None and likely and likely[0].code == "lost-at-once":
        # An expiry would explain it as well; but a memory that crashed does not keep that promise either.
        effective = msgspec.structs.replace(effective, ttl=None)
    return Diagnosis(
        classes=_classes(judged, confidence),
        causes=with_examples(
            likely,
            judged.gravest.conversations(EXAMPLES_AMONG),
            judged.start_ns,
            directory,
        ),
        causes_sample=causes_sample(judged),
        effective=effective,
    )


def causes_sample(judged: Judged) -> CausesSample | None:
    """In which conversations causes of losses were sought; None: in all."""
    looked_at, judged_in_all = judged.symptoms.losses().conversations, judged.symptoms.conversations
    return CausesSample(conversations=looked_at, of=judged_in_all) if looked_at < judged_in_all else None


def _classes(judged: Judged, confidence: float) -> dict[str, dict[str, ClassRate]]:
    known = list(ANOMALIES)
    harmed = judged.symptoms.by_class.harmed
    found = sorted({name for _, name in harmed}, key=lambda name: (known.index(name) if name in known else 99, name))
    return {
        scenario: {name: _rate(judged, scenario, name, confidence) for name in found}
        for scenario in judged.counts.scenarios
    }


def _rate(judged: Judged, scenario: str, name: str, confidence: float) -> ClassRate:
    counts = judged.counts.scenario(scenario)
    harmed = judged.symptoms.by_class.harmed.get((scenario, name), Counter())
    # Sorted, so that the sums of the rates do not depend on who was counted first.
    users = sorted((harmed.get(user, 0), seen.seen) for user, seen in counts.users.items())
    rate = estimate([events for events, _ in users], [trials for _, trials in users], confidence)
    return ClassRate(
        findings=counts.findings[name],
        conversations=rate.events,
        checked=rate.trials,
        rate=rate.rate,
        low=rate.low,
        high=rate.high,
    )
