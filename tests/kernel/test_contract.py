"""Settings are read strictly: an error names key, value, line and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldfish.contract import Budget, Contract, Settings, load_settings
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[contract]\nwindo = {messages = 20}\n", ["goldfish.toml:2", "contract.windo", "window", "visibility_ms"]),
        ("[contract]\n\nwindow = {turns = 3}\n", ["goldfish.toml:3", "contract.window.turns", "messages"]),
        ("[contract]\nwindow = {messages = 0}\n", ["goldfish.toml:2", "contract.window.messages", "0", ">= 1"]),
        ("[contract.window]\nmessages = 0\n", ["goldfish.toml:2", "contract.window.messages"]),
        ("[contract]\nscope = ['tenant']\n", ["goldfish.toml:2", "contract.scope", "tenant"]),
        ("[budget]\ncontext_loss = 2\n", ["goldfish.toml:2", "budget.context_loss", "2", "<= 1"]),
        ("[budget]\nconfidence = 'high'\n", ["goldfish.toml:2", "budget.confidence", "high"]),
        ("[budjet]\n", ["goldfish.toml:1", "budjet", "contract, budget"]),
        ("[contract\n", ["not valid TOML", "line 1"]),
        ("[contract]\nunmarked = 'allowed'\n", ["goldfish.toml:2", "'allowed'", '"forbid" or "allow"']),
        ("[contract]\nwindow = 12\n", ["goldfish.toml:2", "12", "{messages = N}"]),
        ("[contract]\nscope = 'session'\n", ["goldfish.toml:2", '["session"]']),
        ("[contract]\nvisibility_ms = 4000\nsettle_ms = 1000\n", ["goldfish.toml:1", "shorter than visibility_ms"]),
        ("[contract]\nvisibility_ms = 1e9\n", ["goldfish.toml:2", "<= 600000"]),
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
