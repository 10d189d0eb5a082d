"""Targets that are none: a clear error within seconds, exit 2, nothing left. And one that resets: each request once."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.swarm.standin import Answer, http, reset, say, standing_in

from .command import LOCUST, goldfish, only_run, results_of, rows_of, small_contract

PAGE = b"<!doctype html><title>Welcome</title><h1>It works!</h1>"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (http(200, PAGE, "Content-Type: text/html"), ["a web page", "It works!"]),
        (http(404, PAGE, "Content-Type: text/html"), ["status 404", "a web page"]),
        (http(200), ["status 200", "an empty body"]),
        (
            http(201, b'{"ok":true}', "Content-Type: application/json"),
            ["status 201", '{"stored": [{"id": …}]}', "docs/http-interface.md"],
        ),
        (http(401, b'{"error":"no"}', "Content-Type: application/json"), ["status 401"]),
        (http(302, b"", "Location: http://127.0.0.1:9/"), ["status 302"]),
        (say(b"SSH-2.0-OpenSSH_9.6\r\n"), ["not HTTP"]),
        (reset, ["no answer", "listen on this port"]),
    ],
    ids=["web page", "404 page", "empty 200", "other form", "401", "redirect", "not http", "reset"],
)
def test_something_else_listens_there(tmp_path: Path, answer: Answer, words: list[str]) -> None:
    with standing_in(answer) as server:
        began = time.monotonic()
        ended = goldfish("run", "--host", server.url, "-u", 1, "-t", 5, cwd=tmp_path)
        took_s = time.monotonic() - began
    assert ended.returncode == 2, ended.stdout + ended.stderr
    for word in words:
        assert word in ended.stderr
    assert "Traceback" not in ended.stderr
    assert took_s < 15
    assert list((tmp_path / "runs").iterdir()) == []


def test_nothing_listens_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    ended = goldfish("run", "--host", f"http://127.0.0.1:{port}", "-t", 5, cwd=tmp_path)
    assert ended.returncode == 2
    assert "is it running, and is the port right?" in ended.stderr


def test_a_host_that_does_not_exist_or_is_no_address(tmp_path: Path) -> None:
    ended = goldfish("run", "--host", "http://no-such-host.invalid", "-t", 5, cwd=tmp_path)
    assert ended.returncode == 2
    assert "host name spelled right" in ended.stderr
    ended = goldfish("run", "--host", "http://ada:hunter2@127.0.0.1:1", "-t", 5, cwd=tmp_path)
    assert ended.returncode == 2
    assert "hunter2" not in ended.stdout + ended.stderr
    assert "user name or password" in ended.stderr


def test_a_server_that_never_answers_is_given_up_within_seconds(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        began = time.monotonic()
        ended = goldfish("run", "--host", f"http://127.0.0.1:{listener.getsockname()[1]}", "-t", 5, cwd=tmp_path)
    assert ended.returncode == 2
    assert "no whole answer in 3 s" in ended.stderr
    assert time.monotonic() - began < 20


def test_a_server_that_resets_sees_each_request_exactly_once(tmp_path: Path) -> None:
    """It plays along until the load begins, then resets every third request: appends and recalls alike."""
    seen: Counter[str] = Counter()
    stored: dict[str, list[dict[str, str]]] = {}

    def answer(connection: socket.socket, request: bytes) -> bool:
        head, _, body = request.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        number = next(line.partition(": ")[2] for line in lines if line.startswith("X-Request-Id"))
        seen[number] += 1
        method, path, _ = lines[0].split(" ")
        if number != "preflight" and int(number.partition("-")[2]) % 3 == 0:
            return reset(connection, request)
        session = path.split("/")[5]
        if method == "POST":
            messages = json.loads(body)["messages"]
            stored.setdefault(session, []).extend(messages)
            return http(201, json.dumps({"stored": [{"id": m["id"], "seq": 1} for m in messages]}).encode())(
                connection, request
            )
        if method == "DELETE":
            return http(204)(connection, request)
        return http(200, json.dumps({"messages": stored.get(session, [])}).encode())(connection, request)

    with standing_in(answer) as server:
        ended = goldfish(
            "run",
            "rapid-switch",
            "--host",
            server.url,
            "-u",
            3,
            "--turns",
            40,
            "--contract",
            small_contract(tmp_path),
            cwd=tmp_path,
        )
    rows = [row for row in rows_of(only_run(tmp_path)) if row["kind"] in ("append", "recall", "delete")]
    asked = {number: times for number, times in seen.items() if number != "preflight"}
    assert set(asked.values()) == {1}
    assert set(asked) == {f"w0-{row['id']}" for row in rows}
    assert {row["reason"] for row in rows} == {None, "reset"}
    assert {row["outcome"] for row in rows if row["reason"] == "reset" and row["kind"] == "append"} == {"info"}
    results = results_of(only_run(tmp_path))
    assert ended.returncode == results["exit_code"] != 0
    assert results["scenarios"][0]["recalls"]["lossy"] == 0


def memory(*, by_user: bool = True, delete: bool = True) -> Answer:
    """A small sound memory that may lack a part of the interface."""
    stored: dict[str, list[dict[str, str]]] = {}

    def answer(connection: socket.socket, request: bytes) -> bool:
        head, _, body = request.partition(b"\r\n\r\n")
        method, path, _ = head.decode().split("\r\n")[0].split(" ")
        _, _, _, user, *rest = path.partition("?")[0].split("/")
        session = rest[1] if rest[0] == "sessions" else None
        if method == "POST":
            messages = json.loads(body)["messages"]
            stored.setdefault(user, []).extend({**message, "session": str(session)} for message in messages)
            return http(201, json.dumps({"stored": [{"id": m["id"]} for m in messages]}).encode())(connection, request)
        if (method == "DELETE" and not delete) or (session is None and not by_user):
            return http(404)(connection, request)
        if method == "DELETE":
            stored[user] = [message for message in stored.get(user, []) if message["session"] != session]
            return http(204)(connection, request)
        listed = [message for message in stored.get(user, []) if session in (None, message["session"])]
        limit = int(path.partition("limit=")[2] or len(listed))
        return http(200, json.dumps({"messages": listed[len(listed) - min(limit, len(listed)) :]}).encode())(
            connection, request
        )

    return answer


def test_a_memory_without_recall_by_user_is_told_what_to_declare(tmp_path: Path) -> None:
    with standing_in(memory(by_user=False)) as server:
        ended = goldfish("run", "--host", server.url, "-u", 3, "--turns", 10, cwd=tmp_path)
        assert ended.returncode == 2, ended.stdout + ended.stderr
        assert "scope = ['session']" in ended.stderr
        contract = tmp_path / "session.toml"
        contract.write_text("[contract]\nscope = ['session']\n[budget]\nmin_conversations = 3\n")
        ended = goldfish("run", "--host", server.url, "-u", 6, "--turns", 60, "--contract", contract, cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "skipped reconnect: the contract offers no recall by user" in ended.stdout


def test_a_memory_that_does_not_delete_is_told_so(tmp_path: Path) -> None:
    with standing_in(memory(delete=False)) as server:
        ended = goldfish(
            "run", "two-devices", "--host", server.url, "-u", 4, "--turns", 40, "--contract", small_contract(tmp_path),
            cwd=tmp_path,
        )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "does not delete a session (status 404)" in ended.stderr


@pytest.mark.parametrize(
    ("story", "words"),
    [
        (
            "phone = self.device('phone'); phone.say(self.session()); phone.nothing(); yield",
            "has no attribute 'nothing'",
        ),
        ("self.device('phone').say(self.session())", "put a bare `yield` after each turn"),
    ],
    ids=["raises", "is no generator"],
)
def test_a_story_that_fails_bars_a_pass(tmp_path: Path, story: str, words: str) -> None:
    (tmp_path / "mine.py").write_text(
        f"from goldfish import MemoryUser\n\n\nclass Mine(MemoryUser):\n    def story(self):\n        {story}\n"
    )
    with standing_in(memory()) as server:
        ended = subprocess.run(
            [*LOCUST, "-f", "mine.py", "--headless", "-u", "3", "-r", "3", "-t", "3s", "--host", server.url],
            cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
    assert ended.returncode == 4, ended.stdout + ended.stderr
    reasons = {reason["code"]: reason["text"] for reason in results_of(only_run(tmp_path))["reasons"]}
    assert words in reasons["swarm-problem"]
    assert ended.stderr.count("Traceback") <= 2
