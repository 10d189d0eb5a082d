"""Which session guarantee does a missing message break, and does it tear a turn apart?

The guarantees are those of Terry and others (Session guarantees for weakly consistent replicated data, 1994), each
claimed only where the stamps make it certain. The first that applies is told:

* **read-your-writes**: the reading device wrote the message, and had its acknowledgement.
* **monotonic-reads**: the reading device had seen the message.
* **monotonic-writes**: something that its author certainly wrote later is shown.
* **writes-follow-reads**: something is shown whose author had seen the message when writing it.
* **cross-device**: none of these; another device than the author's reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from analysis.listed import Listed, Sent
from goldfish.rule import NEVER, Message, Terms, before


class Seen:
    """When each device first saw a message that some recall lacks: the earliest end of a recall that shows it."""

    def __init__(self, listed: Sequence[Listed]) -> None:
        """Prepare; ``listed`` are the ok recalls of a conversation in the order of their ends."""
        self._listed = listed

    def by(self, device: str, message: Message) -> int:
        """When a device first saw a message; NEVER if it did not."""
        return self._first.get((device, message), NEVER)

    @cached_property
    def _first(self) -> dict[tuple[str, Message], int]:
        """Made when somebody asks, for most of what is missing is missed by its own author."""
        missed = {lost.message for entry in self._listed for lost in entry.judgement.missing}
        first: dict[tuple[str, Message], int] = {}
        for entry in self._listed:
            for message in missed.intersection(entry.shown):
                first.setdefault((entry.row.device, message), entry.row.end_ns)
        return first


def guarantee(message: Message, entry: Listed, seen: Seen, terms: Terms) -> str | None:
    """The guarantee that a recall breaks which lacks a message; None if none is certain."""
    reader, start_ns = entry.row.device, entry.row.start_ns
    if message.device == reader and message.acked_ns < start_ns:
        return "read-your-writes"
    if seen.by(reader, message) < start_ns:
        return "monotonic-reads"
    if any(s.device == message.device and before(message, s, terms.slack_ns) for s in entry.shown):
        return "monotonic-writes"
    if any(seen.by(s.device, message) < s.sent_ns for s in entry.shown):
        return "writes-follow-reads"
    return "cross-device" if message.device != reader else None


def torn(message: Message, shown: Iterable[Message], turns: Mapping[tuple[str, int], Sequence[Message]]) -> bool:
    """Whether another part of a missing message's acknowledged turn is shown."""
    others = [m for m in turns.get((message.device, message.turn), ()) if m is not message]
    if message.acked_ns == NEVER or not others or any(m.acked_ns == NEVER for m in others):
        return False
    return not set(others).isdisjoint(shown)


def turns_of(sent: Mapping[tuple[str, int], Sent]) -> dict[tuple[str, int], list[Message]]:
    """The messages of each turn of each device."""
    turns: dict[tuple[str, int], list[Message]] = {}
    for entry in sent.values():
        turns.setdefault((entry.message.device, entry.message.turn), []).append(entry.message)
    return turns
