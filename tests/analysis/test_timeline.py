"""One conversation in the terminal, and as a script that replays it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from analysis.load import load
from analysis.replay import curl_script
from analysis.timeline import show_conversation
from goldfish.errors import UsageError
from goldfish.oplog import Owner
from goldfish.token import Person, Token, mark

from .runs import UNMARKED, Process, foreign, sound, write

TOKEN = Token(Person("abcdef", 0, 1), "session", 0, "phone", 0)


def shown(directory: Path, name: str) -> str:
    console = Console(file=io.StringIO(), width=160, color_system=None)
    show_conversation(directory, name, console=console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def script(directory: Path, name: str) -> str:
    return curl_script(load(directory, only=name).conversations[name], 0)


def test_a_timeline_tells_operations_findings_and_request_ids(tmp_path: Path) -> None:
    process = sound(Process(), 0).talk("x", user="ada")
    owner = Owner(tenant=None, user="ben", session="s", conversation="other")
    process.append("phone", 1000, 1002, 0, text="my order is 4711", instance="m1").append("phone", 1003, 1004, 1)
    process.recall("laptop", 1010, 1012, foreign(owner, "laptop", 3), ("phone", 0), limit=5, instance="m2")
    process.recall("laptop", 1020, 1022, outcome="fail", status=503, reason="status")
    process.recall("laptop", 1030, 1032, UNMARKED, ("phone", 0), ("phone", 1), final=True).delete("phone", 1040, 1041)
    text = shown(write(tmp_path, process, start_ns=0), "x")
    for words in (
        "conversation x of scenario rapid-switch, user ada",
        "1.000",
        "says 0 user: my order is 4711",
        "recalls the last 5: [foreign: not yours], phone 0  (2)",
        "✗ missing phone 1 (tail, cross-device)",
        "✗ foreign laptop 3 (user, of user ben, session s)",
        "no answer  failed (status, 503)",
        "final recall: [unmarked: a summary], phone 0–1  (3)",
        "deletes session",
        "0-9",
        "m2",
        "1 recall lossy of 2 checked; 2 messages: 1 ok, 1 stale",
    ):
        assert words in text, words


def test_findings_alike_share_a_line(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, 1).append("laptop", 2, 3, 0).append("phone", 4, 5, 2)
    text = shown(write(tmp_path, process.recall("phone", 6, 7)), "0.0.s0")
    assert "✗ missing phone 0–2 (blank, read-your-writes)" in text
    assert "✗ missing laptop 0 (blank, cross-device)" in text


def test_a_loss_without_a_name_is_told(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 4, 0, 1).append("laptop", 2, 6, 0, 1)
    process.append("laptop", 8, 30, 2, 3, outcome="info").recall("phone", 12, 14, ("phone", 0), ("phone", 1), limit=4)
    assert "✗ missing (no single message can be named)" in shown(write(tmp_path, process), "0.0.s0")


def test_texts_are_told_without_their_token(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, text=mark(str(TOKEN), "my order"))
    assert "says 0 user: my order" in shown(write(tmp_path, process), "0.0.s0")


def test_a_doubtful_conversation_says_why_it_was_not_judged(tmp_path: Path) -> None:
    text = shown(write(tmp_path, Process().talk("x").append("phone", 0, 1, 3).recall("phone", 2, 3)), "x")
    assert "losses were not judged" in text


def test_an_unknown_conversation_is_an_error_that_names_some(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no conversation 'x'; it holds 1 conversation, e\.g\. 0\.0\.s0"):
        shown(write(tmp_path, sound(Process(), 0)), "x")


def test_hostile_contents_do_not_drive_the_terminal(tmp_path: Path) -> None:
    text = "\x1b[2J [bold]x[/bold] \u202e"
    process = Process().talk("x", user=text).append(text, 0, 1, 0, text=text).recall("phone", 2, 3, UNMARKED)
    result = shown(write(tmp_path, process), "x")
    assert "\x1b" not in result
    assert "\u202e" not in result
    assert "[bold]x[/bold]" in result


def test_a_script_does_the_operations_in_the_order_of_their_starts(tmp_path: Path) -> None:
    process = Process().talk("x", user="a/b c", session="s&1", tenant="t")
    process.append("phone", 5, 6, 0, text=mark(str(TOKEN), "it's 4711")).append("laptop", 0, 9, 0, text="hi")
    process.recall("phone", 10, 11, ("phone", 0), limit=20).delete("phone", 12, 13)
    commands = [line for line in script(write(tmp_path, process), "x").splitlines() if line.startswith("curl")]
    address = "$HOST/v1/users/a%2Fb%20c/sessions/s%261"
    assert [command.split('"')[-2] for command in commands] == [
        f"{address}/messages",
        f"{address}/messages",
        f"{address}/messages?limit=20",
        address,
    ]
    assert "--request DELETE" in commands[3]
    assert all("X-Tenant: t" in command for command in commands)
    assert [command.count('"$jars/0"') for command in commands] == [2, 0, 0, 0]
    assert "X-Request-Id: 0-1" in commands[0]


def test_a_user_conversation_is_recalled_over_the_user(tmp_path: Path) -> None:
    process = Process().talk("x", user="u", scope="user").append("phone", 0, 1, 0).recall("phone", 2, 3, ("phone", 0))
    assert '"$HOST/v1/users/u/messages"' in script(write(tmp_path, process), "x")


@pytest.mark.parametrize(
    "text",
    [
        "'; touch PWNED; '",
        "$(touch PWNED) `touch PWNED`",
        "line\ntouch PWNED\n",
        '"; touch PWNED; "',
        "nul\0 \U0001f600 \x1b[2J",
    ],
)
def test_a_script_runs_nothing_that_was_recorded(tmp_path: Path, text: str) -> None:
    process = Process().talk(text, scenario=text, user=text, session=text, tenant=text)
    process.append(text, 0, 1, 0, text=text, instance=text).recall(text, 2, 3, ("x", 9), instance=text)
    content = script(write(tmp_path / "run", process), text)
    content.encode("ascii", errors="backslashreplace")
    # In place of curl, what it was called with is written down.
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "curl").write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    (fake / "curl").chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", content],
        cwd=tmp_path,
        env={"PATH": f"{fake}:/usr/bin:/bin", "HOST": "http://memory"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not (tmp_path / "PWNED").exists()
    append, recall = (json.loads(line) for line in done.stdout.splitlines() if line)
    body = json.loads(append[append.index("--data-binary") + 1])
    assert body["messages"][0]["content"] == text
    assert recall[-1].startswith("http://memory/v1/users/")


def test_the_timeline_needs_no_pandas() -> None:
    program = "import sys, analysis.timeline; print([name for name in sys.modules if name in ('pandas', 'pyarrow')])"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
