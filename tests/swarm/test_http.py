"""One attempt means one attempt, and every way it can end is told apart."""

from __future__ import annotations

import gc
import socket
import subprocess
import sys
import threading
from pathlib import Path

import httptools
import pytest

from goldfish.errors import UsageError
from stress.swarm import answer
from stress.swarm.answer import COOKIES_MAX, HEAD_BYTES_MAX
from stress.swarm.http import COOKIE_CHARS_MAX, Answer, AttemptError, Connection, Cookies, Endpoint

from .standin import http, reset, say, standing_in

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def attempt(url: str, request: bytes = GET, timeout_s: float = 5) -> Answer:
    connection = Connection(Endpoint(url), timeout_s)
    try:
        return connection.exchange(request, timeout_s)
    finally:
        connection.close()


def failure(url: str, timeout_s: float = 5) -> AttemptError:
    with pytest.raises(AttemptError) as caught:
        attempt(url, timeout_s=timeout_s)
    return caught.value


def test_an_answer_is_read_whole() -> None:
    with standing_in(http(200, b'{"a":1}', "X-Memory-Instance: m2", "Content-Type: application/json")) as server:
        answer = attempt(server.url)
    assert (answer.status, answer.body, answer.instance) == (200, b'{"a":1}', "m2")


def test_a_chunked_answer_is_read_whole() -> None:
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    with standing_in(say(raw)) as server:
        assert attempt(server.url).body == b"abcde"


def test_an_answer_without_length_ends_with_the_connection() -> None:
    with standing_in(say(b"HTTP/1.1 200 OK\r\n\r\nabc")) as server:
        assert attempt(server.url).body == b"abc"


def test_an_interim_answer_is_passed_over() -> None:
    raw = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"
    with standing_in(say(raw)) as server:
        assert (attempt(server.url).status, attempt(server.url).body) == (201, b"ok")


def test_a_reset_is_seen_once_by_the_server() -> None:
    with standing_in(reset) as server:
        error = failure(server.url)
        assert (error.reason, error.sent, error.status) == ("reset", True, None)
        assert len(server.requests) == 1
        assert server.connections == 1


def test_a_connection_that_ends_is_seen_once_by_the_server() -> None:
    with standing_in(say(b"")) as server:
        error = failure(server.url)
        assert (error.reason, error.sent) == ("eof", True)
        assert len(server.requests) == 1


def test_a_cut_body_tells_the_status_it_had() -> None:
    with standing_in(say(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")) as server:
        error = failure(server.url)
    assert (error.reason, error.status) == ("eof", 200)


def test_a_silent_server_times_out() -> None:
    release = threading.Event()

    def hang(_: socket.socket, __: bytes) -> bool:
        release.wait(10)
        return False

    with standing_in(hang) as server:
        error = failure(server.url, timeout_s=0.2)
        release.set()
    assert (error.reason, error.sent) == ("timeout", True)


def test_what_is_not_http_is_unparsable() -> None:
    with standing_in(say(b"220 mail.example ESMTP\r\n")) as server:
        assert failure(server.url).reason == "unparsable"


def test_a_body_over_its_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "BODY_BYTES_MAX", 1000)
    with standing_in(http(200, b"x" * 2000)) as server:
        assert failure(server.url).reason == "body-too-large"


def test_endless_headers_are_refused() -> None:
    with standing_in(say(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000)) as server:
        assert failure(server.url).reason == "body-too-large"


def test_a_closed_port_sends_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error = failure(f"http://127.0.0.1:{port}")
    assert (error.reason, error.sent) == ("refused", False)


def test_an_unknown_host_sends_nothing() -> None:
    error = failure("http://no-such-host.invalid")
    assert (error.reason, error.sent) == ("dns", False)


def test_a_redirect_is_an_answer_like_any_other() -> None:
    with standing_in(http(302, b"", "Location: /elsewhere")) as server:
        assert attempt(server.url).status == 302
        assert len(server.requests) == 1


def test_a_kept_connection_is_used_again() -> None:
    with standing_in(http(200, b"ok")) as server:
        connection = Connection(Endpoint(server.url))
        assert connection.exchange(GET).body == b"ok"
        assert connection.usable
        assert connection.exchange(GET).body == b"ok"
        assert connection.used == 2
        assert server.connections == 1
        connection.close()


def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    closed = threading.Event()

    def answer_and_close(connection: socket.socket, _: bytes) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()
        return False

    with standing_in(answer_and_close) as server:
        connection = Connection(Endpoint(server.url))
        assert connection.exchange(GET).body == b"ok"
        assert closed.wait(5)
        while connection.usable:  # the end of the connection may still be on its way
            pass
        assert not connection.usable


def test_connection_close_is_obeyed() -> None:
    with standing_in(http(200, b"ok", "Connection: close", keep=False)) as server:
        connection = Connection(Endpoint(server.url))
        connection.exchange(GET)
        assert not connection.usable


def test_more_than_was_asked_for_ends_the_connection() -> None:
    two = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    with standing_in(say(two + two, keep=True)) as server:
        connection = Connection(Endpoint(server.url))
        assert connection.exchange(GET).body == b"ok"
        assert not connection.usable


def test_cookies_are_kept_and_given_up() -> None:
    cookies = Cookies()
    cookies.take(["lb=m1; Path=/; HttpOnly", "theme=dark"])
    assert cookies.header == b"Cookie: lb=m1; theme=dark\r\n"
    cookies.take(["lb=gone; Max-Age=0"])
    assert cookies.header == b"Cookie: theme=dark\r\n"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://x", "no HTTP address"),
        ("http://", "no HTTP address"),
        ("localhost:8080", "no HTTP address"),
        ("http://x:99999", "no URL"),
        ("http://ada:secret@x", "user name or password"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(url: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        Endpoint(url)
    assert "secret" not in str(caught.value)


def test_host_port_and_prefix_come_from_the_url() -> None:
    endpoint = Endpoint("https://memory.example:8443/api/")
    assert (endpoint.host, endpoint.port, endpoint.authority, endpoint.prefix) == (
        "memory.example",
        8443,
        "memory.example:8443",
        "/api",
    )


def test_an_answer_is_freed_without_the_garbage_collector() -> None:
    with standing_in(http(200, b"{}")) as server:
        answer = attempt(server.url)
    assert not [holder for holder in gc.get_referrers(answer) if isinstance(holder, httptools.HttpResponseParser)]


def test_a_memory_that_sets_ever_new_cookies_fills_no_memory() -> None:
    many = [f"Set-Cookie: c{number}=x" for number in range(2 * COOKIES_MAX)]
    with standing_in(http(200, b"{}", *many)) as server:
        assert len(attempt(server.url).cookies) == COOKIES_MAX
    cookies = Cookies()
    for number in range(10 * COOKIES_MAX):
        cookies.take([f"c{number}=x; Path=/"])
    cookies.take([f"long={'x' * COOKIE_CHARS_MAX}"])
    assert cookies.header.count(b"=") == COOKIES_MAX
    assert cookies.header.endswith(b"; c%d=x\r\n" % (10 * COOKIES_MAX - 1))


def test_an_answer_that_stays_interim_is_over_its_bound() -> None:
    interim = b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
    with standing_in(say(interim * (HEAD_BYTES_MAX // len(interim) + 2))) as server:
        assert failure(server.url).reason == "body-too-large"


TLS = """
import sys, locust
from stress.swarm.http import AttemptError, Connection, Endpoint
try:
    Connection(Endpoint(sys.argv[1]), 5)
except AttemptError as error:
    print(error.reason, error.sent)
"""


def test_a_certificate_that_cannot_be_verified_sends_nothing(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-keyout",
            key,
            "-out",
            certificate,
        ],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("openssl cannot make a certificate here")
    with subprocess.Popen(
        ["openssl", "s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate, "-www"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            port = next(line.rpartition(":")[2].strip() for line in server.stdout if line.startswith("ACCEPT"))
            told = subprocess.run(
                [sys.executable, "-c", TLS, f"https://127.0.0.1:{port}"], capture_output=True, text=True, check=True
            )
        finally:
            server.kill()
    assert told.stdout.split() == ["tls", "False"]
