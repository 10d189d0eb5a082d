"""Chat log: writes down every message of our chat bots.

Start it:

    python tests/targets/services/chat_log.py --port 8102

Every request carries our key in ``X-Api-Key: chat-log-key`` (another one: ``--key``). Every answer is wrapped:
``{"ok": true, "data": …}``, or ``{"ok": false, "error": "…"}`` with a status of 400 and above.

A session is a UUID of your choice (``6f9619ff-8b86-4d01-b42d-00cf4fc964ff``) and belongs to the user who writes
first. It exists from its first message on.

Write one message. ``from`` is ``human`` or ``ai``; ``message_id`` is yours, and writing it again changes nothing:

    curl -X POST http://127.0.0.1:8102/v2/sessions/6f9619ff-8b86-4d01-b42d-00cf4fc964ff/messages \\
         -H 'X-Api-Key: chat-log-key' -H 'Content-Type: application/json' \\
         -d '{"user": "ada", "from": "human", "text": "hello", "message_id": "m-1"}'
    201 {"ok": true, "data": {"message_id": "m-1", "position": 0}}

Read a session. ``count`` messages (20 unless you say otherwise, at most 20) from ``offset`` on (0). They are counted
from the oldest, or from the newest with ``order=newest``, which also turns the list around:

    GET /v2/sessions/6f9619ff-8b86-4d01-b42d-00cf4fc964ff/messages?offset=0&count=20&order=oldest
    200 {"ok": true, "data": {"total": 1, "messages": [
            {"message_id": "m-1", "from": "human", "text": "hello", "at": 1740830400.0,
             "session": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"}]}}

Read all that a user wrote and was told, over all sessions, in the order in which it was written; the same parameters:

    GET /v2/users/ada/messages?count=20
    200 {"ok": true, "data": {"total": 1, "messages": […]}}

Delete a session:

    DELETE /v2/sessions/6f9619ff-8b86-4d01-b42d-00cf4fc964ff
    200 {"ok": true, "data": {"deleted": 1}}

Errors: 400 for what is not as described, 401 without the key, 403 for a session that belongs to somebody else, 404
for a session or a user that wrote nothing yet.
"""

from __future__ import annotations

import argparse
import secrets
import threading
import time
import uuid
from typing import Any

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import WSGIRequestHandler, make_server

COUNT_MAX = 20


class WrongError(Exception):
    """An answer that is not ok."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Log:
    """All messages. Requests are served by threads, so each step holds the lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owners: dict[str, str] = {}
        self._sessions: dict[str, dict[str, dict[str, Any]]] = {}
        """Messages by session and id, in the order in which they were written."""
        self._users: dict[str, list[dict[str, Any]]] = {}

    def write(self, session: str, user: str, message: dict[str, Any]) -> int:
        """Write a message down, once; its position in the session."""
        with self._lock:
            if self._owners.setdefault(session, user) != user:
                raise WrongError(403, "this session belongs to somebody else")
            messages = self._sessions.setdefault(session, {})
            if message["message_id"] not in messages:
                messages[message["message_id"]] = message
                self._users.setdefault(user, []).append(message)
            return list(messages).index(message["message_id"])

    def of_session(self, session: str) -> list[dict[str, Any]]:
        with self._lock:
            if session not in self._sessions:
                raise WrongError(404, "nothing was written to this session")
            return list(self._sessions[session].values())

    def of_user(self, user: str) -> list[dict[str, Any]]:
        with self._lock:
            if user not in self._users:
                raise WrongError(404, "this user wrote nothing")
            return self._users[user][:]

    def delete(self, session: str) -> int:
        with self._lock:
            if session not in self._sessions:
                raise WrongError(404, "nothing was written to this session")
            gone = self._sessions.pop(session)
            user = self._owners.pop(session)
            self._users[user] = [message for message in self._users[user] if message["session"] != session]
            return len(gone)


def application(key: str = "chat-log-key") -> Flask:
    """The service, with nothing in it."""
    app = Flask(__name__)
    log = Log()

    @app.before_request
    def guard() -> None:
        if not secrets.compare_digest(request.headers.get("X-Api-Key", "").encode(), key.encode()):
            raise WrongError(401, "the header X-Api-Key is missing or wrong")

    @app.errorhandler(WrongError)
    def wrong(error: WrongError) -> tuple[Response, int]:
        return jsonify(ok=False, error=str(error)), error.status

    @app.errorhandler(HTTPException)
    def other(error: HTTPException) -> tuple[Response, int]:
        return jsonify(ok=False, error=error.description), error.code or 500

    @app.post("/v2/sessions/<session>/messages")
    def write(session: str) -> tuple[Response, int]:
        session, given = _uuid(session), _message(request.get_json(silent=True))
        user = given.pop("user")
        position = log.write(session, user, {**given, "session": session, "at": time.time()})
        return jsonify(ok=True, data={"message_id": given["message_id"], "position": position}), 201

    @app.get("/v2/sessions/<session>/messages")
    def of_session(session: str) -> Response:
        return _page(log.of_session(_uuid(session)))

    @app.get("/v2/users/<user>/messages")
    def of_user(user: str) -> Response:
        return _page(log.of_user(user))

    @app.delete("/v2/sessions/<session>")
    def delete(session: str) -> Response:
        return jsonify(ok=True, data={"deleted": log.delete(_uuid(session))})

    return app


def _uuid(session: str) -> str:
    try:
        return str(uuid.UUID(session))
    except ValueError as error:
        raise WrongError(400, "a session is a UUID") from error


def _message(given: Any) -> dict[str, str]:
    if not isinstance(given, dict) or set(given) != {"user", "from", "text", "message_id"}:
        raise WrongError(400, "a message has user, from, text and message_id, and nothing else")
    if not all(isinstance(value, str) and value for value in given.values()):
        raise WrongError(400, "user, from, text and message_id are strings, and not empty")
    if given["from"] not in ("human", "ai"):
        raise WrongError(400, "from is human or ai")
    return given


def _page(messages: list[dict[str, Any]]) -> Response:
    if unknown := set(request.args) - {"offset", "count", "order"}:
        raise WrongError(400, f"there is no parameter {unknown.pop()}")
    offset, count = _number("offset", 0, 0, None), _number("count", COUNT_MAX, 1, COUNT_MAX)
    order = request.args.get("order", "oldest")
    if order not in ("oldest", "newest"):
        raise WrongError(400, "order is oldest or newest")
    ordered = messages if order == "oldest" else messages[::-1]
    return jsonify(ok=True, data={"total": len(messages), "messages": ordered[offset : offset + count]})


def _number(name: str, default: int, least: int, most: int | None) -> int:
    text = request.args.get(name, str(default))
    number = int(text) if text.isascii() and text.isdigit() else -1
    if number < least or (most is not None and number > most):
        raise WrongError(400, f"{name} is a number from {least}" + (f" to {most}" if most is not None else " on"))
    return number


class _Quiet(WSGIRequestHandler):
    """Keeps connections, and writes no line for every request."""

    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nothing."""


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(description="Writes down every message of our chat bots.")
    parser.add_argument("--port", type=int, default=8102, help="0: any that is free")
    parser.add_argument("--key", default="chat-log-key")
    options = parser.parse_args()
    server = make_server("127.0.0.1", options.port, application(options.key), threaded=True, request_handler=_Quiet)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
