"""MemoryUser: says something and looks back in a story that goes on, over a connection that stays open."""

from collections.abc import Iterator

from waiting import pause

from goldfish import MemoryUser


class Idle(MemoryUser):
    """Someone who says a thing, looks back, and waits."""

    wait_time = pause
    scope = "session"

    def story(self) -> Iterator[None]:
        phone, chat = self.device("phone"), self.session()
        while True:
            phone.say(chat)
            phone.recall(chat, limit=20)
            yield
