"""Commands about several runs, and about runs to come: compare, history, plan."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.analyze import analyze
from goldfish.cli.history import sparkline
from goldfish.contract import Budget, Contract
from tests.analysis.runs import many, write
from tests.analysis.test_budgets import odd

from .command import goldfish

LOOSE = Budget(min_conversations=1, disorder="report")


def judged(folder: Path, name: str, harmed: int, **run: object) -> None:
    directory = folder / "runs" / name
    directory.mkdir(parents=True)
    analyze(write(directory, odd(100, harmed), budget=LOOSE, **run))  # type: ignore[arg-type]


# compare -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("harmed", "exit_code", "word"), [(40, 3, "WORSE: "), (2, 0, "NOT WORSE: ")])
def test_a_worse_candidate_exits_with_3(tmp_path: Path, harmed: int, exit_code: int, word: str) -> None:
    judged(tmp_path, "base", 2)
    judged(tmp_path, "new", harmed)
    ended = goldfish("compare", "runs/base", "runs/new", cwd=tmp_path)
    assert ended.returncode == exit_code, ended.stdout + ended.stderr
    assert ended.stdout.startswith(word)
    assert f"{harmed}/100" in ended.stdout
    assert "four of five such comparisons find" in ended.stdout
    as_json = goldfish("compare", "runs/base", "runs/new", "--json", cwd=tmp_path)
    told = json.loads(as_json.stdout)
    assert (as_json.returncode, told["exit_code"]) == (exit_code, exit_code)
    assert told["scenarios"][0]["conversations"]["candidate"]["events"] == harmed


def test_what_cannot_be_compared_exits_with_4_and_what_is_no_run_with_2(tmp_path: Path) -> None:
    judged(tmp_path, "base", 2)
    judged(tmp_path, "new", 40, contract=Contract(visibility_ms=1))
    ended = goldfish("compare", "runs/base", "runs/new", cwd=tmp_path)
    assert ended.returncode == 4
    assert ended.stdout.startswith("INCOMPARABLE: ")
    assert "other-contract" in ended.stdout
    (tmp_path / "runs/new/users.parquet").unlink()
    for other in ("runs/new", "nowhere"):
        ended = goldfish("compare", "runs/base", other, cwd=tmp_path)
        assert ended.returncode == 2
        assert ended.stderr.startswith("error: ")
        assert "Traceback" not in ended.stderr


# history -------------------------------------------------------------------------------------------------------------


def test_history_shows_the_runs_oldest_first_and_a_trend(tmp_path: Path) -> None:
    ours = {"store": "user-profile", "defects": [{"name": "lost-update", "part": None, "parameters": {}}]}
    for number, harmed in enumerate((0, 5, 50)):
        judged(tmp_path, f"r{2 - number}", harmed, started=1_000_000.0 * (number + 1), ended="stopped", target=ours)
    (tmp_path / "runs/raw").mkdir()
    write(tmp_path / "runs/raw", many(1))
    (tmp_path / "runs/broken").mkdir()
    (tmp_path / "runs/broken/run.json").write_text("{")
    (tmp_path / "runs/no-run").mkdir()
    ended = goldfish("history", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("user-profile +lost-update") == 4
    assert "▁▁▁" in ended.stdout  # harmed, but no recall lacked anything
    assert "left out raw: not judged: goldfish analyze runs/raw" in " ".join(ended.stdout.split())
    assert "left out broken" in ended.stdout
    told = json.loads(goldfish("history", "runs", "--json", cwd=tmp_path).stdout)
    assert [run["directory"] for run in told["runs"]] == ["runs/r2", "runs/r1", "runs/r0"]
    assert [run["scenarios"]["rapid-switch"]["harmed"] for run in told["runs"]] == [0, 0.05, 0.5]
    assert {*told["unread"]} == {"raw", "broken"}


def test_a_folder_without_runs_says_so_and_one_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    ended = goldfish("history", cwd=tmp_path)
    assert (ended.returncode, ended.stdout.strip()) == (0, "no judged run in runs")
    ended = goldfish("history", "nowhere", cwd=tmp_path)
    assert ended.returncode == 2
    assert "cannot read the folder 'nowhere'" in ended.stderr


def test_bars_tell_nothing_from_little() -> None:
    assert sparkline([0, 0.001, 0.5, 1]) == "▁▂▅█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


# plan ----------------------------------------------------------------------------------------------------------------


def test_a_plan_tells_users_conversations_and_minutes(tmp_path: Path) -> None:
    ended = goldfish("plan", "--max-loss", "1%", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "At most 1.00 % of recalls lossy, with 95% confidence" in ended.stdout
    assert "368" in ended.stdout
    assert "after 459 users without a loss" in " ".join(ended.stdout.split())
    told = json.loads(goldfish("plan", "--max-loss", "0.01", "--burst", "0", "--json", cwd=tmp_path).stdout)
    assert [need["proves"] for need in told["needs"]] == ["kept"] * 4 + ["exceeded"] * 2
    assert told["needs"][0]["users"] == 368


def test_a_plan_takes_its_pace_from_a_run(tmp_path: Path) -> None:
    judged(tmp_path, "one", 0, start_ns=0, end_ns=30_000_000_000)
    told = json.loads(goldfish("plan", "--max-loss", "0.01", "--like", "runs/one", "--json", cwd=tmp_path).stdout)
    assert told["pace"]["users_per_minute"] == 200
    assert told["needs"][0]["minutes"] == pytest.approx(1.84)
    assert "goldfish plan" in goldfish("plan", "--help", cwd=tmp_path).stdout
    judged(tmp_path, "two", 0)
    for like in ("runs/two", "nowhere"):
        ended = goldfish("plan", "--max-loss", "0.01", "--like", like, cwd=tmp_path)
        assert ended.returncode == 2
        assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan"], "Missing option '--max-loss'"),
        (["plan", "--max-loss", "0"], "not between 0 and 1"),
        (["plan", "--max-loss", "much"], "expected e.g. 0.001 or 0.1%"),
        (["plan", "--max-loss", "1%", "--burst", "2"], "--burst"),
        (["plan", "--max-loss", "1%", "--confidence", "0.2"], "--confidence"),
        (["compare", "one"], "CANDIDATE"),
    ],
)
def test_a_mistake_says_what_was_expected(tmp_path: Path, arguments: list[str], words: str) -> None:
    ended = goldfish(*arguments, cwd=tmp_path)
    assert ended.returncode == 2
    assert words in " ".join(ended.stderr.split())


def test_numbers_are_only_loaded_where_they_are_needed() -> None:
    code = (
        "import sys, goldfish.cli, goldfish.cli.comparison, goldfish.cli.history, goldfish.cli.planning;"
        "assert not {'numpy', 'scipy', 'pandas', 'pyarrow', 'locust'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
