"""Adapters: whatever happens to their requests, the outcome says what is known, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from goldfish import Adapter, Message
from goldfish.errors import UsageError
from stress.swarm.answer import Answer, AttemptError
from stress.targets.adapter import AdaptedTarget, AdapterChat, adapted
from stress.targets.load import find, load
from stress.targets.target import Item, Request

MESSAGES = [Item("gf1", "user", "[gf1] hello"), Item("gf2", "assistant", "[gf2] hi")]


class Notes(Adapter):
    """Keeps a chat in one document: reads, appends, writes it back."""

    def append(self, chat: AdapterChat, messages: Sequence[Message]) -> None:
        notes = chat.request("GET", f"/notes/{chat.session}", expect=[404])
        said = notes.json()["lines"] if notes.status == 200 else []
        said += [{"who": message.role, "line": message.text} for message in messages]
        chat.request("PUT", f"/notes/{chat.session}", json={"lines": said}, headers={"X-Key": "1"})

    def recall(self, chat: AdapterChat, limit: int | None) -> Sequence[Message]:
        notes = chat.request("GET", f"/notes/{chat.session}", expect=[404])
        if notes.status == 404:
            return []
        return [Message(line["who"], line["line"]) for line in notes.json()["lines"]]


TARGET = AdaptedTarget(Notes(), "notes.py:Notes")
PLACE = TARGET.place("ada", "s")


class Service:
    """Answers by method; an exception is raised."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Answer:
        self.asked.append(request)
        answer = self.answers[request.method]
        if isinstance(answer, AttemptError):
            raise answer
        status, body = answer
        return Answer(status=status, body=msgspec.json.encode(body) if body is not None else b"")


def lost(*, sent: bool) -> AttemptError:
    return AttemptError("timeout", "no whole answer", sent=sent)


@pytest.mark.parametrize(
    ("get", "put", "outcome"),
    [
        ((404, None), (200, {}), "ok"),
        ((200, {"lines": []}), (201, {}), "ok"),
        ((500, None), (200, {}), "fail"),  # nothing was written
        (lost(sent=True), (200, {}), "fail"),
        ((200, ["no notes"]), (200, {}), "fail"),
        ((404, None), (500, None), "info"),
        ((404, None), (409, None), "fail"),
        ((404, None), lost(sent=True), "info"),
        ((404, None), lost(sent=False), "fail"),
    ],
)
def test_an_append_that_reads_and_writes(get: Any, put: Any, outcome: str) -> None:
    assert TARGET.append(Service(GET=get, PUT=put), PLACE, MESSAGES).outcome == outcome


def test_what_is_sent_and_listed() -> None:
    service = Service(GET=(404, None), PUT=(200, {}))
    TARGET.append(service, PLACE, MESSAGES)
    written = service.asked[-1]
    assert (written.method, written.path, written.headers) == ("PUT", "/notes/s", "X-Key: 1\r\n")
    result = TARGET.recall(Service(GET=(200, msgspec.json.decode(written.body))), PLACE, None, by_user=False)
    assert result.items == MESSAGES  # the texts tell the ids


@pytest.mark.parametrize("get", [(500, None), (200, {"other": 1}), (200, None), lost(sent=True)])
def test_a_recall_that_fails(get: Any) -> None:
    result = TARGET.recall(Service(GET=get), PLACE, None, by_user=False)
    assert (result.outcome, result.items) == ("fail", None)


def test_a_second_write_that_is_refused_leaves_the_first_unknown() -> None:
    class Twice(Notes):
        def append(self, chat: AdapterChat, messages: Sequence[Message]) -> None:
            for _ in messages:
                chat.request("POST", "/one")

    answers = iter([Answer(status=200), Answer(status=409)])
    result = AdaptedTarget(Twice(), "x").append(lambda _: next(answers), PLACE, MESSAGES)
    assert result.outcome == "info"


def test_steps_that_an_adapter_has() -> None:
    assert (TARGET.opens, TARGET.by_user, TARGET.deletes) == (False, False, False)

    class Half(Adapter):
        def append(self, chat: AdapterChat, messages: Sequence[Message]) -> None: ...

    with pytest.raises(UsageError, match="no recall"):
        AdaptedTarget(Half(), "half.py:Half")


def test_an_adapter_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "notes.py"
    file.write_text(
        "from goldfish import Adapter, Message\n\n\nclass Notes(Adapter):\n"
        "    def append(self, chat, messages):\n        chat.request('POST', '/x')\n\n"
        "    def recall(self, chat, limit):\n        return [Message('user', 'hi')]\n"
    )
    loaded = load(find(f"{file}:Notes"))
    assert isinstance(loaded.target, AdaptedTarget)
    assert loaded.settings(None).contract.scope == ("session",)
    for wrong, told in [
        (f"{file}:None_", "has no class None_"),
        (f"{tmp_path}/none.py:Notes", "there is no such file"),
        ("no-such-target", "unknown target 'no-such-target': known are reference, "),
    ]:
        with pytest.raises(UsageError, match=told):
            find(wrong)
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    with pytest.raises(UsageError, match="ModuleNotFoundError"):
        adapted("broken.py:Notes", tmp_path)
    with pytest.raises(UsageError, match=r"no entry point 'nothing' of the group goldfish\.adapters"):
        adapted("nothing", tmp_path)
