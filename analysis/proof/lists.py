"""Recalled lists as runs of messages, the recall that shows a message first, and an order all lists agree with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.batches import Batch, Conversations
from analysis.columns import Ints, spread
from analysis.proof.features import Mask
from analysis.proof.messages import Messages


@dataclass(slots=True)
class Lists:
    """The ok recalls of a batch in the order of conversation, end and line, and the runs they list."""

    row: Ints
    """Row of each recall in the batch."""
    conversation: Ints
    start: Ints
    end: Ints
    runs: Ints
    """How many a recall lists."""
    recall: Ints
    """Of each run."""
    author: Ints
    first: Ints
    """First and last message of a run, by their numbers in ``Messages``."""
    last: Ints


def read_lists(batch: Batch, conversations: Conversations, messages: Messages, suspect: Mask) -> Lists:
    """The lists of a batch. Conversations with a run of messages nobody sent, or not yet, become suspect."""
    recalls, runs = batch.tables["recall"], batch.tables["run"]
    row = np.repeat(np.arange(len(recalls["start"])), recalls["runs"])
    conversation = recalls["conversation"][row]
    first, last = runs["first"].astype(np.int64), runs["last"].astype(np.int64)

    code = conversation * messages.device_codes + runs["device"]
    author = np.searchsorted(messages.authors, code)
    known = author < len(messages.authors)
    author[~known] = 0
    known[known] = messages.authors[author[known]] == code[known]
    number = np.diff(messages.begin)
    known &= (first >= 0) & (first <= last)
    known[known] = last[known] < number[author[known]]
    suspect[conversation[~known]] = True
    first[~known] = last[~known] = 0
    first, last = first + messages.begin[author], last + messages.begin[author]
    end = recalls["end"][row] - messages.base[conversation]
    if len(messages.sent):
        suspect[conversation[messages.sent[last] > end]] = True

    # Only answered recalls prove anything, in the order in which they ended.
    ok = np.array([manner.outcome == "ok" for manner in conversations.manners], bool)
    answered = np.flatnonzero(ok[recalls["manner"]])
    answered = answered[np.lexsort((recalls["end"][answered], recalls["conversation"][answered]))]
    counts = recalls["runs"][answered].astype(np.int64)
    begins = np.cumsum(recalls["runs"], dtype=np.int64) - recalls["runs"]
    which = spread(begins[answered], counts)
    return Lists(
        row=answered,
        conversation=recalls["conversation"][answered],
        start=(recalls["start"] - messages.base[recalls["conversation"]])[answered],
        end=(recalls["end"] - messages.base[recalls["conversation"]])[answered],
        runs=counts,
        recall=np.repeat(np.arange(len(answered)), counts),
        author=author[which],
        first=first[which],
        last=last[which],
    )


def first_runs(lists: Lists, messages: Messages) -> Ints:
    """By message: the first run that lists it; the number of runs if none does.

    Each run is covered by two spans whose length is a power of two. The minimum is taken span by span, and then handed
    down from each length to the half of it.
    """
    number, nobody = len(messages.sent), len(lists.recall)
    length = lists.last - lists.first + 1
    level = np.frexp(length.astype(np.float64))[1] - 1
    run = np.arange(nobody)
    handed: Ints | None = None
    for at in range(int(level.max(initial=-1)), -1, -1):
        smallest = np.full(number, nobody)
        if handed is not None:
            half = 1 << at
            np.minimum(smallest, handed, out=smallest)
            np.minimum(smallest[half:], handed[: number - half], out=smallest[half:])
        its = level == at
        np.minimum.at(smallest, lists.first[its], run[its])
        np.minimum.at(smallest, lists.last[its] - (1 << at) + 1, run[its])
        handed = smallest
    return np.full(number, nobody) if handed is None else handed


def disordered(lists: Lists, messages: Messages, first_run: Ints, stored: Ints, suspect: Mask) -> None:
    """Conversations whose lists may not agree on one order, or may deny the stamps, become suspect."""
    # An author's messages go up: one that is late for its first list still stands in front of its author's later ones.
    place = messages.earliest_from(first_run)
    shown = np.flatnonzero(first_run < len(lists.recall))
    ranked = shown[np.argsort(place[shown], kind="stable")]
    rank = np.full(len(first_run), -1)
    rank[ranked] = np.arange(len(ranked))

    # So a run goes up; and each run goes on behind the one before it in the same list.
    back = (np.diff(lists.recall) == 0) & (rank[lists.first[1:]] <= rank[lists.last[:-1]])
    suspect[lists.conversation[lists.recall[1:][back]]] = True

    # Nothing was certainly stored before something that stands in front of it was sent.
    conversation = messages.author_conversation[messages.author[ranked]]
    latest = np.maximum.accumulate(messages.key(conversation, messages.sent[ranked]))
    denied = messages.key(conversation, stored[ranked])[1:] < latest[:-1]
    suspect[conversation[1:][denied]] = True
