"""Limits that are tighter than promised: a smaller window, an earlier expiry."""

from __future__ import annotations

from collections import Counter

import numpy as np

from analysis.causes.cause import Cause
from analysis.causes.harm import Harm
from analysis.symptoms.scale import BINS, ends, told
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
        lengths = [length for (length, form) in numbers if form == "newest"]
        evidence.append(
            f"These lists had {min(lengths)} to {max(lengths)} elements: not a number of messages, but of bytes or tokens?"
        )
        weight = 0.5 * newest / harm.lossy
        shorter = 0
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


def expired_early(harm: Harm) -> Cause | None:
    """Histories that are gone after a pause, or messages that are gone at an age."""
    return max(
        (cause for cause in (_after_a_pause(harm), _at_an_age(harm)) if cause is not None),
        key=lambda cause: cause.explains,
        default=None,
    )


REMEDY = "Look at expiry times in every store and cache on the way, and at what refreshes them. If it is meant, promise it: ttl."


def _after_a_pause(harm: Harm) -> Cause | None:
    blank, rest = np.zeros(BINS, dtype=np.int64), np.zeros(BINS, dtype=np.int64)
    for traits, number in harm.symptoms.traits.asked.items():
        (blank if traits.shape == "blank" else rest)[traits.idle] += number
    found = _threshold(blank, rest)
    if found is None or not harm.lossy:
        return None
    at, quality = found
    bad, good = int(blank[at:].sum()), int(rest[at:].sum())
    early = int(blank[:at].sum())
    return Cause(
        code="expired-early",
        title=f"Histories expire after a pause: gone when nobody asked for {told(ends(at)[0])}",
        anomaly="missing",
        explains=quality * bad / harm.lossy,
        evidence_for=[
            f"After a pause of {told(ends(at)[0])} or more, {bad:,} of {count(bad + good, 'recall')} listed nothing; after "
            f"a shorter one, {early:,} of {early + int(rest[:at].sum()):,}."
        ],
        evidence_against=[f"{count(good, 'recall')} after such a pause listed something."] if good else [],
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


def _threshold(bad: np.ndarray, good: np.ndarray) -> tuple[int, float] | None:
    """The bin from which on it is bad, and how well it parts good from bad: Youden's J (Cancer 3, 1950), 0 to 1."""
    if bad.sum() < 3 or good.sum() < 3:
        return None
    caught = bad[::-1].cumsum()[::-1] / bad.sum()
    wronged = good[::-1].cumsum()[::-1] / good.sum()
    quality = caught - wronged
    quality[0] = 0.0
    at = int(quality.argmax())
    return (at, float(quality[at])) if quality[at] > 0.5 else None
