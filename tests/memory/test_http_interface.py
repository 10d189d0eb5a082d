"""The HTTP interface, sentence by sentence, for every store."""

from __future__ import annotations

import http.client
import json
from datetime import datetime

import pytest

from .client import Answer, Memory, fresh, said

MESSAGES = "/v1/users/{}/sessions/{}/messages"


def test_an_append_tells_id_and_number_of_each_message(memory: Memory) -> None:
    answer = memory.append(fresh(), "s", said("a", "first"), said("b"))
    assert answer.status == 201
    assert list(answer.body) == ["stored"]
    first, second = answer.body["stored"]
    assert first["id"] == "first"
    assert second["id"]
    assert first["seq"] < second["seq"]


def test_a_recall_hands_out_what_was_said_oldest_first(memory: Memory) -> None:
    user = fresh()
    stored = memory.append(user, "s", said("a", "1"), said("b", "2", "assistant")).body["stored"]
    stored += memory.append(user, "s", said("c", "3", "tool"), said("d", "4", "system")).body["stored"]
    answer = memory.session(user, "s")
    assert answer.status == 200
    assert [(message["role"], message["content"]) for message in answer.body["messages"]] == [
        ("user", "a"),
        ("assistant", "b"),
        ("tool", "c"),
        ("system", "d"),
    ]
    assert [{"id": message["id"], "seq": message["seq"]} for message in answer.body["messages"]] == stored
    assert all(set(message) == {"id", "seq", "role", "content", "created_at"} for message in answer.body["messages"])
    assert all(datetime.fromisoformat(message["created_at"]).tzinfo for message in answer.body["messages"])


def test_the_user_form_tells_all_sessions_in_the_order_of_their_appends(memory: Memory) -> None:
    user = fresh()
    for session, text in [("a", "1"), ("b", "2"), ("a", "3"), ("b", "4")]:
        memory.append(user, session, text)
    messages = memory.user(user).body["messages"]
    assert [(message["session"], message["content"]) for message in messages] == [
        ("a", "1"),
        ("b", "2"),
        ("a", "3"),
        ("b", "4"),
    ]
    assert all(set(message) == {"id", "seq", "role", "content", "created_at", "session"} for message in messages)
    assert memory.session(user, "b").contents == ["2", "4"]


def test_a_second_recall_answers_the_same_bytes(memory: Memory) -> None:
    user = fresh()
    memory.append(user, "s", 'quote " and \\ and é 🐟', said("b", "ü"))
    assert memory.session(user, "s").body == memory.session(user, "s").body
    assert memory.user(user).body == memory.user(user).body


@pytest.mark.parametrize(("limit", "expected"), [(0, []), (1, ["c"]), (2, ["b", "c"]), (3, ["a", "b", "c"])])
def test_a_limit_asks_for_the_last_messages_and_zero_for_none(memory: Memory, limit: int, expected: list[str]) -> None:
    user = fresh()
    memory.append(user, "s", "a", "b", "c")
    assert memory.session(user, "s", limit).contents == expected
    assert memory.user(user, limit).contents == expected


def test_a_limit_may_exceed_the_history_by_any_amount(memory: Memory) -> None:
    user = fresh()
    memory.append(user, "s", "a", "b")
    assert memory.session(user, "s", 10**30).contents == ["a", "b"]


@pytest.mark.parametrize("limit", ["-1", "ten", "", "1.5", "+1", "%20", "1e3", "²"])
def test_a_limit_that_is_no_count_is_refused(memory: Memory, limit: str) -> None:
    user = fresh()
    memory.append(user, "s", "a")
    quoted = limit.replace("²", "%C2%B2").replace("+", "%2B")
    for answer in (memory.session(user, "s", quoted), memory.user(user, quoted)):
        assert (answer.status, answer.code) == (400, "bad-limit")


def test_without_limit_the_whole_history_is_recalled_however_long(memory: Memory) -> None:
    user = fresh()
    texts = [f"message {number}" for number in range(700)]
    for start in range(0, 700, 100):
        memory.append(user, "s", *texts[start : start + 100])
    for _ in range(2):
        assert memory.session(user, "s").contents == texts
        assert memory.user(user).contents == texts
        assert memory.session(user, "s", 300).contents == texts[-300:]
        assert memory.session(user, "s", 256).contents == texts[-256:]
        assert memory.session(user, "s", 10).contents == texts[-10:]
    memory.append(user, "s", "one more")
    assert memory.session(user, "s", 3).contents == [*texts[-2:], "one more"]
    assert memory.session(user, "s").contents == [*texts, "one more"]


def test_a_repeated_id_answers_with_the_first_number_and_stores_nothing(memory: Memory) -> None:
    user = fresh()
    first = memory.append(user, "s", said("a", "x"), said("b", "y"))
    again = memory.append(user, "s", said("a", "x"), said("b", "y"))
    assert (again.status, again.body) == (201, first.body)
    changed = memory.append(user, "s", said("something else", "x"))
    assert (changed.status, changed.body["stored"]) == (201, first.body["stored"][:1])
    assert memory.session(user, "s").contents == ["a", "b"]
    assert memory.user(user).contents == ["a", "b"]


def test_of_a_batch_that_overlaps_an_earlier_one_only_the_new_is_stored(memory: Memory) -> None:
    user = fresh()
    first = memory.append(user, "s", said("a", "x")).body["stored"][0]
    answer = memory.append(user, "s", said("b", "y"), said("a", "x"), said("c", "z"))
    assert answer.status == 201
    assert answer.body["stored"][1] == first
    assert [stored["id"] for stored in answer.body["stored"]] == ["y", "x", "z"]
    assert memory.session(user, "s").contents == ["a", "b", "c"]


def test_the_same_id_in_another_session_is_another_message(memory: Memory) -> None:
    user = fresh()
    memory.append(user, "s", said("a", "x"))
    memory.append(user, "t", said("b", "x"))
    assert memory.user(user).contents == ["a", "b"]


def test_a_missing_id_is_made_and_never_twice(memory: Memory) -> None:
    user = fresh()
    ids = [stored["id"] for stored in memory.append(user, "s", "a", "a", {"id": None, **said("a")}).body["stored"]]
    assert len(set(ids)) == 3
    assert memory.session(user, "s").ids == ids


BAD_BATCHES = {
    "no role": ([{"content": "x"}], "bad-message"),
    "unknown role": ([said("x", role="robot")], "bad-message"),
    "content is no text": ([{"role": "user", "content": 1}], "bad-message"),
    "content is null": ([{"role": "user", "content": None}], "bad-message"),
    "id is no text": ([{"id": 7, **said("x")}], "bad-message"),
    "id is empty": ([said("x", "")], "bad-id"),
    "id has 257 bytes": ([said("x", "é" * 128 + "x")], "bad-id"),
    "id has a NUL": ([said("x", "a\0b")], "bad-id"),
    "NUL in content": ([said("a\0b")], "nul-in-content"),
    "half a surrogate pair": ([said("a\ud83d")], "lone-surrogate"),
    "half a surrogate pair in the id": ([said("a", "\udc00")], "lone-surrogate"),
    "one id twice": ([said("a", "x"), said("b", "x")], "duplicate-id"),
}


@pytest.mark.parametrize("case", BAD_BATCHES)
def test_a_batch_with_one_bad_message_is_refused_whole(memory: Memory, case: str) -> None:
    user = fresh()
    bad, code = BAD_BATCHES[case]
    answer = memory.append(user, "s", said("good", "g"), *bad)
    assert (answer.status, answer.code) == (422, code)
    assert memory.session(user, "s").status == 404


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "bad-json"),
        (b'{"messages":[', 400, "bad-json"),
        (b"\xff\xfe", 400, "bad-json"),
        (b'{"messages":[{"role":"user","content":"\xff"}]}', 400, "bad-json"),
        (b'{"x":' + b"[" * 100_000, 400, "bad-json"),
        (b'{"messages":[]}', 422, "no-messages"),
        (b'{"messages":{}}', 422, "bad-message"),
        (b"{}", 422, "bad-message"),
        (b"[]", 422, "bad-message"),
    ],
)
def test_a_body_that_is_no_batch_is_refused(memory: Memory, body: bytes, status: int, code: str) -> None:
    user = fresh()
    answer = memory.ask("POST", MESSAGES.format(user, "s"), body)
    assert (answer.status, answer.code) == (status, code)
    assert memory.session(user, "s").status == 404


def test_whole_surrogate_pairs_and_other_control_characters_are_kept(memory: Memory) -> None:
    user = fresh()
    text = "\U0001f41f \u2028 \x01\x7f\r\n\t \ufeff \ufffe e\u0301 \u202e"
    memory.append(user, "s", text)
    for _ in range(2):
        assert memory.session(user, "s").contents == [text]


def test_a_body_of_more_than_4_mib_is_too_large_and_one_below_is_stored(memory: Memory) -> None:
    user = fresh()
    too_large = memory.append(user, "s", "x" * (4 * 1024 * 1024))
    assert (too_large.status, too_large.code) == (413, "body-too-large")
    assert memory.session(user, "s").status == 404
    text = "y" * (4 * 1024 * 1024 - 1000)
    assert memory.append(user, "s", text).status == 201
    assert memory.append(user, "s", "short").status == 201
    assert memory.session(user, "s").contents == [text, "short"]


@pytest.mark.parametrize(("size_bytes", "status"), [(1000, 201), (5 * 1024 * 1024, 413)])
def test_a_body_without_announced_length_is_bounded_too(memory: Memory, size_bytes: int, status: int) -> None:
    body = json.dumps({"messages": [said("x" * size_bytes)]}).encode()
    pieces = (body[start : start + 65536] for start in range(0, len(body), 65536))
    connection = http.client.HTTPConnection(memory.address, timeout=10)
    connection.request("POST", MESSAGES.format(fresh(), "s"), pieces, encode_chunked=True)
    assert connection.getresponse().status == status
    connection.close()


STRANGE_IDS = [
    "a%2Fb",
    "a%252Fb",
    "a",
    "A",
    "%20",
    "a%3Ab",
    "a%3Fb%23c",
    "%2E%2E",
    "%7Bx%7D",
    "%E9%87%91%E9%AD%9A",
    "%0A",
]


def test_every_id_is_one_segment_and_distinct_ids_stay_distinct(memory: Memory) -> None:
    mark = fresh()
    for one in STRANGE_IDS:
        assert memory.append(mark + one, "s", f"user {one}").status == 201
        assert memory.append(mark, one, f"session {one}").status == 201
    for one in STRANGE_IDS:
        assert memory.session(mark + one, "s").contents == [f"user {one}"]
        assert memory.user(mark + one).contents == [f"user {one}"]
        assert memory.session(mark, one).contents == [f"session {one}"]


def test_an_id_is_what_it_says_once_decoded_however_it_was_encoded(memory: Memory) -> None:
    user = fresh()
    memory.append(user, "a%2fb", "x")
    assert memory.session(user, "%61%2Fb").contents == ["x"]


def test_ids_that_would_join_to_the_same_text_stay_apart(memory: Memory) -> None:
    mark = fresh()
    memory.append(f"{mark}:a", "b", "one")
    memory.append(mark, "a:b", "two")
    assert memory.session(f"{mark}:a", "b").contents == ["one"]
    assert memory.session(mark, "a:b").contents == ["two"]


def test_an_id_has_1_to_256_bytes_once_decoded(memory: Memory) -> None:
    longest = fresh().ljust(256, "x")
    assert memory.append(longest, "%C3%A9" * 128, said("a", "m" * 256)).status == 201
    assert memory.session(longest, "%C3%A9" * 128).contents == ["a"]
    for path in (
        MESSAGES.format("x" * 257, "s"),
        MESSAGES.format("u", "%C3%A9" * 128 + "x"),
        MESSAGES.format("", "s"),
        MESSAGES.format("u", ""),
        MESSAGES.format("u", "%FF"),
        MESSAGES.format("%ED%A0%80", "s"),
        MESSAGES.format("u", "a%00b"),
    ):
        for method in ("GET", "POST"):
            answer = memory.ask(method, path, {"messages": [said("x")]} if method == "POST" else None)
            assert (answer.status, answer.code) == (400, "bad-id"), path


def test_a_delete_forgets_the_session_and_nothing_else(memory: Memory) -> None:
    user = fresh()
    memory.append(user, "s", said("a", "x"))
    memory.append(user, "t", "b")
    memory.user(user)
    assert memory.delete(user, "s").status == 204
    assert memory.session(user, "s").code == "not-found"
    assert memory.user(user).contents == ["b"]
    assert memory.session(user, "t").contents == ["b"]


def test_a_deleted_session_begins_anew_even_with_the_same_ids(memory: Memory) -> None:
    user = fresh()
    for round_number in range(3):
        text = f"round {round_number}"
        assert memory.append(user, "s", said(text, "x")).status == 201
        assert memory.session(user, "s").contents == [text]
        assert memory.user(user).contents == [text]
        memory.delete(user, "s")
        assert memory.session(user, "s").status == 404
        assert memory.user(user).status == 404


def test_deleting_what_was_never_there_is_no_error(memory: Memory) -> None:
    user = fresh()
    assert memory.delete(user, "s").status == 204
    assert memory.session(user, "s").status == 404
    memory.append(user, "s", "a")
    assert memory.delete(user, "other").status == 204
    assert memory.session(user, "s").contents == ["a"]


def test_what_was_never_written_is_not_found_whatever_the_limit(memory: Memory) -> None:
    user = fresh()
    for answer in (memory.session(user, "s"), memory.session(user, "s", 0), memory.user(user), memory.user(user, 5)):
        assert (answer.status, answer.code) == (404, "not-found")


def test_tenants_are_separate_and_one_is_the_default(memory: Memory) -> None:
    user = fresh()
    memory.append(user, "s", said("none", "x"))
    memory.append(user, "s", said("acme", "x"), tenant="acme")
    memory.append(user, "s", said("Acme", "x"), tenant="Acme")
    assert memory.session(user, "s").contents == ["none"]
    assert memory.session(user, "s", tenant="default").contents == ["none"]
    assert memory.user(user, tenant="acme").contents == ["acme"]
    assert memory.user(user, tenant="Acme").contents == ["Acme"]
    assert memory.session(user, "s", tenant="other").status == 404
    memory.delete(user, "s", tenant="acme")
    assert memory.session(user, "s").contents == ["none"]
    assert memory.session(user, "s", tenant="Acme").contents == ["Acme"]


@pytest.mark.parametrize("tenant", ["", "x" * 257, "\xff"])
def test_a_tenant_that_is_no_id_is_refused(memory: Memory, tenant: str) -> None:
    answer = memory.session(fresh(), "s", tenant=tenant)
    assert (answer.status, answer.code) == (400, "bad-id")


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_context_is_not_offered(memory: Memory, method: str) -> None:
    answer = memory.ask(method, f"/v1/users/{fresh()}/context", {"name": "Ada"} if method == "PUT" else None)
    assert (answer.status, answer.code) == (404, "not-offered")


def test_search_is_not_offered(memory: Memory) -> None:
    answer = memory.ask("POST", f"/v1/users/{fresh()}/search", {"query": "x", "limit": 1})
    assert (answer.status, answer.code) == (404, "not-offered")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/v1/users"),
        ("GET", "/v2/users/u/messages"),
        ("GET", "/v1/users/u/sessions/s/messages/"),
        ("POST", "/v1/users/u/messages"),
        ("PUT", "/v1/users/u/sessions/s/messages"),
        ("GET", "/v1/users/u/sessions/s"),
        ("POST", "/healthz"),
    ],
)
def test_what_is_no_resource_or_method_is_not_found(memory: Memory, method: str, path: str) -> None:
    answer = memory.ask(method, path)
    assert (answer.status, answer.code) == (404, "unknown-route")


def test_every_answer_names_its_instance_errors_too(memory: Memory) -> None:
    user = fresh()
    answers: list[Answer] = [
        memory.append(user, "s", "a"),
        memory.session(user, "s"),
        memory.session(user, "s", -1),
        memory.delete(user, "s"),
        memory.session(user, "s"),
        memory.append(user, "s"),
        memory.ask("GET", "/nowhere"),
        memory.ask("GET", f"/v1/users/{user}/context"),
        memory.ask("GET", "/healthz"),
        memory.ask("GET", "/readyz"),
        memory.ask("GET", "/metrics"),
        memory.append(user, "s", "x" * (4 * 1024 * 1024)),
    ]
    assert [answer.status for answer in answers] == [201, 200, 400, 204, 404, 422, 404, 404, 200, 200, 200, 413]
    assert {answer.headers["X-Memory-Instance"] for answer in answers} <= {"m1", "m2", "m3"}


def test_errors_have_a_code_for_programs_and_a_message_for_people(memory: Memory) -> None:
    answer = memory.session(fresh(), "s")
    assert list(answer.body) == ["error"]
    assert set(answer.body["error"]) == {"code", "message"}
    assert all(isinstance(value, str) and value for value in answer.body["error"].values())
