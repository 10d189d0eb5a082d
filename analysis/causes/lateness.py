"""Late reads: what was acknowledged is shown a little later, wherever it is read.

An asynchronous write, a replica that lags or an index that refreshes leaves messages missing while they are young, and
shows them for good afterwards. So the share of missing messages falls to zero with their age, and hardly any is gone in
the end.
"""

from __future__ import annotations

from analysis.causes.cause import Cause, suspect
from analysis.causes.copies import PAIRS_MIN, apart
from analysis.causes.harm import Harm
from analysis.causes.known import KNOWN
from analysis.symptoms.scale import ends, told
from goldfish.table import count, share

MOST = 0.95
"""The age up to which this share of the missing ones was seen is taken for the delay."""


def late_reads(harm: Harm, behaves_like_ms: float | None) -> Cause | None:
    """Reads that are behind; ``behaves_like_ms`` is the visibility under which the run is clean."""
    missing, pairs = harm.ages
    total = int(missing.sum())
    if not harm.missed or not total or not harm.late:
        return None
    within = missing.cumsum() >= MOST * total
    last = int(within.argmax())
    young = int(missing[: last + 1].sum()) / max(int(pairs[: last + 1].sum()), 1)
    old_missing, old = int(missing[last + 1 :].sum()), int(pairs[last + 1 :].sum())
    falls = max(0.0, 1 - (old_missing / old) / young) if old >= PAIRS_MIN else 0.5
    stale = harm.fates["stale"] + 0.5 * harm.fates["flicker"]
    found = apart(harm, late_only=True)
    weight = stale / harm.missed * falls * (1 - (found.weight if found else 0.0))
    _, until = ends(last)
    when = f"younger than {told(until)}" if until else f"up to {told(ends(last)[0])} old and older"
    old_share = share(old_missing / old) if old else "–"
    evidence = [
        f"{count(harm.late, 'message')} of {harm.missed:,} that were missed turned up later.",
        f"Of messages {when}, {share(young)} were missing; of older ones {old_share} ({old_missing:,} of {old:,}).",
    ]
    if behaves_like_ms is not None:
        evidence.append(f"The run is clean under visibility_ms = {behaves_like_ms:g}.")
    against = []
    if found and found.weight > 0.1:
        against.append("What is missing depends on which instance reads, more than on age.")
    elif found and found.same_pairs:
        same, other = share(found.same_missing / found.same_pairs), share(found.missing / found.pairs)
        evidence.append(
            f"Whichever instance reads: {same} missing where the writing one does, {other} where another does."
        )
    if harm.gone:
        against.append(f"{count(harm.gone, 'message')} never came back.")
    if harm.fates["flicker"]:
        against.append(f"{count(harm.fates['flicker'], 'message')} came and went, which mere lateness does not do.")
    title = f"{KNOWN['late-reads'].title}: behaves like {behaves_like_ms:g} ms visibility" if behaves_like_ms else None
    return suspect("late-reads", weight, evidence, against, title)
