"""Where a host is, looked up seldom enough that nobody waits for it.

gevent looks names up in threads, numbers such as 127.0.0.1 as well. In a busy load process such a thread waits 5 ms for
the interpreter each time, and takes it from the users: of 5,000 that came at once some waited for 11 s.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from gevent import socket
from gevent.lock import Semaphore

LASTS_S = 1.0
"""How long an answer is used; short, because deployments move, and some balance by name."""


class Addresses:
    """The addresses of one host and port."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._found: list[Any] = []
        self._found_s = float("-inf")
        self._asking = Semaphore()

    def connect(self, timeout_s: float) -> socket.socket:
        """A connection to the first address that takes one; ``timeout_s`` is for each of them.

        Raises:
            socket.gaierror: the host is unknown.
            OSError: no address takes it; the error is the last one's.
        """
        refused: OSError | None = None
        for family, kind, protocol, _, address in self._look_up():
            sock = socket.socket(family, kind, protocol)
            try:
                sock.settimeout(timeout_s)
                sock.connect(address)
            except OSError as error:
                sock.close()
                refused = error
            except BaseException:
                sock.close()
                raise
            else:
                return sock
        raise refused or OSError(f"{self._host} has no address")

    def _look_up(self) -> list[Any]:
        if monotonic() - self._found_s > LASTS_S:
            with self._asking:  # one asks, the others wait for its answer
                if monotonic() - self._found_s > LASTS_S:
                    self._found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
                    self._found_s = monotonic()
        return self._found
