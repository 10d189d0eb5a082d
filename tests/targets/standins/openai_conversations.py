"""Stands in for the OpenAI Conversations API.

Follows the interface under ``/v1/conversations`` as the ``openai`` Python package 3.57.0 (generated from the
product's OpenAPI document) and the API reference describe it:

    POST   /v1/conversations               {items?, metadata?}    → 200 {id, object, created_at, metadata}
    GET    /v1/conversations/{id}                                 → 200, the same
    DELETE /v1/conversations/{id}                                 → 200 {id, deleted, object}
    POST   /v1/conversations/{id}/items    {items}, at most 20    → 200 {object, data, first_id, last_id, has_more}
    GET    /v1/conversations/{id}/items    ?limit&after&order     → 200, the same

A list is newest first unless ``order=asc``; a page has 20 items unless ``limit`` asks for up to 100.

Ids are made by the server. Errors are ``{"error": {"message", "type", "param", "code"}}``; a request that is wrong is
400, a missing key 401, an unknown conversation 404.

Left out: all items but text messages, ``include``, single items, changing the metadata, responses. After a
conversation is deleted its items are gone as well; the product keeps them, but offers no way to list them.
"""

from __future__ import annotations

import secrets
import time
from typing import Annotated, Any, Literal

from aiohttp import web
from msgspec import Meta

from tests.targets.standins.serving import KEY, RefusedError, Strict, application, body, main, query

WRONG = 400

Role = Literal["user", "assistant", "system", "developer"]
Text = Annotated[str, Meta(max_length=10 * 1024 * 1024)]


class Part(Strict):
    """A part of a message."""

    type: Literal["input_text", "output_text"]
    text: Text


class Message(Strict):
    """A message as it is sent: the easy form, whose content may be a string."""

    role: Role
    content: Text | list[Part]
    type: Literal["message"] = "message"


Items = Annotated[list[Message], Meta(max_length=20)]


class NewItems(Strict):
    """The body that adds items."""

    items: Annotated[list[Message], Meta(min_length=1, max_length=20)]


class NewConversation(Strict):
    """The body that creates a conversation."""

    items: Items | None = None
    metadata: Annotated[dict[Annotated[str, Meta(max_length=64)], Annotated[str, Meta(max_length=512)]], Meta(max_length=16)] | None = None  # noqa: E501  # fmt: skip


class Page(Strict):
    """Which items are listed."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    after: str | None = None
    order: Literal["asc", "desc"] = "desc"


class Conversations:
    """All conversations: what each is told as, and its items, oldest first."""

    def __init__(self) -> None:
        self._told: dict[str, dict[str, Any]] = {}
        self._items: dict[str, list[dict[str, Any]]] = {}

    async def create(self, request: web.Request) -> web.Response:
        new = await body(request, NewConversation, wrong=WRONG)
        name = f"conv_{secrets.token_hex(24)}"
        told = {
            "id": name,
            "object": "conversation",
            "created_at": int(time.time()),
            "metadata": new.metadata or {},
        }
        self._told[name] = told
        self._items[name] = [_item(message) for message in new.items or []]
        return web.json_response(told)

    async def retrieve(self, request: web.Request) -> web.Response:
        self._of(request)
        return web.json_response(self._told[request.match_info["id"]])

    async def delete(self, request: web.Request) -> web.Response:
        self._of(request)
        name = request.match_info["id"]
        del self._told[name], self._items[name]
        return web.json_response({"id": name, "deleted": True, "object": "conversation.deleted"})

    async def add(self, request: web.Request) -> web.Response:
        new = await body(request, NewItems, wrong=WRONG)
        added = [_item(message) for message in new.items]
        self._of(request).extend(added)
        return web.json_response(_listed(added, more=False))

    async def list_items(self, request: web.Request) -> web.Response:
        page = query(request, Page, wrong=WRONG)
        items = self._of(request)
        items = items[::-1] if page.order == "desc" else items[:]
        if page.after is not None:
            ids = [item["id"] for item in items]
            if page.after not in ids:
                raise RefusedError(404, f"Item with id '{page.after}' not found.")
            items = items[ids.index(page.after) + 1 :]
        return web.json_response(_listed(items[: page.limit], more=len(items) > page.limit))

    def _of(self, request: web.Request) -> list[dict[str, Any]]:
        name = request.match_info["id"]
        if name not in self._items:
            raise RefusedError(404, f"Conversation with id '{name}' not found.")
        return self._items[name]


def _item(message: Message) -> dict[str, Any]:
    kind: Literal["input_text", "output_text"] = "output_text" if message.role == "assistant" else "input_text"
    parts = [Part(type=kind, text=message.content)] if isinstance(message.content, str) else message.content
    if any(part.type != kind for part in parts):
        raise RefusedError(WRONG, f"Parts of a message of role '{message.role}' are of type '{kind}'.")
    extra: dict[str, Any] = {"annotations": [], "logprobs": []} if kind == "output_text" else {}
    return {
        "id": f"msg_{secrets.token_hex(24)}",
        "type": "message",
        "status": "completed",
        "role": message.role,
        "content": [{"type": part.type, "text": part.text, **extra} for part in parts],
    }


def _listed(items: list[dict[str, Any]], *, more: bool) -> dict[str, Any]:
    return {
        "object": "list",
        "data": items,
        "first_id": items[0]["id"] if items else None,
        "last_id": items[-1]["id"] if items else None,
        "has_more": more,
    }


def _in_words(status: int, detail: str) -> dict[str, Any]:
    kind = "authentication_error" if status == 401 else "invalid_request_error"
    return {"error": {"message": detail, "type": kind, "param": None, "code": None}}


def served() -> web.Application:
    """A server without any conversation."""
    all_of_them = Conversations()
    routes = [
        web.post("/v1/conversations", all_of_them.create),
        web.get("/v1/conversations/{id}", all_of_them.retrieve),
        web.delete("/v1/conversations/{id}", all_of_them.delete),
        web.post("/v1/conversations/{id}/items", all_of_them.add),
        web.get("/v1/conversations/{id}/items", all_of_them.list_items),
    ]
    return application(routes, _in_words, header="Authorization", value=f"Bearer {KEY}")


if __name__ == "__main__":
    main(served, port=8001)
