"""Judges the conversations of a share: proven in batches where that goes, one by one where it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from analysis.batches import Batch, Conversations
from analysis.check import check
from analysis.judged import Judged
from analysis.proof.features import Mask
from analysis.proof.prove import prove
from analysis.proof.proven import Proven
from analysis.record import Cited, Flaw
from analysis.rows import read_conversations
from analysis.share import Share
from goldfish.contract import Contract

AT_ONCE = 256
"""Conversations whose rows are in memory at a time."""


class Assignment(NamedTuple):
    """What all shares are told before they judge."""

    contract: Contract
    start_ns: int
    """The stamp that times of the run are told relative to."""
    cited: frozenset[Cited]
    """Messages that foreign elements of the record name."""
    processes: list[str]
    """Names of the op logs."""
    flaws: dict[int, Flaw]
    """Of those op logs that are not whole, by number."""


def judge_share(share: Share, assignment: Assignment, progress: Callable[[int], None]) -> Judged:
    """What the conversations of a share come to.

    Args:
        share: all that was read and taken.
        assignment: what to judge by.
        progress: called with the number of conversations just judged.

    Raises:
        RecordError: rows of a conversation contradict each other.
    """
    judged = Judged(assignment.start_ns, assignment.cited)
    conversations = Conversations(share)
    cited = {conversation for conversation, _, _ in assignment.cited}
    for batch in conversations.batches():
        barred = _barred(batch, conversations, assignment, cited)
        proof = prove(batch, conversations, assignment.contract, barred)
        suspect = np.ones(batch.size, bool) if proof is None else proof.suspect
        if proof is not None and not suspect.all():
            judged.add_proven(Proven(proof, conversations, assignment.processes))
            progress(int((~suspect).sum()))
        slow = (np.flatnonzero(suspect) + batch.first).tolist()
        for first in range(0, len(slow), AT_ONCE):
            some = slow[first : first + AT_ONCE]
            for conversation in read_conversations(some, conversations, share.paths, assignment.flaws):
                judged.add(check(conversation, assignment.contract))
            progress(len(some))
    return judged


def _barred(batch: Batch, conversations: Conversations, assignment: Assignment, cited: set[str]) -> Mask:
    """Conversations that have to be looked at one by one: cited by others, or not wholly recorded."""
    names = conversations.names[batch.first : batch.first + batch.size]
    barred = np.array([name in cited for name in names], bool)
    if assignment.flaws:
        recalls = batch.tables["recall"]
        final = np.array([manner.phase == "final" for manner in conversations.manners], bool)
        closed = np.zeros(batch.size, bool)
        closed[recalls["conversation"][final[recalls["manner"]]]] = True
        logs = conversations.logs[batch.first : batch.first + batch.size]
        for log, flaw in assignment.flaws.items():
            barred |= (logs == log) & (flaw.scattered | ~closed)
    return barred
