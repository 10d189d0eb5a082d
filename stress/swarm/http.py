"""An HTTP/1.1 client that makes exactly one attempt.

General clients hide what this tool is here to see: they resend after a reset, follow redirects, pool connections
behind one's back. This one sends a request once, on a connection its owner can name, and says precisely how far it
came: whether a byte of the request was sent, whether a status was read, whether the body is whole. Bodies are bounded,
certificates are verified, nothing is followed.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from gevent import get_hub, getcurrent, socket
from gevent.exceptions import ConcurrentObjectUseError

from goldfish.errors import UsageError
from stress.swarm.addresses import Addresses
from stress.swarm.answer import COOKIES_MAX, Parser, plain
from stress.swarm.answer import Answer as Answer
from stress.swarm.answer import AttemptError as AttemptError
from stress.swarm.wire import TlsWire, Wire

if TYPE_CHECKING:
    from stress.targets.target import Request

COOKIE_CHARS_MAX = 4096
TIMEOUT_S = 10.0
FRESH_S = 0.01

_PORTS = {"http": 80, "https": 443}


class Manner(NamedTuple):
    """What a target wants of every request."""

    headers: str = ""
    """Lines, each with its end."""
    tls: ssl.SSLContext | None = None
    """How to trust, and to be trusted; None: as this machine does."""
    timeout_s: float = TIMEOUT_S
    mask: Callable[[str], str] = str
    """Takes what is secret out of a text for people."""


class Endpoint:
    """Where a deployment listens: scheme, host, port, path prefix and the TLS context."""

    def __init__(self, url: str, manner: Manner = Manner()) -> None:  # noqa: B008 - it is frozen
        """Read an address.

        Args:
            url: the address.
            manner: what every request to it has.

        Raises:
            UsageError: it is none, or holds a secret.
        """
        shown = manner.mask(url)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise UsageError(f"the host is no URL: {error}; expected e.g. http://127.0.0.1:8080") from error
        if parts.username is not None or parts.password is not None:
            raise UsageError("the host carries a user name or password; they would end in logs: give the URL without")
        if parts.scheme not in _PORTS or not parts.hostname:
            raise UsageError(
                f"'{shown}' is no HTTP address; expected e.g. http://127.0.0.1:8080, with http:// or https://"
            )
        if parts.query or parts.fragment:
            raise UsageError(
                f"'{shown}' has a query or a fragment; expected scheme, host, port and perhaps a path prefix"
            )
        self.scheme = parts.scheme
        self.host = parts.hostname
        self.port = port or _PORTS[parts.scheme]
        self.addresses = Addresses(self.host, self.port)
        self.authority = parts.netloc
        self.headers = (
            f" HTTP/1.1\r\nHost: {self.authority}\r\n{manner.headers}"
            "Accept: application/json\r\nAccept-Encoding: identity\r\nUser-Agent: goldfish\r\nX-Request-Id: "
        )
        """What stands in every request between its path and its id."""
        self.prefix = parts.path.rstrip("/")
        self.timeout_s = manner.timeout_s
        self.tls = (manner.tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self.mask = manner.mask
        """Takes what is secret out of a text for people."""
        self._shown = manner.mask(f"{self.scheme}://{self.authority}{self.prefix}")

    def request(self, request: Request, request_id: str, cookies: bytes) -> bytes:
        """The bytes of one request."""
        body = request.body
        head = f"{request.method} {self.prefix}{request.path}{self.headers}{request_id}\r\n{request.headers}"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return b"%b%b\r\n%b" % (head.encode("latin-1"), cookies, body)

    def __str__(self) -> str:
        """The address without secrets."""
        return self._shown


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

    __slots__ = ("_answered_s", "_timeout_s", "_timer", "_wire", "used")

    def __init__(self, endpoint: Endpoint, timeout_s: float = TIMEOUT_S) -> None:
        self.used = 0
        """Requests sent on it."""
        self._answered_s = 0.0
        self._timeout_s = timeout_s
        self._timer = get_hub().loop.timer(timeout_s, timeout_s)
        self._wire: Wire | None = None
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
            if endpoint.tls is None:
                self._wire = Wire(raw)
            else:
                self._wire = TlsWire(endpoint.tls.wrap_socket(raw, server_hostname=endpoint.host))
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
        if self._wire is None:
            return False
        if monotonic() - self._answered_s < FRESH_S or self._wire.silent:
            return True
        self.close()
        return False

    def exchange(self, request: bytes, timeout_s: float = TIMEOUT_S) -> Answer:
        """Send one request and read its whole answer.

        Raises:
            AttemptError: there is none. The connection is closed then.
        """
        wire, timer = self._wire, self._timer
        assert wire is not None, "a closed connection cannot be used"
        if timer.active:
            raise ConcurrentObjectUseError("a device sends one request after the other: use one device per greenlet")
        if timeout_s != self._timeout_s:
            self._timeout_s = timeout_s
            timer = self._timer = get_hub().loop.timer(timeout_s, timeout_s)
        self.used += 1
        parser: Parser | None = None
        answer: Answer | None = None
        # Again, for a timer that is merely started goes on where it was stopped; and by the clock of now, for that of
        # the loop may be as old as a busy round is long.
        timer.again(getcurrent().throw, TimeoutError, update=True)
        try:
            wire.send(request)
            data = wire.receive()
            answer = plain(data)
            if answer is None:
                parser = Parser()
                answer = parser.read(data, wire.receive)
        except TimeoutError as error:
            detail = f"no whole answer in {timeout_s:g} s"
            raise AttemptError("timeout", detail, sent=True, status=_status(parser)) from error
        except OSError as error:
            raise AttemptError("reset", f"{error.strerror or error}", sent=True, status=_status(parser)) from error
        finally:
            timer.stop()
            if answer is None or not answer.keep_alive:
                self.close()
        self._answered_s = monotonic()
        return answer

    def close(self) -> None:
        """End it; harmless when it has ended."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None
            self._timer.close()


def _status(parser: Parser | None) -> int | None:
    """The status of an answer that is not whole; None if it did not come so far."""
    return parser.answer.status or None if parser else None
