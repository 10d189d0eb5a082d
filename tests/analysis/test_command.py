"""``python -P -m analysis`` as a process: exit codes, and what is printed where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from goldfish.contract import Budget

from .runs import Process, many, write

BUDGET = Budget(min_conversations=10)


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-P", "-m", "analysis", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_a_pass_exits_with_0_and_prints_the_table(tmp_path: Path) -> None:
    done = command(write(tmp_path, many(10), budget=BUDGET))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("PASS: Nothing was lost, late, mixed up or leaked")


def test_json_prints_the_results_as_written(tmp_path: Path) -> None:
    process = many(10).talk("x").append("phone", 0, 1, 0).recall("phone", 2, 3, final=True)
    done = command(write(tmp_path, process, budget=BUDGET), "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout) == json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))


def test_another_contract_judges_again(tmp_path: Path) -> None:
    process = many(10).talk("x").append("phone", 0, 1, 0).append("phone", 2, 3, 1)
    process.recall("phone", 4, 5, ("phone", 1), final=True)
    write(tmp_path, process, budget=BUDGET)
    other = tmp_path / "other.toml"
    other.write_text("[contract]\nvisibility_ms = 4\n[budget]\nmin_conversations = 5\n")
    assert command(tmp_path).returncode == 3
    assert command(tmp_path, "--contract", other).returncode == 0


@pytest.mark.parametrize("content", ["[contract]\nwindows = 3\n", "nonsense"])
def test_a_contract_that_cannot_be_meant_exits_with_2(tmp_path: Path, content: str) -> None:
    other = tmp_path / "other.toml"
    other.write_text(content)
    done = command(write(tmp_path, many(1)), "--contract", other)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert str(other) in done.stderr


def test_a_record_that_cannot_be_trusted_exits_with_2_and_writes_nothing(tmp_path: Path) -> None:
    done = command(write(tmp_path, Process().append("phone", 5, 4, 0)))
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path}")
    assert ":2: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results.json").exists()


def test_a_fault_of_the_analyzer_is_not_taken_for_a_pass(tmp_path: Path) -> None:
    program = (
        "import sys, analysis.analyze\nfrom analysis.__main__ import main\n"
        "analysis.analyze.analyze = lambda *_: 1 / 0\nsys.exit(main(sys.argv[1:]))"
    )
    words = [sys.executable, "-P", "-c", program, str(write(tmp_path, many(1)))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "ZeroDivisionError" in done.stderr


def test_a_terminal_that_knows_ascii_only_is_served(tmp_path: Path) -> None:
    words = [sys.executable, "-P", "-m", "analysis", str(write(tmp_path, many(10), budget=BUDGET))]
    env = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr


def test_the_analyzer_never_loads_the_load_engine(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom analysis.__main__ import main\nmain(sys.argv[1:])\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('locust', 'gevent', 'stress')], file=sys.stderr)"
    )
    words = [sys.executable, "-P", "-c", program, str(write(tmp_path, many(1)))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
