"""A server whose every move a test decides: it answers each connection with what a script function does to the socket.

It counts the requests it saw, byte for byte, which no well-behaved server could be asked to do.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Answer = Callable[[socket.socket, bytes], bool]
"""Answers one request (given whole); True keeps the connection."""


class StandIn:
    """Listens on loopback in a thread of its own."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=[connection], daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection:
            while request := read_request(connection):
                self.requests.append(request)
                if not self._answer(connection, request):
                    return


def read_request(connection: socket.socket) -> bytes:
    """One request with its body; empty when the peer has gone."""
    data = b""
    while b"\r\n\r\n" not in data:
        try:
            more = connection.recv(65536)
        except OSError:
            return b""
        if not more:
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0
    )
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def reset(connection: socket.socket, _: bytes) -> bool:
    """Abort the connection: the client sees a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def say(raw: bytes, *, keep: bool = False) -> Answer:
    """Answer with these bytes."""

    def answer(connection: socket.socket, _: bytes) -> bool:
        connection.sendall(raw)
        return keep

    return answer


def http(status: int, body: bytes = b"", *headers: str, keep: bool = True) -> Answer:
    """Answer with a status, a body and more headers."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers]
    return say("\r\n".join(lines).encode() + b"\r\n\r\n" + body, keep=keep)


@contextmanager
def standing_in(answer: Answer) -> Iterator[StandIn]:
    """A server for the length of the block."""
    server = StandIn(answer)
    try:
        yield server
    finally:
        server.close()
