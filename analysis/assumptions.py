"""What must hold of one conversation's rows before anything is concluded from them.

Contradictions raise; what only shows that rows are missing is returned as a doubt, and the conversation is not judged.
"""

from __future__ import annotations

from analysis.record import Conversation, Doubt
from goldfish.contract import Scope
from goldfish.errors import RecordError
from goldfish.oplog import Append, Recall

LIST_MAX = 1_000_000
"""Elements of a recalled list beyond which the record is not believed."""


def examine(conversation: Conversation) -> Doubt | None:
    """Validate one conversation, set its scope, and say why it cannot be judged, or None if it can.

    Raises:
        RecordError: its rows contradict each other; file and line are named.
    """
    conversation.scope = scope_of(conversation)
    _sessions(conversation)
    sent = _sent(conversation)
    _order(conversation)
    doubt = _resent(conversation, sent)
    for device, seqs in sent.items():
        if seqs and len(seqs) <= max(seqs):
            hole = next(seq for seq in range(len(seqs) + 1) if seq not in seqs)
            doubt = f"the sending of message {hole} by {device} is not recorded, though a later one is"
    for line, recall in conversation.recalls:
        unknown = _listed(conversation, line, recall, sent)
        if unknown is not None:
            doubt = (
                f"the recall on line {line} lists or asks for message {unknown[1]} by {unknown[0]}, whose sending is "
                "not recorded"
            )
    return Doubt("incomplete", doubt) if doubt else None


def scope_of(conversation: Conversation) -> Scope | None:
    """What the recalls of a conversation span; None if it was never recalled.

    Raises:
        RecordError: one recall contradicts another, or cannot be read.
    """
    scope: Scope | None = None
    for line, recall in conversation.recalls:
        view = recall.view
        if recall.asked and view != "search":
            raise _contradiction(conversation, line, f"a recall of view {view!r} asks for facts; only a search does")
        if view in (
            "search",
            "store",
        ):  # of the user's memory, or of the store; it tells nothing of what a recall spans
            continue
        if view not in ("session", "user"):
            raise _contradiction(
                conversation, line, f"a recall of view {view!r}; this version reads session, user, search and store"
            )
        if scope is not None and view != scope:
            raise _contradiction(
                conversation, line, f"recalled by view {view!r} here and by {scope!r} above; expected one scope"
            )
        scope = "session" if view == "session" else "user"
    return scope


def _sessions(conversation: Conversation) -> None:
    """Appends and deletes name their session; a session conversation has only one."""
    session: str | None = None
    for line, row in [*conversation.appends, *conversation.deletes]:
        if row.session is None:
            raise _contradiction(conversation, line, f"operation {row.id} names no session")
    if conversation.scope != "session":
        return
    recalls = [entry for entry in conversation.recalls if entry[1].view not in ("search", "store")]
    for line, operation in [*conversation.appends, *recalls, *conversation.deletes]:
        if session is not None and operation.session != session:
            raise _contradiction(
                conversation, line, f"session {operation.session!r} here and {session!r} before; expected one session"
            )
        session = operation.session


def _sent(conversation: Conversation) -> dict[str, set[int]]:
    """The sequence numbers each device sent, each once but for later attempts."""
    sent: dict[str, set[int]] = {}
    for line, append in conversation.appends:
        if not append.messages:
            raise _contradiction(conversation, line, f"append {append.id} carries no message")
        seqs = sent.setdefault(append.device, set())
        if append.attempt > 1:
            continue
        for said in append.messages:
            if said.seq in seqs:
                raise _contradiction(
                    conversation,
                    line,
                    f"message {said.seq} by {append.device!r} was sent before; expected a new number, or an attempt "
                    "above 1",
                )
            seqs.add(said.seq)
    return sent


def _resent(conversation: Conversation, sent: dict[str, set[int]]) -> str | None:
    """Validate later attempts; says which earlier one is missing, or None."""
    attempts: dict[tuple[str, int], set[int]] = {}
    for line, append in conversation.appends:
        if append.attempt < 1:
            raise _contradiction(conversation, line, f"attempt {append.attempt}; attempts count from 1")
        if append.attempt == 1:
            continue
        for said in append.messages:
            known = attempts.setdefault((append.device, said.seq), set())
            if append.attempt in known:
                raise _contradiction(
                    conversation,
                    line,
                    f"attempt {append.attempt} at message {said.seq} by {append.device!r} stands twice",
                )
            known.add(append.attempt)
    for (device, seq), known in attempts.items():
        missing = next((n for n in range(2, max(known)) if n not in known), None)
        if seq not in sent[device]:
            missing = 1
        if missing is not None:
            sent[device].add(seq)
            return f"attempt {missing} at message {seq} by {device} is not recorded, though a later one is"
    return None


def _order(conversation: Conversation) -> None:
    """A device numbers its messages in the order of sending."""
    latest: dict[str, int] = {}

    def started(row: tuple[int, Append]) -> tuple[int, int]:
        return row[1].start_ns, row[1].messages[0].seq

    first = [row for row in conversation.appends if row[1].attempt == 1]
    for line, append in sorted(first, key=started):
        for said in append.messages:
            if said.seq <= latest.get(append.device, -1):
                raise _contradiction(
                    conversation, line, f"message {said.seq} by {append.device!r} was sent after a later number"
                )
            latest[append.device] = said.seq


def _listed(conversation: Conversation, line: int, recall: Recall, sent: dict[str, set[int]]) -> tuple[str, int] | None:
    """Validate the shape of a recalled list; return a listed message that was never sent, or None."""
    unknown = next(((device, seq) for device, seq in recall.asked if seq not in sent.get(device, ())), None)
    for device, first, last in recall.seen:
        if not 0 <= first <= last:
            raise _contradiction(conversation, line, f"a run from message {first} to {last}; expected first <= last")
        # Numbers without a hole are all sent if the last one is; holes raise a doubt of their own.
        if last >= len(sent.get(device, ())):
            unknown = device, last
    length = recall.length
    if length > LIST_MAX:
        raise _contradiction(conversation, line, f"a list of {length} elements; no answer holds that many")
    places = set()
    for odd in recall.odd:
        if odd.at >= length or odd.at in places:
            raise _contradiction(conversation, line, f"an odd element at position {odd.at} of a list of {length}")
        places.add(odd.at)
        if odd.why == "corrupted":
            if odd.device is None or odd.seq is None:
                raise _contradiction(conversation, line, "a corrupted element names no message")
            if odd.seq not in sent.get(odd.device, ()):
                unknown = odd.device, odd.seq
        elif odd.why == "foreign" and odd.owner is None:
            raise _contradiction(conversation, line, "a foreign element names no owner")
    return unknown


def _contradiction(conversation: Conversation, line: int, what: str) -> RecordError:
    return RecordError(f"{conversation.path}:{line}: conversation {conversation.name!r}: {what}")
