"""First mappings: what is written can be loaded, and of three services it is right but for what nobody could know."""

from __future__ import annotations

import json
import re
import socket
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goldfish.contract import TABLES, load_settings
from goldfish.errors import UsageError
from goldfish.keys import keys_of
from stress.targets.draft.blank import EXAMPLES, SET, blank_mapping
from stress.targets.draft.document import understood
from stress.targets.draft.fetch import document, parsed, shown
from stress.targets.draft.mapping import Draft, drafted
from stress.targets.draft.settings import commented_settings
from stress.targets.load import Loaded, Source, find, load
from stress.targets.mapping import file
from stress.targets.mapping.file import PLACEHOLDERS
from tests.swarm.standin import http, standing_in
from tests.targets.served import SERVICES, serve

from ..cli.command import goldfish

DOCUMENTS = Path(__file__).parent / "openapi"


OURS = dict.fromkeys(("MEMORY_TOKEN", "MEMORY_KEY", "MEMORY_USER", "MEMORY_PASSWORD"), "planted")
"""No other variable may be asked for: a document must not get at the secrets of whoever reads it."""


def loaded(text: str) -> Loaded:
    return load(Source("memory", "memory.toml", text), OURS)


def draft_of(data: Any) -> Draft:
    return drafted(understood(data, "service.json"), "service.json")


# --- settings and blank mappings


def test_all_settings_are_comments_that_can_be_taken_at_their_word(tmp_path: Path) -> None:
    text = commented_settings()
    path = tmp_path / "goldfish.toml"
    path.write_text(text)
    assert load_settings(path) == load_settings(None)
    keys = re.findall(r"^# (\w+) = ", text, re.MULTILINE)
    assert len(keys) == sum(
        f"{name}.{key.name}" not in TABLES for name, table in TABLES.items() if name for key in keys_of(table)
    )
    for table, line in _settings_lines(text):
        needed = "seconds = 1\n" if table == "contract.ttl" and "seconds" not in line else ""
        path.write_text(f"[{table}]\n{needed}{line}\n")
        assert load_settings(path)


def _settings_lines(text: str) -> list[tuple[str, str]]:
    found, table = [], ""
    for line in text.splitlines():
        if header := re.fullmatch(r"(?:# )?\[([\w.]+)\]", line):
            table = header[1]
        elif re.match(r"# \w+ = ", line):
            found.append((table, line[2:]))
    return found


def test_a_blank_mapping_is_that_of_the_reference_interface_and_names_every_key() -> None:
    text = blank_mapping()
    target = loaded(text).target
    assert (target.by_user, target.deletes, target.batches, target.opens) == (True, True, True, False)
    tables = (file.Ids, file.Open, file.Append, file.Turn, file.RecallStep, file.Paging, file.About)
    named = {key.name for table in tables for key in keys_of(table)} - {"adapter", "library", "needs"}
    assert {name for name in named if not re.search(rf"\b{name}\b", text)} == set()
    assert {name for name in PLACEHOLDERS if f"{{{name}}}" not in text} == set()
    assert {key for key in (*SET, *EXAMPLES) if key.rpartition(".")[2] not in text} == set()


def test_the_comments_of_a_blank_mapping_can_be_taken_at_their_word() -> None:
    text = blank_mapping()
    for line in re.findall(r"^# (\w+ = .*)", text, re.MULTILINE):
        assert line.startswith("Placeholder = selector") or tomllib.loads(line)
    opened = re.sub(r"^# (?=\[open\]|path = \"/v1/sessions|body = \{ owner|save = )", "", text, flags=re.MULTILINE)
    assert loaded(opened).target.opens
    paged = re.sub(r"^# (?=\[recall\.paging\]|cursor = |more = )", "", text, flags=re.MULTILINE)
    assert loaded(paged.replace('query = { limit = "{limit}" }', 'query = { after = "{cursor}" }', 1))


@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_every_placeholder_that_is_told_of_is_known(name: str) -> None:
    step = "recall" if name in ("limit", "cursor", "offset", "page") else "append"
    path = f'path = "/m"\nheaders = {{ x = "{{{name}}}" }}\n'
    if name in ("messages", "text"):
        path = 'path = "/m"\n'
    message = 'body = { m = "{messages}", t = "t" }\nmessage = { text = "{text}" }\n'
    if step == "append":
        text = f'[append]\n{path}{message}[recall]\npath = "/m"\ntext = "t"\nrole = "r"\n'
    else:
        text = f'[append]\npath = "/m"\n{message}[recall]\n{path}text = "t"\nrole = "r"\n'
    assert loaded(text)


# --- from an OpenAPI document


def test_the_support_history_is_mapped_from_its_own_document() -> None:
    draft = draft_of(document(str(DOCUMENTS / "support_history.json")))
    written = tomllib.loads(draft.text)
    by_hand = tomllib.loads(SERVICES["support-history"].target.read_text())
    for step in ("open", "append", "recall", "delete"):
        written[step].pop("accepted", None)
    saved = json.loads(json.dumps(by_hand).replace("{conversation}", "{conversation_id}"))
    saved["open"]["save"] = {"conversation_id": "conversation_id"}
    assert {k: v for k, v in written.items() if k != "target"} == {k: v for k, v in saved.items() if k != "target"}
    assert written["target"]["auth"] == {"bearer": "${MEMORY_TOKEN}"}
    assert draft.doubts == 2


def test_offsets_envelopes_and_ids_of_ours_are_found_in_yaml() -> None:
    written = tomllib.loads(draft_of(document(str(DOCUMENTS / "chat_log.yaml"))).text)
    assert written["target"] == {
        "about": "Chat log 2",
        "base_url": "https://chat-log.internal:8443/v2",
        "headers": {"X-Api-Key": "${MEMORY_KEY}"},
    }
    assert written["ids"] == {"session": "uuid5", "length_max": 64}
    assert written["roles"] == {"user": "human", "assistant": "ai"}
    assert written["append"]["body"] == {"user": "{user}", "from": "{role}", "text": "{text}", "message_id": "{id}"}
    for step in ("recall", "recall_user"):
        assert written[step]["items"] == "data.messages"
        assert written[step]["query"] == {"offset": "{offset}", "count": 20}
        assert written[step]["paging"] == {"offset": 20}
    assert written["recall_user"]["path"] == "/users/{user}/messages"


def test_an_endpoint_that_answers_is_a_turn() -> None:
    written = tomllib.loads(draft_of(document(str(DOCUMENTS / "companion.json"))).text)
    assert written["turn"]["body"] == {"person": "{user}", "topic": "{session}", "say": "{text}"}
    assert written["turn"]["headers"] == {"Idempotency-Key": "{id}"}
    assert written["contract"]["unmarked"] == "allow"
    assert written["ids"] == {"user": "safe", "session": "safe", "length_max": 64}


def test_numbers_that_the_service_makes_are_kept_from_step_to_step() -> None:
    draft = draft_of(document(str(DOCUMENTS / "assistant.json")))
    written = tomllib.loads(draft.text)
    assert [step["path"] for step in written["open"]] == ["/users", "/chats"]
    assert [step["save"] for step in written["open"]] == [{"user_id": "id"}, {"chat_id": "id"}]
    assert written["open"][1]["body"] == {"user_id": "{user_id}"}
    assert written["turn"]["body"] == {"chat_id": "{chat_id}", "prompt": "{text}"}
    assert written["recall"]["path"] == written["delete"]["path"] == "/chats/{chat_id}"
    assert written["roles"] == {"user": "USER", "assistant": "BOT"}
    assert loaded(draft.text)


def test_what_is_not_found_is_left_to_be_written_and_what_there_is_is_listed() -> None:
    draft = draft_of({"openapi": "3.1.0", "paths": {"/orders": {"get": {"responses": {"200": {}}}}}})
    assert loaded(draft.text)
    assert "#   GET /orders" in draft.text
    assert draft.chosen["append"] == draft.chosen["recall"] == ""
    assert draft.doubts > 5


def test_a_service_that_knows_users_only_gets_each_session_as_one() -> None:
    message = {"type": "object", "properties": {"role": {"type": "string"}, "content": {"type": "string"}}}
    body = {"content": {"application/json": {"schema": message}}}
    lists = {"content": {"application/json": {"schema": {"type": "array", "items": message}}}}
    path = {"post": {"requestBody": body, "responses": {"201": {}}}, "get": {"responses": {"200": lists}}}
    draft = draft_of({"openapi": "3.0.0", "paths": {"/memory/{user_id}": path}})
    written = tomllib.loads(draft.text)
    assert written["append"]["path"] == written["recall"]["path"] == "/memory/{session}"
    assert written["recall"]["items"] == "@"
    assert written["contract"]["scope"] == ["session"]
    assert loaded(draft.text)


NAMES = st.sampled_from(
    ["id", "content", "text", "role", "user_id", "sessionId", "messages", "data", "limit", "cursor", "offset", "page",
     "next", "has_more", "${X}", "a b", 'q"uote', "{brace", "Ünï", "order", "\\", "x\ny", ""]
)  # fmt: skip
WORDS = st.sampled_from(
    ["", "newest first", "human or ai", "${HOME}", "line\nbreak", '"""', "{x}", "# ?", "\x7f\ud800"]
)
SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "boolean", "null", "object", "array", 7])},
        optional={
            "enum": st.lists(st.sampled_from(["user", "assistant", "ai", "asc", "desc", 1, None, "${Z}"]), max_size=3),
            "default": st.sampled_from([None, 0, -1, 20, "x", "{y}", [None], 1e400]),
            "description": WORDS,
            "maxLength": st.sampled_from([0, 8, 64]),
            "maximum": st.sampled_from([0, 5, 100]),
            "pattern": st.sampled_from(["^[a-z]+$", "(", "^[\\w-]+$"]),
            "format": st.sampled_from(["uuid", "uri"]),
        },
    )
    | st.just({"$ref": "#/components/schemas/Self"}),
    lambda inner: (
        st.fixed_dictionaries({"properties": st.dictionaries(NAMES, inner, max_size=4)})
        | st.fixed_dictionaries({"type": st.just("array"), "items": inner})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=2), "required": st.lists(NAMES, max_size=3)})
    ),
    max_leaves=8,
)
PARAMETERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES, "in": st.sampled_from(["path", "query", "header", "cookie"]), "schema": SCHEMAS},
        optional={"required": st.booleans()},
    ),
    max_size=4,
)
OPERATIONS = st.fixed_dictionaries(
    {"responses": st.dictionaries(st.sampled_from(["200", "201", "202", "204", "404", "default", "2XX"]),
                                  SCHEMAS.map(lambda s: {"content": {"application/json": {"schema": s}}}), max_size=2)},
    optional={
        "parameters": PARAMETERS,
        "summary": WORDS,
        "requestBody": SCHEMAS.map(lambda s: {"content": {"application/json": {"schema": s}}}),
    },
)  # fmt: skip
PATHS = st.dictionaries(
    st.sampled_from(
        ["/users", "/users/{user_id}", "/sessions", "/sessions/{id}", "/sessions/{id}/messages", "/messages", "/chat",
         "/users/{user_id}/sessions/{a b}/messages", "/{x}/{y}", "/odd/{un/closed", "/$${q}/messages", "/m/{id}:{v}"]
    ),
    st.dictionaries(st.sampled_from(["get", "post", "put", "delete"]), OPERATIONS, min_size=1, max_size=3),
    min_size=1,
    max_size=5,
)  # fmt: skip


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(PATHS, SCHEMAS, WORDS)
def test_whatever_a_document_says_the_mapping_can_be_loaded(paths: Any, own: Any, title: str) -> None:
    data = {"openapi": "3.1.0", "info": {"title": title}, "paths": paths, "components": {"schemas": {"Self": own}}}
    draft = draft_of(data)
    assert loaded(draft.text).settings(None)


def test_a_document_does_not_get_at_the_secrets_of_whoever_reads_it() -> None:
    stolen = "${AWS_SECRET}"
    fields = {
        "role": {"type": "string", "enum": ["human", stolen]},
        "text": {"type": "string"},
        stolen: {"default": stolen},
    }
    message = {"type": "object", "properties": fields, "required": list(fields)}
    lists = {"type": "object", "properties": {stolen: {"type": "array", "items": message}}}
    path = {
        "post": {"requestBody": {"content": {"application/json": {"schema": message}}}, "responses": {"200": {}}},
        "get": {"responses": {"200": {"content": {"application/json": {"schema": lists}}}}},
    }
    draft = draft_of({"openapi": "3.0.0", "info": {"title": stolen}, "paths": {"/chats/{chat}/messages": path}})
    assert loaded(draft.text)
    written = tomllib.loads(draft.text)
    assert written["recall"]["items"] != stolen
    assert written["append"]["body"]["role"] == "{role}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<!doctype html>", "a web page"),
        ('{"openapi": ', "no JSON"),
        ("a: [", "neither JSON nor YAML"),
        ("just words", "no OpenAPI document"),
        ('{"swagger": "2.0"}', "expected a table with 'openapi' and 'paths'"),
        ('{"openapi": "3.0.0", "paths": {}}', "no operations"),
    ],
)
def test_what_is_no_document_is_told(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        understood(parsed(text, "there"), "there")


def test_an_address_keeps_its_secrets() -> None:
    assert shown("https://api.example/openapi.json?token=hunter2") == "https://api.example/openapi.json"
    with pytest.raises(UsageError, match="no user name or password") as raised:
        document("http://ada:hunter2@127.0.0.1:1/openapi.json")
    assert "hunter2" not in str(raised.value)


def test_a_server_that_drips_or_pours_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stress.targets.draft.fetch.PATIENCE_S", 0.3)
    monkeypatch.setattr("stress.targets.draft.fetch.BYTES_MAX", 1000)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(UsageError, match="whole answer"):
        document(f"http://127.0.0.1:{silent.getsockname()[1]}/openapi.json")
    monkeypatch.setattr("stress.targets.draft.fetch.PATIENCE_S", 30)
    with standing_in(http(200, b"x" * 2000)) as large, pytest.raises(UsageError, match="larger than"):
        document(f"{large.url}/openapi.json")


# --- the command


def test_from_a_running_service_to_a_probe_that_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_TOKEN", "support-token")
    with serve(SERVICES["support-history"]) as url:
        ended = goldfish("init", "--from", f"{url}/openapi.json", cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        assert "goldfish probe --target memory.toml" in ended.stdout
        assert "export MEMORY_TOKEN" in ended.stdout
        probed = goldfish("probe", "--target", "memory.toml", "--contract", "goldfish.toml", cwd=tmp_path)
    assert probed.returncode == 0, probed.stdout + probed.stderr


def test_a_reply_that_turns_out_to_be_an_echo_is_told(tmp_path: Path) -> None:
    with serve(SERVICES["companion"]) as url:
        assert goldfish("init", "--from", DOCUMENTS / "companion.json", cwd=tmp_path).returncode == 0
        probed = goldfish("probe", "--target", "memory.toml", "--host", url, cwd=tmp_path)
        assert probed.returncode == 2
        assert 'reply = "echo"' in probed.stdout + probed.stderr
        mapping = tmp_path / "memory.toml"
        mapping.write_text(mapping.read_text().replace('reply = "free"', 'reply = "echo"'))
        assert goldfish("probe", "--target", "memory.toml", "--host", url, cwd=tmp_path).returncode == 0


def test_nothing_is_written_over(tmp_path: Path) -> None:
    assert goldfish("init", cwd=tmp_path).returncode == 0
    (tmp_path / "memory.toml").write_text("mine")
    ended = goldfish("init", "--from", "zep", cwd=tmp_path)
    assert ended.returncode == 2
    assert "memory.toml and goldfish.toml: already there" in ended.stderr
    assert (tmp_path / "memory.toml").read_text() == "mine"
    assert goldfish("init", "--from", "zep", "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / "memory.toml").read_text() == Path(find("zep").path).read_text()
    ended = goldfish("init", "--from", "nothing", "--out", "other", cwd=tmp_path)
    assert ended.returncode == 2
    assert "neither a shipped target (reference, " in ended.stderr
    assert not (tmp_path / "other").exists()


def test_the_shipped_targets_are_listed(tmp_path: Path) -> None:
    ended = goldfish("targets", "--json", cwd=tmp_path)
    rows = {row["name"]: row for row in json.loads(ended.stdout)}
    assert rows["reference"]["kind"] == "reference"
    assert rows["zep"]["kind"] == "mapping"
    assert rows["zep"]["variables"] == ["ZEP_API_KEY"]
    assert "recall by session, the whole history" in rows["zep"]["contract"]
    assert rows["langgraph-postgres"]["kind"] == "library"
    assert rows["langgraph-postgres"]["needs"] == ["postgres"]
    assert "langgraph" in rows["langgraph-postgres"]["packages"]
    assert all(row["about"] and row["contract"] for row in rows.values())
