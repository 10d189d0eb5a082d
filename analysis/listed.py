"""What was sent and what was listed, as the rule of loss needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from analysis.record import Conversation
from goldfish.contract import Contract
from goldfish.oplog import Append, Odd, Recall, Said, listing
from goldfish.rule import NEVER, UNCHECKED, Judgement, Message
from goldfish.rule.size import token_bounds, tokens_max
from goldfish.token import read


class Sent(msgspec.Struct, frozen=True, gc=False):
    """One message: what the rule knows of it, what was said, and the append that carried it.

    A message may be sent in several attempts: it is sent with the first that did not fail, and the first that is
    acknowledged has written it.
    """

    message: Message
    said: Said
    append: Append
    """The attempt that wrote it, else the first that did not fail, else the first."""
    attempts: int
    """How many there were, failed ones included."""
    tried: Append
    """The first of all."""
    sent_ns: int
    """Start of the first that did not fail; of the first of all if all did."""


@dataclass(slots=True)
class Listed:
    """One ok recall: its row, its list, and what it proves."""

    line: int
    row: Recall
    own: list[Message]
    """Own messages in list order, every copy, corrupted copies with a legible token too."""
    shown: list[Message]
    """First copies of them."""
    damaged: set[Message] = field(default_factory=set)
    """Those of them that are not listed as they were sent."""
    judgement: Judgement = UNCHECKED

    @property
    def search(self) -> bool:
        """Whether it asks for facts, not for a history."""
        return self.row.view == "search"


def of_history(entry: Listed) -> bool:
    """Whether a recall of a history was checked; one that asks for facts has no order."""
    return entry.judgement.checked and not entry.search


def spoken(text: str) -> str:
    """The text of a message without the token it starts with."""
    return text.partition("] ")[2] if text.startswith("[") and read(None, text) else text


def read_sent(conversation: Conversation, contract: Contract | None = None) -> dict[tuple[str, int], Sent]:
    """The messages of a conversation by device and number, as the appends tell; nothing is known as shown yet.

    Sizes are filled in where the contract counts its window in tokens.
    """
    attempts: dict[tuple[str, int], list[tuple[Append, int]]] = {}
    """Of what was sent more than once."""
    sent: dict[tuple[str, int], Sent] = {}
    for _, append in conversation.appends:
        for place, said in enumerate(append.messages):
            key = append.device, said.seq
            if key not in sent:
                sent[key] = Sent(_message(append, place), said, append, 1, append, append.start_ns)
                continue
            first = sent[key]
            attempts.setdefault(key, [(first.append, first.message.place)]).append((append, place))
    resent = {key: _several(several) for key, several in attempts.items()}
    sent |= resent
    if contract is None:
        return sent
    may_go = contract.ttl is not None or any(row.outcome != "fail" for _, row in conversation.deletes)
    loose = may_go or contract.dedupe == "none" or contract.order_slack_ms > 0
    for entry in resent.values():
        entry.message.loose = loose and entry.message.attempts > 1
    if contract.window.tokens is not None:
        for entry in sent.values():
            entry.message.tokens_min, entry.message.tokens_max = _tokens(entry.said, contract)
    return sent


def _message(append: Append, place: int) -> Message:
    said, outcome = append.messages[place], append.outcome
    return Message(
        append.device,
        said.seq,
        append.session or "",
        append.start_ns,
        append.id,
        place,
        said.role,
        said.turn,
        append.end_ns if outcome == "ok" else NEVER,
        NEVER,
        outcome == "fail",
    )


def _several(attempts: Sequence[tuple[Append, int]]) -> Sent:
    """A message that was sent more than once."""
    by_start = sorted(attempts, key=lambda attempt: (attempt[0].start_ns, attempt[0].attempt))
    tried = [attempt for attempt in by_start if attempt[0].outcome != "fail"] or by_start
    first, place = tried[0]
    message = _message(first, place)
    acknowledged = [append for append, _ in tried if append.outcome == "ok"]
    wrote = min(acknowledged, key=lambda append: append.end_ns, default=None)
    if not message.failed:
        message.attempts = len(tried)
        message.acked_ns = wrote.end_ns if wrote else NEVER
        message.resent_ns = max(append.end_ns if append.outcome == "ok" else NEVER for append, _ in tried)
    return Sent(message, first.messages[place], wrote or first, len(attempts), by_start[0][0], first.start_ns)


def _tokens(said: Said, contract: Contract) -> tuple[int, int]:
    if said.tokens is not None:
        return said.tokens, said.tokens
    return token_bounds(said.text, said.bytes, contract.window.chars_per_token)


def numbered(sent: Mapping[tuple[str, int], Sent]) -> dict[str, list[Message]]:
    """The messages of each device in the order of their numbers."""
    messages: dict[str, list[Message]] = {}
    for device, seq in sorted(sent):
        messages.setdefault(device, []).append(sent[device, seq].message)
    return messages


def read_plain_list(line: int, row: Recall, messages: Mapping[str, Sequence[Message]]) -> Listed:
    """The list of one recall of which is known that it names nothing but messages that were sent, and each once.

    Args:
        line: of the recall.
        row: the recall.
        messages: of each device, numbered from 0 without a hole.
    """
    shown: list[Message] = []
    for device, first, last in row.seen:
        shown += messages[device][first : last + 1]
    return Listed(line, row, shown, shown)


def read_list(line: int, row: Recall, sent: dict[tuple[str, int], Sent]) -> Listed:
    """The list of one recall; own messages whose sending is not recorded are left out."""
    own: list[Message] = []
    damaged: set[Message] = set()
    if not row.odd:
        for device, first, last in row.seen:
            known = [sent.get((device, seq)) for seq in range(first, last + 1)]
            own += [entry.message for entry in known if entry is not None]
    else:
        for element in listing(row):
            entry = named(element, sent)
            if entry is not None:
                own.append(entry.message)
                if isinstance(element, Odd):
                    damaged.add(entry.message)
    shown = list(dict.fromkeys(own))
    return Listed(line, row, own, shown, damaged)


def named(element: tuple[str, int] | Odd, sent: dict[tuple[str, int], Sent]) -> Sent | None:
    """The message of this conversation that a listed element is a copy of, intact or corrupted; None if it is none."""
    if not isinstance(element, Odd):
        return sent.get(element)
    if element.why != "corrupted" or element.device is None or element.seq is None:
        return None
    return sent.get((element.device, element.seq))


def extra_tokens(entry: Listed, contract: Contract) -> int | None:
    """The most tokens of all that is listed beside intact first copies; None if they cannot be bounded."""
    total = 0
    for odd in entry.row.odd:
        most = tokens_max(odd, contract.window.chars_per_token)
        if most is None:
            return None
        total += most
    first: set[Message] = set()
    for message in entry.own:
        if message in first:
            total += message.tokens_max
        first.add(message)
    return total
