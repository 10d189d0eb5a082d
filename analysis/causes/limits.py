"""Limits that are tighter than promised: a smaller window, a first page, an earlier expiry."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np

from analysis.causes.cause import Cause, suspect
from analysis.causes.harm import Harm, Numbers
from analysis.symptoms.scale import MS, ends, told, unstepped
from goldfish.contract import Contract, Ttl
from goldfish.words import count, share

FULL = 0.9
"""Share of the lists that lack only the oldest (or newest), which must have the same length for it to be a limit."""


def smaller_window(harm: Harm, contract: Contract, behaves_like: int | None) -> Cause | None:
    """Lists that never grow beyond a length; ``behaves_like``: a window that explains all that was missing."""
    numbers, longest = _lengths(harm)
    newest = sum(number for (_, form), number in numbers.items() if form == "newest")
    full = numbers[longest, "newest"]
    if not newest or not longest:
        return None
    lossy = count(harm.lossy, "lossy recall")
    evidence = [f"In {newest:,} of {lossy} only the oldest messages were missing; everything newer was there."]
    against = []
    if harm.lossy > newest:
        against.append(f"{count(harm.lossy - newest, 'lossy recall')} lacked others than the oldest.")
    if full >= FULL * newest or behaves_like is not None:
        window = longest if behaves_like is None else behaves_like
        held = sum(number for (length, form), number in numbers.items() if (length, form) == (window, "newest"))
        above = sum(number for (length, _), number in numbers.items() if length > window)
        beyond = f"{count(above, 'list')} of the run had more" if above else "no list of the run had more"
        evidence.append(f"{held:,} of these lists had exactly {window} elements, and {beyond}.")
        if behaves_like is not None:
            evidence.append(_explained(f"a window of {behaves_like} messages"))
        bounds = [f"{n} {unit}" for unit in ("messages", "turns", "tokens") if (n := getattr(contract.window, unit))]
        declared = f"declared {bounds[0]}" if bounds else "declared without a limit"
        title = f"The window is smaller than promised: {declared}, behaves like {window} messages"
        explained = full / harm.lossy if behaves_like is None else 1.0
        return suspect("smaller-window", explained, evidence, against, title)
    limit = _size_limit(harm)
    if limit is None:
        return None
    size, quality = limit
    evidence.append(
        f"Not their length but their size is bounded: hardly any sound list held {size:,} bytes or more, and those "
        "that lacked something would have."
    )
    title = f"The window is smaller than promised: behaves like a budget of about {size:,} bytes"
    return suspect("smaller-window", quality * newest / harm.lossy, evidence, against, title)


def first_page(harm: Harm) -> Cause | None:
    """Lists that show the oldest messages and never grow beyond a length, however much is said after them."""
    numbers, longest = _lengths(harm)
    oldest = sum(number for (_, form), number in numbers.items() if form == "oldest")
    full = numbers[longest, "oldest"]
    # The last message of each conversation may be missing for any reason: a list has to stand still while more is said.
    stood = harm.losses.lists.stood[longest]
    if not stood or full < FULL * oldest:
        return None
    lossy = count(harm.lossy, "lossy recall")
    evidence = [
        f"In {oldest:,} of {lossy} only the newest messages were missing; everything older was there.",
        f"{full:,} of these lists had exactly {longest} elements, and no list of the run had more.",
        f"In {count(stood, 'conversation')} the list stayed so while more was said and acknowledged.",
    ]
    others = f"{count(harm.lossy - oldest, 'lossy recall')} lacked others than the newest."
    title = f"Lists stop after the oldest {longest} messages: a page is taken for the whole list"
    against = [others] if harm.lossy > oldest else []
    return suspect("first-page", full / harm.lossy, evidence, against, title)


def _lengths(harm: Harm) -> tuple[Counter[tuple[int, str]], int]:
    """Lists by length and form, and the greatest length."""
    numbers: Counter[tuple[int, str]] = Counter()
    for (_, length, form), number in harm.losses.lists.number.items():
        numbers[length, form] += number
    return numbers, max((length for length, _ in numbers), default=0)


def _explained(promise: str) -> str:
    return f"With {promise}, the harmed conversations that were judged again are clean."


def _size_limit(harm: Harm) -> tuple[int, float] | None:
    """The size that lists do not exceed, and how well it parts sound lists from those that lack their oldest part."""
    sizes = harm.losses.lists.size
    steps = max((step for step, _ in sizes), default=0) + 1
    bad, good = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.int64)
    for (step, form), number in sizes.items():
        if form in ("newest", "sound"):
            (bad if form == "newest" else good)[step] += number
    found = _threshold(bad, good)
    return (round(unstepped(found[0])), found[1]) if found else None


def expired_early(harm: Harm, behaves_like: Ttl | None) -> Cause | None:
    """Histories that are gone after a pause, or messages at an age; ``behaves_like``: one that explains it all."""
    found = [cause for cause in (_after_a_pause(harm), _at_an_age(harm)) if cause is not None]
    likeliest = max(found, key=lambda cause: cause.explains, default=None)
    if likeliest is None or behaves_like is None:
        return likeliest
    kept = f"a {behaves_like.unit} that expires after {behaves_like.seconds:g} s"
    title = f"What was said expires early: behaves like {kept}"
    return msgspec.structs.replace(likeliest, title=title, evidence_for=[*likeliest.evidence_for, _explained(kept)])


def _after_a_pause(harm: Harm) -> Cause | None:
    steps = max((traits.pause for traits in harm.losses.traits.asked), default=0) + 1
    lossy, sound = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.int64)
    for traits, number in harm.losses.traits.asked.items():
        (sound if traits.shape == "sound" else lossy)[traits.pause] += number
    found = _threshold(lossy, sound)
    if found is None:
        return None
    at, quality = found
    pause = told(unstepped(at) * MS)
    lacked, showed, early = int(lossy[at:].sum()), int(sound[at:].sum()), int(lossy[:at].sum())
    evidence = [
        f"{lacked:,} of {count(lacked + early, 'lossy recall')} lacked what was said before a pause of {pause}.",
        f"Of {count(int(sound.sum()), 'sound recall')}, {showed:,} showed something from before such a pause.",
    ]
    against = [f"{count(early, 'recall')} lacked something without such a pause."] if early else []
    title = f"Histories expire after a pause: gone when nothing happened for about {pause}"
    weight = quality * lacked / (lacked + early) * lacked / (lacked + showed)
    return suspect("expired-early", weight, evidence, against, title)


def _at_an_age(harm: Harm) -> Cause | None:
    missing, pairs = harm.ages
    found = _threshold(missing, pairs - missing)
    if found is None:
        return None
    at, quality = found
    age = told(ends(at)[0])
    lacked, old = int(missing[at:].sum()), int(pairs[at:].sum())
    early, young = int(missing[:at].sum()), int(pairs[:at].sum())
    evidence = [
        f"Of messages {age} old and older, {share(lacked / old)} were missing ({lacked:,} of {old:,}).",
        f"Of younger ones, {share(early / young)} ({early:,} of {young:,}).",
    ]
    against = [f"{count(old - lacked, 'time')} an older one was shown."] if old > lacked else []
    title = f"Messages expire at an age of about {age}"
    return suspect("expired-early", quality * lacked / (lacked + early) * lacked / old, evidence, against, title)


def _threshold(bad: Numbers, good: Numbers) -> tuple[int, float] | None:
    """The bin from which on it is bad, and how well it parts good from bad: Youden's J (Cancer 3, 1950), 0 to 1."""
    if bad.sum() < 3 or good.sum() < 3:
        return None
    caught = bad[::-1].cumsum()[::-1] / bad.sum()
    wronged = good[::-1].cumsum()[::-1] / good.sum()
    quality = caught - wronged
    quality[0] = 0.0
    at = int(quality.argmax())
    return (at, float(quality[at])) if quality[at] > 0.5 else None
