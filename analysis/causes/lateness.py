"""Late reads and incomplete ones: what was missing is shown again, wherever it is read.

An asynchronous write, a replica that lags or an index that refreshes leaves messages missing while they are young, and
shows them for good afterwards: the share of missing messages falls to zero with their age. If it does not fall, reads
are not behind but lose something on the way, now this and now that.
"""

from __future__ import annotations

from typing import NamedTuple

from analysis.causes.cause import Cause, suspect
from analysis.causes.copies import Apart, apart
from analysis.causes.harm import Harm
from analysis.causes.known import KNOWN
from analysis.delays import delay
from analysis.symptoms.scale import ends, told
from goldfish.words import count, share


class Course(NamedTuple):
    """How the share of missing messages goes with their age, told at the age that parts missing from shown best."""

    edge: int
    """Bin from which on messages are old."""
    young: float
    old_missing: int
    old: int
    falls: float
    """How well that age parts them: Youden's J, 1 if all younger ones are missing and no older one, 0 if age says
    nothing."""


def course(harm: Harm) -> Course | None:
    """The course of the age curve; None if nothing was missing or nothing shown."""
    missing, pairs = harm.ages
    shown = pairs - missing
    if not missing.sum() or not shown.sum():
        return None
    parted = missing.cumsum() / missing.sum() - shown.cumsum() / shown.sum()
    edge = int(parted.argmax()) + 1
    young = int(missing[:edge].sum()) / max(int(pairs[:edge].sum()), 1)
    return Course(edge, young, int(missing[edge:].sum()), int(pairs[edge:].sum()), max(0.0, float(parted.max())))


def late_reads(harm: Harm, behaves_like_ms: float | None) -> Cause | None:
    """Reads that are behind; ``behaves_like_ms`` is the visibility under which the run is clean."""
    went = course(harm)
    if went is None or not harm.late:
        return None
    found = apart(harm, late_only=True)
    stale = harm.fates["stale"] + 0.5 * harm.fates["flicker"]
    # Under a visibility that makes the run clean, nothing but age is left that could matter.
    falls = went.falls if behaves_like_ms is None else 1.0
    weight = stale / harm.missed * falls * (1 - (found.weight if found else 0.0))
    evidence = [_came_later(harm), *_how_late(harm), _course_told(went)]
    if behaves_like_ms is not None:
        evidence.append(f"The run is clean under visibility_ms = {behaves_like_ms:g}.")
    against = []
    if found and found.weight > 0.1:
        against.append("What is missing depends on which instance reads, more than on age.")
    elif found and found.same_pairs:
        evidence.append(_wherever(found))
    if harm.gone:
        against.append(f"{count(harm.gone, 'message')} never came back.")
    if harm.fates["flicker"]:
        against.append(f"{count(harm.fates['flicker'], 'message')} came and went, which mere lateness does not do.")
    title = f"{KNOWN['late-reads'].title}: behaves like {behaves_like_ms:g} ms visibility" if behaves_like_ms else None
    return suspect("late-reads", weight, evidence, against, title)


def incomplete_reads(harm: Harm, behaves_like_ms: float | None) -> Cause | None:
    """Reads that lose something on the way, whatever its age; not if a visibility makes the run clean."""
    went = course(harm)
    if went is None or not harm.late or behaves_like_ms is not None:
        return None
    found = apart(harm, late_only=True)
    # What was missing at first and then shown for good may as well have been late.
    turns = harm.fates["flicker"] + 0.5 * harm.fates["stale"]
    weight = turns / harm.missed * (1 - went.falls) * (1 - (found.weight if found else 0.0))
    evidence = [_came_later(harm), _course_told(went)]
    if found and found.same_pairs and found.weight <= 0.1:
        evidence.append(_wherever(found))
    against = [f"{count(harm.gone, 'message')} never came back."] if harm.gone else []
    return suspect("incomplete-reads", weight, evidence, against)


def _came_later(harm: Harm) -> str:
    return f"{harm.late:,} of {count(harm.missed, 'missing message')} came later."


def _how_late(harm: Harm) -> list[str]:
    """Between the last look that lacked them and the first that showed them."""
    counts = harm.judged.counts.scenarios.values()
    missing = delay([value for scenario in counts for value in scenario.still_missing_ms])
    shown = delay([value for scenario in counts for value in scenario.delays_ms])
    if missing is None or shown is None:
        return []
    half, most = _ms(missing.p50), _ms(missing.p95)
    course = f"half came within {half} of its acknowledgement, 95 % within {most}, the last after {_ms(missing.max)}"
    return [f"Of the recalls that lacked one, {course}; by {_ms(shown.max)} all were shown."]


def _ms(value: float) -> str:
    return f"{value:,.{0 if value >= 10 else 1}f} ms"


def _course_told(went: Course) -> str:
    age = told(ends(went.edge)[0])
    old = share(went.old_missing / went.old) if went.old else "–"
    older = f"of older ones {old} ({went.old_missing:,} of {went.old:,})"
    return f"Of messages younger than {age}, {share(went.young)} were missing; {older}."


def _wherever(found: Apart) -> str:
    same, other = share(found.same_missing / found.same_pairs), share(found.missing / found.pairs)
    return f"Whichever instance reads: {same} missing where the writing one does, {other} where another does."
