"""Users with the pause they have by default, in stories of twenty turns that begin and end all the time."""

from collections.abc import Iterator
from random import randint

import steady  # noqa: F401

from goldfish import MemoryUser

TURNS = 20


class Turns(MemoryUser):
    """Someone who says a thing and looks back at the newest 20 messages, after a pause."""

    scope = "session"
    turns = 0

    def story(self) -> Iterator[None]:
        phone, chat = self.device("phone"), self.session()
        # The first story is cut short, at random: else all users would begin and end in step.
        self.turns = TURNS if self.turns else randint(1, TURNS)
        for _ in range(self.turns):
            phone.say(chat)
            phone.recall(chat, limit=20)
            yield
