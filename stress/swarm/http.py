"""An HTTP/1.1 client that makes exactly one attempt.

General clients hide what this tool is here to see: they resend after a reset, follow redirects, pool connections
behind one's back. This one sends a request once, on a connection its owner can name, and says precisely how far it
came: whether a byte of the request was sent, whether a status was read, whether the body is whole. Bodies are bounded,
certificates are verified, nothing is followed.
"""

from __future__ import annotations

import ssl
from http.cookies import CookieError, SimpleCookie
from time import monotonic
from urllib.parse import urlsplit

import httptools
from gevent import socket

from goldfish.errors import UsageError
from goldfish.oplog import Reason
from stress.swarm.addresses import Addresses

BODY_BYTES_MAX = 16 * 1024 * 1024
HEAD_BYTES_MAX = 64 * 1024
RECEIVED_BYTES_MAX = 2 * BODY_BYTES_MAX
"""With what frames the chunks of a body, and with headers that follow it."""
READ_BYTES = 64 * 1024
COOKIES_MAX = 50
"""Cookies that a device keeps, and that one answer may set; browsers keep as many of one host at least."""
COOKIE_CHARS_MAX = 4096
TIMEOUT_S = 10.0
FRESH_S = 0.01

_PORTS = {"http": 80, "https": 443}


class AttemptError(Exception):
    """A request that got no whole answer."""

    def __init__(self, reason: Reason, detail: str, *, sent: bool, status: int | None = None) -> None:
        super().__init__(detail)
        self.reason: Reason = reason
        self.sent = sent
        """Whether a byte of the request may have left."""
        self.status = status
        """The status, when at least that was read."""


class Endpoint:
    """Where a deployment listens: scheme, host, port, path prefix and the TLS context."""

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise UsageError(f"the host is no URL: {error}; expected e.g. http://127.0.0.1:8080") from error
        if parts.username is not None or parts.password is not None:
            raise UsageError("the host carries a user name or password; they would end in logs: give the URL without")
        if parts.scheme not in _PORTS or not parts.hostname:
            raise UsageError(
                f"'{url}' is no HTTP address; expected e.g. http://127.0.0.1:8080, with http:// or https://"
            )
        if parts.query or parts.fragment:
            raise UsageError(
                f"'{url}' has a query or a fragment; expected scheme, host, port and perhaps a path prefix"
            )
        self.scheme = parts.scheme
        self.host = parts.hostname
        self.port = port or _PORTS[parts.scheme]
        self.addresses = Addresses(self.host, self.port)
        self.authority = parts.netloc
        self.headers = (
            f" HTTP/1.1\r\nHost: {self.authority}\r\n"
            "Accept: application/json\r\nAccept-Encoding: identity\r\nUser-Agent: goldfish\r\nX-Request-Id: "
        )
        """What stands in every request between its path and its id."""
        self.prefix = parts.path.rstrip("/")
        self.tls = ssl.create_default_context() if parts.scheme == "https" else None

    def request(self, method: str, path: str, request_id: str, cookies: bytes, body: bytes) -> bytes:
        """The bytes of one request."""
        head = f"{method} {self.prefix}{path}{self.headers}{request_id}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return b"%b%b\r\n%b" % (head.encode("ascii"), cookies, body)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"


class Answer:
    """A whole answer, and the protocol object that ``httptools`` fills while it arrives."""

    __slots__ = (
        "_chunks",
        "_framed",
        "_size",
        "body",
        "complete",
        "content_encoding",
        "content_type",
        "cookies",
        "instance",
        "keep_alive",
        "parser",
        "status",
    )

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.status = 0
        self.body = b""
        self.content_type = ""
        self.content_encoding = ""
        self.instance: str | None = None
        self.cookies: list[str] = []
        self.complete = False
        self.keep_alive = False
        self._framed = False
        self._chunks: list[bytes] = []
        self._size = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the few headers that matter."""
        if self.complete:
            return
        name = name.lower()
        if name == b"x-memory-instance":
            self.instance = value[:64].decode("latin-1")
        elif name == b"set-cookie" and len(self.cookies) < COOKIES_MAX:
            self.cookies.append(value.decode("latin-1"))
        elif name == b"content-type":
            self.content_type = value[:128].decode("latin-1")
        elif name == b"content-encoding":
            self.content_encoding = value[:32].decode("latin-1")
        elif name in (b"content-length", b"transfer-encoding"):
            self._framed = True

    def on_headers_complete(self) -> None:
        """Note the status as soon as it is known."""
        if self.complete:
            self.keep_alive = False  # more came than was asked for: the next answer could not be trusted
        else:
            self.status = self.parser.get_status_code()

    def on_body(self, chunk: bytes) -> None:
        """Collect the body up to its bound."""
        if self.complete:
            return
        self._size += len(chunk)
        if self._size <= BODY_BYTES_MAX:
            self._chunks.append(chunk)

    def on_message_complete(self) -> None:
        """Finish, unless this was an interim answer."""
        if self.status >= 200 and not self.complete:
            self.keep_alive = bool(self.parser.should_keep_alive())
            self._finish()

    def on_end(self) -> None:
        """The connection has ended: so has a body that told no length."""
        if self.status >= 200 and not self._framed:
            self._finish()

    def _finish(self) -> None:
        self.body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self.complete = True

    @property
    def too_large(self) -> bool:
        """Whether the body went over its bound."""
        return self._size > BODY_BYTES_MAX


class Cookies:
    """What one device keeps of the cookies of one host: the newest, and not without bound."""

    __slots__ = ("_values", "header")

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self.header = b""

    def take(self, lines: list[str]) -> None:
        """Apply the ``Set-Cookie`` lines of an answer."""
        for line in lines:
            cookie: SimpleCookie = SimpleCookie()
            try:
                cookie.load(line)
            except CookieError:
                continue
            for name, morsel in cookie.items():
                if morsel["max-age"] in ("0", 0) or str(morsel["max-age"]).startswith("-"):
                    self._values.pop(name, None)
                elif len(name) + len(morsel.coded_value) <= COOKIE_CHARS_MAX:
                    self._values[name] = morsel.coded_value
        while len(self._values) > COOKIES_MAX:
            del self._values[next(iter(self._values))]
        pairs = "; ".join(f"{name}={value}" for name, value in self._values.items())
        self.header = f"Cookie: {pairs}\r\n".encode("latin-1", "replace") if pairs else b""


class Connection:
    """One connection to an endpoint. Opening it sends no byte of any request."""

    __slots__ = ("_answered_s", "_socket", "used")

    def __init__(self, endpoint: Endpoint, timeout_s: float = TIMEOUT_S) -> None:
        self.used = 0
        """Requests sent on it."""
        self._answered_s = 0.0
        self._socket: socket.socket | ssl.SSLSocket | None = None
        try:
            raw = endpoint.addresses.connect(timeout_s)
        except socket.gaierror as error:
            raise AttemptError("dns", f"{endpoint.host}: {error.strerror or error}", sent=False) from error
        except TimeoutError as error:
            raise AttemptError("timeout", f"no connection to {endpoint} in {timeout_s:g} s", sent=False) from error
        except OSError as error:
            raise AttemptError("refused", f"{endpoint}: {error.strerror or error}", sent=False) from error
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = raw if endpoint.tls is None else endpoint.tls.wrap_socket(raw, server_hostname=endpoint.host)
        except OSError as error:
            raw.close()
            raise AttemptError("tls", f"{endpoint}: {error}", sent=False) from error
        except BaseException:
            raw.close()
            raise

    @property
    def usable(self) -> bool:
        """Whether the peer has kept it open and silent; asked before every reuse, so that no request meets a corpse.

        A connection that has answered just now is taken for open: looking costs more than it could find.
        """
        if self._socket is None:
            return False
        if monotonic() - self._answered_s < FRESH_S:
            return True
        try:
            self._socket.settimeout(0)
            self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            pass
        self.close()
        return False

    def exchange(self, request: bytes, timeout_s: float = TIMEOUT_S) -> Answer:
        """Send one request and read its whole answer.

        Raises:
            AttemptError: there is none. The connection is closed then.
        """
        sock = self._socket
        assert sock is not None, "a closed connection cannot be used"
        self.used += 1
        deadline = monotonic() + timeout_s
        answer = Answer()
        whole = False
        try:
            sock.settimeout(timeout_s)
            sent = sock.send(request)
            if sent < len(request):
                sock.sendall(request[sent:])
            received = 0
            while not answer.complete:
                if received:
                    sock.settimeout(max(deadline - monotonic(), 0.001))
                data = sock.recv(READ_BYTES)
                if not data:
                    answer.on_end()
                    break
                received += len(data)
                answer.parser.feed_data(data)
                if answer.too_large or received > (RECEIVED_BYTES_MAX if answer.status >= 200 else HEAD_BYTES_MAX):
                    raise AttemptError(
                        "body-too-large", "the answer is over its bound", sent=True, status=answer.status or None
                    )
            whole = answer.complete
            if not whole:
                raise AttemptError("eof", "the connection ended early", sent=True, status=answer.status or None)
        except TimeoutError as error:
            raise AttemptError(
                "timeout", f"no whole answer in {timeout_s:g} s", sent=True, status=answer.status or None
            ) from error
        except httptools.HttpParserError as error:
            answer.keep_alive = False
            whole = answer.complete
            if not whole:
                raise AttemptError(
                    "unparsable", f"not HTTP: {error}", sent=True, status=answer.status or None
                ) from error
        except OSError as error:
            raise AttemptError(
                "reset", f"{error.strerror or error}", sent=True, status=answer.status or None
            ) from error
        finally:
            del answer.parser  # the two refer to each other: only the garbage collector would free them
            if not whole or not answer.keep_alive:
                self.close()
        self._answered_s = monotonic()
        return answer

    def close(self) -> None:
        """End it; harmless when it has ended."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
