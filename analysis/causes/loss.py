"""Messages that are gone: overwritten by another writer, lost at one moment, never stored, disappearing over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import NamedTuple

from analysis.causes.cause import Cause, suspect
from analysis.causes.contrast import Contrast, contrast
from analysis.causes.harm import Harm
from analysis.causes.known import KNOWN
from analysis.symptoms.traits import SaidTraits
from analysis.symptoms.vanishing import TICK_NS
from goldfish.words import count, share

TELLING = 0.5
"""A trait that accounts for less than this share of the lost is not named."""
OVERLAP_MATTERS = 0.1
"""So much of the lost has to go with another writer for it to be said that it matters."""


def overlap(harm: Harm) -> Contrast:
    """Messages gone, of those written during another append beside the rest."""
    return by_trait(harm, lambda traits: traits.overlapped, lambda traits: traits.end == "gone")


def by_trait(
    harm: Harm,
    exposed: Callable[[SaidTraits], bool],
    bad: Callable[[SaidTraits], bool],
    among: Callable[[SaidTraits], bool] = lambda _: True,
) -> Contrast:
    """How messages with a trait fared beside the rest, among all or among some."""
    numbers: Counter[tuple[bool, bool]] = Counter()
    for traits, number in harm.said.items():
        if not among(traits):
            continue
        numbers[exposed(traits), bad(traits)] += number
    return contrast(
        numbers[True, True],
        numbers[True, True] + numbers[True, False],
        numbers[False, True],
        numbers[False, True] + numbers[False, False],
        harm.cases,
    )


def lost_update(harm: Harm) -> Cause | None:
    """Of two writers at once, one wins."""
    if not harm.gone:
        return None
    found = overlap(harm)
    if not found.exposed_bad:
        return None
    lost = f"{share(found.exposed_bad / found.exposed)} were lost ({found.exposed_bad:,} of {found.exposed:,})"
    alone = (
        f"; of the others {share(found.rest_bad / found.rest)} ({found.rest_bad:,} of {found.rest:,})"
        if found.rest
        else ""
    )
    evidence = [f"Of messages written while another append of the conversation was under way, {lost}{alone}."]
    against = _kept(harm)
    twins = harm.losses.traits.twins
    one_wins = _one_wins(twins)
    if one_wins > TELLING:
        evidence.append(
            f"Of two appends at once exactly one was lost in {twins[1]:,} of {count(twins.total(), 'case')}."
        )
    weight = found.weight
    if not found.rest:
        # With no other messages to compare with, overlap alone is no more than suspicious.
        weight = 0.5 + 0.5 * one_wins
        against.append("Every message was written at the same time as another one: nothing to compare with.")
    if found.rest_bad:
        against.append(f"{count(found.rest_bad, 'message')} written alone were lost as well.")
    if harm.late:
        against.append(f"{count(harm.late, 'message')} came later, which an overwritten one does not do.")
    return suspect("lost-update", weight * harm.gone / harm.missed, evidence, against)


def _one_wins(twins: Counter[int]) -> float:
    """How much oftener exactly one of two is lost than if each were lost by itself: 0 as often, 1 always."""
    pairs = twins.total()
    if not pairs:
        return 0.0
    lost = (twins[1] + 2 * twins[2]) / (2 * pairs)
    by_itself = 2 * lost * (1 - lost)
    return max(0.0, (twins[1] / pairs - by_itself) / (1 - by_itself))


class Burst(NamedTuple):
    """A stretch of time in which what was acknowledged was lost."""

    begin_s: float
    end_s: float
    lost: int
    acknowledged: int
    rest_lost: int
    rest: int


def burst(harm: Harm) -> Burst | None:
    """The stretch of ticks in which most of what was acknowledged was never shown; None if none was."""
    when = harm.losses.vanishing
    if not +when.never_shown:
        return None
    best, best_range = 0, (0, 0)
    gain, begin = 0, 0
    # Kadane's maximum subarray: a tick counts for each message lost in it and against each one kept.
    for tick in sorted(when.acknowledged):
        lost = when.never_shown[tick]
        if gain <= 0:
            gain, begin = 0, tick
        gain += 2 * lost - when.acknowledged[tick]
        if gain > best:
            best, best_range = gain, (begin, tick)
    if not best:
        return None
    inside = range(best_range[0], best_range[1] + 1)
    lost = sum(when.never_shown[tick] for tick in inside)
    acknowledged = sum(when.acknowledged[tick] for tick in inside)
    return Burst(
        best_range[0] * TICK_NS / 1e9,
        (best_range[1] + 1) * TICK_NS / 1e9,
        lost,
        acknowledged,
        when.never_shown.total() - lost,
        when.acknowledged.total() - acknowledged,
    )


def at_one_moment(harm: Harm) -> float:
    """The share of the missing messages that had been shown and can all have disappeared at one moment."""
    beyond, _, _ = harm.losses.vanishing.together()
    return min(1.0, beyond / harm.missed) if beyond > 1 and harm.missed else 0.0


def lost_at_once(harm: Harm) -> Cause | None:
    """A crash, a restart or a flush."""
    when = harm.losses.vanishing
    beyond, together, at_s = when.together()
    evidence, against = [], _kept(harm)
    explained = 0.0
    if beyond > 1:
        explained += beyond / harm.missed
        evidence.append(
            f"{together:,} of {count(when.vanished, 'message')} that had been shown before can all have disappeared at "
            f"one moment, {at_s:.1f} s into the run."
        )
    found = burst(harm)
    if found is not None and found.lost > 1:
        told = contrast(found.lost, found.acknowledged, found.rest_lost, found.rest, harm.cases)
        explained += told.weight * (found.lost + found.rest_lost) / harm.missed
        evidence.append(
            f"Of messages acknowledged from {found.begin_s:.1f} to {found.end_s:.1f} s, "
            f"{share(found.lost / found.acknowledged)} were never shown; of all others "
            f"{share(found.rest_lost / found.rest) if found.rest else '–'}."
        )
    if not evidence:
        return None
    if when.vanished > together:
        against.append(f"{count(when.vanished - together, 'message')} disappeared at other times.")
    return suspect("lost-at-once", explained, evidence, against)


def disappearing(harm: Harm) -> Cause | None:
    """Messages that had been shown go away, at no special moment."""
    vanished = harm.losses.vanishing.vanished
    if not vanished:
        return None
    beyond, _, _ = harm.losses.vanishing.together()
    explained = (vanished - (beyond if beyond > 1 else 0)) / harm.missed
    evidence = [f"{vanished:,} of {count(harm.missed, 'missing message')} had been shown before."]
    return suspect("disappearing", explained, evidence, _kept(harm))


def never_stored(harm: Harm) -> Cause | None:
    """Acknowledged, and never shown by any recall."""
    never = harm.fates["lost: never visible"]
    if not never:
        return None
    evidence = [
        f"{never:,} of {count(harm.missed, 'missing message')} were never shown by any recall.",
        *_no_matter_when(harm),
        *_by_scenario(harm),
    ]
    title = None
    telling = telling_trait(harm)
    if telling is not None:
        title = f"{KNOWN['never-stored'].title}: {telling.who}"
        evidence.append(telling.sentence)
    return suspect("never-stored", never / harm.missed, evidence, _kept(harm), title)


def _no_matter_when(harm: Harm) -> list[str]:
    """Whether another writer matters, where there was one and it does not."""
    found = overlap(harm)
    if not found.exposed or not found.rest or found.weight >= OVERLAP_MATTERS:
        return []
    during, alone = share(found.exposed_bad / found.exposed), share(found.rest_bad / found.rest)
    return [f"Another writer makes little difference: written during another append {during} were lost, else {alone}."]


def _by_scenario(harm: Harm) -> list[str]:
    """The rate for each message: a recall of a long history repeats every loss in it, a message is lost once."""
    rates = []
    for name, counts in sorted(harm.judged.counts.scenarios.items()):
        lost, checked = (sum(getattr(user, part) for user in counts.users.values()) for part in ("lost", "messages"))
        if checked:
            rates.append(f"{name} {share(lost / checked)} ({lost:,} of {checked:,})")
    return [f"Lost per message: {', '.join(rates)}."] if len(rates) > 1 else []


class Telling(NamedTuple):
    """A trait that most lost messages share and few others have."""

    who: str
    sentence: str
    found: Contrast


TRAITS: tuple[tuple[str, Callable[[SaidTraits], Hashable]], ...] = (
    ("those written by {}", lambda t: t.written_by),
    ("those that were sent again", lambda t: t.retried or None),
)


def _unseen(traits: SaidTraits) -> bool:
    return not traits.seen


def _known(traits: SaidTraits) -> bool:
    """Whether role and size are known: of conversations with a loss."""
    return traits.role is not None


def telling_trait(harm: Harm) -> Telling | None:
    """The trait of never shown messages that accounts for most of them; None if none accounts for much."""
    candidates = []
    for words, trait in TRAITS:
        values = {trait(traits) for traits in harm.said}
        if len(values) > 1:
            for value in sorted(values - {None}, key=str):
                found = by_trait(harm, lambda t, v=value, of=trait: of(t) == v, _unseen)  # type: ignore[misc]
                candidates.append(_told(words.format(value), found))
    known = [traits for traits in harm.said if traits.role is not None]
    for role in sorted({traits.role for traits in known if traits.role is not None}):
        found = by_trait(harm, lambda t, r=role: t.role == r, _unseen, _known)  # type: ignore[misc]
        candidates.append(_told(f"those of role {role}", found))
    for bits in sorted({traits.size for traits in known})[1:]:
        found = by_trait(harm, lambda t, b=bits: t.size >= b, _unseen, _known)  # type: ignore[misc]
        candidates.append(_told(f"those of {1 << (bits - 1):,} bytes and more", found))
    # Of traits that account for as much, the one that fewest have says most.
    best = max(candidates, key=lambda told: (round(told.found.weight, 2), -told.found.exposed), default=None)
    return best if best is not None and best.found.weight >= TELLING else None


def _told(who: str, found: Contrast) -> Telling:
    exposed, rest = (
        share(bad / every) if every else "–" for bad, every in ((found[0], found[1]), (found[2], found[3]))
    )
    return Telling(who, f"Of {who}, {exposed} were never shown; of the others {rest}.", found)


def _kept(harm: Harm) -> list[str]:
    """What a dump of the store says against a cause that loses."""
    kept = harm.losses.stored.kept.total()
    return [f"{count(kept, 'missed message')} are in the store: stored, but not served."] if kept else []
