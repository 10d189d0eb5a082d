"""The contract that this memory keeps: the largest window, smallest visibility, longest expiry under which it is clean.

A sample of the harmed conversations is judged again under weaker and weaker promises. A promise that is weak enough is
kept by every memory, because nothing is owed any more; so a weaker promise *explains* a run only if what had been
missing is still owed under it at some time, and then there: a delay, if it was shown afterwards; a window, if every
lossy list fills it; an expiry, if hardly anything outlived it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from analysis.check import Checked, check
from analysis.listed import of_history
from analysis.symptoms.pauses import Pauses
from analysis.symptoms.sample import Sample
from goldfish.contract import DURATION_MS_MAX, Contract, Ttl, Window
from goldfish.rule import NEVER

EXPLAINED = 0.9
"""Share of what had been missing that must be accounted for."""


class EffectiveContract(msgspec.Struct, frozen=True, kw_only=True):
    """What the memory behaves like; null where no other promise explains what was missing."""

    window_messages: int | None
    """The largest window under which the sample is clean."""
    visibility_ms: float | None
    """The smallest visibility under which the sample is clean."""
    ttl: Ttl | None
    """The longest expiry under which the sample is clean."""
    conversations: int
    """How many harmed conversations were judged again."""
    harmed: int
    """How many lossy ones there are."""


def effective_contract(sample: Sample, contract: Contract) -> EffectiveContract | None:
    """Judge the sample under other contracts; None if no conversation was lossy."""
    if not sample.harmed:
        return None
    found = _Again([check(conversation, contract) for conversation in sample.conversations], contract)
    return EffectiveContract(
        window_messages=found.window(),
        visibility_ms=found.visibility_ms(),
        ttl=found.ttl(),
        conversations=len(sample.conversations),
        harmed=sample.harmed,
    )


class _Again:
    """A sample as judged under the declared contract, to be judged again."""

    def __init__(self, judged: Sequence[Checked], contract: Contract) -> None:
        self.judged = judged
        self.contract = contract
        self.lossy = [entry for checked in judged for entry in checked.listed if entry.judgement.lossy]

    def window(self) -> int | None:
        """The length that lossy lists have in common, if a window of it makes the sample clean."""
        lengths = [entry.row.length for entry in self.lossy]
        if not lengths:
            return None
        window = max(set(lengths), key=lambda length: (lengths.count(length), length))
        if window < 1 or lengths.count(window) < EXPLAINED * len(lengths):
            return None
        return window if self._clean(window=Window(messages=window)) else None

    def visibility_ms(self) -> float | None:
        """The delay after which nothing is missing, if what had been missing was shown when it was owed."""
        missing = {
            (at, lost.message): max(0, entry.row.start_ns - lost.message.acked_ns)
            for at, checked in enumerate(self.judged)
            for entry in sorted(checked.listed, key=lambda listed: listed.row.start_ns)
            for lost in entry.judgement.missing
            if lost.message.acked_ns < NEVER
        }
        if not missing:
            return None
        needed_ms = _rounded_up(max(missing.values()) / 1e6)
        if needed_ms > DURATION_MS_MAX:
            return None
        shown = {
            (at, message)
            for at, checked in enumerate(self.judged)
            for entry in checked.listed
            for message in entry.shown
            if message.acked_ns + needed_ms * 1e6 < entry.row.start_ns
        }
        if len(shown & missing.keys()) < EXPLAINED * len(missing):
            return None
        settle_ms = None if self.contract.settle_ms is None else max(self.contract.settle_ms, needed_ms)
        return needed_ms if self._clean(visibility_ms=needed_ms, settle_ms=settle_ms) else None

    def ttl(self) -> Ttl | None:
        """The expiry under which nothing is missing, if hardly anything was shown for longer."""
        for unit, lives in (("session", self._pauses()), ("message", self._ages())):
            lost, shown = lives
            if not lost:
                continue
            seconds = _rounded_down(min(lost) / 1e9)
            outlived = sum(life_ns > seconds * 1e9 for life_ns in shown)
            if seconds <= 0 or outlived > (1 - EXPLAINED) * len(lost):
                continue
            refresh = "read" if unit == "session" else "none"
            promised = msgspec.convert({"seconds": seconds, "unit": unit, "refresh": refresh}, Ttl)
            if self._clean(ttl=promised):
                return promised
        return None

    def _pauses(self) -> tuple[list[int], list[int]]:
        """Longest pauses since messages that were missing, and since those that were shown."""
        lost: list[int] = []
        shown: list[int] = []
        for checked in self.judged:
            pauses = Pauses(checked)
            for entry in filter(of_history, checked.listed):
                lost += [pauses.since(gone.message, entry) for gone in entry.judgement.missing]
                shown += [pauses.since(message, entry) for message in entry.shown]
        return lost, shown

    def _ages(self) -> tuple[list[int], list[int]]:
        """Ages at which messages were missing, and ages at which they were shown."""
        lost: list[int] = []
        shown: list[int] = []
        for checked in self.judged:
            for entry in filter(of_history, checked.listed):
                lost += [entry.row.end_ns - gone.message.sent_ns for gone in entry.judgement.missing]
                shown += [entry.row.start_ns - message.stored_ns for message in entry.shown]
        return lost, shown

    def _clean(self, **promised: Any) -> bool:
        contract = msgspec.structs.replace(self.contract, **promised)
        return not any(check(checked.conversation, contract).recalls_lossy for checked in self.judged)


def _rounded_up(ms: float) -> float:
    """To two significant digits: 331.2 → 340."""
    if ms <= 0:
        return 1.0
    step = 10.0 ** (math.floor(math.log10(ms)) - 1)
    return round((math.floor(ms / step) + 1) * step, 6)


def _rounded_down(seconds: float) -> float:
    """To two significant digits: 1.59 → 1.5."""
    if seconds <= 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return round(math.floor(seconds / step) * step, 6)
