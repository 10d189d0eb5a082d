"""A plain client of the memory service for tests: paths go out as they are given, answers come back unjudged."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import uuid4


class Answer(NamedTuple):
    status: int
    body: Any
    headers: http.client.HTTPMessage

    @property
    def code(self) -> str:
        return str(self.body["error"]["code"])

    @property
    def contents(self) -> list[str]:
        return [message["content"] for message in self.body["messages"]]

    @property
    def ids(self) -> list[str]:
        return [message["id"] for message in self.body["messages"]]


class Memory:
    """One instance, or the balancer; each thread has its own kept connection."""

    def __init__(self, address: str) -> None:
        self.address = address.removeprefix("http://")
        self._local = threading.local()

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        payload = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = http.client.HTTPConnection(self.address, timeout=15)
        try:
            connection.request(method, path, payload, headers or {})
            response = connection.getresponse()
            content = response.read()
        except Exception:
            connection.close()
            self._local.connection = None
            raise
        is_json = response.headers.get_content_type() == "application/json"
        return Answer(response.status, json.loads(content) if is_json else content.decode(), response.headers)

    def append(self, user: str, session: str, *messages: Any, **headers: str) -> Answer:
        """Each message a text or a whole object."""
        batch = [{"role": "user", "content": said} if isinstance(said, str) else said for said in messages]
        return self.ask("POST", f"/v1/users/{user}/sessions/{session}/messages", {"messages": batch}, _header(headers))

    def session(self, user: str, session: str, limit: object = None, **headers: str) -> Answer:
        query = "" if limit is None else f"?limit={limit}"
        return self.ask("GET", f"/v1/users/{user}/sessions/{session}/messages{query}", None, _header(headers))

    def user(self, user: str, limit: object = None, **headers: str) -> Answer:
        query = "" if limit is None else f"?limit={limit}"
        return self.ask("GET", f"/v1/users/{user}/messages{query}", None, _header(headers))

    def delete(self, user: str, session: str, **headers: str) -> Answer:
        return self.ask("DELETE", f"/v1/users/{user}/sessions/{session}", None, _header(headers))


def said(content: str, message_id: str | None = None, role: str = "user") -> dict[str, str]:
    message = {"role": role, "content": content}
    return message if message_id is None else {"id": message_id, **message}


def fresh(what: str = "u") -> str:
    """An id that no other test uses."""
    return f"{what}-{uuid4().hex}"


def until(condition: Callable[[], bool], timeout_s: float = 10.0) -> None:
    """Return as soon as the condition holds."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, "it did not happen in time"
        time.sleep(0.01)


def _header(headers: dict[str, str]) -> dict[str, str]:
    return {f"X-{name.capitalize()}": value for name, value in headers.items()}


def instance(status: dict[str, Any], name: str) -> Memory:
    """The instance of this name, without the balancer."""
    return Memory(next(part["address"] for part in status["parts"] if part["name"] == name))
