"""The command line: lists, and mistakes that are named with what is known."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import locustfiles
from stress.scenarios.registry import scenarios

from .command import goldfish


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "rapid-swich"], ["unknown scenario 'rapid-swich'", "rapid-switch, reconnect, two-devices"]),
        (["run", "--store", "mongo"], ["unknown store 'mongo'", "journal"]),
        (["run", "--defect", "lost-update"], ["store 'journal' has no defect 'lost-update'"]),
        (["run", "--store", "user-profile", "--defect", "lost-update:gap=5"], ["unknown parameter 'gap'", "gap_ms"]),
        (["run", "--defect", "Lost Update"], ["is no specification", "NAME[@PART]"]),
        (["run", "--host", "http://127.0.0.1:1", "--store", "journal"], ["--store", "--host"]),
        (["run", "--contract", "nowhere.toml"], ["nowhere.toml", "No such file"]),
        (["run", "-u", "0"], ["0 is not in the range"]),
        (["run", "--processes", "0"], ["--processes", "1<=x<=64"]),
        (["run", "--turns-per-second", "0"], ["--turns-per-second", "0<x<=100000"]),
        (["run", "--fault", "kill@m1:at=1"], ["No such option"]),
        (["run", "--ui"], ["No such option"]),
        (["prove"], ["No such command"]),
        (["analyze", "nowhere"], ["nowhere is no run directory", "run.json"]),
        (["show", "nowhere", "0.1.s0"], ["nowhere is no run directory"]),
        (["up", "--port", "99999"], ["99999 is not in the range"]),
    ],
    ids=lambda value: (
        " ".join(value) if isinstance(value, list) and value[0] in ("run", "up", "analyze", "show") else ""
    ),
)
def test_a_mistake_exits_2_and_says_what_is_known(tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    ended = goldfish(*arguments, cwd=tmp_path)
    assert ended.returncode == 2, ended.stdout + ended.stderr
    for word in words:
        assert word in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr


def test_a_run_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = goldfish("run", "--host", "http://127.0.0.1:1", "--out", "file/runs", cwd=tmp_path)
    assert ended.returncode == 2
    assert "choose another --out" in ended.stderr


CLASSES = {
    "missing", "duplicated", "reordered", "corrupted", "foreign", "phantom", "over-retained", "expired early",
    "resurrected", "window overrun", "unretrieved",
}  # fmt: skip
FLAGS = {
    "torn turn", "read-your-writes", "monotonic-reads", "monotonic-writes", "writes-follow-reads", "cross-device",
    "after a retry", "surfaced",
}  # fmt: skip


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("scenarios", {"rapid-switch", "reconnect", "two-devices"}),
        ("defects", {"lost-update", "instance-cache"}),
        ("anomalies", CLASSES | FLAGS),
    ],
)
def test_the_lists_come_from_the_registries(tmp_path: Path, command: str, names: set[str]) -> None:
    listed = json.loads(goldfish(command, "--json", cwd=tmp_path).stdout)
    assert {entry["name"] for entry in listed} == names
    shown = goldfish(command, cwd=tmp_path).stdout
    assert all(set(name.split()) <= set(shown.split()) for name in names)


def test_the_command_loads_neither_locust_nor_pandas(tmp_path: Path) -> None:
    code = (
        "import sys, goldfish.cli, goldfish.cli.swarm, goldfish.cli.deployment, goldfish.cli.demo;"
        "import stress.scenarios.registry, stress.memory.registry, analysis.timeline, goldfish.table;"
        "print([m for m in ('locust', 'gevent', 'pandas', 'pyarrow') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_every_scenario_has_a_locustfile_and_is_in_the_common_one() -> None:
    folder = Path(locustfiles.__file__).parent
    everything = (folder / "all_scenarios.py").read_text()
    for name, info in scenarios().items():
        assert info.class_name in (folder / f"{name.replace('-', '_')}.py").read_text()
        assert info.class_name in everything
