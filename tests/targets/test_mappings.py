"""Each mapping against its server: what is said through it is listed through it, and a mapping that is wrong shows."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from goldfish.token import Person, Series
from stress.swarm.answer import Answer
from stress.targets.load import Loaded, Source, load
from stress.targets.target import Item, Place, Request, Result

from .served import PRODUCTS, SERVICES, Product, serve

ALL = PRODUCTS | SERVICES

TURNS = 51
"""More messages than any of them lists on one page."""


class Server(NamedTuple):
    """One that runs."""

    name: str
    product: Product
    url: str


@pytest.fixture(params=list(ALL), scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with serve(ALL[request.param]) as url:
        yield Server(request.param, ALL[request.param], url)


class StepError(Exception):
    """A step that was not carried out."""


def _done(step: str, result: Result) -> Result:
    if result.outcome != "ok":
        raise StepError(f"{step}: {result}")
    return result


class Someone:
    """A person who speaks to a server through a mapping."""

    def __init__(self, server: Server, text: str | None = None) -> None:
        text = text if text is not None else server.product.target.read_text(encoding="utf-8")
        path = str(server.product.target)
        self.loaded: Loaded = load(Source(server.name, path, text), server.product.environment)
        self.target = self.loaded.target
        self.person = Person(uuid4().hex[:6], 0, 1)
        self._netloc = urlsplit(server.url).netloc

    def ask(self, request: Request) -> Answer:
        """One attempt."""
        connection = http.client.HTTPConnection(self._netloc, timeout=10)
        lines = (self.loaded.manner.headers + request.headers).splitlines()
        headers = dict(line.split(": ", 1) for line in lines)
        if request.body:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(request.method, request.path, request.body or None, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.read())
        finally:
            connection.close()

    def session(self, number: int = 0) -> Place:
        """A session that may be used."""
        place = self.target.place(self.person.id, self.person.session(number))
        if self.target.opens:
            _done("open", self.target.open(self.ask, place))
        return place

    def talk(self, place: Place, turns: int, number: int = 0) -> list[Item]:
        """Say and answer; what should be listed afterwards."""
        series, said = Series(self.person, "session", number, "phone"), []
        for turn in range(turns):
            asked, answered = (
                Item(series.token(seq), role, f"[{series.token(seq)}] {words} \U0001f420")
                for seq, role, words in ((2 * turn, "user", "Swim?"), (2 * turn + 1, "assistant", "Swim!"))
            )
            if self.target.replies == "echo":
                answered = Item(answered.id, answered.role, asked.content)
            alone = [[asked]] if self.target.replies == "echo" else [[asked], [answered]]
            for messages in [[asked, answered]] if self.target.batches else alone:
                _done("append", self.target.append(self.ask, place, messages))
            said += [asked, answered]
        return said

    def listed(self, place: Place, limit: int | None = None, *, by_user: bool = False) -> list[Item]:
        """What a recall lists, but for what the service wrote by itself."""
        limit = self.target.asked(limit, by_user=by_user)
        result = _done("recall", self.target.recall(self.ask, place, limit, by_user=by_user))
        return [item for item in result.items or [] if item.role != "system"]


def in_any_order(server: Server, items: list[Item]) -> list[Item]:
    """The items, sorted where the server does not."""
    return sorted(items, key=lambda item: item.id) if server.name == "mem0" else items


def test_what_is_said_through_a_mapping_is_listed_through_it(server: Server) -> None:
    someone = Someone(server)
    place, other = someone.session(0), someone.session(1)
    said = in_any_order(server, someone.talk(place, TURNS))
    elsewhere = someone.talk(other, 1, number=1)
    assert in_any_order(server, someone.listed(place)) == said
    assert someone.listed(other) in (elsewhere, elsewhere[::-1])
    if someone.target.by_user:
        assert in_any_order(server, someone.listed(place, by_user=True)) == in_any_order(server, said + elsewhere)


@pytest.mark.parametrize("server", [name for name in ALL if name not in ("langgraph-server", "mem0")], indirect=True)
def test_a_limit_lists_the_newest(server: Server) -> None:
    someone = Someone(server)
    place = someone.session()
    said = someone.talk(place, 4)
    assert someone.listed(place, 3) == said[-3:]


@pytest.mark.parametrize("server", ["langgraph-server", "mem0"], indirect=True)
def test_where_there_is_no_limit_all_is_listed(server: Server) -> None:
    someone = Someone(server)
    assert someone.target.asked(3, by_user=False) is None
    place = someone.session()
    said = someone.talk(place, 4)
    assert in_any_order(server, someone.listed(place, 3)) == in_any_order(server, said)


def test_a_deleted_session_is_empty(server: Server) -> None:
    someone = Someone(server)
    place = someone.session()
    someone.talk(place, 1)
    assert someone.target.delete(someone.ask, place).outcome == "ok"
    assert someone.listed(place) == []


@pytest.mark.parametrize("server", ["langgraph-server"], indirect=True)
def test_the_runs_that_the_mapping_tells_of_in_a_comment(server: Server) -> None:
    text = server.product.target.read_text(encoding="utf-8")
    turn = "\n".join(re.findall(r"^#   (\[turn\]|(?:path|body|reply) = .*)$", text, re.M))
    append = re.compile(r"^\[append\]\n.*?(?=^\[)", re.M | re.S)
    someone = Someone(server, append.sub(turn.replace('"free"', '"echo"') + "\n\n", text))
    assert someone.target.replies == "echo"
    place = someone.session()
    said = someone.talk(place, 3)
    assert someone.listed(place) == said


WRONG = [
    ("openai-conversations", 'type = "message"', 'kind = "message"'),
    ("openai-conversations", 'text = "content"', 'text = "text"'),
    ("openai-conversations", 'cursor = "last_id"', 'cursor = "next"'),
    ("openai-conversations", 'save = { conversation = "id" }', 'save = { conversation = "object" }'),
    ("langgraph-server", 'session = "uuid5"', 'session = "plain"'),
    ("langgraph-server", 'assistant = "ai"', 'assistant = "bot"'),
    ("langgraph-server", 'role = "type"', 'role = "role"'),
    ("langgraph-server", '/threads/{session}/state"\nbody', '/threads/{session}/history"\nbody'),
    ("mem0", "infer = false, ", ""),
    ("mem0", ", top_k = 1000", ""),
    ("mem0", 'text = "memory"', 'text = "text"'),
    ("mem0", 'X-API-Key = "', 'Authorization = "Bearer '),
    ("zep", "accepted = [201, 409]", "accepted = [201]"),
    ("zep", 'order = "desc"', 'order = "asc"'),
    ("zep", 'message_id = "{id}"', 'message = "{id}"'),
    ("zep", 'user_uuid = "uuid"', 'user_uuid = "user_id"'),
    ("support-history", 'assistant = "agent"', 'assistant = "assistant"'),
    ("support-history", 'order = "newest-first"', 'order = "oldest-first"'),
    ("support-history", 'cursor = "next"', 'cursor = "following"'),
    ("support-history", '[{ kind = "text", text = "{text}" }]', '"{text}"'),
    ("chat-log", 'session = "uuid5"', 'session = "plain"'),
    ("chat-log", 'items = "data.messages"', 'items = "messages"'),
    ("chat-log", "paging = { offset = 20 }", ""),
    ("chat-log", 'ids = "data.message_id"', 'ids = "message_id"'),
    ("companion", 'session = "safe"', 'session = "plain"'),
    ("companion", "Idempotency-Key", "X-Request"),
    ("companion", 'assistant = "me"', ""),
    ("companion", 'say = "{text}"', 'message = "{text}"'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("server", "right", "wrong"), WRONG, indirect=["server"], ids=[f"{case[0]}: {case[2]}" for case in WRONG]
)
def test_a_mapping_that_is_wrong_shows(server: Server, right: str, wrong: str) -> None:
    text = server.product.target.read_text(encoding="utf-8")
    assert right in text
    someone = Someone(server, text.replace(right, wrong))
    try:
        place, _ = someone.session(0), someone.session(1)
        said = in_any_order(server, someone.talk(place, TURNS))
        listed = in_any_order(server, someone.listed(place))
    except StepError:
        return
    assert listed != said
