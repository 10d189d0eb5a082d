"""Telling something in one session, asking for it in the next."""

from __future__ import annotations

from collections.abc import Iterator

from stress.swarm.user import MemoryUser


class Reconnect(MemoryUser):
    """Someone who tells facts in one session, loses the connection, and expects them in the next session.

    The memory belongs to the person, not to the session: a recall after the reconnect lists what was said in all
    sessions, whichever instance answers it.
    """

    scope = "user"

    def story(self) -> Iterator[None]:
        """Three visits of a few turns; each begins on a new connection, in a new session, with a look back."""
        phone = self.device("phone")
        for _ in range(3):
            visit = self.session()
            phone.recall(visit)
            yield
            for _ in range(2):
                phone.say(visit)
                yield
            phone.drop_connection()
            phone.recall(visit, limit=6)
            yield
