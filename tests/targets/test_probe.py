"""What is wrong in a mapping is named with its line, before any load."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from goldfish.errors import UsageError
from goldfish.token import Person
from stress.swarm.alone import Step
from stress.swarm.http import Answer, Endpoint
from stress.swarm.probe import Observation, Probe
from stress.targets.load import Source, load
from stress.targets.outcome import Item, Result
from tests.cli.command import PATIENCE_S, goldfish, started, until
from tests.swarm.standin import standing_in

from .served import PRODUCTS, SERVICES, Product, serve

ALL = PRODUCTS | SERVICES


class Server:
    """One that runs."""

    def __init__(self, name: str, product: Product, url: str) -> None:
        self.name, self.product, self.url = name, product, url

    def probed(self, text: str) -> Probe:
        """What one user finds by a mapping."""
        source = Source(self.name, "memory.toml", text)
        loaded = load(source, self.product.environment)
        probe = Probe(
            Endpoint(self.url, loaded.manner),
            loaded.target,
            Person(uuid4().hex[:6], 0, 0),
            loaded.settings(None).contract,
        )
        probe.run(lambda _: None)
        return probe


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with serve(ALL[request.param]) as url:
        yield Server(request.param, ALL[request.param], url)


@pytest.mark.parametrize("server", [*SERVICES, *PRODUCTS], indirect=True)
def test_a_mapping_that_is_right_fits(server: Server) -> None:
    probe = server.probed(server.product.target.read_text(encoding="utf-8"))
    assert probe.problem is None
    assert probe.fits, [seen for seen in probe.observations if seen.fits is False]


class Wrong(NamedTuple):
    """What is wrong in a mapping."""

    server: str
    right: str
    wrong: str
    line: str
    """That is named."""
    advice: str


WRONG = [
    Wrong("chat-log", 'messages"\nbody', 'texts"\nbody', 'path = "/v2/sessions/{session}/texts"', "path right"),
    Wrong("chat-log", "\nbody", '\nmethod = "PUT"\nbody', 'method = "PUT"', "not with this method"),
    Wrong("chat-log", "X-Api-Key =", "X-Key =", "headers = { X-Key", "token right"),
    Wrong("chat-log", "from = ", "who = ", 'body = { user = "{user}", who', "documentation"),
    Wrong("chat-log", "data.message_id", "data.id", 'ids = "data.id"', "our ids stand at data.message_id"),
    Wrong("chat-log", 'session = "uuid5"', 'session = "plain"', "body = {", "documentation"),
    Wrong("support-history", '"conversation_id"', '"id"', 'save = { conversation = "id" }', "select the id"),
    Wrong("support-history", 'items = "entries"', 'items = "data"', 'items = "data"', "lists at entries"),
    Wrong("support-history", 'text = "content"', 'text = "body"', 'text = "body"', "stands at content "),
    Wrong("support-history", 'role = "author"', 'role = "kind"', 'role = "kind"', "the role stands at author"),
    Wrong("support-history", 'assistant = "agent"', 'assistant = "bot"', 'assistant = "bot"', "'bot'"),
    Wrong(
        "support-history",
        '{conversation}/entries"\nbody',
        '{session}/entries"\nbody',
        'path = "/api/conv',
        "[open] saves",
    ),
    Wrong("support-history", 'entries = "{messages}"', 'lines = "{messages}"', "body = {", "is this key called so"),
    Wrong(
        "support-history", 'cursor = "next"', 'cursor = "entries[0].entry_id"', "paging = {", "tells as the next cursor"
    ),
    Wrong("support-history", 'order = "newest-first"\n', "", "[recall]", 'order = "newest-first"'),
    Wrong("support-history", '"newest-first"', '"oldest-first"', 'order = "oldest-first"', 'order = "newest-first"'),
    Wrong("support-history", 'cursor = "next"', 'cursor = "after"', "paging = {", "select that"),
    Wrong("companion", '"/talk"', '"/chat"', 'path = "/chat"', "path right"),
    Wrong("companion", 'text = "line"', 'text = "text"', 'text = "text"', "what was said stands at line"),
    Wrong("companion", 'assistant = "me"', 'assistant = "ai"', 'assistant = "ai"', 'assistant = "me"'),
    Wrong("companion", 'y/{user}/{session}"\nq', 'y/{session}/{user}"\nq', 'path = "/memory/{s', "same session"),
    Wrong("mem0", 'text = "memory"', 'text = "text"', 'text = "text"', "memory"),
    Wrong("zep", "users/lookup", "users/find", 'path = "/api/v4/users/find"', "path right"),
    Wrong("zep", "accepted = [201, 409]", "accepted = [202]", "accepted = [202]", "add it to accepted"),
]


@pytest.mark.parametrize(
    ("server", "right", "wrong", "line", "advice"),
    WRONG,
    indirect=["server"],
    ids=[f"{case[0]}: {case[2]}" for case in WRONG],
)
def test_the_line_that_is_wrong_is_named(server: Server, right: str, wrong: str, line: str, advice: str) -> None:
    text = server.product.target.read_text(encoding="utf-8")
    assert right in text
    problem = server.probed(text.replace(right, wrong, 1)).problem
    assert problem is not None
    (written,) = [part for part in problem.splitlines() if part.lstrip().startswith("written:")]
    assert written.partition("memory.toml:")[2].partition(": ")[2].startswith(line), problem
    assert advice in problem.splitlines()[-1], problem


@pytest.mark.parametrize("server", ["support-history"], indirect=True)
def test_pages_that_turn_in_a_circle_are_left_at_once(server: Server) -> None:
    text = server.product.target.read_text(encoding="utf-8")
    text = text.replace('cursor = "{cursor}"', 'offset = "{offset}"').replace('cursor = "next"', "offset = 25")
    probe = server.probed(text)
    assert probe.problem is not None
    assert 'query = { page_size = "{limit}", offset' in probe.problem
    assert "a cursor instead" in probe.problem
    assert max(len(step.exchanges) for step in probe.alone.steps) == 2


MAPPING = """[target]
base_url = "http://127.0.0.1:1"
headers = { Authorization = "Bearer ${TOKEN}" }

[append]
path = "/say"
body = { text = "{text}" }

[recall]
path = "/list"
items = "data"
text = "text"
role = "role"
paging = { cursor = "next" }
query = { after = "{cursor}" }
"""


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("${TOKEN}", "${NO_SUCH}", "memory.toml:3: ${NO_SUCH} in 'target.headers.Authorization': the environment"),
        ('items = "data"', 'items = "data["', "memory.toml:11: items = \"data[\": 'data[' is no JMESPath"),
        ('query = { after = "{cursor}" }\n', "", "memory.toml:14: paging = { cursor = \"next\" }: no {cursor} in the"),
        ('{ cursor = "next" }', '{ more = "next" }', "memory.toml:14: paging"),
        ('body = { text = "{text}" }', 'body = { text = "{words}" }', "memory.toml:7: body"),
        ('body = { text = "{text}" }', 'body = { text = "hello" }', "memory.toml:7: body"),
        ('body = { text = "{text}" }', 'body = { text = "{text" }', "memory.toml:7: body"),
        ('path = "/list"', 'path = "list"', 'memory.toml:10: path = "list": a path starts with /'),
        ('text = "text"\nrole', "role", "memory.toml"),
        ("[recall]", "[remember]", "memory.toml:9: unknown key 'remember'"),
        ('items = "data"', 'list = "data"', "memory.toml:11: unknown key 'recall.list'"),
        ('path = "/say"', 'path = "/say"\nmethod = "SEND"', "memory.toml:7: append.method = 'SEND'"),
        ("[append]", '[roles]\nuser = "x"\nassistant = "x"\n[append]', 'memory.toml:7: assistant = "x": assistant and'),
        ('path = "/list"', 'path = "/list/{limit}"', "memory.toml:10: path = \"/list/{limit}\": {limit} does not"),
        ("[append]", "[contract]\nwindow = {messages = 0}\n[append]", "memory.toml:6: contract.window.messages = 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_named_before_anything_is_asked(right: str, wrong: str, told: str) -> None:
    assert right in MAPPING
    with pytest.raises(UsageError) as error:
        load(Source("memory", "memory.toml", MAPPING.replace(right, wrong, 1)), {"TOKEN": "secret-token"})
    assert told in str(error.value)


def test_the_command_shows_requests_and_promises(tmp_path: Path) -> None:
    product = SERVICES["support-history"]
    with serve(product) as url:
        options = ("probe", "--target", product.target, "--host", url)
        ended = goldfish(*options, cwd=tmp_path, environment=product.environment)
        told = json.loads(goldfish(*options, "--json", cwd=tmp_path, environment=product.environment).stdout)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "POST" in ended.stdout
    assert "long history" in ended.stdout
    assert "a load makes sense" in ended.stdout
    assert told["fits"]
    assert {step["step"] for step in told["steps"]} == {"open", "append", "recall", "delete"}


def test_a_contract_that_promises_too_much_does_not_fit(tmp_path: Path) -> None:
    product = SERVICES["chat-log"]
    text = product.target.read_text(encoding="utf-8").replace("paging = { offset = 20 }", "")
    (tmp_path / "memory.toml").write_text(text, encoding="utf-8")
    with serve(product) as url:
        ended = goldfish(
            "probe", "--target", "memory.toml", "--host", url, cwd=tmp_path, environment=product.environment
        )
    assert ended.returncode == 2
    assert "written: memory.toml: there is no [contract] yet" in ended.stdout
    assert "[recall] paging = {…}" in ended.stdout
    assert "[contract] window = {messages = 20}" in ended.stdout


def test_an_address_that_the_command_gave_is_not_blamed_on_the_file(tmp_path: Path) -> None:
    (tmp_path / "memory.toml").write_text(MAPPING, encoding="utf-8")
    environment = {"TOKEN": "secret-token"}
    written = goldfish("probe", "--target", "memory.toml", cwd=tmp_path, environment=environment).stdout
    given = goldfish(
        "probe", "--target", "memory.toml", "--host", "http://localhost:1", cwd=tmp_path, environment=environment
    ).stdout
    assert 'written:  memory.toml:2: base_url = "http://127.0.0.1:1"' in written
    assert "no answer" in given
    assert "written:  in the address that was given: --host" in given


def test_an_interrupted_probe_says_so_and_no_more(tmp_path: Path) -> None:
    with (
        standing_in(lambda *_: not threading.Event().wait(PATIENCE_S)) as silent,
        started("probe", "--host", silent.url, cwd=tmp_path) as process,
    ):
        until(lambda: silent.requests, "the first request")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 4
    assert output.splitlines()[-1] == "interrupted; nothing was judged"
    assert "KeyboardInterrupt" not in output


def test_the_reference_memory_fits_the_default_contract(tmp_path: Path) -> None:
    ended = goldfish("probe", cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "refused (status 422)" in ended.stdout  # a NUL character, loudly: no promise is broken


@pytest.mark.parametrize("server", ["companion"], indirect=True)
def test_a_memory_that_keeps_what_users_say_is_held_to_that(server: Server) -> None:
    text = server.product.target.read_text(encoding="utf-8")
    only = text.replace('items = "lines"', "items = \"lines[?who=='you']\"")
    assert only != text
    told = {seen.promise: seen for seen in server.probed(only).observations}
    assert told["all roles stored"].seen == "no message of the role assistant is listed"
    assert not told["all roles stored"].fits
    kept = server.probed(only.replace("[contract]", '[contract]\nroles = ["user"]'))
    assert kept.problem is None
    assert {seen.promise for seen in kept.observations if seen.fits is False} <= {"the newest 3 on request"}


def test_what_is_said_stands_in_no_header() -> None:
    text = MAPPING.replace('path = "/say"\n', 'path = "/say"\nheaders = { X-Key = "{text}" }\n')
    with pytest.raises(UsageError, match=r"memory\.toml:7: .*unknown placeholder \{text\}"):
        load(Source("memory", "memory.toml", text), {"TOKEN": "secret-token"})


def observed(contents: list[str]) -> Observation:
    """What is said of a recall that lists these, with a limit, of a chat in which eight messages were said."""
    loaded = load(Source("reference", "reference", ""))
    probe = Probe(Endpoint("http://127.0.0.1:1"), loaded.target, Person("aaaaaa", 0, 0), loaded.settings(None).contract)
    step = Step("recall", [], Result("ok", items=[Item("", "user", content) for content in contents]))
    alone: Any = probe.alone
    alone.recall = lambda *_: step
    probe._limited([Item("", "user", str(number)) for number in range(8)])
    return probe.observations[-1]


@pytest.mark.parametrize(
    ("contents", "fits"),
    [
        (["5", "6", "7"], True),
        (["a system prompt", "5", "6", "7"], True),  # on top of the limit; whether it may is told elsewhere
        (["6", "a reply", "7"], None),  # counted in the limit
        (["0", "1", "2"], False),
        (["4", "5", "6", "7"], False),
        (["7"], False),
    ],
)
def test_a_limit_is_heard_or_it_is_said(contents: list[str], fits: bool | None) -> None:
    assert observed(contents).fits is fits


def test_what_an_answer_names_is_told_without_control_characters() -> None:
    loaded = load(Source("memory", "memory.toml", MAPPING), {"TOKEN": "secret-token"})
    body = b'{"detail": [{"loc": ["body", "te\\u001b[31mxt"]}]}'
    advice = loaded.target.advise("append", Answer(status=422, body=body, content_type="application/json"), 1)
    assert advice.at == 'memory.toml:7: body = { text = "{text}" }'
    assert "body.te" in advice.found
    assert "\x1b" not in advice.found


def test_a_contract_in_one_line_is_found() -> None:
    text = f'contract = {{ scope = ["session"] }}\n{MAPPING}'
    loaded = load(Source("memory", "memory.toml", text), {"TOKEN": "secret-token"})
    assert loaded.contract_at(None)("scope") == 'memory.toml:1: contract = { scope = ["session"] }'
