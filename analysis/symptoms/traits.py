"""What the lost have in common: messages and recalls by their traits and by how they ended.

The traits of a message are known when it is acknowledged, those of a recall when it is asked; so a trait that goes with
a bad end may be its reason, and cannot be its consequence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.check import Checked
from analysis.fates import ENDS, End
from analysis.listed import Listed, of_history
from analysis.proof.proven import Proven
from analysis.symptoms.overlap import overlapped, overlapped_columns
from analysis.symptoms.pauses import Pauses, longest_columns
from analysis.symptoms.scale import MS, step_of, steps_of
from goldfish.oplog import Append

Shape = Literal["sound", "lossy", "blank"]
"""blank: lossy, and nothing of the conversation was listed."""


class SaidTraits(NamedTuple):
    """Traits of an acknowledged message, and its end."""

    scenario: str
    written_by: str | None
    role: str | None
    """Known of conversations with a loss."""
    size: int
    """Number of bits of its length in bytes: 11 is 1,024 to 2,047; known of conversations with a loss, else 0."""
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
        """Pairs of appends that overlapped, by how many of the two lost a message for good; of conversations that lost
        one."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        conversation = checked.conversation
        if checked.doubt is not None:
            return
        appends = [row for _, row in conversation.appends if row.outcome != "fail"]
        at_once = overlapped(appends)
        lossy = bool(checked.recalls_lossy)
        said: Counter[tuple[Any, ...]] = Counter()
        for message, fate in checked.fates.items():
            end = ENDS.get(fate.name)
            if end is not None:
                sent = checked.sent[message.device, message.seq]
                role, size = (sent.said.role, sent.said.bytes.bit_length()) if lossy else (None, 0)
                seen = fate.name != "lost: never visible"
                append = sent.append
                said[append.instance, role, size, append.id in at_once, sent.attempts > 1, end, seen] += 1
        for traits, number in said.items():
            self.said[SaidTraits(conversation.scenario, *traits)] += number
        self._count_twins(checked, appends)
        pauses = Pauses(checked)
        for entry in checked.listed:
            if of_history(entry):
                step = step_of(pauses.longest(entry) / MS)
                self.asked[AskedTraits(conversation.scenario, entry.row.instance, step, shape(entry))] += 1

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        scenarios = proven.scenarios
        appends, ok = proven.operations["append"], _outcomes(proven, "ok")
        sent = np.flatnonzero(~_outcomes(proven, "fail")[appends["manner"]])
        at_once = np.zeros(len(appends["start"]), bool)
        at_once[sent] = overlapped_columns(*(appends[name][sent] for name in ("conversation", "start", "end")))
        own = proven.shown
        for (scenario, manner, during), number in _counted(
            proven.scenario[proven.message_conversation[own]], proven.written[own], at_once[proven.append[own]]
        ):
            instance = proven.manners[manner].instance
            self.said[SaidTraits(scenarios[scenario], instance, None, 0, bool(during), False, "ok", True)] += number

        answered = np.flatnonzero(ok[appends["manner"]])
        place = np.full(len(ok[appends["manner"]]), -1)
        place[answered] = np.arange(len(answered))
        recalls = np.arange(len(proven.start)) + len(answered)
        first_run = np.searchsorted(proven.run_recall, np.arange(len(proven.start)))
        lists = first_run < np.searchsorted(proven.run_recall, np.arange(len(proven.start)), side="right")
        checked = proven.checked & lists
        pauses = longest_columns(
            np.concatenate((appends["conversation"][answered], proven.recall_conversation)),
            np.concatenate((appends["start"][answered], proven.start)),
            np.concatenate((appends["end"][answered], proven.end)),
            place[proven.append[proven.run_first[first_run[checked]]]],
            recalls[checked],
        )
        steps = np.zeros(len(proven.start), np.int64)
        steps[checked] = steps_of(pauses / MS)
        own = proven.checked
        for (scenario, manner, step), number in _counted(
            proven.scenario[proven.recall_conversation[own]], proven.read[own], steps[own]
        ):
            self.asked[AskedTraits(scenarios[scenario], proven.manners[manner].instance, step, "sound")] += number

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


def _outcomes(proven: Proven, outcome: str) -> NDArray[np.bool_]:
    """Which manners ended so."""
    return np.array([manner.outcome == outcome for manner in proven.manners], bool)


def _counted(*columns: NDArray[Any]) -> Iterator[tuple[list[int], int]]:
    """The different rows of some columns of small numbers, and how often each occurs."""
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    rows = np.ravel_multi_index(tuple(column.astype(np.int64) for column in columns), sizes)
    numbers = np.bincount(rows)
    found = np.flatnonzero(numbers)
    different = np.column_stack(np.unravel_index(found, sizes)).tolist()
    yield from zip(different, numbers[found].tolist(), strict=True)
