"""Stands in for the REST server that mem0 ships for hosting it oneself (the folder ``server`` of its repository).

Follows that server with version 2 of the library: ``mem0ai`` 2.2.1, whose source tells what becomes of what the server
passes on, and whose answers, on pgvector and with a constant for an embedder, these were compared with:

    POST   /memories    {messages, user_id?, agent_id?, run_id?, infer?, …} → 200 {"results": [{id, memory, role, …}]}
    GET    /memories    ?user_id&agent_id&run_id&top_k&show_expired         → 200 {"results": [{id, memory, role, …}]}
    DELETE /memories    ?user_id&agent_id&run_id                            → 200 {"message"}

A list holds 20 memories unless ``top_k`` asks for up to 1,000, and there is no next page. **It has no order**:
pgvector, the store that the server comes with, is asked for any rows that match; here they come sorted by their
random ids, so that nobody can rely on an order. Ids are made by the server. A message of role system is passed over.
Keys travel in ``X-API-Key``; a request without is 401. Errors are ``{"detail": "…"}``: 422 for a wrong form, 400 for
a value that the library refuses.

Left out: everything that asks a model. With ``infer`` true, or left out, the product has a model extract facts and
stores those in place of the messages; this server refuses that (400). Search, single memories, history, users,
configuration. A list without any id (for admins only) is refused.
"""

from __future__ import annotations

import hashlib
import uuid
from typing import Annotated, Any

from aiohttp import web
from msgspec import Meta

from tests.targets.standins.serving import KEY, RefusedError, Strict, application, body, main, now, query


class Message(Strict):
    """A message as it is sent."""

    role: str
    content: str


class Scoped(Strict):
    """Whose memories."""

    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None

    def scope(self) -> dict[str, str]:
        """The ids that are given, at least one."""
        ids = {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id}
        given = {name: value.strip() for name, value in ids.items() if value is not None}
        if not given:
            raise RefusedError(400, "At least one identifier (user_id, agent_id, run_id) is required.")
        for name, value in given.items():
            if not value or any(map(str.isspace, value)):
                raise RefusedError(400, f"Invalid {name}: empty, or with white space in it.")
        return given


class NewMemories(Scoped, kw_only=True):
    """The body that adds memories."""

    messages: list[Message]
    metadata: dict[str, Any] | None = None
    infer: bool = True
    memory_type: str | None = None
    prompt: str | None = None
    expiration_date: str | None = None


class Listing(Scoped):
    """The parameters of a list."""

    top_k: Annotated[int, Meta(ge=0, le=1000)] = 20
    show_expired: bool = False


class Memories:
    """All memories by id."""

    def __init__(self) -> None:
        self._memories: dict[str, dict[str, Any]] = {}
        self._ids: dict[tuple[str, str], set[str]] = {}
        """By the name and the value of an id that was given with them."""

    async def add(self, request: web.Request) -> web.Response:
        new = await body(request, NewMemories)
        scope = new.scope()
        if new.infer:
            raise RefusedError(400, "Extraction needs a model, which this server has not; say infer = false.")
        results = []
        for message in new.messages:
            if message.role == "system":
                continue
            name, time = str(uuid.uuid4()), now()
            self._memories[name] = {
                "id": name,
                "memory": message.content,
                "hash": hashlib.md5(message.content.encode("utf-8", "replace")).hexdigest(),
                "created_at": time,
                "updated_at": time,
                **scope,
                "role": message.role,
                "metadata": new.metadata or None,
            }
            for part in scope.items():
                self._ids.setdefault(part, set()).add(name)
            results.append(
                {"id": name, "memory": message.content, "event": "ADD", "actor_id": None, "role": message.role}
            )
        return web.json_response({"results": results})

    async def list_some(self, request: web.Request) -> web.Response:
        asked = query(request, Listing)
        names = sorted(self._matching(asked.scope()))[: asked.top_k]
        return web.json_response({"results": [self._memories[name] for name in names]})

    async def delete(self, request: web.Request) -> web.Response:
        for name in self._matching(query(request, Scoped).scope()):
            gone = self._memories.pop(name)
            for kind in ("user_id", "agent_id", "run_id"):
                if kind in gone:
                    self._ids[kind, gone[kind]].discard(name)
        return web.json_response({"message": "All relevant memories deleted"})

    def _matching(self, scope: dict[str, str]) -> set[str]:
        return set.intersection(*(self._ids.get(part, set()) for part in scope.items()))


def served() -> web.Application:
    """A server without any memory."""
    memories = Memories()
    routes = [
        web.post("/memories", memories.add),
        web.get("/memories", memories.list_some),
        web.delete("/memories", memories.delete),
    ]
    return application(routes, lambda _, detail: {"detail": detail}, header="X-API-Key", value=KEY)


if __name__ == "__main__":
    main(served, port=8888)
