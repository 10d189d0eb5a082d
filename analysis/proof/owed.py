"""What each recall owes of each author, and whether it shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.batches import Batch
from analysis.columns import NO_LIMIT, Ints, spread
from analysis.proof.features import Mask
from analysis.proof.lists import Lists
from analysis.proof.messages import Messages
from goldfish.contract import Contract


@dataclass(slots=True)
class Verdicts:
    """By answered recall."""

    checked: Mask
    sound: Mask
    """Whether ``checked`` is what the rule would say, nothing is missing, and no more is listed than may be."""
    overlong: Mask
    """Whether more is listed than may be."""


def weigh(batch: Batch, lists: Lists, messages: Messages, stored: Ints, contract: Contract) -> Verdicts:
    """Judge every answered recall as far as that is simple."""
    never = messages.never
    recalls = len(lists.start)
    length = np.zeros(recalls, np.int64)
    np.add.at(length, lists.recall, lists.last - lists.first + 1)
    length += batch.tables["recall"]["odd"][lists.row]
    bound = _bounds(batch.tables["recall"]["limit"][lists.row], contract)
    room = length < bound

    # By when the recall can have read, and by when the oldest of what it shows was stored, at the earliest.
    stored_on = messages.earliest_from(stored)
    visibility_ns = contract.visibility_ns
    due_by = stored if not visibility_ns else np.where(messages.acked < never, messages.acked, stored)
    due_on = messages.earliest_from(due_by)
    read_at = np.maximum(lists.start - visibility_ns, 0)
    if not visibility_ns:
        np.maximum.at(read_at, lists.recall, messages.sent[lists.last])
    oldest = np.full(recalls, never)
    np.minimum.at(oldest, lists.recall, stored_on[lists.first])

    # Every recall beside every author of its conversation.
    authors = np.diff(messages.first_author)[lists.conversation]
    recall = np.repeat(np.arange(recalls), authors)
    author = spread(messages.first_author[lists.conversation], authors)
    first_pair = np.cumsum(authors) - authors - messages.first_author[lists.conversation]
    pair = first_pair[lists.recall] + lists.author
    first_shown, past_shown = np.full(len(recall), len(stored)), np.zeros(len(recall), np.int64)
    np.minimum.at(first_shown, pair, lists.first)
    np.maximum.at(past_shown, pair, lists.last + 1)

    begin = messages.begin[author]
    after_oldest = np.searchsorted(
        messages.key(messages.author, messages.sent), messages.key(author, oldest[recall]), side="right"
    )
    low = np.minimum(np.where(room[recall], begin, after_oldest), first_shown)
    high = np.searchsorted(messages.key(messages.author, due_on), messages.key(author, read_at[recall]), side="left")
    if not visibility_ns:
        high = np.maximum(high, past_shown)
    high = np.maximum(high, low)

    never_stored = np.append(0, np.cumsum(stored == never))
    owed = high - low - (never_stored[high] - never_stored[low])
    overlap = np.minimum(lists.last + 1, high[pair]) - np.maximum(lists.first, low[pair])
    given = np.zeros(len(recall), np.int64)
    np.add.at(given, pair, np.maximum(overlap, 0))
    lacking = np.zeros(recalls, bool)
    lacking[recall[given != owed]] = True

    earliest = np.full(len(messages.first_author) - 1, never)
    np.minimum.at(earliest, messages.author_conversation, due_on[messages.begin[:-1]])
    checked = earliest[lists.conversation] < read_at
    # What is shown makes the earlier part of its append due, too; seldom is that all that is due.
    unsure = ~checked & (lists.runs > 0) & (not visibility_ns)
    asked = bound >= 1
    overlong = length > np.maximum(bound, 0)
    return Verdicts(checked & asked, ~overlong & ~(asked & (lacking | unsure)), overlong)


def _bounds(limit: Ints, contract: Contract) -> Ints:
    """K of each recall."""
    if contract.page.default is not None:
        limit = np.where(limit == NO_LIMIT, contract.page.default, limit)
    return np.minimum(limit, min(bound or NO_LIMIT for bound in (contract.window.messages, contract.page.max)))
