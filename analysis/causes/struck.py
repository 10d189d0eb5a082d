"""Faults: what was lost when something was done to the deployment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from analysis.causes.cause import Cause, suspect
from analysis.causes.contrast import contrast
from analysis.causes.harm import Harm
from analysis.faults import Fault
from goldfish.words import count, share


def struck(harm: Harm, faults: Sequence[Fault]) -> Cause | None:
    """Losses that came with faults: their rate before, during and after."""
    if not faults or not harm.lossy:
        return None
    exposure = harm.judged.exposure
    met = sum(counts.checked for counts in exposure.episodes.values())
    met_lossy = sum(counts.lossy for counts in exposure.episodes.values())
    users = [user for scenario in harm.judged.counts.scenarios.values() for user in scenario.users.values()]
    checked, lossy = sum(user.checked for user in users), sum(user.lossy for user in users)
    found = contrast(met_lossy, met, lossy - met_lossy, checked - met, harm.harmed_by["missing"])
    if not found.exposed_bad:
        return None
    costs: Counter[str] = Counter()
    for fault in faults:
        costs[f"{fault.kind}@{fault.part}"] += fault.lossy_recalls
    (name, most), *others = costs.most_common()
    title = f"Losses came with the fault {name}" if most > sum(n for _, n in others) else "Losses came with faults"
    worst = max(faults, key=lambda fault: fault.lossy_recalls)
    with_fault = f"{share(found.exposed_bad / found.exposed)} were lossy ({found.exposed_bad:,} of {found.exposed:,})"
    without = f"{share(found.rest_bad / found.rest) if found.rest else '–'} ({found.rest_bad:,} of {found.rest:,})"
    course = ", ".join(
        f"{share(recalled.rate)} {when}"
        for when, recalled in (("before", worst.before), ("during", worst.during), ("after", worst.after))
    )
    evidence = [
        f"Of recalls that met a fault, or lack what was lost in one, {with_fault}; of all others {without}.",
        f"{worst.kind}@{worst.part} at {worst.requested_s:.1f} s: lossy {course}.",
    ]
    against = [f"{count(found.rest_bad, 'recall')} lacked something without a fault."] if found.rest_bad else []
    quiet = [fault for fault in faults if not fault.lossy_recalls]
    if quiet:
        against.append(f"{count(len(quiet), 'fault')} of {len(faults)} cost nothing.")
    return suspect("struck", found.weight, evidence, against, title)
