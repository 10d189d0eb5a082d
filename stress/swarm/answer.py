"""What came back: an HTTP answer, read by the strict parser of ``httptools`` or, if it is plain, by a short cut.

Almost every answer arrives in one piece, tells its length and has nothing unusual in its head. ``plain`` reads those at
a quarter of the cost, and is as strict: it either makes what the parser makes of the same bytes, or passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httptools
import msgspec

from goldfish.oplog import Reason

BODY_BYTES_MAX = 16 * 1024 * 1024
HEAD_BYTES_MAX = 64 * 1024
RECEIVED_BYTES_MAX = 2 * BODY_BYTES_MAX
"""With what frames the chunks of a body, and with headers that follow it."""
COOKIES_MAX = 50
"""Cookies that a device keeps, and that one answer may set; browsers keep as many of one host at least."""


class AttemptError(Exception):
    """A request that got no whole answer."""

    def __init__(self, reason: Reason, detail: str, *, sent: bool, status: int | None = None) -> None:
        super().__init__(detail)
        self.reason: Reason = reason
        self.sent = sent
        """Whether a byte of the request may have left."""
        self.status = status
        """The status, when at least that was read."""


class Answer(msgspec.Struct, gc=False):
    """A whole answer."""

    status: int = 0
    body: bytes = b""
    keep_alive: bool = False
    """Whether another request may be sent on the same connection."""
    instance: str | None = None
    content_type: str = ""
    content_encoding: str = ""
    cookies: list[str] = []


# The short cut -------------------------------------------------------------------------------------------------------

_LENGTH, _TYPE, _INSTANCE, _UNUSUAL = "length", "type", "instance", "unusual"
_MEANINGS = {
    b"content-length": _LENGTH,
    b"content-type": _TYPE,
    b"x-memory-instance": _INSTANCE,
    b"connection": _UNUSUAL,
    b"content-encoding": _UNUSUAL,
    b"proxy-connection": _UNUSUAL,
    b"set-cookie": _UNUSUAL,
    b"transfer-encoding": _UNUSUAL,
    b"upgrade": _UNUSUAL,
}
_instance_header = b"x-memory-instance"


def name_instances_by(header: str | None) -> None:
    """From now on, this header of an answer names the instance that gave it; None: ``X-Memory-Instance``."""
    global _instance_header
    name = (header or "X-Memory-Instance").lower().encode()
    if name != _instance_header:
        _MEANINGS[name] = _MEANINGS.pop(_instance_header)
        _instance_header = name
        _headers.clear()


_START = re.compile(rb"HTTP/1\.1 ([2-9]\d\d) [\t -~\x80-\xff]*")
_HEADER = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t -~\x80-\xff]*)")
_BODILESS = (204, 304)


class _Lines(dict[bytes, Any]):
    """What lines of heads mean. Servers repeat themselves, so nearly every line has been read before."""

    LINES_MAX = 4096
    LINE_BYTES_MAX = 256

    def __init__(self, read: Callable[[bytes], Any]) -> None:
        self._read = read

    def __missing__(self, line: bytes) -> Any:
        meaning = self._read(line)
        if len(line) <= self.LINE_BYTES_MAX:
            if len(self) >= self.LINES_MAX:
                self.clear()
            self[line] = meaning
        return meaning


def _read_status(line: bytes) -> int | None:
    """The status in the first line of a head; None if it is unusual."""
    start = _START.fullmatch(line)
    status = int(start[1]) if start else None
    return None if status in _BODILESS else status


def _read_header(line: bytes) -> tuple[object, Any]:
    """What a header says; one that says nothing here means itself."""
    header = _HEADER.fullmatch(line)
    if header is None:
        return _UNUSUAL, None
    name, value = header[1].lower(), header[2]
    meaning = _MEANINGS.get(name)
    if meaning == _LENGTH and value.isdigit() and len(value) < 10:
        return _LENGTH, int(value)
    if meaning == _TYPE:
        return _TYPE, value[:128].decode("latin-1")
    if meaning == _INSTANCE:
        return _INSTANCE, value[:64].decode("latin-1")
    if meaning is None or (name == b"connection" and value.lower() == b"keep-alive"):
        return line, None
    return _UNUSUAL, None


_statuses = _Lines(_read_status)
_headers = _Lines(_read_header)
_look_up = _headers.__getitem__


def plain(data: bytes) -> Answer | None:
    """The answer, if ``data`` is exactly one, and a plain one."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    lines = data[:end].split(b"\r\n")
    status, head = _statuses[lines[0]], dict(map(_look_up, lines[1:]))
    length = head.get(_LENGTH)
    if status is None or length != len(data) - end - 4 or length > BODY_BYTES_MAX:
        return None
    if _UNUSUAL in head or len(head) != len(lines) - 1:
        return None
    return Answer(status, data[end + 4 :], True, head.get(_INSTANCE), head.get(_TYPE, ""))


# The long way --------------------------------------------------------------------------------------------------------


class Parser:
    """Reads any answer, with ``httptools``."""

    def __init__(self) -> None:
        self.answer = Answer()
        """What has arrived."""
        self._parser = httptools.HttpResponseParser(self)
        self._complete = False
        self._framed = False
        self._chunks: list[bytes] = []
        self._size = 0

    def read(self, data: bytes, receive: Callable[[], bytes]) -> Answer:
        """Read until the answer is whole.

        Args:
            data: what has been received of it.
            receive: waits for the next bytes; empty at the end of the connection.

        Raises:
            AttemptError: there is no whole answer.
        """
        answer = self.answer
        received = 0
        try:
            while True:
                if not data:
                    self._on_end()
                    break
                received += len(data)
                self._parser.feed_data(data)
                bound = RECEIVED_BYTES_MAX if answer.status >= 200 else HEAD_BYTES_MAX
                if self._size > BODY_BYTES_MAX or received > bound:
                    raise AttemptError(
                        "body-too-large", "the answer is over its bound", sent=True, status=answer.status or None
                    )
                if self._complete:
                    break
                data = receive()
        except httptools.HttpParserError as error:
            answer.keep_alive = False
            if not self._complete:
                raise AttemptError(
                    "unparsable", f"not HTTP: {error}", sent=True, status=answer.status or None
                ) from error
        finally:
            del self._parser  # each holds the other; now neither has to wait for the garbage collector
        if not self._complete:
            raise AttemptError("eof", "the connection ended early", sent=True, status=answer.status or None)
        return answer

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the few headers that matter."""
        if self._complete:
            return
        answer, name = self.answer, name.lower()
        if name == _instance_header:
            answer.instance = value[:64].decode("latin-1")
        elif name == b"set-cookie" and len(answer.cookies) < COOKIES_MAX:
            answer.cookies.append(value.decode("latin-1"))
        elif name == b"content-type":
            answer.content_type = value[:128].decode("latin-1")
        elif name == b"content-encoding":
            answer.content_encoding = value[:32].decode("latin-1")
        elif name in (b"content-length", b"transfer-encoding"):
            self._framed = True

    def on_headers_complete(self) -> None:
        """Note the status as soon as it is known."""
        if self._complete:
            self.answer.keep_alive = False  # more came than was asked for: the next answer could not be trusted
        else:
            self.answer.status = self._parser.get_status_code()

    def on_body(self, chunk: bytes) -> None:
        """Collect the body up to its bound."""
        if self._complete:
            return
        self._size += len(chunk)
        if self._size <= BODY_BYTES_MAX:
            self._chunks.append(chunk)

    def on_message_complete(self) -> None:
        """Finish, unless this was an interim answer."""
        if self.answer.status >= 200 and not self._complete:
            self.answer.keep_alive = bool(self._parser.should_keep_alive())
            self._finish()

    def _on_end(self) -> None:
        """The connection has ended: so has a body that told no length."""
        if self.answer.status >= 200 and not self._framed:
            self._finish()

    def _finish(self) -> None:
        self.answer.body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._complete = True
