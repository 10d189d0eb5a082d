"""Companion: a chat partner with a memory.

Start it:

    python tests/targets/services/companion.py --port 8103

No key is needed; it runs inside our network. Answers name the node that made them in ``X-Node``.

Talk to it. We write the reply and remember both. Until the model is connected, the reply repeats what you said. Every
request needs an ``Idempotency-Key`` (any text of up to 200 characters); a request with a key that was used before is
not carried out again, its answer is repeated:

    curl -X POST http://127.0.0.1:8103/talk -H 'Idempotency-Key: 7c1' -H 'Content-Type: application/json' \\
         -d '{"person": "ada", "topic": "holidays", "say": "I would like to see the sea."}'
    200 {"reply": "I would like to see the sea.", "remembered": 2}

``person`` and ``topic`` are yours to choose: letters, digits, ``-`` and ``_``, at most 64 of them. A topic belongs to
its person; two persons may have topics of the same name.

Look back. The oldest line comes first; ``last`` cuts all but the latest few (whatever ``last`` says, at most 500). A
topic that nobody talked about is simply empty:

    GET /memory/ada/holidays?last=10
    200 {"lines": [{"who": "you", "line": "I would like to see the sea."},
                   {"who": "me", "line": "I would like to see the sea."}]}

Forget a topic:

    DELETE /memory/ada/holidays
    204

Errors are plain text: 400 for what is not as described, 428 without ``Idempotency-Key``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
LINES_MAX = 500
KEYS_MAX = 100_000


class Companion:
    """What was said, by person and topic. No handler waits between reading and writing, so each is done at once."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], list[dict[str, str]]] = {}
        self._answers: dict[str, dict[str, Any]] = {}
        self._keys: deque[str] = deque()

    async def talk(self, request: web.Request) -> web.Response:
        key = request.headers.get("Idempotency-Key", "")
        if not 0 < len(key) <= 200:
            raise web.HTTPPreconditionRequired(text="Idempotency-Key is missing or too long\n")
        given = _read(await request.read())
        where = _named(given["person"], given["topic"])
        if key not in self._answers:
            self._lines.setdefault(where, []).extend(
                [{"who": "you", "line": given["say"]}, {"who": "me", "line": given["say"]}]
            )
            self._answers[key] = {"reply": given["say"], "remembered": 2}
            self._keys.append(key)
            if len(self._keys) > KEYS_MAX:
                del self._answers[self._keys.popleft()]
        return web.json_response(self._answers[key])

    async def look_back(self, request: web.Request) -> web.Response:
        last = request.query.get("last", str(LINES_MAX))
        if set(request.query) - {"last"} or not (last.isascii() and last.isdigit()):
            raise web.HTTPBadRequest(text="the one parameter is last, a number\n")
        lines = self._lines.get(_named(request.match_info["person"], request.match_info["topic"]), [])
        return web.json_response({"lines": lines[max(0, len(lines) - min(int(last), LINES_MAX)) :]})

    async def forget(self, request: web.Request) -> web.Response:
        self._lines.pop(_named(request.match_info["person"], request.match_info["topic"]), None)
        return web.Response(status=204)


def _read(body: bytes) -> dict[str, str]:
    try:
        given = json.loads(body)
    except ValueError as error:
        raise web.HTTPBadRequest(text="the body is not JSON\n") from error
    if not isinstance(given, dict) or set(given) != {"person", "topic", "say"}:
        raise web.HTTPBadRequest(text="the body has person, topic and say, and nothing else\n")
    if not all(isinstance(value, str) for value in given.values()):
        raise web.HTTPBadRequest(text="person, topic and say are strings\n")
    return given


def _named(person: str, topic: str) -> tuple[str, str]:
    if not (NAME.fullmatch(person) and NAME.fullmatch(topic)):
        raise web.HTTPBadRequest(text="person and topic are letters, digits, - and _, at most 64 of them\n")
    return person, topic


def application(node: str = "companion-1") -> web.Application:
    """The service, with nothing in it."""

    @web.middleware
    async def sign(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            answer = await handler(request)
        except web.HTTPException as error:
            error.headers["X-Node"] = node
            raise
        answer.headers["X-Node"] = node
        return answer

    companion = Companion()
    app = web.Application(middlewares=[sign], client_max_size=8 * 1024 * 1024)
    app.add_routes(
        [
            web.post("/talk", companion.talk),
            web.get("/memory/{person}/{topic}", companion.look_back),
            web.delete("/memory/{person}/{topic}", companion.forget),
        ]
    )
    return app


async def serve(port: int, node: str) -> None:
    """Serve until told to stop."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    runner: Any = web.AppRunner(application(node), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        print(f"listening on http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
        await stopped.wait()
    finally:
        await runner.cleanup()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="A chat partner with a memory.")
    parser.add_argument("--port", type=int, default=8103, help="0: any that is free")
    parser.add_argument("--node", default="companion-1", help="the name that answers carry")
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.node))


if __name__ == "__main__":
    main()
