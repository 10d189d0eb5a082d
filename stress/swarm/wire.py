"""The bytes of one connection, sent and received while other greenlets run.

A gevent socket first asks for an answer that cannot be there yet, and makes new objects for every wait. A load process
does nothing more often than to wait for an answer, so here a connection has one watcher for its whole life. Connecting,
and all of TLS, is left to gevent.
"""

from __future__ import annotations

import _socket
import errno
import ssl

from gevent import get_hub, socket

READ_BYTES = 64 * 1024
_READ, _WRITE = 1, 2


class Wire:
    """A connected TCP socket."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = _socket.socket(fileno=connected.detach())
        self._hub = get_hub()
        self._wait = self._hub.wait
        self._readable = self._hub.loop.io(self._socket.fileno(), _READ)

    def send(self, data: bytes) -> None:
        """Send all of it."""
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self._send_rest(memoryview(data)[sent:])

    def receive(self) -> bytes:
        """Wait for the next bytes; empty when the peer has ended the connection."""
        while True:
            self._wait(self._readable)
            try:
                return self._socket.recv(READ_BYTES)
            except BlockingIOError:
                continue

    @property
    def silent(self) -> bool:
        """Whether the peer has neither spoken nor gone."""
        try:
            self._socket.recv(1)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def close(self) -> None:
        """End it; a greenlet that waits for an answer gets an ``OSError``."""
        why = OSError(errno.EBADF, "the connection was closed by another greenlet")
        self._hub.cancel_waits_close_and_then([self._readable], why, self._socket.close)

    def _send_rest(self, rest: memoryview) -> None:
        writable = self._hub.loop.io(self._socket.fileno(), _WRITE)
        try:
            while rest:
                self._wait(writable)
                try:
                    rest = rest[self._socket.send(rest) :]
                except BlockingIOError:
                    continue
        finally:
            writable.close()


class TlsWire(Wire):
    """A TLS socket."""

    def __init__(self, wrapped: ssl.SSLSocket) -> None:
        self._wrapped = wrapped
        wrapped.settimeout(None)

    def send(self, data: bytes) -> None:
        """Send all of it."""
        self._wrapped.sendall(data)

    def receive(self) -> bytes:
        """Wait for the next bytes; empty when the peer has ended the connection."""
        return self._wrapped.recv(READ_BYTES)

    @property
    def silent(self) -> bool:
        """Whether the peer has neither spoken nor gone."""
        self._wrapped.settimeout(0)
        try:
            self._wrapped.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            pass
        finally:
            self._wrapped.settimeout(None)
        return False

    def close(self) -> None:
        """End it; a greenlet that waits for an answer gets an ``OSError``."""
        self._wrapped.close()
