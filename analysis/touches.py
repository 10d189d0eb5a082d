"""What may have prolonged the life of what was said: the operations of a conversation as the rule of expiry sees them.

Where a user's memory expires as a whole, what the same user did in other conversations counts as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from analysis.listed import Listed, Sent, read_list, read_sent
from analysis.record import Conversation
from goldfish.oplog import Operation
from goldfish.rule import NEVER, Expiry, Terms, Touch


def expiry_of(
    conversation: Conversation, listed: Sequence[Listed], terms: Terms, company: Iterable[Conversation]
) -> Expiry | None:
    """The life of the units of a conversation; None if nothing expires.

    Args:
        conversation: the conversation.
        listed: its ok recalls.
        terms: what is promised.
        company: the conversations of the same user; read where the unit is the user.
    """
    if terms.ttl_ns is None:
        return None
    touches = [*_touches(conversation, {entry.line: entry for entry in listed})]
    if terms.unit == "user":
        for other in company:
            if other is not conversation:
                touches += _touches(other, dict(_lists(other, read_sent(other))))
    return Expiry(terms, touches)


def _lists(conversation: Conversation, sent: dict[tuple[str, int], Sent]) -> Iterator[tuple[int, Listed]]:
    for line, row in conversation.recalls:
        if row.outcome == "ok":
            yield line, read_list(line, row, sent)


def _touches(conversation: Conversation, listed: Mapping[int, Listed]) -> Iterator[Touch]:
    for _, append in conversation.appends:
        # A resend may have been taken for a message known already, and have changed nothing.
        certain = append.outcome == "ok" and append.attempt == 1
        reaches = frozenset([append.session or ""]) if certain else None
        yield Touch("append", append.start_ns, _over_ns(append), append.session, reaches)
    for line, recall in conversation.recalls:
        entry = listed.get(line)
        shown = frozenset([message.session for message in entry.shown]) if entry else None
        session = recall.session if recall.view == "session" else None
        yield Touch("recall", recall.start_ns, _over_ns(recall), session, shown)
    for _, other in [*conversation.deletes, *conversation.touches]:
        yield Touch("other", other.start_ns, _over_ns(other), other.session, None)


def _over_ns(row: Operation) -> int:
    """By when it has taken effect if it ever does."""
    return NEVER if row.outcome == "info" else row.end_ns
