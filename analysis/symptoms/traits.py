"""What the lost have in common: messages and recalls by their traits and by how they ended.

The traits of a message are known when it is acknowledged, those of a recall when it is asked; so a trait that goes with
a bad end may be its reason, and cannot be its consequence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

from analysis.check import Checked
from analysis.fates import ENDS, End
from analysis.listed import Listed, of_history
from analysis.symptoms.scale import MS, step_of
from goldfish.oplog import Append
from goldfish.rule import Message

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
    pause: int
    """Step of the longest pause, in milliseconds, of the conversation between the message in question and the recall.
    That is the newest missing one if some are missing, and the first shown one if none is."""
    shape: Shape


class Traits:
    """Messages and recalls by traits."""

    def __init__(self) -> None:
        self.said: Counter[SaidTraits] = Counter()
        self.asked: Counter[AskedTraits] = Counter()
        self.twins: Counter[int] = Counter()
        """Pairs of appends that overlapped, by how many of the two lost a message for good."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        conversation = checked.conversation
        if checked.doubt is not None:
            return
        appends = [row for _, row in conversation.appends if row.outcome != "fail"]
        overlapped = _overlapped(appends)
        for message, fate in checked.fates.items():
            end = ENDS.get(fate.name)
            if end is None:
                continue
            sent = checked.sent_of(message)
            said, append = sent.said, sent.append
            self.said[
                SaidTraits(
                    conversation.scenario,
                    append.instance,
                    said.role,
                    said.bytes.bit_length(),
                    append.id in overlapped,
                    sent.attempts > 1,
                    end,
                    fate.name != "lost: never visible",
                )
            ] += 1
        self._count_twins(checked, appends)
        pauses = Pauses(checked)
        for entry in checked.listed:
            if of_history(entry):
                row = entry.row
                self.asked[
                    AskedTraits(
                        conversation.scenario,
                        row.instance,
                        row.connection,
                        row.limit is not None,
                        step_of(pauses.longest(entry) / MS),
                        shape(entry),
                    )
                ] += 1

    def merge(self, other: Traits) -> None:
        """Take in another share."""
        self.said.update(other.said)
        self.asked.update(other.asked)
        self.twins.update(other.twins)

    def _count_twins(self, checked: Checked, appends: list[Append]) -> None:
        bad = {
            checked.sent_of(message).append.id
            for message, fate in checked.fates.items()
            if ENDS.get(fate.name) == "gone"
        }
        if not bad:
            return
        ordered = sorted((row for row in appends if row.outcome == "ok"), key=lambda row: row.start_ns)
        for one, other in pairwise(ordered):
            if other.start_ns <= one.end_ns:
                self.twins[(one.id in bad) + (other.id in bad)] += 1


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


class Pauses:
    """The times in which nothing that was answered happened to a conversation."""

    def __init__(self, checked: Checked) -> None:
        conversation = checked.conversation
        answered = [row for _, row in (*conversation.appends, *conversation.recalls) if row.outcome == "ok"]
        answered.sort(key=lambda row: row.start_ns)
        self._sent = checked.sent_of
        self._at = {row.id: at for at, row in enumerate(answered)}
        self._pauses: list[int] = []
        """Before each operation; none if another one was still under way."""
        ended = answered[0].start_ns if answered else 0
        for row in answered:
            self._pauses.append(max(0, row.start_ns - ended))
            ended = max(ended, row.end_ns)

    def longest(self, entry: Listed) -> int:
        """The longest pause between the message in question and a recall."""
        missing = [lost.message for lost in entry.judgement.missing]
        if missing:
            return self.since(max(missing, key=lambda message: message.sent_ns), entry)
        return max((self.since(message, entry) for message in entry.shown[:1]), default=0)

    def since(self, message: Message, entry: Listed) -> int:
        """The longest pause between a message and a recall."""
        sent_at = self._at.get(self._sent(message).append.id, 0)
        return max(self._pauses[sent_at + 1 : self._at[entry.row.id] + 1], default=0)
