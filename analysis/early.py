"""Expired early: what was kept as a whole is gone as a whole after a pause that it should have survived.

A recall that shows nothing of a unit (a session, a user's memory, or a message by itself) of which it owes something is
lossy already. It looks like an expiry that came too early if

* an earlier recall had shown the unit, and nothing of it is ever shown again;
* the recall follows a pause in which nothing prolonged the unit (where nothing does: its age); the pause is shorter
  than the time to live, or nothing would be owed;
* and the pause is longer than any that the unit survived in this conversation.

It is reported once for each unit, beside the missing messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis.finding import Finding
from analysis.listed import Listed
from analysis.record import Conversation
from goldfish.oplog import Operation, Recall
from goldfish.rule import Message, Terms


def expired_early(
    conversation: Conversation, listed: Sequence[Listed], terms: Terms, company: Iterable[Conversation]
) -> list[Finding]:
    """The units of a conversation that look as if they had expired too early.

    Args:
        conversation: the conversation.
        listed: its ok recalls in the order of their ends, judged.
        terms: what is promised, an expiry among it.
        company: the conversations of the same user.
    """
    histories = [entry for entry in listed if not entry.search]
    if terms.unit == "message":
        return _messages(histories)
    rows = _prolonging([*company] or [conversation], terms)
    named = {lost.message.session for entry in histories for lost in entry.judgement.missing}
    units: Iterable[str | None] = [None] if terms.unit == "user" and named else sorted(named)
    return [finding for unit in units if (finding := _unit(unit, histories, rows)) is not None]


def _prolonging(conversations: Iterable[Conversation], terms: Terms) -> list[Operation]:
    """The operations that a pause is counted from, in the order of their starts."""
    rows = [row for conversation in conversations for _, row in conversation.operations()]
    rows.sort(key=lambda row: row.start_ns)
    if terms.refresh == "read":
        return rows
    writes = [row for row in rows if not isinstance(row, Recall)]
    if terms.refresh == "write":
        return writes
    begun: dict[str | None, Operation] = {}
    for row in writes:
        begun.setdefault(row.session if terms.unit == "session" else None, row)
    return [*begun.values()]


def _unit(unit: str | None, histories: Sequence[Listed], rows: Sequence[Operation]) -> Finding | None:
    """The first recall that finds a unit gone for good after its longest pause."""
    own = [row for row in rows if unit is None or row.session in (None, unit)]
    survived_ns = 0
    gone: tuple[Listed, int] | None = None
    shown_by: int | None = None
    for entry in histories:
        pause_ns = _pause_ns(entry, own)
        if any(unit is None or m.session == unit for m in entry.shown):
            survived_ns = max(survived_ns, pause_ns)
            gone = None
            shown_by = entry.row.end_ns if shown_by is None else shown_by
        elif gone is None and shown_by is not None and shown_by < entry.row.start_ns and _lacks(entry, unit):
            gone = entry, pause_ns
    if gone is None or gone[1] <= survived_ns:
        return None
    return Finding(gone[0].line, gone[0].row, "expired early")


def _lacks(entry: Listed, unit: str | None) -> bool:
    return any(unit is None or lost.message.session == unit for lost in entry.judgement.missing)


def _pause_ns(entry: Listed, rows: Sequence[Operation]) -> int:
    """How long before a recall nothing was under way."""
    start_ns = entry.row.start_ns
    earlier = [row.end_ns for row in rows if row.start_ns < start_ns and row is not entry.row]
    return max(start_ns - max(earlier, default=start_ns), 0)


def _messages(histories: Sequence[Listed]) -> list[Finding]:
    """Messages that are gone for good at an age that no message of the conversation is ever shown at."""
    oldest_ns = max((_age_ns(m, entry) for entry in histories for m in entry.shown), default=0)
    last_shown: dict[Message, int] = {m: at for at, entry in enumerate(histories) for m in entry.shown}
    found: dict[Message, Finding] = {}
    for at, entry in enumerate(histories):
        for lost in entry.judgement.missing:
            m = lost.message
            if last_shown.get(m, at) < at and _age_ns(m, entry) > oldest_ns and m not in found:
                found[m] = Finding(entry.line, entry.row, "expired early", m, device=m.device, seq=m.seq)
    return [*found.values()]


def _age_ns(m: Message, entry: Listed) -> int:
    return entry.row.start_ns - m.stored_ns
