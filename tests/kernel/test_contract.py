"""Settings are read strictly: an error names key, value, line and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldfish.contract import LEVELS, Budget, Contract, Level, Settings, Ttl, in_words, load_settings
from goldfish.errors import UsageError


def written(folder: Path, text: str) -> Path:
    path = folder / "goldfish.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_everything_is_promised_and_nothing_tolerated() -> None:
    assert load_settings(None) == Settings()
    assert Contract().scope == ("session", "user")
    assert Budget().context_loss == 0


def test_a_contract_is_read(tmp_path: Path) -> None:
    settings = load_settings(
        written(
            tmp_path,
            """
            [contract]
            scope = ["session"]
            window = {messages = 20}
            visibility_ms = 250
            [budget]
            context_loss = 0.001
            """,
        )
    )
    assert settings.contract.window.messages == 20
    assert settings.contract.visibility_ns == 250_000_000
    assert settings.contract.settle_s == 2
    assert settings.budget.context_loss == 0.001


def test_final_recalls_wait_twice_the_visibility(tmp_path: Path) -> None:
    assert Contract(visibility_ms=5_000).settle_s == 10
    assert Contract(visibility_ms=50, settle_ms=100).settle_s == 0.1


EVERY_KEY = """
[contract]
scope = ["user"]
page = {default = 50, max = 100}
visibility_ms = 20
settle_ms = 3000
order = "append"
order_slack_ms = 5
dedupe = "none"
concurrency = "last-writer"
isolation = ["tenant", "user"]
roles = ["user", "assistant"]
unmarked = "allow"
content = {max_bytes = 4000, nul = "strip", surrogate = "replace"}
[contract.window]
tokens = 4000
pinned = 1
keep_at_least = 2
chars_per_token = [2.5, 5]
[contract.ttl]
seconds = 3600
refresh = "read"
unit = "user"
granularity_ms = 1000
[budget]
context_loss = 0.001
conversations_harmed = 0.01
recall_p95_ms = 200
append_p95_ms = 300
"""


def test_every_key_is_read_and_told(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, EVERY_KEY))
    told = in_words(settings.contract, settings.budget)
    for words in (
        "recall by user",
        "the newest 4000 tokens but at least 2 messages with the first 1 pinned",
        "50 to a page unless asked otherwise",
        "at most 100 to a page",
        "a user expires 3600 s after the last append or recall",
        "visible 20 ms after the acknowledgement",
        "order settled after 5 ms",
        "a resend is stored again",
        "may overwrite each other",
        "isolated by tenant and user",
        "only user and assistant messages stored",
        "texts up to 4000 bytes",
        "NUL characters taken out",
        "lone surrogates replaced",
        "unmarked elements allowed",
        "final recalls after 3 s",
        "tolerated loss 0.100%",
        "at most 1.000% of the conversations harmed",
        "95 % of recalls within 200 ms",
        "95 % of appends within 300 ms",
    ):
        assert words in told


def test_what_is_promised_by_default_is_told_without_allowances() -> None:
    assert in_words(Contract(), Budget()) == (
        "recall by session and user, the whole history, visible at once, unmarked elements forbidden, final recalls "
        "after 2 s, no loss tolerated"
    )


def test_what_refreshes_an_expiry_follows_from_its_unit() -> None:
    assert Ttl(seconds=1).refreshed_by == "write"
    assert Ttl(seconds=1, unit="message").refreshed_by == "none"
    assert Ttl(seconds=1, refresh="read").refreshed_by == "read"
    assert "a message expires 1 s after it was written" in in_words(
        Contract(ttl=Ttl(seconds=1, unit="message")), Budget()
    )
    assert "a session expires 1 s after its first append" in in_words(
        Contract(ttl=Ttl(seconds=1, refresh="none")), Budget()
    )


@pytest.mark.parametrize(
    ("isolation", "isolated"),
    [
        (("tenant", "user", "session"), {"tenant", "user", "session"}),
        (("session",), {"tenant", "user", "session"}),
        (("user",), {"tenant", "user"}),
        (("tenant",), {"tenant"}),
        ((), set()),
    ],
)
def test_who_is_kept_apart_from_the_near_is_kept_apart_from_the_far(
    isolation: tuple[Level, ...], isolated: set[str]
) -> None:
    contract = Contract(isolation=isolation)
    assert {level for level in LEVELS if contract.isolates(level)} == isolated


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[contract]\nwindo = {messages = 20}\n", ["goldfish.toml:2", "contract.windo", "window", "visibility_ms"]),
        ("[contract]\n\nwindow = {turn = 3}\n", ["goldfish.toml:3", "contract.window.turn", "messages, turns, tokens"]),
        ("[contract]\nwindow = {messages = 0}\n", ["goldfish.toml:2", "contract.window.messages", "0", ">= 1"]),
        ("[contract.window]\nmessages = 0\n", ["goldfish.toml:2", "contract.window.messages"]),
        ("[contract]\nscope = ['tenant']\n", ["goldfish.toml:2", "contract.scope", "tenant"]),
        ("[budget]\ncontext_loss = 2\n", ["goldfish.toml:2", "budget.context_loss", "2", "<= 1"]),
        ("[budget]\nconfidence = 'high'\n", ["goldfish.toml:2", "budget.confidence", "high"]),
        ("[budjet]\n", ["goldfish.toml:1", "budjet", "contract, budget"]),
        ("[contract\n", ["goldfish.toml:1: not valid TOML", "[contract"]),
        ("[contract]\nunmarked = 'allowed'\n", ["goldfish.toml:2", "'allowed'", '"forbid" or "allow"']),
        ("[contract]\nwindow = 12\n", ["goldfish.toml:2", "12", "{messages = N}"]),
        ("[contract]\nscope = 'session'\n", ["goldfish.toml:2", '["session"]']),
        (
            "[contract]\nvisibility_ms = 4000\nsettle_ms = 1000\n",
            ["goldfish.toml:3", "shorter than visibility_ms", "4000 or more"],
        ),
        ("[contract]\nvisibility_ms = 1e9\n", ["goldfish.toml:2", "<= 600000"]),
        ("[contract]\nscope = []\n", ["goldfish.toml:2", "scope = []", "at least one"]),
        ("[contract]\nroles = []\n", ["goldfish.toml:2", "roles = []", "at least one"]),
        ("[contract]\nisolation = ['user', 'user']\n", ["goldfish.toml:2", "names one twice"]),
        ("[contract]\nisolation = ['team']\n", ["goldfish.toml:2", "team", '"tenant", "user", "session"']),
        (
            "[contract]\nwindow = {messages = 9, turns = 4}\n",
            ["goldfish.toml:2", "turns = 4", "messages = 9", "one of"],
        ),
        ("[contract]\nwindow = {pinned = 1}\n", ["goldfish.toml:2", "pinned = 1", "without a window"]),
        ("[contract.window]\nmessages = 2\npinned = 2\n", ["goldfish.toml:3", "pinned = 2", "0 to 1"]),
        ("[contract.window]\nmessages = 2\npinned = -1\n", ["goldfish.toml:3", "pinned", "-1", ">= 0"]),
        ("[contract]\nwindow = {turns = 2, keep_at_least = 2}\n", ["goldfish.toml:2", "keep_at_least = 2", "tokens"]),
        ("[contract]\nwindow = {turns = 2, chars_per_token = [3, 4]}\n", ["goldfish.toml:2", "[3, 4]", "tokens"]),
        ("[contract]\nwindow = {tokens = 9, chars_per_token = [4, 3]}\n", ["goldfish.toml:2", "[4, 3]", "most"]),
        ("[contract]\nwindow = {tokens = 9, chars_per_token = [0, 3]}\n", ["goldfish.toml:2", "[0, 3]", "above 0"]),
        ("[contract]\nwindow = {tokens = 9, chars_per_token = 4}\n", ["goldfish.toml:2", "4", "[fewest, most]"]),
        ("[contract]\npage = {default = 50, max = 20}\n", ["goldfish.toml:2", "default = 50", "1 to 20"]),
        ("[contract]\npage = 20\n", ["goldfish.toml:2", "20", "{default = N, max = N}"]),
        ("[contract]\nttl = 60\n", ["goldfish.toml:2", "60", "{seconds = S"]),
        ("[contract]\nttl = {refresh = 'write'}\n", ["goldfish.toml:2", "seconds"]),
        ("[contract]\nttl = {seconds = 0}\n", ["goldfish.toml:2", "contract.ttl.seconds", "> 0"]),
        ("[contract]\nttl = {seconds = 9, unit = 'chat'}\n", ["goldfish.toml:2", "chat", '"session", "user"']),
        ("[contract.ttl]\nseconds = 9\nrefresh = 'touch'\n", ["goldfish.toml:3", "touch", '"write", "read" or "none"']),
        (
            "[contract.ttl]\nseconds = 9\nunit = 'message'\nrefresh = 'read'\n",
            ["goldfish.toml:4", '"read"', 'unit = "message"', 'allowed: "none"'],
        ),
        ("[contract]\norder = 'time'\n", ["goldfish.toml:2", "time", '"append" or "unspecified"']),
        (
            "[contract]\norder = 'unspecified'\norder_slack_ms = 5\n",
            ["goldfish.toml:3", "order_slack_ms = 5", 'order = "append"'],
        ),
        (
            "[contract]\norder = 'unspecified'\nwindow = {messages = 5, pinned = 1}\n",
            ["goldfish.toml:2", "window.pinned = 1", '"append"'],
        ),
        ("[contract]\ndedupe = 'text'\n", ["goldfish.toml:2", "text", '"id" or "none"']),
        ("[contract]\nconcurrency = 'lock'\n", ["goldfish.toml:2", "lock", '"last-writer"']),
        ("[contract]\ncontent = {nul = 'cut'}\n", ["goldfish.toml:2", "cut", '"strip"']),
        ("[contract]\ncontent = {max_bytes = 0}\n", ["goldfish.toml:2", "contract.content.max_bytes", "0", ">= 1"]),
        ("[budget]\nconversations_harmed = 1.5\n", ["goldfish.toml:2", "conversations_harmed", "<= 1"]),
        ("[budget]\nrecall_p95_ms = 0\n", ["goldfish.toml:2", "recall_p95_ms", "> 0"]),
        ("[budget]\nappend_p95_ms = 'fast'\n", ["goldfish.toml:2", "append_p95_ms", "fast"]),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        load_settings(written(tmp_path, text))
    for word in words:
        assert word in str(caught.value)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_settings(tmp_path / "nowhere.toml")
