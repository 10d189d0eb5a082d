"""A scenario of your own: `locust -f short_visit.py --headless -u 20 -t 20 --host http://127.0.0.1:8080`."""

from collections.abc import Iterator

from goldfish import MemoryUser


class ShortVisit(MemoryUser):
    """Someone who tells the phone two things, looks back, and looks back once more on the laptop.

    Both devices must find both things.
    """

    scope = "session"

    def story(self) -> Iterator[None]:
        phone, laptop = self.device("phone"), self.device("laptop")
        chat = self.session()
        for _ in range(2):
            phone.say(chat)
            yield
        phone.recall(chat)
        yield
        laptop.recall(chat, limit=4)
        yield
