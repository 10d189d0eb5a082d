"""Pairs of message and recall that shows or lacks it, by the age of the message and by whether the reading instance is
the one that wrote it.

The age is counted from the acknowledgement to the start of the recall. A share of missing pairs that falls to zero with
age is lateness; one that does not is loss; one that rises is a window or an expiry. If only pairs of two different
instances are missing, each instance has a memory of its own.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analysis.check import Checked
from analysis.columns import Codes, spread
from analysis.fates import ENDS
from analysis.listed import of_history
from analysis.proof.proven import Proven
from analysis.symptoms.scale import BINS, EDGES_NS
from goldfish.rule import NEVER

Kin = Literal["same", "other", "unknown"]
"""Whether the instance that wrote is the one that read; unknown if an answer did not name its instance."""
KINS: tuple[Kin, ...] = ("same", "other", "unknown")
Numbers = NDArray[np.int64]
_EDGES = np.array(EDGES_NS, dtype=np.int64)


class Pairs:
    """By scenario, kin and age; pairs of checked recalls and acknowledged messages."""

    def __init__(self) -> None:
        self.shown: defaultdict[tuple[str, Kin], Numbers] = defaultdict(_no_numbers)
        self.missing: defaultdict[tuple[str, Kin, bool], Numbers] = defaultdict(_no_numbers)
        """The third part of the key: whether the message was shown afterwards."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        written_by = {sent.message: sent.append.instance for sent in checked.sent.values()}
        shown: defaultdict[Kin, list[int]] = defaultdict(list)
        missing: defaultdict[tuple[Kin, bool], list[int]] = defaultdict(list)
        for entry in checked.listed:
            if not of_history(entry):
                continue
            read_by, start_ns = entry.row.instance, entry.row.start_ns
            for message in entry.shown:
                if message.acked_ns < NEVER:
                    shown[kinship(written_by[message], read_by)].append(start_ns - message.acked_ns)
            for lost in entry.judgement.missing:
                message = lost.message
                if message.acked_ns < NEVER:
                    late = ENDS.get(checked.fates[message].name) == "late"
                    missing[kinship(written_by[message], read_by), late].append(start_ns - message.acked_ns)
        scenario = checked.conversation.scenario
        for kin, ages in shown.items():
            self.shown[scenario, kin] += binned(np.array(ages, dtype=np.int64))
        for (kin, late), ages in missing.items():
            self.missing[scenario, kin, late] += binned(np.array(ages, dtype=np.int64))

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        instances = Codes()
        of_manner = np.array([instances[manner.instance] for manner in proven.manners], np.int64)
        unknown = instances.get(None, -1)
        runs = proven.checked[proven.run_recall]
        counts = (proven.run_last - proven.run_first + 1)[runs]
        message = spread(proven.run_first[runs], counts)
        recall = np.repeat(proven.run_recall[runs], counts)
        known = proven.acknowledged[message]
        message, recall = message[known], recall[known]
        written, read = of_manner[proven.written[message]], of_manner[proven.read[recall]]
        kin = np.where(written == read, KINS.index("same"), KINS.index("other"))
        kin[(written == unknown) | (read == unknown)] = KINS.index("unknown")
        age = np.searchsorted(_EDGES, proven.start[recall] - proven.ended[message], side="right")
        scenario = proven.scenario[proven.recall_conversation[recall]]
        cells = len(proven.scenarios) * len(KINS) * BINS
        numbers = np.bincount((scenario * len(KINS) + kin) * BINS + age, minlength=cells).reshape(-1, len(KINS), BINS)
        for at, name in enumerate(proven.scenarios):
            for kind, those in zip(KINS, numbers[at], strict=True):
                if those.any():
                    self.shown[name, kind] += those

    def merge(self, other: Pairs) -> None:
        """Take in another share."""
        for key, numbers in other.shown.items():
            self.shown[key] += numbers
        for case, numbers in other.missing.items():
            self.missing[case] += numbers


def kinship(written_by: str | None, read_by: str | None) -> Kin:
    """How the instance that wrote and the one that read are related."""
    if written_by is None or read_by is None:
        return "unknown"
    return "same" if written_by == read_by else "other"


def binned(ages_ns: Numbers) -> Numbers:
    """Numbers of ages per bin."""
    return np.bincount(np.searchsorted(_EDGES, ages_ns, side="right"), minlength=BINS).astype(np.int64)


def _no_numbers() -> Numbers:
    return np.zeros(BINS, dtype=np.int64)
