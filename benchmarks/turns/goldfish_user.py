"""A whole turn: text and token made, ledger, append, recall of 20 messages verified, both recorded and counted."""

from collections.abc import Iterator

import meter  # noqa: F401
from locust import constant

from goldfish import MemoryUser


class Turns(MemoryUser):
    """Someone who says a thing and looks back at the newest 20 messages, without a pause."""

    wait_time = constant(0)
    scope = "session"

    def story(self) -> Iterator[None]:
        phone, chat = self.device("phone"), self.session()
        for _ in range(100):
            phone.say(chat)
            phone.recall(chat, limit=20)
            yield
