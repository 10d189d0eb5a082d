"""The contract that this memory keeps: the largest window, the smallest visibility under which the run is clean.

A sample of the harmed conversations is judged again under weaker and weaker promises. A promise that is weak enough is
kept by every memory, because nothing is owed any more; so a weaker promise *explains* a run only if what had been
missing is still owed under it at some time, and then there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from analysis.check import Checked, check
from analysis.record import Conversation
from analysis.symptoms.sample import Sample
from goldfish.contract import DURATION_MS_MAX, Contract
from goldfish.rule import NEVER

EXPLAINED = 0.9
"""Share of what had been missing that must be accounted for."""


class EffectiveContract(msgspec.Struct, frozen=True, kw_only=True):
    """What the memory behaves like; null where no other promise explains what was missing."""

    window_messages: int | None
    """The largest window under which the sample is clean."""
    visibility_ms: float | None
    """The smallest visibility under which the sample is clean."""
    conversations: int
    """How many harmed conversations were judged again."""
    harmed: int
    """How many lossy ones there are."""


def effective_contract(sample: Sample, contract: Contract) -> EffectiveContract | None:
    """Judge the sample under other contracts; None if no conversation was lossy."""
    conversations = sample.conversations
    if not sample.harmed:
        return None
    judged = [check(conversation, contract) for conversation in conversations]
    return EffectiveContract(
        window_messages=_window(judged, conversations, contract),
        visibility_ms=_visibility(judged, conversations, contract),
        conversations=len(conversations),
        harmed=sample.harmed,
    )


def _clean(conversations: Sequence[Conversation], contract: Contract) -> bool:
    return not any(check(conversation, contract).recalls_lossy for conversation in conversations)


def _window(judged: Sequence[Checked], conversations: Sequence[Conversation], contract: Contract) -> int | None:
    """The window that every lossy list fills exactly, if such a one makes the sample clean."""
    lengths = [entry.row.length for checked in judged for entry in checked.listed if entry.judgement.lossy]
    if not lengths:
        return None
    window = max(set(lengths), key=lambda length: (lengths.count(length), length))
    if window < 1 or lengths.count(window) < EXPLAINED * len(lengths):
        return None
    promise = msgspec.structs.replace(contract.window, messages=window)
    return window if _clean(conversations, msgspec.structs.replace(contract, window=promise)) else None


def _visibility(judged: Sequence[Checked], conversations: Sequence[Conversation], contract: Contract) -> float | None:
    """The visibility at which nothing is missing, if what had been missing was shown when it was owed."""
    missing = {
        (at, lost.message): max(0, entry.row.start_ns - lost.message.acked_ns)
        for at, checked in enumerate(judged)
        for entry in sorted(checked.listed, key=lambda listed: listed.row.start_ns)
        for lost in entry.judgement.missing
        if lost.message.acked_ns < NEVER
    }
    if not missing:
        return None
    needed_ms = _rounded_up(max(missing.values()) / 1e6)
    if needed_ms > DURATION_MS_MAX:
        return None
    needed_ns = needed_ms * 1e6
    shown = {
        (at, message)
        for at, checked in enumerate(judged)
        for entry in checked.listed
        for message in entry.shown
        if message.acked_ns + needed_ns < entry.row.start_ns
    }
    if len(shown & missing.keys()) < EXPLAINED * len(missing):
        return None
    settle_ms = None if contract.settle_ms is None else max(contract.settle_ms, needed_ms)
    promised = msgspec.structs.replace(contract, visibility_ms=needed_ms, settle_ms=settle_ms)
    return needed_ms if _clean(conversations, promised) else None


def _rounded_up(ms: float) -> float:
    """To two significant digits: 331.2 → 340."""
    if ms <= 0:
        return 1.0
    step = 10.0 ** (math.floor(math.log10(ms)) - 1)
    return round((math.floor(ms / step) + 1) * step, 6)
