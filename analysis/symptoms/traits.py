"""What the lost have in common: messages and recalls by their traits and by how they ended.

The traits of a message are known when it is acknowledged, those of a recall when it is asked; so a trait that goes with
a bad end may be its reason, and cannot be its consequence.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from typing import Literal, NamedTuple

from analysis.check import Checked
from analysis.fates import ENDS, End
from analysis.listed import Listed
from analysis.symptoms.scale import bin_of
from goldfish.oplog import Append

Shape = Literal["sound", "lossy", "blank"]
"""blank: lossy, and nothing of the conversation was listed."""


class SaidTraits(NamedTuple):
    """Traits of an acknowledged message, and its end."""

    scenario: str
    written_by: str | None
    role: str
    size: int
    """Number of bits of its length in bytes: 11 is 1,024 to 2,047."""
    overlapped: bool
    """Another append of the conversation was under way during its own."""
    retried: bool
    end: End
    seen: bool
    """Whether it was ever shown."""


class AskedTraits(NamedTuple):
    """Traits of a checked recall, and its shape."""

    scenario: str
    read_by: str | None
    connection: str
    limited: bool
    """A limit was asked for."""
    idle: int
    """Bin of the time since the last ok operation of the conversation ended."""
    silent: int
    """Bin of the time since its last ok append ended."""
    shape: Shape


class Traits:
    """Messages and recalls by traits."""

    def __init__(self) -> None:
        self.said: Counter[SaidTraits] = Counter()
        self.asked: Counter[AskedTraits] = Counter()

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        conversation = checked.conversation
        if checked.doubt is not None:
            return
        appends = [row for _, row in conversation.appends if row.outcome != "fail"]
        overlapped = _overlapped(appends)
        retried = {row.id for row in appends if row.attempt > 1}
        for message, fate in checked.fates.items():
            end = ENDS.get(fate.name)
            if end is None:
                continue
            _, said, append = checked.sent_of(message)
            self.said[
                SaidTraits(
                    conversation.scenario,
                    append.instance,
                    said.role,
                    said.bytes.bit_length(),
                    append.id in overlapped,
                    append.id in retried,
                    end,
                    fate.name != "lost: never visible",
                )
            ] += 1
        writes = sorted(row.end_ns for row in appends if row.outcome == "ok")
        reads = sorted(entry.row.end_ns for entry in checked.listed)
        for entry in checked.listed:
            if entry.judgement.checked and entry.row.view != "store":
                row = entry.row
                silent_ns = _since(writes, row.start_ns)
                idle_ns = min(silent_ns, _since(reads, row.start_ns))
                self.asked[
                    AskedTraits(
                        conversation.scenario,
                        row.instance,
                        row.connection,
                        row.limit is not None,
                        bin_of(idle_ns),
                        bin_of(silent_ns),
                        shape(entry),
                    )
                ] += 1

    def merge(self, other: Traits) -> None:
        """Take in another share."""
        self.said.update(other.said)
        self.asked.update(other.asked)


def shape(entry: Listed) -> Shape:
    """What a checked recall came to."""
    if not entry.judgement.lossy:
        return "sound"
    return "lossy" if entry.shown else "blank"


def _overlapped(appends: Iterable[Append]) -> set[int]:
    """Ids of appends during which another append was under way."""
    ordered = sorted(appends, key=lambda row: row.start_ns)
    latest_ends = list(accumulate((row.end_ns for row in ordered), max))
    found: set[int] = set()
    for at, row in enumerate(ordered):
        following = at + 1 < len(ordered) and ordered[at + 1].start_ns <= row.end_ns
        if following or (at and latest_ends[at - 1] >= row.start_ns):
            found.add(row.id)
    return found


def _since(ends_ns: list[int], start_ns: int) -> int:
    """From the last of sorted ends to a start; an end after it counts as none."""
    before = bisect_left(ends_ns, start_ns)
    return start_ns - ends_ns[before - 1] if before else 0
