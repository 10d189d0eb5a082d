"""Stands in for the LangGraph Agent Server.

Follows the OpenAPI document ("LangSmith Deployment" 0.1.0) inside the ``langgraph-api`` package 0.16.7, and that
package's server where the document is silent. Answers were compared with those of its in-memory server:

    POST   /threads                   {thread_id?, metadata?, if_exists?, ttl?} → 200 thread; 409 if it exists
    GET    /threads/{id}              → 200 thread
    DELETE /threads/{id}              → 204
    POST   /threads/{id}/state        {values, as_node?, checkpoint?, checkpoint_id?} → 200 {checkpoint, …}
    GET    /threads/{id}/state        ?subgraphs → 200 {values, next, checkpoint, …}
    GET    /threads/{id}/history      ?limit=10&before → 200 [state, …], newest first; POST takes the same as a body
    POST   /threads/{id}/runs/wait    {assistant_id, input, multitask_strategy?, …} → 200, the values at the end

Thread ids must be UUIDs (422 otherwise); what is unknown is 404; a thread without a graph takes no state (400).
Errors are ``{"detail": "…"}``. Keys travel in ``X-Api-Key``, and a request without is 403, as at a server with
LangSmith's auth; self-hosted servers ask for none unless told to.

The one graph is called ``echo``: its state is ``{"messages": […]}``, joined as LangGraph's ``add_messages`` does (a
message whose id is there already takes that one's place), and a run answers the last message with its text.

Left out: forks from a checkpoint (``checkpoint`` and ``checkpoint_id`` are refused), interrupts, streams, crons,
assistants, the store, runs in the background. A run takes no time here, so that none is ever in flight: the product
answers 409 to a state that is posted meanwhile, and queues a second run unless ``multitask_strategy`` says otherwise.
"""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Literal

import msgspec
from aiohttp import web
from msgspec import Meta

from tests.targets.standins.serving import KEY, RefusedError, Strict, application, body, main, now, query

GRAPH = "echo"

TYPES = {"user": "human", "human": "human", "assistant": "ai", "ai": "ai", "system": "system"}
"""How a message's role or type is told afterwards."""


class Lifetime(Strict):
    """When a thread expires; taken, and ignored."""

    ttl: float
    strategy: Literal["delete", "keep_latest"] = "delete"


class NewThread(Strict):
    """The body that creates a thread."""

    thread_id: str | None = None
    metadata: dict[str, Any] | None = None
    if_exists: Literal["raise", "do_nothing"] = "raise"
    ttl: Lifetime | None = None


class Message(Strict):
    """A message as it is sent, in the form of LangChain (``type``) or of chats (``role``)."""

    content: str
    type: str | None = None
    role: str | None = None
    id: str | None = None
    name: str | None = None
    additional_kwargs: dict[str, Any] = msgspec.field(default_factory=dict)
    response_metadata: dict[str, Any] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.type or self.role) not in TYPES:
            raise ValueError(f"a message has a type or a role of {', '.join(TYPES)}")


class Values(Strict):
    """What is added to the state of the graph."""

    messages: list[Message]


class NewState(Strict):
    """The body that adds state."""

    values: Values
    as_node: Literal["__start__", "echo"] | None = None


class NewRun(Strict):
    """The body that runs the graph."""

    assistant_id: str
    input: Values
    metadata: dict[str, Any] | None = None
    config: dict[str, Any] | None = None
    context: dict[str, Any] | None = None
    multitask_strategy: Literal["reject", "rollback", "interrupt", "enqueue"] = "enqueue"
    if_not_exists: Literal["create", "reject"] = "reject"
    durability: Literal["sync", "async", "exit"] = "async"


class Subgraphs(Strict):
    """Parameters of the latest state."""

    subgraphs: bool = False


class Past(Strict):
    """Parameters of the history, or its body."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 10
    before: str | None = None


class Thread:
    """One thread and all states it was in, oldest first."""

    def __init__(self, name: str, metadata: dict[str, Any]) -> None:
        self.name = name
        self.metadata = metadata
        self.states: list[dict[str, Any]] = []
        self._created_at = self._updated_at = now()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Those of the latest state."""
        latest: list[dict[str, Any]] = self.states[-1]["values"]["messages"] if self.states else []
        return latest

    def told(self) -> dict[str, Any]:
        """The thread, as the interface tells it."""
        return {
            "thread_id": self.name,
            "created_at": self._created_at,
            "updated_at": self._updated_at,
            "metadata": self.metadata,
            "status": "idle",
            "config": {},
            "values": {"messages": self.messages} if self.states else None,
            "interrupts": {},
        }

    def step(self, added: list[dict[str, Any]], source: str) -> dict[str, Any]:
        """Join messages into a new state."""
        joined = self.messages[:]
        places = {message["id"]: place for place, message in enumerate(joined)}
        for message in added:
            if message["id"] in places:
                joined[places[message["id"]]] = message
            else:
                places[message["id"]] = len(joined)
                joined.append(message)
        checkpoint = {"thread_id": self.name, "checkpoint_ns": "", "checkpoint_id": str(uuid.uuid1())}
        parent = self.states[-1]["checkpoint"] if self.states else None
        self._updated_at = now()
        self.states.append(
            {
                "values": {"messages": joined},
                "next": [],
                "tasks": [],
                "metadata": {"source": source, "step": len(self.states) - 1, "parents": {}},
                "created_at": self._updated_at,
                "checkpoint": checkpoint,
                "parent_checkpoint": parent,
                "interrupts": [],
                "checkpoint_id": checkpoint["checkpoint_id"],
                "parent_checkpoint_id": parent and parent["checkpoint_id"],
            }
        )
        return checkpoint


EMPTY: dict[str, Any] = {
    "values": {},
    "next": [],
    "tasks": [],
    "interrupts": [],
    **dict.fromkeys(
        ("metadata", "created_at", "checkpoint", "parent_checkpoint", "checkpoint_id", "parent_checkpoint_id")
    ),
}
"""The state of a thread that never had one."""


class Threads:
    """All threads."""

    def __init__(self) -> None:
        self._threads: dict[str, Thread] = {}

    async def create(self, request: web.Request) -> web.Response:
        new = await body(request, NewThread)
        name = _uuid(new.thread_id) if new.thread_id else str(uuid.uuid4())
        if name in self._threads and new.if_exists == "raise":
            raise RefusedError(409, f"Thread with ID {name} already exists")
        if name not in self._threads:
            self._threads[name] = Thread(name, new.metadata or {})
        return web.json_response(self._threads[name].told())

    async def get(self, request: web.Request) -> web.Response:
        return web.json_response(self._of(request).told())

    async def delete(self, request: web.Request) -> web.Response:
        del self._threads[self._of(request).name]
        return web.Response(status=204)

    async def post_state(self, request: web.Request) -> web.Response:
        new = await body(request, NewState)
        thread = self._of(request)
        if thread.metadata.get("graph_id") != GRAPH:
            raise RefusedError(400, f"Thread '{thread.name}' has no assigned graph ID.")
        checkpoint = thread.step([_message(message) for message in new.values.messages], "update")
        return web.json_response(
            {"checkpoint": checkpoint, "configurable": checkpoint, "checkpoint_id": checkpoint["checkpoint_id"]}
        )

    async def get_state(self, request: web.Request) -> web.Response:
        query(request, Subgraphs)
        thread = self._of(request)
        return web.json_response(thread.states[-1] if thread.states else EMPTY)

    async def history(self, request: web.Request) -> web.Response:
        past = query(request, Past) if request.method == "GET" else await body(request, Past)
        states = self._of(request).states[::-1]
        if past.before is not None:
            ids = [state["checkpoint_id"] for state in states]
            states = states[ids.index(past.before) + 1 :] if past.before in ids else []
        return web.json_response(states[: past.limit])

    async def wait(self, request: web.Request) -> web.Response:
        new = await body(request, NewRun)
        if new.assistant_id != GRAPH:
            raise RefusedError(422, f"Invalid assistant: '{new.assistant_id}'.")
        name = _uuid(request.match_info["id"])
        if name not in self._threads and new.if_not_exists == "create":
            self._threads[name] = Thread(name, {})
        thread = self._of(request)
        thread.metadata |= {"graph_id": GRAPH, "assistant_id": new.assistant_id}
        asked = [_message(message) for message in new.input.messages]
        thread.step(asked, "input")
        if asked:
            thread.step([_message(Message(content=asked[-1]["content"], type="ai"))], "loop")
        run = uuid.uuid4()
        return web.json_response(
            {"messages": thread.messages}, headers={"Content-Location": f"/threads/{name}/runs/{run}"}
        )

    def _of(self, request: web.Request) -> Thread:
        name = _uuid(request.match_info["id"])
        if name not in self._threads:
            raise RefusedError(404, f"Thread with ID {name} not found")
        return self._threads[name]


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError as error:
        raise RefusedError(422, "Invalid thread ID: must be a UUID") from error


def _message(message: Message) -> dict[str, Any]:
    kind = TYPES[message.type or message.role or ""]
    tools: dict[str, Any] = {"tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None} if kind == "ai" else {}
    return {
        "content": message.content,
        "additional_kwargs": message.additional_kwargs,
        "response_metadata": message.response_metadata,
        "type": kind,
        "name": message.name,
        "id": message.id or str(uuid.uuid4()),
        **tools,
    }


def served() -> web.Application:
    """A server without any thread."""
    threads = Threads()
    routes = [
        web.post("/threads", threads.create),
        web.get("/threads/{id}", threads.get),
        web.delete("/threads/{id}", threads.delete),
        web.post("/threads/{id}/state", threads.post_state),
        web.get("/threads/{id}/state", threads.get_state),
        web.get("/threads/{id}/history", threads.history),
        web.post("/threads/{id}/history", threads.history),
        web.post("/threads/{id}/runs/wait", threads.wait),
    ]
    return application(routes, lambda _, detail: {"detail": detail}, header="X-Api-Key", value=KEY, keyless=403)


if __name__ == "__main__":
    main(served, port=2024)
