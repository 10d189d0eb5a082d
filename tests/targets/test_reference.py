"""What an observed answer proves: the table of outcomes, row by row."""

from __future__ import annotations

import msgspec
import pytest

from stress.swarm.http import Answer, AttemptError
from stress.targets.reference import ReferenceTarget
from stress.targets.target import Ask, Item, Place, Request

TARGET = ReferenceTarget()
PLACE = TARGET.place("ada", "s")
MESSAGES = [Item("a", "user", "hi"), Item("b", "assistant", "hello")]
RECEIPT = b'{"stored":[{"id":"a","seq":1},{"id":"b","seq":2}]}'
HISTORY = b'{"messages":[{"id":"a","seq":1,"role":"user","content":"hi","created_at":"now"}]}'


def answer(status: int, body: bytes = b"") -> Answer:
    return Answer(status=status, body=body)


def unanswered(reason: str, *, sent: bool, status: int | None = None) -> AttemptError:
    return AttemptError(reason, "why", sent=sent, status=status)  # type: ignore[arg-type]


def observing(observed: Answer | AttemptError) -> Ask:
    def ask(_: Request) -> Answer:
        if isinstance(observed, AttemptError):
            raise observed
        return observed

    return ask


def asked(place: Place, limit: int | None, *, by_user: bool) -> str:
    paths = []

    def ask(request: Request) -> Answer:
        paths.append(request.path)
        return answer(404)

    TARGET.recall(ask, place, limit, by_user=by_user)
    return paths[0]


@pytest.mark.parametrize(
    ("observed", "outcome", "reason"),
    [
        (answer(201, RECEIPT), "ok", None),
        (answer(200, RECEIPT), "ok", None),
        (answer(201, b'{"stored":[{"id":"a"}]}'), "info", "partial-ack"),
        (answer(201, b'{"stored":[{"id":"b"},{"id":"a"}]}'), "info", "partial-ack"),
        (answer(201, b'{"stored":[{"id":"x"},{"id":"b"}]}'), "info", "partial-ack"),
        (answer(200, b""), "info", "unparsable"),
        (answer(201, b"<html>"), "info", "unparsable"),
        (answer(201, b"{}"), "info", "unparsable"),
        *[(answer(status), "fail", "status") for status in (400, 401, 403, 404, 409, 413, 422, 429)],
        *[(answer(status), "info", "status") for status in (301, 302, 307, 405, 408, 418, 500, 502, 503, 504)],
        (unanswered("refused", sent=False), "fail", "refused"),
        (unanswered("dns", sent=False), "fail", "dns"),
        (unanswered("tls", sent=False), "fail", "tls"),
        (unanswered("timeout", sent=False), "fail", "timeout"),
        (unanswered("timeout", sent=True), "info", "timeout"),
        (unanswered("reset", sent=True), "info", "reset"),
        (unanswered("eof", sent=True), "info", "eof"),
        (unanswered("eof", sent=True, status=201), "info", "unparsable"),
        (unanswered("eof", sent=True, status=503), "info", "eof"),
        (unanswered("body-too-large", sent=True, status=200), "info", "body-too-large"),
    ],
)
def test_appends(observed: Answer | AttemptError, outcome: str, reason: str | None) -> None:
    result = TARGET.append(observing(observed), PLACE, MESSAGES)
    assert (result.outcome, result.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("observed", "outcome", "reason"),
    [
        (answer(200, HISTORY), "ok", None),
        (answer(404), "ok", None),
        (answer(200, b""), "fail", "unparsable"),
        (answer(200, b"[]"), "fail", "unparsable"),
        *[(answer(status), "fail", "status") for status in (302, 400, 401, 403, 408, 429, 500, 503)],
        (unanswered("refused", sent=False), "fail", "refused"),
        (unanswered("timeout", sent=True), "fail", "timeout"),
        (unanswered("eof", sent=True, status=200), "fail", "unparsable"),
        (unanswered("reset", sent=True), "fail", "reset"),
    ],
)
def test_recalls(observed: Answer | AttemptError, outcome: str, reason: str | None) -> None:
    result = TARGET.recall(observing(observed), PLACE, None, by_user=False)
    assert (result.outcome, result.reason) == (outcome, reason)
    assert (result.items is not None) == (outcome == "ok")


def test_an_unknown_session_is_an_empty_list() -> None:
    assert TARGET.recall(observing(answer(404)), PLACE, None, by_user=False).items == []


@pytest.mark.parametrize(
    ("observed", "outcome"),
    [
        (answer(204), "ok"),
        (answer(404), "ok"),
        (answer(403), "fail"),
        (answer(500), "info"),
        (unanswered("reset", sent=True), "info"),
        (unanswered("refused", sent=False), "fail"),
    ],
)
def test_deletes(observed: Answer | AttemptError, outcome: str) -> None:
    assert TARGET.delete(observing(observed), PLACE).outcome == outcome


def test_a_lone_surrogate_in_an_answer_does_not_make_it_unreadable() -> None:
    body = b'{"messages":[{"id":"a","role":"user","content":"broken \\ud83d emoji"}]}'
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(body)
    items = TARGET.recall(observing(answer(200, body)), PLACE, None, by_user=False).items
    assert items is not None
    assert items[0].content == "broken \ud83d emoji"


def test_ids_are_one_escaped_path_segment() -> None:
    assert asked(Place("a/b", "c d?", is_open=True), 3, by_user=False) == (
        "/v1/users/a%2Fb/sessions/c%20d%3F/messages?limit=3"
    )
    assert asked(PLACE, None, by_user=True) == "/v1/users/ada/messages"
