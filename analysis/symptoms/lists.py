"""How long recalled lists are: a memory that keeps less than it promises shows lists that never grow beyond a length.

Under a smaller window every lossy list is exactly as long as the longest list of all, and what is missing stands before
everything that is shown. Under one that is counted in bytes or tokens the same holds of the sizes of lists, roughly. Of
a first page that is taken for the whole list the mirror image holds: what is missing stands after everything that is
shown, and while more is said the list stays as it is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Literal

import numpy as np

from analysis.check import Checked
from analysis.listed import of_history
from analysis.proof.proven import Proven
from analysis.symptoms.scale import step_of
from analysis.symptoms.traits import shape

Form = Literal["sound", "newest", "oldest", "holed", "blank"]
"""newest: lossy, but what is shown is the newest part of what was owed; oldest: it is the oldest part; holed: lossy in
another way."""
_PARTS: tuple[tuple[str, Form], ...] = (("head", "newest"), ("tail", "oldest"))
"""Where all that is missing stands, and which part is shown."""


class Lists:
    """Checked recalls by scenario, number of listed elements, and form."""

    def __init__(self) -> None:
        self.number: Counter[tuple[str, int, Form]] = Counter()
        self.size: Counter[tuple[int, Form]] = Counter()
        """Recalls of conversations with a loss, by the step of a size in bytes: of what a sound list holds, and of what
        a lossy one would hold if it had room for the newest message that it lacks."""
        self.stood: Counter[int] = Counter()
        """Conversations by a length that their lists kept, with their oldest part, though ever more was missing."""

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        lossy = bool(checked.recalls_lossy)
        sizes = {sent.message: sent.said.bytes for sent in checked.sent.values()} if lossy else {}
        lacking: defaultdict[int, set[int]] = defaultdict(set)
        for entry in checked.listed:
            if not of_history(entry):
                continue
            came_to = shape(entry)
            form: Form = "sound" if came_to == "sound" else "blank" if came_to == "blank" else "holed"
            positions = {lost.position for lost in entry.judgement.missing}
            # Overlapping writes leave open whether a message stands before or among those that are shown.
            for place, part in _PARTS:
                if form == "holed" and place in positions and positions <= {place, "unplaced"}:
                    form = part
            if form == "oldest":
                lacking[entry.row.length].add(len(entry.judgement.missing))
            self.number[checked.conversation.scenario, entry.row.length, form] += 1
            if not lossy:
                continue
            size = sum(map(sizes.__getitem__, entry.shown))
            if entry.judgement.missing:
                newest = max((lost.message for lost in entry.judgement.missing), key=lambda message: message.sent_ns)
                size += sizes[newest]
            self.size[step_of(size), form] += 1
        self.stood.update(length for length, numbers in lacking.items() if len(numbers) > 1)

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound."""
        counts = proven.run_last - proven.run_first + 1
        lengths = np.bincount(proven.run_recall, weights=counts, minlength=len(proven.start)).astype(np.int64)
        lengths = (lengths + proven.odd)[proven.checked]
        scenario = proven.scenario[proven.recall_conversation[proven.checked]]
        for at, name in enumerate(proven.scenarios):
            for length, number in enumerate(np.bincount(lengths[scenario == at]).tolist()):
                if number:
                    self.number[name, length, "sound"] += number

    def merge(self, other: Lists) -> None:
        """Take in another share."""
        self.number.update(other.number)
        self.size.update(other.size)
        self.stood.update(other.stood)
