"""The servers that targets are tried on refuse what their interface does not know, and keep what they are told."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from .served import PRODUCTS, SERVICES, Product, ask, serve

ALL = PRODUCTS | SERVICES


class Server(NamedTuple):
    """One that runs."""

    name: str
    product: Product
    url: str

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return ask(method, self.url + self.product.prefix + path, {**self.product.headers, **named}, body)


@pytest.fixture(params=list(ALL), scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with serve(ALL[request.param]) as url:
        yield Server(request.param, ALL[request.param], url)


class Chat:
    """One conversation with a server, in the server's own interface."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.name = str(uuid.uuid4())
        self.added = 0
        match server.name:
            case "openai-conversations":
                self.name = server.ask("POST", "/v1/conversations", {})[1]["id"]
            case "langgraph-server":
                server.ask("POST", "/threads", {"thread_id": self.name, "metadata": {"graph_id": "echo"}})
            case "zep":
                user = server.ask("POST", "/users", {"user_id": self.name})[1]["uuid"]
                self.name = server.ask("POST", "/threads", {"user_uuid": user})[1]["uuid"]
            case "support-history":
                self.name = server.ask("POST", "/api/conversations", {"customer": "ada"})[1]["conversation_id"]

    @property
    def path(self) -> str:
        return {
            "openai-conversations": f"/v1/conversations/{self.name}/items",
            "langgraph-server": f"/threads/{self.name}/state",
            "mem0": "/memories",
            "zep": f"/threads/{self.name}/messages",
            "support-history": f"/api/conversations/{self.name}/entries",
            "chat-log": f"/v2/sessions/{self.name}/messages",
            "companion": "/talk",
        }[self.server.name]

    def body(self, text: str) -> dict[str, Any]:
        bodies: dict[str, dict[str, Any]] = {
            "openai-conversations": {"items": [{"role": "user", "content": text}]},
            "langgraph-server": {"values": {"messages": [{"type": "human", "content": text, "id": text}]}},
            "mem0": {"user_id": "ada", "run_id": self.name, "infer": False,
                     "messages": [{"role": "user", "content": text}]},
            "zep": {"messages": [{"role": "user", "content": text}]},
            "support-history": {"entries": [{"author": "customer", "content": [{"kind": "text", "text": text}]}]},
            "chat-log": {"user": "ada", "from": "human", "text": text, "message_id": text},
            "companion": {"person": "ada", "topic": self.name, "say": text},
        }  # fmt: skip
        return bodies[self.server.name]

    def say(self, text: str, body: dict[str, Any] | None = None) -> int:
        key = {"Idempotency_Key": uuid.uuid4().hex} if self.server.name == "companion" else {}
        return self.server.ask("POST", self.path, body or self.body(text), **key)[0]

    def listed(self) -> list[str]:
        """Its texts, oldest first, each once."""
        ask = self.server.ask
        match self.server.name:
            case "openai-conversations":
                data = ask("GET", f"{self.path}?order=asc&limit=100")[1]["data"]
                return [item["content"][0]["text"] for item in data]
            case "langgraph-server":
                return [message["content"] for message in ask("GET", self.path)[1]["values"]["messages"]]
            case "mem0":
                found = ask("GET", f"/memories?run_id={self.name}&top_k=1000")[1]["results"]
                return [memory["memory"] for memory in sorted(found, key=lambda memory: memory["created_at"])]
            case "zep":
                return [message["content"] for message in ask("GET", self.path)[1]["items"]]
            case "support-history":
                entries = ask("GET", f"{self.path}?page_size=50")[1]["entries"][::-1]
                return [entry["content"][0]["text"] for entry in entries if entry["author"] != "system"]
            case "chat-log":
                pages = [ask("GET", f"{self.path}?offset={offset}")[1]["data"]["messages"] for offset in (0, 20)]
                return [message["text"] for page in pages for message in page]
            case _:
                lines = ask("GET", f"/memory/ada/{self.name}")[1]["lines"]
                return [line["line"] for line in lines if line["who"] == "you"]


def test_what_was_said_is_listed_in_order(server: Server) -> None:
    chat, other = Chat(server), Chat(server)
    texts = ["one", "two \u2028 \U0001f41f", "three\x00"]
    assert all(200 <= chat.say(text) < 300 for text in texts)
    other.say("four")
    assert chat.listed() == texts


@pytest.mark.parametrize("server", [name for name in ALL if ALL[name].headers], indirect=True)
def test_a_request_without_the_key_is_turned_away(server: Server) -> None:
    chat = Chat(server)
    status = ask("POST", server.url + server.product.prefix + chat.path, {}, chat.body("one"))[0]
    assert status == (403 if server.name == "langgraph-server" else 401)


def _renamed(value: Any) -> list[Any]:
    """Copies of a body, each with one key misspelled."""
    if isinstance(value, list):
        return [[copy] for copy in _renamed(value[0])]
    if not isinstance(value, dict):
        return []
    copies: list[Any] = []
    for key, inside in value.items():
        copies.append({(f"{key}_" if name == key else name): given for name, given in value.items()})
        copies += [{**value, key: copy} for copy in _renamed(inside)]
    return copies


def test_a_body_with_any_key_misspelled_is_refused(server: Server) -> None:
    chat = Chat(server)
    wrong = _renamed(chat.body("one"))
    assert wrong
    assert {chat.say("one", body) for body in wrong} <= {400, 422}


def test_appends_at_the_same_time_are_all_kept(server: Server) -> None:
    chat = Chat(server)
    texts = [f"text {number}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        assert all(200 <= status < 300 for status in pool.map(chat.say, texts))
    assert sorted(chat.listed()) == sorted(texts)


def only(name: str) -> pytest.MarkDecorator:
    """A test of one server."""
    return pytest.mark.parametrize("server", [name], indirect=True)


@only("zep")
def test_zep_has_users_of_a_name_once(server: Server) -> None:
    body = {"user_id": uuid.uuid4().hex}
    created, again, found = (server.ask("POST", f"/users{path}", body) for path in ("", "", "/lookup"))
    assert (created[0], again[0], found[0]) == (201, 409, 200)
    assert created[1]["uuid"] == found[1]["uuid"]


@only("langgraph-server")
def test_langgraph_runs_the_echo_graph(server: Server) -> None:
    chat = Chat(server)
    body = {"assistant_id": "echo", "input": {"messages": [{"type": "human", "content": "hi", "id": "1"}]}}
    status, values = server.ask("POST", f"/threads/{chat.name}/runs/wait", body)
    assert status == 200
    assert [(message["type"], message["content"]) for message in values["messages"]] == [("human", "hi"), ("ai", "hi")]
    assert chat.listed() == ["hi", "hi"]


@only("mem0")
def test_mem0_extracts_nothing(server: Server) -> None:
    chat = Chat(server)
    body = {key: value for key, value in chat.body("one").items() if key != "infer"}
    assert chat.say("one", body) == 400


@only("support-history")
def test_the_support_history_documents_itself(server: Server) -> None:
    status, document = ask("GET", f"{server.url}/openapi.json", {})
    assert status == 200
    assert "/api/conversations/{conversation_id}/entries" in document["paths"]


@only("companion")
def test_the_companion_carries_a_request_out_once(server: Server) -> None:
    chat = Chat(server)
    assert server.ask("POST", "/talk", chat.body("one"))[0] == 428
    for _ in range(2):
        assert server.ask("POST", "/talk", chat.body("one"), Idempotency_Key=f"k-{chat.name}")[0] == 200
    assert chat.listed() == ["one"]
