"""Stands in for Zep.

Follows version 4 of the interface (``https://api.getzep.com/api/v4``) as the ``zep-cloud`` Python package 4.0.1
(generated from the product's OpenAPI document) and the SDK reference describe it:

    POST   /users                      {user_id?, email?, first_name?, …}         → 201 user
    POST   /users/lookup               {user_id}                                  → 200 user
    POST   /threads                    {user_uuid}                                → 201 thread
    GET    /threads/{uuid}                                                        → 200 thread
    DELETE /threads/{uuid}                                                        → 202 {task}
    POST   /threads/{uuid}/messages    {messages, return_context?, …}             → 202 {messages, task, context?}
    GET    /threads/{uuid}/messages    ?page_size=50&cursor&order_by&order        → 200 {items, next_cursor?, …}
    GET    /threads/{uuid}/context                                                → 200 {context}

Ids of users, threads and messages are UUIDs made by the server; ``user_id`` is an optional name that is unique in a
project (409 otherwise). At most 30 messages a request, as version 3 documents it. Keys travel as ``Authorization:
Api-Key …``, a request without is 401. Errors are ``{"error": {"code", "message"}}``: 400 for a wrong request, 404 for
what is unknown.

Where the reference is silent: messages are listed oldest first unless ``order`` says otherwise, a page has at most
1,000.

Left out: the graph, and everything a model makes of the messages; the context is simply the latest few of them.
Deleting and storing are done when they are acknowledged, though the product answers 202 to both and works on.
"""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Literal

import msgspec
from aiohttp import web
from msgspec import Meta

from tests.targets.standins.serving import KEY, RefusedError, Strict, application, body, main, now, query

WRONG = 400

Scalar = str | int | float | bool


class NewUser(Strict):
    """The body that creates a user."""

    user_id: Annotated[str, Meta(max_length=500)] | None = None
    email: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    metadata: dict[str, Any] | None = None
    time_zone: str | None = None
    disable_default_ontology: bool = False


class Lookup(Strict):
    """The body that looks a user up."""

    user_id: str


class NewThread(Strict):
    """The body that creates a thread."""

    user_uuid: str


class Message(Strict):
    """A message as it is sent."""

    content: str
    role: Literal["system", "assistant", "user", "function", "tool"]
    name: str | None = None
    metadata: Annotated[dict[str, Scalar | list[Scalar]], Meta(max_length=10)] | None = None
    reference_time: str | None = None


class NewMessages(Strict):
    """The body that adds messages."""

    messages: Annotated[list[Message], Meta(min_length=1, max_length=30)]
    ignore_roles: list[str] = msgspec.field(default_factory=list)
    return_context: bool = False
    strict_ontology: bool = False


class Page(Strict):
    """Which messages are listed."""

    page_size: Annotated[int, Meta(ge=1, le=1000)] = 50
    cursor: str | None = None
    order_by: Literal["created_at"] = "created_at"
    order: Literal["asc", "desc"] = "asc"


class Zep:
    """All users and threads of a project."""

    def __init__(self) -> None:
        self._users: dict[str, dict[str, Any]] = {}
        self._named: dict[str, str] = {}
        self._threads: dict[str, dict[str, Any]] = {}
        self._messages: dict[str, list[dict[str, Any]]] = {}

    async def create_user(self, request: web.Request) -> web.Response:
        new = await body(request, NewUser, wrong=WRONG)
        if new.user_id is not None and new.user_id in self._named:
            raise RefusedError(409, f"user_id {new.user_id} exists")
        name = str(uuid.uuid4())
        given = {
            key: value
            for key in ("user_id", "email", "first_name", "last_name", "metadata", "time_zone")
            if (value := getattr(new, key)) is not None
        }
        self._users[name] = {"uuid": name, "graph_uuid": str(uuid.uuid4()), "created_at": now(), **given}
        if new.user_id is not None:
            self._named[new.user_id] = name
        return web.json_response(self._users[name], status=201)

    async def look_up_user(self, request: web.Request) -> web.Response:
        asked = await body(request, Lookup, wrong=WRONG)
        if asked.user_id not in self._named:
            raise RefusedError(404, "user not found")
        return web.json_response(self._users[self._named[asked.user_id]])

    async def create_thread(self, request: web.Request) -> web.Response:
        new = await body(request, NewThread, wrong=WRONG)
        if new.user_uuid not in self._users:
            raise RefusedError(404, "user not found")
        name, time = str(uuid.uuid4()), now()
        self._threads[name] = {
            "uuid": name,
            "user_uuid": new.user_uuid,
            "graph_uuid": self._users[new.user_uuid]["graph_uuid"],
            "created_at": time,
            "updated_at": time,
        }
        self._messages[name] = []
        return web.json_response(self._threads[name], status=201)

    async def get_thread(self, request: web.Request) -> web.Response:
        self._of(request)
        return web.json_response(self._threads[request.match_info["uuid"]])

    async def delete_thread(self, request: web.Request) -> web.Response:
        self._of(request)
        name = request.match_info["uuid"]
        del self._threads[name], self._messages[name]
        return web.json_response({"task": _task("thread.delete")}, status=202)

    async def add(self, request: web.Request) -> web.Response:
        new = await body(request, NewMessages, wrong=WRONG)
        messages, time = self._of(request), now()
        added = [
            {
                "uuid": str(uuid.uuid4()),
                "thread_uuid": request.match_info["uuid"],
                "content": message.content,
                "role": message.role,
                "created_at": time,
                "reference_time": message.reference_time or time,
                "processed": False,
                **({"name": message.name} if message.name is not None else {}),
                **({"metadata": message.metadata} if message.metadata is not None else {}),
            }
            for message in new.messages
        ]
        messages.extend(added)
        context = {"context": _context(messages)} if new.return_context else {}
        return web.json_response({"messages": added, "task": _task("message.ingest"), **context}, status=202)

    async def list_messages(self, request: web.Request) -> web.Response:
        page = query(request, Page, wrong=WRONG)
        messages = self._of(request)
        total = len(messages)
        ordered = messages[::-1] if page.order == "desc" else messages
        if page.cursor is not None:
            ids = [message["uuid"] for message in ordered]
            if page.cursor not in ids:
                raise RefusedError(WRONG, "invalid cursor")
            ordered = ordered[ids.index(page.cursor) + 1 :]
        items = ordered[: page.page_size]
        further = {"next_cursor": items[-1]["uuid"]} if len(ordered) > len(items) else {}
        return web.json_response({"items": items, "total_size": total, **further})

    async def context(self, request: web.Request) -> web.Response:
        return web.json_response({"context": _context(self._of(request))})

    def _of(self, request: web.Request) -> list[dict[str, Any]]:
        name = request.match_info["uuid"]
        if name not in self._messages:
            raise RefusedError(404, "thread not found")
        return self._messages[name]


def _task(kind: str) -> dict[str, str]:
    return {"uuid": str(uuid.uuid4()), "type": kind, "status": "pending", "created_at": now()}


def _context(messages: list[dict[str, Any]]) -> str:
    return "\n".join(f"{message['role']}: {message['content']}" for message in messages[-4:])


def _in_words(status: int, detail: str) -> dict[str, Any]:
    codes = {400: "invalid_request", 401: "unauthorized", 404: "not_found", 409: "conflict"}
    return {"error": {"code": codes.get(status, "error"), "message": detail}}


def served() -> web.Application:
    """A project without any user."""
    zep = Zep()
    routes = [
        web.post("/api/v4/users", zep.create_user),
        web.post("/api/v4/users/lookup", zep.look_up_user),
        web.post("/api/v4/threads", zep.create_thread),
        web.get("/api/v4/threads/{uuid}", zep.get_thread),
        web.delete("/api/v4/threads/{uuid}", zep.delete_thread),
        web.post("/api/v4/threads/{uuid}/messages", zep.add),
        web.get("/api/v4/threads/{uuid}/messages", zep.list_messages),
        web.get("/api/v4/threads/{uuid}/context", zep.context),
    ]
    return application(routes, _in_words, header="Authorization", value=f"Api-Key {KEY}")


if __name__ == "__main__":
    main(served, port=8002)
