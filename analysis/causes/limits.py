"""Limits that are tighter than promised: a smaller window, an earlier expiry."""

from __future__ import annotations

from collections import Counter

import numpy as np

from analysis.causes.cause import Cause
from analysis.causes.harm import Harm, Numbers
from analysis.symptoms.scale import MS, ends, told, unstepped
from goldfish.contract import Contract
from goldfish.table import count, share


def smaller_window(harm: Harm, contract: Contract) -> Cause | None:
    """Lists that never grow beyond a length."""
    numbers: Counter[tuple[int, str]] = Counter()
    for (_, length, form), number in harm.symptoms.lists.number.items():
        numbers[length, form] += number
    longest = max((length for length, _ in numbers), default=0)
    newest = sum(number for (_, form), number in numbers.items() if form == "newest")
    full = numbers[longest, "newest"]
    if not newest or not longest:
        return None
    promised = contract.window.messages
    behaves = full >= 0.9 * newest
    declared = f"declared {promised}" if promised else "declared without a window"
    evidence = [
        f"In {newest:,} of {count(harm.lossy, 'lossy recall')} only the oldest messages were missing, and everything newer "
        "was there."
    ]
    if behaves:
        evidence.append(f"{full:,} of these lists had exactly {longest} elements, and no list of the run had more.")
        shorter = sum(number for (length, form), number in numbers.items() if form != "sound" and length < longest)
        weight = full / harm.lossy
    else:
        limit = _size_limit(harm)
        if limit is None:
            return None
        size, quality = limit
        evidence.append(
            f"Lists had no length in common, but a size: hardly any sound one held {size:,} bytes or more, and those that "
            "lacked something would have."
        )
        weight, shorter = quality * newest / harm.lossy, 0
    against = []
    if harm.lossy > newest:
        against.append(f"{count(harm.lossy - newest, 'lossy recall')} lacked others than the oldest.")
    if shorter:
        against.append(f"{count(shorter, 'shorter list')} lacked messages, too.")
    return Cause(
        code="smaller-window",
        title=f"The window is smaller than promised: {declared}, behaves like {longest}"
        if behaves
        else "The window is smaller than promised",
        anomaly="missing",
        explains=weight,
        evidence_for=evidence,
        evidence_against=against,
        remedy="Look at every limit between store and answer: page size, list trim, token budget. If it is meant, promise "
        "it: window.",
    )


def _size_limit(harm: Harm) -> tuple[int, float] | None:
    """The size that lists do not exceed, and how well it parts sound lists from those that lack their oldest part."""
    sizes = harm.symptoms.lists.size
    steps = max((step for step, _ in sizes), default=0) + 1
    bad, good = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.int64)
    for (step, form), number in sizes.items():
        if form in ("newest", "sound"):
            (bad if form == "newest" else good)[step] += number
    found = _threshold(bad, good)
    return (round(unstepped(found[0])), found[1]) if found else None


def expired_early(harm: Harm) -> Cause | None:
    """Histories that are gone after a pause, or messages that are gone at an age."""
    return max(
        (cause for cause in (_after_a_pause(harm), _at_an_age(harm)) if cause is not None),
        key=lambda cause: cause.explains,
        default=None,
    )


REMEDY = "Look at expiry times in every store and cache on the way, and at what refreshes them. If it is meant, promise it: ttl."


def _after_a_pause(harm: Harm) -> Cause | None:
    steps = max((traits.pause for traits in harm.symptoms.traits.asked), default=0) + 1
    lossy, sound = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.int64)
    for traits, number in harm.symptoms.traits.asked.items():
        (sound if traits.shape == "sound" else lossy)[traits.pause] += number
    found = _threshold(lossy, sound)
    if found is None:
        return None
    at, quality = found
    pause = told(unstepped(at) * MS)
    bad, good = int(lossy[at:].sum()), int(sound[at:].sum())
    early = int(lossy[:at].sum())
    return Cause(
        code="expired-early",
        title=f"Histories expire after a pause: gone when nothing happened for about {pause}",
        anomaly="missing",
        explains=quality * bad / int(lossy.sum()),
        evidence_for=[
            f"{bad:,} of {count(int(lossy.sum()), 'lossy recall')} lacked what was said before a pause of about "
            f"{pause} or more.",
            f"Of {count(int(sound.sum()), 'sound recall')}, {good:,} showed something from before such a pause.",
        ],
        evidence_against=[f"{count(early, 'recall')} lacked something without such a pause."] if early else [],
        remedy=REMEDY,
    )


def _at_an_age(harm: Harm) -> Cause | None:
    missing, pairs = harm.ages
    found = _threshold(missing, pairs - missing)
    if found is None:
        return None
    at, quality = found
    bad, every = int(missing[at:].sum()), int(pairs[at:].sum())
    young, young_all = int(missing[:at].sum()), int(pairs[:at].sum())
    return Cause(
        code="expired-early",
        title=f"Messages expire at an age of {told(ends(at)[0])}",
        anomaly="missing",
        explains=quality * bad / int(missing.sum()),
        evidence_for=[
            f"Of messages {told(ends(at)[0])} old and older, {share(bad / every)} were missing; of younger ones "
            f"{share(young / young_all)}."
        ],
        evidence_against=[f"{count(every - bad, 'time')} an older one was shown."] if every > bad else [],
        remedy=REMEDY,
    )


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
