"""Phone and laptop in the same chat in the same instant."""

from __future__ import annotations

from collections.abc import Iterator

from stress.swarm.user import MemoryUser


class TwoDevices(MemoryUser):
    """Someone with a phone and a laptop that both write to one chat in the same instant.

    Neither device may overwrite what the other has said: both messages are there afterwards, in one order for all.
    """

    scope = "session"

    def story(self) -> Iterator[None]:
        """Write from both devices at once, then look back from both at once."""
        phone, laptop = self.device("phone"), self.device("laptop")
        chat = self.session()
        for _ in range(8):
            self.together(lambda: phone.say(chat), lambda: laptop.say(chat))
            self.together(lambda: phone.recall(chat), lambda: laptop.recall(chat))
            yield
