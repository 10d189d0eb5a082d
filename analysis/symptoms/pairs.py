"""Pairs of message and recall that shows or lacks it, by the age of the message and by whether the reading instance is
the one that wrote it.

The age is counted from the acknowledgement to the start of the recall. A share of missing pairs that falls to zero with
age is lateness; one that does not is loss; one that rises is a window or an expiry. If only pairs of two different
instances are missing, each instance has a memory of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analysis.check import Checked
from analysis.columns import Codes, spread
from analysis.fates import ENDS
from analysis.listed import of_history
from analysis.proof.proven import Proven
from analysis.symptoms.scale import BINS, EDGES_NS
from goldfish.rule import Message

Kin = Literal["same", "other", "unknown"]
"""Whether the instance that wrote is the one that read; unknown if an answer did not name its instance."""
KINS: tuple[Kin, ...] = ("same", "other", "unknown")
Numbers = NDArray[np.int64]
UNKNOWN = 0
"""Number of the instance that an answer did not name."""
UNACKED = 2**62
PAIRS_AT_ONCE = 2_000_000
_EDGES = np.array(EDGES_NS, dtype=np.int64)


class Pairs:
    """By scenario, kin and age; pairs of checked recalls and acknowledged messages."""

    def __init__(self) -> None:
        self.shown: defaultdict[tuple[str, Kin], Numbers] = defaultdict(_no_numbers)
        self.missing: defaultdict[tuple[str, Kin, bool], Numbers] = defaultdict(_no_numbers)
        """The third part of the key: whether the message was shown afterwards."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        sent = list(checked.sent.values())
        index = {each.message: at for at, each in enumerate(sent)}
        instances = Codes({None: UNKNOWN})
        written = np.array([instances[each.append.instance] for each in sent], np.int64)
        acked = np.array([min(each.message.acked_ns, UNACKED) for each in sent], np.int64)
        histories = [entry for entry in checked.listed if of_history(entry)]
        read = np.array([instances[entry.row.instance] for entry in histories], np.int64)
        start = np.array([entry.row.start_ns for entry in histories], np.int64)
        scenario = checked.conversation.scenario

        def count(lists: Sequence[Sequence[Message]]) -> Numbers:
            """Pairs of histories and messages, one list of messages each, by kin and age."""
            recall = np.repeat(np.arange(len(lists)), [len(messages) for messages in lists])
            message = np.array([index[message] for messages in lists for message in messages], np.int64)
            known = acked[message] < UNACKED
            recall, message = recall[known], message[known]
            return _by_kin_and_age(written[message], read[recall], start[recall] - acked[message])

        for kin, ages in zip(KINS, count([entry.shown for entry in histories]), strict=True):
            if ages.any():
                self.shown[scenario, kin] += ages
        if not checked.recalls_lossy:
            return
        late = {message for message, fate in checked.fates.items() if ENDS.get(fate.name) == "late"}
        gone = [[lost.message for lost in entry.judgement.missing] for entry in histories]
        for is_late in (True, False):
            those = [[message for message in messages if (message in late) == is_late] for messages in gone]
            for kin, ages in zip(KINS, count(those), strict=True):
                if ages.any():
                    self.missing[scenario, kin, is_late] += ages

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        instances = Codes({None: UNKNOWN})
        of_manner = np.array([instances[manner.instance] for manner in proven.manners], np.int64)
        runs = np.flatnonzero(proven.checked[proven.run_recall])
        listed = np.cumsum((proven.run_last - proven.run_first + 1)[runs])
        # Lists of long histories have many more elements than there are operations.
        parts = np.searchsorted(listed, np.arange(0, listed[-1] if len(listed) else 0, PAIRS_AT_ONCE), side="right")
        for some in np.split(runs, np.unique(parts)):
            self._add_runs(proven, some, of_manner)

    def _add_runs(self, proven: Proven, runs: Numbers, of_manner: Numbers) -> None:
        """Take in the messages of some runs."""
        counts = (proven.run_last - proven.run_first + 1)[runs]
        message = spread(proven.run_first[runs], counts)
        recall = np.repeat(proven.run_recall[runs], counts)
        known = proven.acknowledged[message]
        message, recall = message[known], recall[known]
        scenario = proven.scenario[proven.recall_conversation[recall]]
        for at, name in enumerate(proven.scenarios):
            own = slice(None) if len(proven.scenarios) == 1 else scenario == at
            written, read = of_manner[proven.written[message[own]]], of_manner[proven.read[recall[own]]]
            ages = proven.start[recall[own]] - proven.ended[message[own]]
            for kin, numbers in zip(KINS, _by_kin_and_age(written, read, ages), strict=True):
                if numbers.any():
                    self.shown[name, kin] += numbers

    def merge(self, other: Pairs) -> None:
        """Take in another share."""
        for key, numbers in other.shown.items():
            self.shown[key] += numbers
        for case, numbers in other.missing.items():
            self.missing[case] += numbers


def _by_kin_and_age(written: Numbers, read: Numbers, ages_ns: Numbers) -> Numbers:
    """Numbers of pairs: a row for each kin, a column for each bin of age.

    Args:
        written: by pair, the number of the instance that wrote the message.
        read: of the one that answered the recall.
        ages_ns: from the acknowledgement to the start of the recall.
    """
    kin = np.where(written == read, KINS.index("same"), KINS.index("other"))
    kin[(written == UNKNOWN) | (read == UNKNOWN)] = KINS.index("unknown")
    cell = kin * BINS + np.searchsorted(_EDGES, ages_ns, side="right")
    return np.bincount(cell, minlength=len(KINS) * BINS).reshape(len(KINS), BINS).astype(np.int64)


def _no_numbers() -> Numbers:
    return np.zeros(BINS, dtype=np.int64)
