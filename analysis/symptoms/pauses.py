"""The times in which nothing that was answered happened to a conversation: by rows, and by columns."""

from __future__ import annotations

import numpy as np

from analysis.check import Checked
from analysis.columns import Ints
from analysis.listed import Listed
from analysis.symptoms.overlap import latest_so_far
from goldfish.rule import Message


class Pauses:
    """The pauses of one conversation."""

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
        """The longest pause between the message in question and a recall.

        That is the newest missing one if some are missing, and the first shown one if none is.
        """
        missing = [lost.message for lost in entry.judgement.missing]
        if missing:
            return self.since(max(missing, key=lambda message: message.sent_ns), entry)
        return max((self.since(message, entry) for message in entry.shown[:1]), default=0)

    def since(self, message: Message, entry: Listed) -> int:
        """The longest pause between a message and a recall."""
        sent_at = self._at.get(self._sent(message).append.id, 0)
        return max(self._pauses[sent_at + 1 : self._at[entry.row.id] + 1], default=0)


def longest_columns(conversation: Ints, start: Ints, end: Ints, since: Ints, until: Ints) -> Ints:
    """The longest pauses between some operations and later ones, all of conversations without a loss.

    Args:
        conversation: of every answered operation.
        start: its start.
        end: its end.
        since: numbers of operations; -1: the first of the conversation.
        until: numbers of later operations of the same conversations.
    """
    if not len(until):
        return np.zeros(0, np.int64)
    order = np.lexsort((start, conversation))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    group = conversation[order]
    first = np.searchsorted(group, group)
    ended = latest_so_far(group, end[order])
    pauses = np.zeros(len(order) + 1, np.int64)
    pauses[1:-1] = np.maximum(0, start[order][1:] - ended[:-1])
    pauses[:-1][first == np.arange(len(order))] = 0
    to = place[until]
    begin = np.where(since < 0, first[to], place[since])
    # Between an operation and itself, or an earlier one, there is none.
    longest = np.maximum.reduceat(pauses, np.column_stack((begin + 1, to + 1)).ravel())[::2]
    return np.where(begin < to, longest, 0)
