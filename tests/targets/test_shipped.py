"""Each shipped library serves what its target says, from several processes at once, in the versions that it names."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from goldfish.contract import Settings
from goldfish.token import Person, Series, mark
from stress.deployment import Deployment, Plan
from stress.targets import shipped
from stress.targets.host.hosted import hosted
from tests.cli.command import goldfish, only_run, results_of
from tests.memory.client import Memory, fresh, said

FOLDER = Path(shipped.__file__).parent
TARGETS = {path.stem: tomllib.loads(path.read_text()) for path in sorted(FOLDER.glob("*.toml"))}
LIBRARIES = {name: target for name, target in TARGETS.items() if "library" in target["target"]}
SOUND = sorted(set(LIBRARIES) - {"langgraph-postgres"})


@contextmanager
def hosting(name: str, instances: int = 3) -> Iterator[Deployment]:
    target: dict[str, Any] = LIBRARIES[name]["target"]
    library = hosted(target["library"], target["needs"], target["packages"], FOLDER)
    assert set(library.versions) == set(target["packages"])
    with Deployment.start(Plan(library=library, instances=instances)) as deployment:
        yield deployment


def test_the_six_are_shipped_with_contracts_that_can_be_meant() -> None:
    assert sorted(LIBRARIES) == [
        "langchain-redis",
        "langgraph-postgres",
        "llama-index-redis",
        "openai-agents-redis",
        "openai-agents-sqlalchemy",
        "openai-agents-sqlite",
    ]
    for target in LIBRARIES.values():
        msgspec.convert({"contract": target["contract"]}, Settings)


@pytest.mark.parametrize("name", sorted(LIBRARIES))
def test_a_library_serves_sessions_limits_and_deletes(name: str) -> None:
    with hosting(name) as deployment:
        memory = Memory(deployment.url)
        _round_trip(memory)
        if "user" in LIBRARIES[name]["contract"]["scope"]:
            _reconnect(memory)
        else:
            assert memory.user("u").code == "not-offered"
        if name in SOUND:
            _loses_nothing_when_all_write_at_once(memory)


def test_langgraph_loses_what_two_devices_say_at_once_and_the_cause_is_named(tmp_path: Path) -> None:
    (tmp_path / "goldfish.toml").write_text(
        '[contract]\nscope = ["session"]\nsettle_ms = 500\n[budget]\nmin_conversations = 1\n'
    )
    with hosting("langgraph-postgres") as deployment:
        options = ["--host", deployment.url, "--contract", "goldfish.toml", "-u", 4, "--turns", 60]
        assert goldfish("run", "two-devices", *options, cwd=tmp_path).returncode == 3
    results = results_of(only_run(tmp_path))
    assert "lost-update" in [cause["code"] for cause in results["causes"][:2]]
    assert results["scenarios"][0]["messages"]["lost"] > 0


def _round_trip(memory: Memory) -> None:
    user, session, other = fresh(), fresh("s"), fresh("s")
    tokens = Series(Person("abc123", 0, 1), "session", 0, "phone")
    ids = [tokens.token(seq) for seq in range(4)]
    texts = [mark(ids[0], "🐠 你记得吗？"), mark(ids[1], "yes\n"), mark(ids[2], "x" * 65_536), mark(ids[3], "{}")]
    roles = ["user", "assistant", "user", "assistant"]
    batch = [said(text, one, role) for text, one, role in zip(texts, ids, roles, strict=True)]
    assert memory.session(user, session).ids == []
    assert memory.append(user, session, *batch[:2]).status == 201
    assert memory.append(user, session, *batch[2:]).status == 201
    assert memory.append(user, other, "elsewhere").status == 201
    listed = memory.session(user, session)
    assert (listed.contents, listed.ids) == (texts, ids)
    assert [message["role"] for message in listed.body["messages"]] == roles
    assert memory.session(user, session, 3).ids == ids[1:]
    assert memory.session(user, session, 0).ids == []
    assert memory.delete(user, session).status == 204
    assert memory.session(user, session).ids == []
    assert memory.session(user, other).contents == ["elsewhere"]


def _reconnect(memory: Memory) -> None:
    user = fresh()
    for session in ("one", "two"):
        memory.append(user, fresh(session), f"in {session}", said(f"noted {session}", role="assistant"))
    assert memory.user(user).contents == ["in one", "noted one", "in two", "noted two"]
    assert memory.user(user, 2).contents == ["in two", "noted two"]


def _loses_nothing_when_all_write_at_once(memory: Memory) -> None:
    user, session = fresh(), fresh("s")
    with ThreadPoolExecutor(8) as devices:
        answers = devices.map(lambda number: memory.append(user, session, f"message {number}"), range(24))
        assert {answer.status for answer in answers} == {201}
    assert sorted(memory.session(user, session).contents) == sorted(f"message {number}" for number in range(24))
