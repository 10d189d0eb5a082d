"""What the stand-ins have in common: reading a request strictly, refusing in the product's own words, and listening."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from aiohttp import web

KEY = "stand-in-key"
"""The one key that every stand-in takes."""

T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
InWords = Callable[[int, str], object]
"""The body of an answer that refuses, of its status and of what is wrong."""


class Strict(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A table of a request: fields that are not declared are refused."""


class RefusedError(Exception):
    """An answer other than 2xx."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


async def body(request: web.Request, form: type[T], *, wrong: int = 422) -> T:
    """The JSON body of a request.

    Args:
        request: the request.
        form: a ``Strict`` that says what may be in it.
        wrong: the status of the answer to anything else.

    Raises:
        RefusedError: it has another form.
    """
    if request.content_type != "application/json":
        raise RefusedError(wrong, f"Content-Type {request.content_type!r} where application/json is expected")
    try:
        # The standard library also reads lone surrogates, which are legal in JSON.
        return msgspec.convert(json.loads(await request.read()), form)
    except ValueError as error:
        raise RefusedError(wrong, str(error)) from error


def query(request: web.Request, form: type[T], *, wrong: int = 422) -> T:
    """The parameters of a request, each at most once.

    Raises:
        RefusedError: there is one too many, twice, or with a value that cannot be.
    """
    given = dict(request.query)
    if len(given) < len(request.query):
        raise RefusedError(wrong, "a parameter is given twice")
    try:
        return msgspec.convert(given, form, strict=False)
    except ValueError as error:
        raise RefusedError(wrong, str(error)) from error


def now() -> str:
    """The time in the form that JSON interfaces use."""
    return datetime.now(UTC).isoformat()


def application(
    routes: Iterable[web.RouteDef], in_words: InWords, *, header: str, value: str, keyless: int = 401
) -> web.Application:
    """Routes behind a key.

    Args:
        routes: what is served.
        in_words: how the product tells that it refuses.
        header: where the key is expected.
        value: what it must be, entirely.
        keyless: the status of the answer to a request without it.
    """

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            if request.headers.get(header) != value:
                raise RefusedError(keyless, f"no valid key in the header {header}")
            return await handler(request)
        except RefusedError as refused:
            return web.json_response(in_words(refused.status, str(refused)), status=refused.status)
        except web.HTTPException as other:  # an unknown path, or a method that it does not have
            return web.json_response(in_words(other.status, other.reason), status=other.status)

    served = web.Application(middlewares=[guard], client_max_size=16 * 1024 * 1024)
    served.add_routes(routes)
    return served


def main(served: Callable[[], web.Application], port: int) -> None:
    """Serve until told to stop.

    Args:
        served: makes the application.
        port: where it listens unless ``--port`` says otherwise.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=port, help="0: any that is free")
    asyncio.run(_serve(served(), parser.parse_args().port))


async def _serve(served: web.Application, port: int) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    runner: Any = web.AppRunner(served, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        print(f"listening on http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
        await stopped.wait()
    finally:
        await runner.cleanup()
