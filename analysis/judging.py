"""Judges conversations: proven in batches where that goes, one by one where it does not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator
from typing import NamedTuple

import numpy as np

from analysis.batches import Batch, Conversations
from analysis.check import check
from analysis.episodes import Episodes
from analysis.judged import Judged
from analysis.proof.features import Mask
from analysis.proof.prove import Proof, prove
from analysis.proof.proven import Proven
from analysis.reading import Outline, Shares
from analysis.record import Cited, Conversation, Flaw
from analysis.rows import read_conversations
from analysis.share import Share, together
from analysis.sums.sampled import KEPT_MAX, digest
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
    episodes: Episodes
    """When something was done to the deployment."""
    processes: list[str]
    """Names of the op logs."""
    flaws: dict[int, Flaw]
    """Of those op logs that are not whole, by number."""

    @classmethod
    def of(cls, outline: Outline, contract: Contract, episodes: Episodes) -> Assignment:
        """To judge a record that was read."""
        processes = outline.record.run.processes
        return cls(contract, outline.start_ns, outline.cited, episodes, processes, outline.flaws)

    def nothing(self) -> Judged:
        """The sums over no conversation."""
        return Judged(self.start_ns, self.cited, self.episodes)


def judge(shares: Shares, assignment: Assignment) -> Judged:
    """What all shares come to together.

    Raises:
        RecordError: rows of a conversation contradict each other.
    """
    judged = assignment.nothing()
    for share in shares.call("judge", [(assignment,)] * shares.number):
        judged.merge(share)
    return judged


def judge_share(share: Share, assignment: Assignment) -> Judged:
    """What the conversations of a share come to.

    Args:
        share: all that was read and taken.
        assignment: what to judge by.

    Raises:
        RecordError: rows of a conversation contradict each other.
    """
    return _Judge(share, assignment).judged


class _Judge:
    def __init__(self, share: Share, assignment: Assignment) -> None:
        self._share = share
        self._assignment = assignment
        self._progress = share.progress
        self._conversations = Conversations(share)
        self._cited = {conversation for conversation, _, _ in assignment.cited}
        self.judged = assignment.nothing()
        if together(assignment.contract) == "user":
            self._by_user()
        else:
            for batch in self._conversations.batches():
                self._judge(batch)

    def _judge(self, batch: Batch) -> None:
        proof = prove(batch, self._conversations, self._assignment.contract, self._barred(batch))
        suspect = np.ones(batch.size, bool)
        if proof is not None:
            suspect = proof.suspect
            proven = Proven(proof, self._conversations, self._assignment.processes)
            if proven.size:
                self.judged.add_proven(proven)
                self._keep_samples(proof, proven)
                self._progress(proven.size)
        slow = (np.flatnonzero(suspect) + batch.first).tolist()
        for first in range(0, len(slow), AT_ONCE):
            some = slow[first : first + AT_ONCE]
            known = {number: proof.known(number - batch.first) for number in some} if proof is not None else {}
            plain = {number for number, what in known.items() if what is not None}
            for number, conversation in zip(some, self._read(some, plain), strict=True):
                self.judged.add(check(conversation, self._assignment.contract, known=known.get(number)))
            self._progress(len(some))

    def _by_user(self) -> None:
        """Where a user's memory expires as a whole, conversations are judged in the company of the user's others."""
        of_user = defaultdict[object, list[int]](list)
        for number, who in enumerate(self._conversations.who):
            of_user[self._conversations.logs[number], who.tenant, who.user].append(number)
        for numbers in of_user.values():
            company = list(self._read(numbers))
            for conversation in company:
                self.judged.add(check(conversation, self._assignment.contract, company))
            self._progress(len(company))

    def _keep_samples(self, proof: Proof, proven: Proven) -> None:
        """Whole conversations are kept in a small sample, proven ones as well."""
        answered = np.unique(proven.recall_conversation)
        numbers = (np.flatnonzero(~proof.suspect) + proof.batch.first)[answered].tolist()
        names = self._conversations.names
        wanted = [at for at in numbers if self.judged.sampled.wants(names[at])]
        for conversation in self._read(sorted(wanted, key=lambda at: digest(names[at]))[:KEPT_MAX]):
            self.judged.sampled.keep(conversation)

    def _read(self, which: list[int], plain: Container[int] = ()) -> Iterator[Conversation]:
        return read_conversations(which, self._conversations, self._share.paths, self._assignment.flaws, plain)

    def _barred(self, batch: Batch) -> Mask:
        """Conversations that have to be looked at one by one: cited by others, or not wholly recorded."""
        names = self._conversations.names[batch.first : batch.first + batch.size]
        barred = np.array([name in self._cited for name in names], bool)
        if self._assignment.flaws:
            recalls = batch.tables["recall"]
            final = np.array([manner.phase == "final" for manner in self._conversations.manners], bool)
            closed = np.zeros(batch.size, bool)
            closed[recalls["conversation"][final[recalls["manner"]]]] = True
            logs = self._conversations.logs[batch.first : batch.first + batch.size]
            for log, flaw in self._assignment.flaws.items():
                barred |= (logs == log) & (flaw.scattered | ~closed)
        return barred
