"""Own copies: instances that do not see what the others wrote.

If each process keeps a memory or a cache of its own, and the balancer does not send a user always to the same one, then
what one instance wrote is missing where another one reads, and never where the same one reads. The shares are compared
at equal age and in the same scenario, for what is younger is missing more often under other causes, too. A copy that is
refreshed now and then heals with age; a memory that is not shared, or is kept under another key, never does.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from analysis.causes.cause import Cause, suspect
from analysis.causes.contrast import certainty
from analysis.causes.harm import Harm
from analysis.symptoms.scale import ends, told
from goldfish.words import count, share

PAIRS_MIN = 20
"""Fewer pairs tell nothing about a share."""
HEALED = 0.02
"""A share below this part of the worst one is healed."""
HEALED_MIN = 100
"""So many older pairs must be sound before anything is said to heal."""
ALWAYS = 0.9
"""A pair of instances that lacks more than this share does not see one another at all."""


class Apart(NamedTuple):
    """How pairs fared that one instance wrote and another read."""

    missing: int
    pairs: int
    same_missing: int
    same_pairs: int
    weight: float
    """Share of these missing pairs that being apart accounts for, less if that may be chance."""


def apart(harm: Harm, *, late_only: bool = False) -> Apart | None:
    """The comparison, of all missing messages or of those that were shown afterwards; None if there is none."""
    same, other = harm.missing("same", late=True), harm.missing("other", late=True)
    unknown = harm.missing("unknown", late=True)
    if not late_only:
        same, other = same + harm.missing("same", late=False), other + harm.missing("other", late=False)
        unknown = unknown + harm.missing("unknown", late=False)
    same_all, other_all = same + harm.shown("same"), other + harm.shown("other")
    named = int(same.sum() + other.sum())
    if not named or same_all.sum() < PAIRS_MIN or other_all.sum() < PAIRS_MIN:
        return None
    # Where nothing of that age was read by the instance that wrote it, there is no telling what it would have lacked.
    comparable = same_all > 0
    excess = float((other - other_all * same / np.maximum(same_all, 1))[comparable].sum())
    attributable = max(0.0, excess / (named + int(unknown.sum())))
    cases = harm.cases
    sure = certainty(int(other.sum()), named, int(other_all.sum()), int(same_all.sum()), cases)
    return Apart(int(other.sum()), int(other_all.sum()), int(same.sum()), int(same_all.sum()), attributable * sure)


def own_copies(harm: Harm) -> Cause | None:
    """Each instance serves a copy, which is refreshed or not."""
    every, late = apart(harm), apart(harm, late_only=True)
    if every is None:
        return _by_turns(harm)
    found, weight = every, every.weight
    if late is not None and harm.missed and late.weight * harm.late / harm.missed > weight:
        # Something else loses for good what copies only hide: the comparison is clearer without that.
        found, weight = late, late.weight * harm.late / harm.missed
    blind = _blindness(harm)
    if blind >= ALWAYS:
        return None
    reader = _only_reader(harm)
    title = f"{reader} serves a copy of its own, which does not see what other instances wrote" if reader else None
    evidence, against = _evidence(found, "" if found is every else " (those that came later)")
    healed = _healing(harm)
    if healed:
        evidence.append(healed)
    if reader:
        evidence.append(f"Only recalls that {reader} answered lack what another instance wrote.")
    _dump(harm, evidence, against)
    return suspect("own-copies", weight, evidence, against, title)


def split_memory(harm: Harm) -> Cause | None:
    """Instances that never see each other's messages."""
    found = apart(harm)
    blind = _blindness(harm)
    if found is None or blind < ALWAYS:
        return None
    evidence, against = _evidence(found)
    cells = _cells(harm)
    blindest = sorted(cells, key=lambda pair: (-cells[pair][0] / cells[pair][1], pair))[:3]
    lacks = [f"of what {w} wrote, {r} lacks {share(cells[w, r][0] / cells[w, r][1])}" for w, r in blindest]
    evidence.append(f"It never heals: {'; '.join(lacks)}.")
    _dump(harm, evidence, against)
    return suspect("split-memory", found.weight, evidence, against)


def _by_turns(harm: Harm) -> Cause | None:
    """Without instances to compare, copies show as messages that come and go."""
    flicker = harm.fates["flicker"]
    if not harm.missed or not flicker or harm.shown("same").sum() >= PAIRS_MIN:
        return None
    evidence = [f"{count(flicker, 'message')} of {harm.missed:,} that were missed came and went."]
    against = ["The answers do not name the instance they came from, so copies cannot be told apart."]
    # Turns tell that there are several copies, not whose they are.
    weight = 0.8 * flicker / harm.missed
    return suspect("own-copies", weight, evidence, against, "Several copies that disagree answer by turns")


def _evidence(found: Apart, which: str = "") -> tuple[list[str], list[str]]:
    where = (
        f"Where one instance wrote and another read, {share(found.missing / found.pairs)} of "
        f"{count(found.pairs, 'owed message')} were missing{which}; where the same one did both, "
        f"{share(found.same_missing / found.same_pairs)} of {found.same_pairs:,}."
    )
    against = []
    if found.same_missing:
        against.append(
            f"{count(found.same_missing, 'message')} were missing where the same instance wrote and read: something "
            "else is at work as well."
        )
    return [where], against


def _healing(harm: Harm) -> str | None:
    """From which age on messages of other instances are no longer missing."""
    missing = (harm.missing("other", late=True) + harm.missing("other", late=False)).sum(axis=0)
    every = missing + harm.shown("other").sum(axis=0)
    shares = np.divide(missing, every, out=np.zeros(len(every)), where=every >= PAIRS_MIN)
    bad = np.flatnonzero(shares > HEALED * shares.max())
    if not len(bad):
        return None
    last = int(bad[-1])
    after, still = int(every[last + 1 :].sum()), int(missing[last + 1 :].sum())
    since, until = ends(last)
    if after >= HEALED_MIN and until is not None:
        rest = f"{share(still / after)} were missing ({still:,} of {after:,})"
        return f"It heals: of messages older than {told(until)} {rest}."
    return f"Copies are still wrong {told(since)} after the acknowledgement; hardly any recall came later."


def _cells(harm: Harm) -> dict[tuple[str, str], tuple[int, int]]:
    """Writing and reading instance, if they are not the same → missing and all pairs."""
    instances = harm.judged.instances
    return {
        pair: (instances.missing[pair], instances.missing[pair] + instances.shown[pair])
        for pair in {*instances.missing, *instances.shown}
        if pair[0] != pair[1]
    }


def _blindness(harm: Harm) -> float:
    """Of the missing pairs of two instances, the share between instances that hardly see one another at all."""
    cells = _cells(harm)
    total = sum(missing for missing, _ in cells.values())
    blind = sum(missing for missing, pairs in cells.values() if missing > ALWAYS * pairs)
    return blind / total if total else 0.0


def _only_reader(harm: Harm) -> str | None:
    """The one instance whose recalls lack what others wrote, if there is one."""
    by_reader: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for (_, read), (missing, every) in _cells(harm).items():
        by_reader[read] += missing
        pairs[read] += every
    if len(pairs) < 2 or not by_reader:
        return None
    (name, most), *_ = by_reader.most_common(1)
    others = pairs.total() - pairs[name]
    rest = by_reader.total() - most
    return name if others >= PAIRS_MIN and rest / others < 0.1 * most / pairs[name] else None


def _dump(harm: Harm, evidence: list[str], against: list[str]) -> None:
    """What a dump of the store says, for a cause that loses nothing."""
    stored = harm.losses.stored
    kept, absent = stored.kept.total(), stored.absent.total()
    if kept:
        evidence.append(f"{count(kept, 'missed message')} are in the store: stored, but not served.")
    if absent:
        against.append(f"{count(absent, 'missed message')} are not in the store at all.")
