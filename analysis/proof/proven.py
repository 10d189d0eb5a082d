"""Conversations that are proven sound, as columns, for accumulators to add up.

They have no finding and no doubt. An accumulator that counts something of sound conversations takes them in by
``add_proven``, and must come to exactly what ``add`` would come to, conversation by conversation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.batches import NONE, Conversations
from analysis.columns import Codes, Ints, Manner, Table
from analysis.proof.features import Mask
from analysis.proof.prove import Proof

OPERATIONS = ("append", "recall", "delete", "touch")


class Proven:
    """The proven conversations of a batch, numbered from 0."""

    def __init__(
        self, proof: Proof, conversations: Conversations, processes: Sequence[str], which: Ints | None = None
    ) -> None:
        """Take them out of a proof.

        Args:
            proof: of a batch of ``conversations``.
            conversations: all of the share.
            processes: names of the op logs.
            which: those to be taken, by their number in the batch; None: all that are proven.
        """
        batch, messages, lists, verdicts = proof.batch, proof.messages, proof.lists, proof.verdicts
        which = np.flatnonzero(~proof.suspect) if which is None else which
        self._source = proof, conversations, processes
        self._which = which
        number = np.full(batch.size, NONE)
        number[which] = np.arange(len(which))

        # Conversations.
        self.size = len(which)
        self.names = [conversations.names[batch.first + at] for at in which]
        scenarios = Codes()
        who = [conversations.who[batch.first + at] for at in which]
        self.scenario: Ints = np.array([scenarios[its.scenario] for its in who], np.int64)
        """By conversation; a number of ``scenarios``."""
        self.scenarios: list[str] = list(scenarios)
        self.users = [(its.tenant or "", its.user) for its in who]
        self.processes = [processes[log] for log in conversations.logs[batch.first + which]]

        # Operations of every outcome.
        self.manners: list[Manner] = conversations.manners
        self.operations: dict[str, Table] = {}
        """By kind: the columns conversation, manner, start and end."""
        for kind in OPERATIONS:
            table = batch.tables[kind]
            own = number[table["conversation"]] != NONE
            self.operations[kind] = {name: table[name][own] for name in ("manner", "start", "end")}
            self.operations[kind]["conversation"] = number[table["conversation"][own]]

        # Messages, in the order of device and number.
        its = number[messages.author_conversation[messages.author]]
        own = its != NONE
        self.message_conversation: Ints = its[own]
        self.acknowledged: Mask = (messages.acked < messages.never)[own]
        self.rejected: Mask = messages.failed[own]
        self.shown: Mask = (proof.shown < messages.never)[own]
        self.ended: Ints = batch.tables["append"]["end"][messages.append][own]
        """End of the append, whatever its outcome."""
        places = np.cumsum(number[batch.tables["append"]["conversation"]] != NONE) - 1
        self.append: Ints = places[messages.append][own]
        """Its append, as a row of ``operations``."""
        self.written: Ints = batch.tables["append"]["manner"][messages.append][own]
        """Manner of the append."""

        # Answered recalls and the runs of messages they list.
        place = np.cumsum(own) - 1
        self.answered: Mask = number[lists.conversation] != NONE
        recall = np.cumsum(self.answered) - 1
        row = lists.row[self.answered]
        self.recall_conversation: Ints = number[lists.conversation[self.answered]]
        self.checked: Mask = verdicts.checked[self.answered]
        self.start: Ints = batch.tables["recall"]["start"][row]
        self.end: Ints = batch.tables["recall"]["end"][row]
        self.read: Ints = batch.tables["recall"]["manner"][row]
        """Manner of the recall."""
        self.odd: Ints = batch.tables["recall"]["odd"][row].astype(np.int64)
        """Listed elements that nobody of us wrote; none that would be a finding."""
        listed = self.answered[lists.recall]
        self.run_recall: Ints = recall[lists.recall[listed]]
        self.run_first: Ints = place[lists.first[listed]]
        self.run_last: Ints = place[lists.last[listed]]

    def part(self, chosen: Mask) -> Proven:
        """Some of these conversations, numbered anew."""
        return self if chosen.all() else Proven(*self._source, self._which[chosen])
