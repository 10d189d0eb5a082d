"""A host is looked up seldom, and all its addresses are tried."""

from __future__ import annotations

import socket
from typing import Any

import gevent
import pytest

from stress.swarm import addresses
from stress.swarm.addresses import Addresses

from .standin import http, standing_in


def test_many_connections_look_the_host_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    ask = addresses.socket.getaddrinfo

    def counting(*args: Any, **more: Any) -> Any:
        asked.append(args)
        return ask(*args, **more)

    monkeypatch.setattr(addresses.socket, "getaddrinfo", counting)
    with standing_in(http(200)) as server:
        host = Addresses("127.0.0.1", server.port)
        opening = [gevent.spawn(host.connect, 5) for _ in range(20)]
        gevent.joinall(opening, raise_error=True)
        for opened in opening:
            opened.value.close()
    assert len(asked) == 1


def test_an_answer_is_used_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda *args, **_: asked.append(args) or [])
    now = [0.0]
    monkeypatch.setattr(addresses, "monotonic", lambda: now[0])
    host = Addresses("memory.example", 80)
    for now[0] in (0.0, 0.5, 1.5, 1.6):
        with pytest.raises(OSError, match="no address"):
            host.connect(1)
    assert len(asked) == 2


def test_the_next_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        closed = gone.getsockname()
    with standing_in(http(200)) as server:
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in (closed, ("127.0.0.1", server.port))
        ]
        monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda *_, **__: found)
        connection = Addresses("memory.example", 80).connect(5)
        assert connection.getpeername()[1] == server.port
        connection.close()
