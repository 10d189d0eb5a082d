"""What was sent and what was listed, as the rule of loss needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from analysis.record import Conversation
from goldfish.oplog import Append, Odd, Recall, Said, listing
from goldfish.rule import UNCHECKED, Judgement, Message
from goldfish.token import read


class Sent(NamedTuple):
    """One message: what the rule knows of it, what was said, and the append that carried it."""

    message: Message
    said: Said
    append: Append


@dataclass(slots=True)
class Listed:
    """One ok recall: its row, its list, and what it proves."""

    line: int
    row: Recall
    own: list[Message]
    """Own messages in list order, every copy, corrupted copies with a legible token too."""
    shown: list[Message]
    """First copies of them."""
    judgement: Judgement = UNCHECKED


def spoken(text: str) -> str:
    """The text of a message without the token it starts with."""
    return text.partition("] ")[2] if text.startswith("[") and read(None, text) else text


def read_sent(conversation: Conversation) -> dict[tuple[str, int], Sent]:
    """The messages of a conversation by device and number, as the appends tell; nothing is known as shown yet."""
    sent: dict[tuple[str, int], Sent] = {}
    for _, append in conversation.appends:
        for place, said in enumerate(append.messages):
            message = Message(append.device, said.seq, append.session or "", append.start_ns, append.id, place)
            if append.outcome == "ok":
                message.acked_ns = append.end_ns
            message.failed = append.outcome == "fail"
            sent[append.device, said.seq] = Sent(message, said, append)
    return sent


def read_list(line: int, row: Recall, sent: dict[tuple[str, int], Sent]) -> Listed:
    """The list of one recall; own messages whose sending is not recorded are left out."""
    own: list[Message] = []
    if not row.odd:
        for device, first, last in row.seen:
            known = [sent.get((device, seq)) for seq in range(first, last + 1)]
            own += [entry.message for entry in known if entry is not None]
    else:
        own += [entry.message for element in listing(row) if (entry := named(element, sent)) is not None]
    shown = list(dict.fromkeys(own))
    return Listed(line, row, own, shown)


def named(element: tuple[str, int] | Odd, sent: dict[tuple[str, int], Sent]) -> Sent | None:
    """The message of this conversation that a listed element is a copy of, intact or corrupted; None if it is none."""
    if not isinstance(element, Odd):
        return sent.get(element)
    if element.why != "corrupted" or element.device is None or element.seq is None:
        return None
    return sent.get((element.device, element.seq))
