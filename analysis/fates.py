"""What became of every message that was sent: a partition, so that nothing is folded into "fine".

A message that no recall could have missed is *unchecked*, not *ok*. For the rest, the recalls that show it and those
that certainly lack it are read in the order of their ends, final recalls last (a search that does not find a message
says nothing of whether it is kept):

* never missing: **ok**
* never shown: **lost: never visible**
* shown and missing, and the final recalls disagree: **flicker**
* missing to the end: **lost: vanished**, however often it had come and gone
* missing at first, then shown for good: **stale**
* shown at the end, but missing in between: **flicker**
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

from analysis.listed import Listed
from goldfish.rule import NEVER, Message

FateName = Literal[
    "rejected", "indeterminate", "unchecked", "ok", "stale", "flicker", "lost: never visible", "lost: vanished"
]
FATES: tuple[FateName, ...] = get_args(FateName)
UNCHECKED = frozenset({"rejected", "indeterminate", "unchecked"})
"""No recall shows these, and none can have missed them; all others are checked messages."""
LOST = frozenset({"lost: never visible", "lost: vanished"})

End = Literal["ok", "late", "gone"]
ENDS: dict[FateName, End] = {
    "ok": "ok",
    "stale": "late",
    "flicker": "late",
    "lost: never visible": "gone",
    "lost: vanished": "gone",
}
"""Checked messages in three groups: late was missing and shown again, gone was missing to the end. Of the other fates
nobody knows whether they are losses."""


class Fate(NamedTuple):
    """The end of one message's story."""

    name: FateName
    surfaced: bool = False
    """It was shown although its append was rejected or never acknowledged."""
    delay_ns: int | None = None
    """stale: from the acknowledgement to the end of the first recall that shows it."""


_OK = Fate("ok")


class Observation(NamedTuple):
    """One recall that shows a message or certainly lacks it."""

    shown: bool
    final: bool


def fates(messages: Iterable[Message], listed: Sequence[Listed]) -> dict[Message, Fate]:
    """The fate of every message of a conversation; ``listed`` are its ok recalls in the order of their ends."""
    ever_missing = {lost.message for entry in listed if not entry.search for lost in entry.judgement.missing}
    seen: dict[Message, list[Observation]] = {message: [] for message in ever_missing}
    if ever_missing:
        for entry in listed:
            final = entry.row.phase == "final"
            shown, lacked = Observation(True, final), Observation(False, final)
            for message in ever_missing.intersection(entry.shown):
                seen[message].append(shown)
            for lost in () if entry.search else entry.judgement.missing:
                seen[lost.message].append(lacked)
    # Most are acknowledged, shown and never missing.
    return {
        message: _fate(message, seen.get(message))
        if message in ever_missing or message.acked_ns == NEVER or message.shown_ns == NEVER
        else _OK
        for message in messages
    }


def _fate(message: Message, observations: Sequence[Observation] | None) -> Fate:
    shown = message.shown_ns < NEVER
    acknowledged = message.acked_ns < NEVER
    surfaced = shown and not acknowledged
    if observations:
        name = read_story(observations)
        stale = name == "stale" and acknowledged
        return Fate(name, surfaced, message.shown_ns - message.acked_ns if stale else None)
    if shown:
        return Fate("ok", surfaced)
    if message.failed:
        return Fate("rejected")
    return Fate("unchecked" if acknowledged else "indeterminate")


def read_story(observations: Sequence[Observation]) -> FateName:
    """The fate told by what the recalls saw, in the order of their ends; not empty."""
    story = [seen.shown for seen in sorted(observations, key=lambda seen: seen.final)]
    if all(story):
        return "ok"
    if not any(story):
        return "lost: never visible"
    last_words = {seen.shown for seen in observations if seen.final}
    if len(last_words) == 2:
        return "flicker"
    if not story[-1]:
        return "lost: vanished"
    # Shown at the end: stale if all that is missing comes first.
    return "stale" if story == sorted(story) else "flicker"
