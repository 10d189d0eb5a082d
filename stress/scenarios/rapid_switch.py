"""Hopping between chats with every message."""

from __future__ import annotations

from collections.abc import Iterator

from stress.swarm.user import MemoryUser


class RapidSwitch(MemoryUser):
    """Someone who keeps four chats going at once and hops to the next one with every message.

    What was said in a chat must be there the moment the person returns to it, and nothing from the other three.
    """

    scope = "session"

    def story(self) -> Iterator[None]:
        """Go round four chats six times; look back at each message, every third time only at the latest few."""
        phone = self.device("phone")
        chats = [self.session() for _ in range(4)]
        for visit in range(6):
            for chat in chats:
                phone.say(chat)
                phone.recall(chat, limit=4 if visit % 3 == 2 else None)
                yield
