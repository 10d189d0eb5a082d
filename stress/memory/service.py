"""The HTTP interface: one class that turns a request into one call of the store, and its outcome into an answer.

What was not stored never answers 2xx: an append answers 201 only after the store returned, and everything that goes
wrong on the way leaves as a ``ProblemError``.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from time import perf_counter

import msgspec
from aiohttp import web

from stress.memory.metrics import CONTENT_TYPE, Metrics
from stress.memory.problems import ProblemError
from stress.memory.requests import read_limit, read_messages
from stress.memory.routes import Route, check_id, find_route
from stress.memory.store import Scope, Session, Store, StoreUnavailableError, encode

BODY_BYTES_MAX = 4 * 1024 * 1024
DEFAULT_TENANT = "default"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = logging.getLogger("goldfish.memory")


class Service:
    """Answers the requests of one instance."""

    def __init__(self, name: str, store: Store) -> None:
        self._name = name
        self._store = store
        self._metrics = Metrics()

    def application(self) -> web.Application:
        """The aiohttp application: one route that takes every path as it was sent."""
        application = web.Application(client_max_size=BODY_BYTES_MAX, middlewares=[self._unrouted])
        # Not ".*", which would miss a path with a line end (%0A) in one of its ids.
        application.router.add_route("*", r"/{path:[\s\S]*}", self.answer)
        return application

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one request; the only place where errors become answers."""
        route = Route("unknown")
        try:
            route = find_route(request.rel_url.raw_path)
            response = await self._route(request, route)
        except ProblemError as problem:
            response = _problem(problem)
        except StoreUnavailableError as error:
            response = _problem(ProblemError(503, "store-unavailable", str(error)))
        except web.HTTPRequestEntityTooLarge:
            response = _problem(ProblemError(413, "body-too-large", f"the body has more than {BODY_BYTES_MAX} bytes"))
        except (ConnectionError, web.HTTPException):
            raise
        except Exception:
            log.exception("%s %s failed", request.method, route.name)
            response = _problem(ProblemError(500, "internal", "the service failed; its log says why"))
        response.headers["X-Memory-Instance"] = self._name
        self._metrics.answered(request.method, route.name, response.status)
        return response

    async def _route(self, request: web.Request, route: Route) -> web.Response:
        match request.method, route.name:
            case "POST", "session-messages":
                return await self._append(request, Session(_tenant(request), str(route.user), str(route.session)))
            case "GET", ("session-messages" | "user-messages"):
                return await self._recall(request, Scope(_tenant(request), str(route.user), route.session))
            case "DELETE", "session":
                await self._store.delete(Session(_tenant(request), str(route.user), str(route.session)))
                return web.Response(status=HTTPStatus.NO_CONTENT)
            case _, ("context" | "search"):
                raise ProblemError(404, "not-offered", f"this store does not offer {route.name}")
            case "GET", "healthz":
                return _json(b'{"status":"alive"}')
            case "GET", "readyz":
                await self._store.ready()
                return _json(b'{"status":"ready"}')
            case "GET", "metrics":
                return web.Response(body=self._metrics.exposition(), headers={"Content-Type": CONTENT_TYPE})
            case method, _:
                raise ProblemError(404, "unknown-route", f"this resource does not know {method}")

    async def _append(self, request: web.Request, session: Session) -> web.Response:
        started = perf_counter()
        messages = read_messages(await request.read(), any_text=self._store.keeps_any_text)
        numbers = await self._store.append(session, messages)
        stored = [{"id": message.id, "seq": seq} for message, seq in zip(messages, numbers, strict=True)]
        self._metrics.appended(perf_counter() - started)
        return _json(encode({"stored": stored}), HTTPStatus.CREATED)

    async def _recall(self, request: web.Request, scope: Scope) -> web.Response:
        started = perf_counter()
        limit = read_limit(request.query.get("limit"))
        history = await self._store.history(scope, limit)
        if history is None:
            raise ProblemError(404, "not-found", "no messages here: never written, deleted or expired")
        self._metrics.recalled(perf_counter() - started, history.source)
        return _json(b'{"messages":[' + b",".join(history.messages) + b"]}")

    @web.middleware
    async def _unrouted(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Give our form to refusals of aiohttp itself, such as a request target that is no path."""
        try:
            return await handler(request)
        except web.HTTPException as refusal:
            response = _problem(ProblemError(404, "unknown-route", refusal.reason))
            response.headers["X-Memory-Instance"] = self._name
            self._metrics.answered(request.method, "unknown", response.status)
            return response


def _tenant(request: web.Request) -> str:
    tenant = request.headers.get("X-Tenant")
    return DEFAULT_TENANT if tenant is None else check_id("tenant", tenant, 400)


def _json(body: bytes, status: int = HTTPStatus.OK) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


def _problem(problem: ProblemError) -> web.Response:
    body = msgspec.json.encode({"error": {"code": problem.code, "message": problem.message}})
    return _json(body, problem.status)
