"""A connection waits in vain for no longer than its deadline, and leaves nothing behind when its greenlet is killed."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import gevent
import pytest
from gevent.exceptions import ConcurrentObjectUseError

from stress.swarm.http import AttemptError, Connection, Endpoint
from stress.targets.target import Request

from .standin import StandIn, http, read_request, standing_in

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def silent() -> Iterator[StandIn]:
    """A server that takes requests and never answers."""
    release = threading.Event()

    def hang(_: socket.socket, __: bytes) -> bool:
        release.wait(10)
        return False

    with standing_in(hang) as server:
        yield server
        release.set()


def waiting(server: StandIn) -> tuple[Connection, gevent.Greenlet]:
    """A connection whose request was sent, and the greenlet that waits for the answer."""
    connection = Connection(Endpoint(server.url))
    greenlet = gevent.spawn(connection.exchange, GET)
    while not server.requests:
        gevent.sleep(0.001)
    return connection, greenlet


def watchers() -> int:
    """What the loop waits for."""
    return int(gevent.get_hub().loop.activecnt)


def test_every_request_has_a_deadline_of_its_own(silent: StandIn) -> None:
    ended: list[float] = []

    def attempt(timeout_s: float) -> None:
        connection = Connection(Endpoint(silent.url))
        start_s = time.monotonic()
        with pytest.raises(AttemptError) as caught:
            connection.exchange(GET, timeout_s)
        assert caught.value.reason == "timeout"
        ended.append(time.monotonic() - start_s - timeout_s)
        assert not connection.usable

    gevent.joinall([gevent.spawn(attempt, timeout_s) for timeout_s in (0.1, 0.2, 0.3)], raise_error=True)
    assert all(0 <= late_s < 0.3 for late_s in ended)


def test_an_answer_that_trickles_in_does_not_move_the_deadline() -> None:
    def trickle(connection: socket.socket, _: bytes) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        with suppress(OSError):
            for _ in range(40):
                connection.sendall(b"x")
                time.sleep(0.02)
        return False

    with standing_in(trickle) as server:
        start_s = time.monotonic()
        with pytest.raises(AttemptError) as caught:
            Connection(Endpoint(server.url)).exchange(GET, 0.2)
    assert (caught.value.reason, caught.value.status) == ("timeout", 200)
    assert time.monotonic() - start_s < 0.6


def test_an_answer_stops_the_clock() -> None:
    with standing_in(http(200, b"ok")) as server:
        connection = Connection(Endpoint(server.url))
        assert connection.exchange(GET, 0.05).body == b"ok"
        gevent.sleep(0.1)
        assert connection.exchange(GET, 0.05).body == b"ok"
        connection.close()


def test_a_killed_greenlet_leaves_no_watcher_behind(silent: StandIn) -> None:
    gevent.sleep(0)
    before = watchers()
    connection, greenlet = waiting(silent)
    assert watchers() > before
    greenlet.kill()
    assert watchers() == before
    assert not connection.usable


def test_a_connection_closed_by_another_greenlet_ends_the_wait(silent: StandIn) -> None:
    before = watchers()
    connection, greenlet = waiting(silent)
    connection.close()
    with pytest.raises(AttemptError) as caught:
        greenlet.get(timeout=2)
    assert caught.value.reason == "reset"
    assert watchers() == before


def test_two_requests_at_once_on_one_connection_are_refused(silent: StandIn) -> None:
    connection, greenlet = waiting(silent)
    with pytest.raises(ConcurrentObjectUseError):
        connection.exchange(GET)
    assert not greenlet.dead
    assert len(silent.requests) == 1
    greenlet.kill()


def test_a_request_larger_than_the_socket_takes_arrives_whole() -> None:
    body = b"x" * 12_000_000
    with standing_in(http(200, b"ok")) as server:
        connection = Connection(Endpoint(server.url))
        assert connection.exchange(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)).body == b"ok"
        assert server.requests[0].endswith(body)
        connection.close()


def test_an_answer_in_many_pieces_is_read_whole() -> None:
    body = b"y" * 3_000_000
    with standing_in(http(200, body)) as server:
        connection = Connection(Endpoint(server.url))
        assert connection.exchange(GET).body == body
        assert connection.exchange(GET).body == body
        connection.close()


def test_names_and_addresses_are_both_reached() -> None:
    with standing_in(http(200, b"ok")) as server:
        for host in ("127.0.0.1", "localhost"):
            connection = Connection(Endpoint(f"http://{host}:{server.port}"))
            assert connection.exchange(GET).body == b"ok"
            connection.close()


TLS = """
import sys, gevent, locust
from stress.swarm.http import AttemptError, Connection, Endpoint
endpoint = Endpoint(sys.argv[1])
endpoint.tls.load_verify_locations(sys.argv[2])
connection = Connection(endpoint, 5)
for _ in range(2):
    gevent.sleep(0.02)  # so that the connection is looked at
    assert connection.usable
    print(connection.exchange(b"GET / HTTP/1.1\\r\\n\\r\\n", 5).body)
try:
    connection.exchange(b"HANG / HTTP/1.1\\r\\n\\r\\n", 0.2)
except AttemptError as error:
    print(error.reason, connection.usable)
"""


def test_a_connection_with_tls_does_the_same(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x -addext subjectAltName=IP:127.0.0.1"
    if subprocess.run(
        [*make.split(), "-keyout", key, "-out", certificate], capture_output=True, check=False
    ).returncode:
        pytest.skip("openssl cannot make a certificate here")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def serve(listener: socket.socket) -> None:
        connection = context.wrap_socket(listener.accept()[0], server_side=True)
        with connection:
            while (request := read_request(connection)) and not request.startswith(b"HANG"):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            read_request(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=[listener])
        thread.start()
        told = subprocess.run(
            [sys.executable, "-c", TLS, f"https://127.0.0.1:{listener.getsockname()[1]}", certificate],
            capture_output=True,
            text=True,
            check=False,
        )
        thread.join(5)
    assert told.stdout.split() == ["b'ok'", "b'ok'", "timeout", "False"], told.stderr


def test_every_request_has_all_of_its_time() -> None:
    """Over one connection they may take longer together than one of them may alone."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        peer, _ = listener.accept()
        for _ in range(5):
            peer.recv(1024)
            time.sleep(0.15)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    threading.Thread(target=serve, daemon=True).start()
    endpoint = Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}")
    connection = Connection(endpoint, 0.4)
    for number in range(5):
        assert connection.exchange(endpoint.request(Request("GET", "/"), str(number), b""), 0.4).status == 200
    connection.close()
    listener.close()
