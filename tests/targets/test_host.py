"""A hosted library is served as it is: what it lists is listed, what it raises is told, and it ends when it is to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from goldfish.errors import DeploymentError
from goldfish.token import Person, Token, mark
from stress.deployment import Deployment, Plan
from stress.targets.host.hosted import hosted
from tests.cli.command import goldfish, only_run, results_of
from tests.deployment.observing import processes_of, running
from tests.memory.client import Memory, instance, said

PLUGS = Path(__file__).parent / "plugs"


@contextmanager
def hosting(plug: str, *needs: str, instances: int = 1) -> Iterator[Deployment]:
    library = hosted(plug, needs, folder=PLUGS)
    with Deployment.start(Plan(library=library, instances=instances)) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def keeping() -> Iterator[Deployment]:
    with hosting("keeping.py:Keeping", instances=3) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def odd() -> Iterator[Deployment]:
    with hosting("odd.py:Raising") as deployment:
        yield deployment


def test_only_what_is_needed_is_started(keeping: Deployment) -> None:
    assert [part["name"] for part in keeping.status()["parts"]] == ["m1", "m2", "m3", "balancer"]


def test_what_one_instance_stored_every_instance_lists_with_its_ids(keeping: Deployment) -> None:
    first, second = (instance(keeping.status(), name) for name in ("m1", "m2"))
    answer = first.append("u", "kept", said("one", "id-1"), said("two", "id-2", "assistant"))
    assert (answer.status, [stored["id"] for stored in answer.body["stored"]]) == (201, ["id-1", "id-2"])
    listed = second.session("u", "kept").body["messages"]
    assert listed == [
        {"id": "id-1", "role": "user", "content": "one"},
        {"id": "id-2", "role": "assistant", "content": "two"},
    ]
    assert second.session("u", "kept", 1).ids == ["id-2"]
    assert second.session("u", "kept", 0).ids == []
    assert first.delete("u", "kept").status == 204
    assert second.session("u", "kept").ids == []


@pytest.mark.parametrize("text", ["a\0b", "half \ud83d of a pair", "🐠 · 你记得吗？", "x" * 65_536])
def test_any_text_gets_to_the_library_and_back(keeping: Deployment, text: str) -> None:
    memory, session = Memory(keeping.url), f"text-{len(text)}-{ord(text[0])}"
    assert memory.append("u", session, said(text, "id")).status == 201
    assert memory.session("u", session).contents == [text]


def test_what_the_plug_has_not_is_not_offered_and_there_are_no_tenants(keeping: Deployment) -> None:
    memory = Memory(keeping.url)
    assert (memory.user("u").status, memory.user("u").code) == (501, "not-offered")
    assert memory.append("u", "s", "hello", tenant="acme").code == "no-tenants"


def test_a_message_whose_id_the_library_does_not_keep_is_named_by_its_text() -> None:
    token = str(Token(Person("abc123", 0, 1), "session", 0, "phone", 0))
    with hosting("keeping.py:KeepingTextsOnly") as deployment:
        memory = Memory(deployment.url)
        memory.append("u", "s", said(mark(token, "hello"), token), said("without a mark", "other"))
        assert memory.session("u", "s").ids == [token, ""]


def test_what_the_library_raises_is_answered_as_unknown_and_logged_whole(odd: Deployment) -> None:
    answer = Memory(odd.url).append("u", "s", "elephants")
    assert (answer.status, answer.code) == (500, "library-failed")
    assert "append raised ValueError: no room for elephants" in answer.body["error"]["message"]
    log = (odd.folder / "m1.log").read_text()
    assert "Traceback" in log
    assert "odd.py" in log


def test_a_list_that_holds_no_texts_is_an_error_of_the_library(odd: Deployment) -> None:
    answer = Memory(odd.url).session("u", "s")
    assert (answer.status, answer.code) == (500, "library-failed")
    assert "text is list, expected str" in answer.body["error"]["message"]


def test_instances_start_one_after_the_other_in_surroundings_they_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBRARY_KEY", "of the library's own")
    monkeypatch.setenv("PGHOST", "192.0.2.1")
    with hosting("odd.py:Telling", "postgres", "redis", instances=3) as deployment:
        told = [instance(deployment.status(), f"m{n}").session("u", "all").contents for n in (1, 2, 3)]
        assert {part["name"] for part in deployment.status()["parts"]} >= {"redis", "postgres"}
    folder = deployment.folder
    assert [facts[0] for facts in told] == ["m1", "m2", "m3"]
    assert {tuple(facts[1:]) for facts in told} == {
        (
            f"{folder}/shared",
            "True",
            "of the library's own",
            f"postgresql://postgres@/postgres?host={folder}/postgres",
            f"unix://{folder}/redis.sock",
        )
    }


def test_a_server_that_the_target_did_not_name_is_missed_by_name() -> None:
    with hosting("odd.py:Telling", "redis") as deployment:
        answer = Memory(deployment.url).session("u", "all")
        assert 'needs = ["postgres"]' in answer.body["error"]["message"]
        with pytest.raises(DeploymentError, match="there is no dump"):
            deployment.dump()


@pytest.mark.parametrize(
    ("plug", "told"),
    [
        ("odd.py:NotStarting", "did not start: RuntimeError: the key of the library's service is missing"),
        ("odd.py:NoLibrary", "NoLibrary is not a class there that derives goldfish.Library"),
        ("odd.py:Absent", "Absent is not a class there that derives goldfish.Library"),
        ("odd.py:Library", "cannot be loaded: TypeError: Can't instantiate abstract class"),
    ],
)
def test_a_library_that_cannot_be_served_ends_the_start_with_its_reason(plug: str, told: str) -> None:
    with pytest.raises(DeploymentError) as raised, hosting(plug):
        pass
    assert told in str(raised.value)


def test_a_library_that_will_not_let_go_is_ended_all_the_same() -> None:
    with hosting("odd.py:Holding") as deployment:
        pids = [part["pid"] for part in deployment.status()["parts"]] + [deployment.status()["keeper"]]
        began = time.monotonic()
    assert time.monotonic() - began < 10
    assert running(pids) == []
    assert processes_of(deployment.folder) == []
    assert not deployment.folder.exists()


CONTRACT = '[contract]\nscope = ["session"]\nsettle_ms = 500\n[budget]\nmin_conversations = 1\n'


def test_a_sound_library_passes(keeping: Deployment, tmp_path: Path) -> None:
    assert _run(keeping, tmp_path) == 0
    assert sum(scenario["recalls"]["checked"] for scenario in results_of(only_run(tmp_path))["scenarios"]) > 50


def test_a_library_that_loses_is_found_out(tmp_path: Path) -> None:
    with hosting("keeping.py:Losing", instances=2) as deployment:
        assert _run(deployment, tmp_path) == 3
    assert results_of(only_run(tmp_path))["verdict"] == "fail"


def _run(deployment: Deployment, folder: Path) -> int:
    (folder / "goldfish.toml").write_text(CONTRACT)
    ended = goldfish("run", "--host", deployment.url, "--contract", "goldfish.toml", "-u", 4, "--turns", 60, cwd=folder)
    return ended.returncode
