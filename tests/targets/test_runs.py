"""Whole runs against the servers: a sound one passes under its target's own contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import goldfish, only_run, results_of, rows_of, small_contract

from .served import PRODUCTS, SERVICES, serve

ALL = PRODUCTS | SERVICES


@pytest.mark.parametrize(
    ("name", "scenario"),
    [
        ("openai-conversations", "two-devices"),
        ("mem0", "rapid-switch"),
        ("chat-log", "reconnect"),
        ("companion", "two-devices"),
    ],
)
def test_a_sound_server_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, scenario: str) -> None:
    product = ALL[name]
    for variable, value in product.environment.items():
        monkeypatch.setenv(variable, value)
    (tmp_path / "goldfish.toml").write_text("[contract]\nsettle_ms = 0\n[budget]\nmin_conversations = 3\n")
    target = name if name in PRODUCTS else product.target
    with serve(product) as url:
        ended = goldfish("run", scenario, "--target", target, "--host", url, "-u", 4, "--turns", 24,
                         "--contract", "goldfish.toml", cwd=tmp_path)  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (judged,) = results_of(only_run(tmp_path))["scenarios"]
    assert judged["recalls"]["checked"] > 8
    assert judged["anomalies"] == {}


def test_a_mapping_that_shows_too_little_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page taken for the whole list: what is on the others is missing."""
    product = SERVICES["chat-log"]
    mapping = product.target.read_text(encoding="utf-8").replace("paging = { offset = 20 }", "")
    (tmp_path / "mapping.toml").write_text(mapping, encoding="utf-8")
    (tmp_path / "goldfish.toml").write_text("[contract]\nsettle_ms = 0\n[budget]\nmin_conversations = 3\n")
    monkeypatch.setenv("CHAT_LOG_KEY", "chat-log-key")
    with serve(product) as url:
        ended = goldfish(
            "run", "two-devices", "--target", "mapping.toml", "--host", url, "-u", 3, "--turns", 24,
            "--contract", "goldfish.toml", cwd=tmp_path,
        )  # fmt: skip
    assert ended.returncode == 3, ended.stdout + ended.stderr


def test_a_run_by_a_mapping_is_not_replayed_in_another_interface(tmp_path: Path) -> None:
    with serve(SERVICES["companion"]) as url:
        where = ("--target", SERVICES["companion"].target, "--contract", small_contract(tmp_path), "--host", url)
        assert goldfish("run", "rapid-switch", *where, "-u", 1, "--turns", 4, cwd=tmp_path).returncode == 0
    directory = only_run(tmp_path)
    name = rows_of(directory)[1]["conversation"]
    ended = goldfish("show", directory, name, "--curl", cwd=tmp_path)
    assert ended.returncode == 2
    assert "recorded by the target 'companion'" in ended.stderr
    assert goldfish("show", directory, name, cwd=tmp_path).returncode == 0
