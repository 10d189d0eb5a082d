"""Authors and their messages, and by when each message was certainly stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.batches import Batch, Conversations
from analysis.columns import Ints, spread
from analysis.proof.features import SPAN_MAX, Mask


@dataclass(slots=True)
class Messages:
    """The messages of a batch in the order of author and number; an author is one device in one conversation.

    Stamps count from the first start of the conversation; ``never`` is later than all.
    """

    never: int
    base: Ints
    """By conversation: the stamp 0 stands for."""
    device_codes: int
    authors: Ints
    """Conversation times ``device_codes`` plus device, in ascending order."""
    begin: Ints
    """By author: the first message; one more entry than authors."""
    author_conversation: Ints
    first_author: Ints
    """By conversation; one more entry than conversations."""
    author: Ints
    append: Ints
    """Row of the append that carried it."""
    sent: Ints
    acked: Ints
    failed: Mask

    def key(self, author: Ints, stamp: Ints) -> Ints:
        """One number that orders by author first, then by stamp."""
        return author * (self.never + 1) + stamp

    def earliest_from(self, stamps: Ints) -> Ints:
        """By message: the earliest stamp of it and its author's later ones; it never goes down along an author."""
        earliest = np.minimum.accumulate(self.key(self.author, stamps)[::-1])[::-1]
        return earliest - self.key(self.author, np.zeros(len(stamps), np.int64))


def read_messages(batch: Batch, conversations: Conversations, suspect: Mask) -> Messages:
    """The messages of a batch. Conversations whose numbering is not plain become suspect; the rest is in order."""
    appends, recalls = batch.tables["append"], batch.tables["recall"]
    codes = max(len(conversations.devices), 1)
    voice = appends["conversation"] * codes + conversations.voice_device[appends["voice"]].astype(np.int64)
    append = np.repeat(np.arange(len(voice)), appends["messages"])
    seq = batch.tables["message"]["seq"].astype(np.int64)
    place = spread(np.zeros(len(voice), np.int64), appends["messages"])
    order = np.lexsort((seq, voice[append]))
    append, seq, place = append[order], seq[order], place[order]

    authors, begin = np.unique(voice[append], return_index=True)
    begin = np.append(begin, len(append))
    author = np.repeat(np.arange(len(authors)), np.diff(begin))
    author_conversation = authors // codes
    first_author = np.searchsorted(author_conversation, np.arange(batch.size + 1))
    conversation = author_conversation[author]

    never = SPAN_MAX // (len(authors) + 1) - 1
    base = np.full(batch.size, np.iinfo(np.int64).max)
    last = np.zeros(batch.size, np.int64)
    for table in (appends, recalls):
        np.minimum.at(base, table["conversation"], table["start"])
        np.maximum.at(last, table["conversation"], table["end"])
    base = np.minimum(base, last)
    suspect |= last - base >= never - 1

    start, end = appends["start"][append] - base[conversation], appends["end"][append] - base[conversation]
    outcome = np.array([manner.outcome for manner in conversations.manners])
    ok, failed = (outcome == "ok")[appends["manner"]], (outcome == "fail")[appends["manner"]]
    acked = np.where(ok[append], end, never)

    # Numbered from 0 without a hole, in the order of sending, and consecutively within an append.
    same = np.diff(author) == 0
    wrong = seq != np.arange(len(seq)) - begin[author]
    wrong[1:] |= same & (np.diff(start) < 0)
    wrong[1:] |= same & (np.diff(append) == 0) & (np.diff(place) != 1)
    first_of_append = np.append(True, np.diff(append) != 0)[: len(append)]
    wrong |= first_of_append & (place != 0)
    suspect[conversation[wrong]] = True
    return Messages(
        never=never,
        base=base,
        device_codes=codes,
        authors=authors,
        begin=begin,
        author_conversation=author_conversation,
        first_author=first_author,
        author=author,
        append=append,
        sent=start,
        acked=acked,
        failed=failed[append],
    )
