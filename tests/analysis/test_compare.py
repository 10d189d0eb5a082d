"""Two run directories against each other: worse, not worse, or incomparable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.analyze import analyze
from analysis.compare import compare
from goldfish.contract import Budget, Contract
from goldfish.errors import RecordError

from .runs import Process, many, write
from .test_budgets import odd

LOOSE = Budget(min_conversations=1, context_loss=0.9, disorder="report")


def judged(directory: Path, process: Process, **more: Any) -> Path:
    directory.mkdir()
    analyze(write(directory, process, **{"budget": LOOSE} | more))
    return directory


def test_more_harmed_conversations_are_worse(tmp_path: Path) -> None:
    base, candidate = judged(tmp_path / "a", odd(100, 2)), judged(tmp_path / "b", odd(100, 20))
    found = compare(base, candidate)
    assert (found.verdict, found.exit_code, found.reasons) == ("worse", 3, [])
    (scenario,) = found.scenarios
    harmed = scenario.conversations
    assert (harmed.base.events, harmed.base.trials, harmed.candidate.events) == (2, 100, 20)
    assert harmed.worse
    assert harmed.p < 0.001
    assert harmed.difference == pytest.approx(0.18)
    assert harmed.low is not None
    assert harmed.low > 0.05
    assert harmed.detectable is not None
    assert 0.05 < harmed.detectable < 0.2
    assert not scenario.recalls.worse
    assert scenario.recalls.p == 1
    other_way = compare(candidate, base)
    assert (other_way.verdict, other_way.exit_code) == ("not worse", 0)


def test_the_tests_share_one_level(tmp_path: Path) -> None:
    # 6 more of 100 have p = 0.03: too little as the smaller of two.
    found = compare(judged(tmp_path / "a", odd(100, 1)), judged(tmp_path / "b", odd(100, 7)))
    assert 0.01 < found.scenarios[0].conversations.p < 0.05
    assert found.verdict == ("worse" if found.scenarios[0].conversations.p <= 0.025 else "not worse")


def test_another_contract_makes_runs_incomparable(tmp_path: Path) -> None:
    base = judged(tmp_path / "a", many(20))
    candidate = judged(tmp_path / "b", odd(100, 90), contract=Contract(visibility_ms=1))
    found = compare(base, candidate)
    assert (found.verdict, found.exit_code) == ("incomparable", 4)
    assert [reason.code for reason in found.reasons] == ["other-contract"]
    assert "visibility_ms" in found.reasons[0].text


@pytest.mark.parametrize(
    ("run", "budget", "verdict"),
    [
        ({"ended": "aborted"}, {}, "incomparable"),
        ({"lost": {"0": "it fell silent"}}, {}, "incomparable"),
        ({}, {"min_conversations": 1_000}, "not worse"),
        ({}, {"context_loss": 0.001}, "not worse"),
    ],
)
def test_a_run_that_is_not_whole_is_incomparable_and_a_short_one_is_not(
    tmp_path: Path, run: dict[str, Any], budget: dict[str, Any], verdict: str
) -> None:
    base = judged(tmp_path / "a", many(20))
    settings = {"min_conversations": 1, "context_loss": 0.9} | budget
    candidate = judged(tmp_path / "b", many(20), budget=Budget(**settings), **run)
    found = compare(base, candidate)
    assert found.verdict == verdict
    assert compare(candidate, base).verdict == verdict
    if verdict == "incomparable":
        assert found.reasons[0].code == "inconclusive-run"
        assert "candidate" in found.reasons[0].text


def test_a_scenario_that_only_the_base_ran_leaves_it_open_unless_another_is_worse(tmp_path: Path) -> None:
    both = odd(100, 1)
    for operation in many(20, scenario="reconnect").operations:
        operation.conversation, operation.user = f"r{operation.conversation}", f"r{operation.user}"
        both.operations.append(operation)
    for at, operation in enumerate(both.operations):
        operation.id = at
    base = judged(tmp_path / "a", both)
    found = compare(base, judged(tmp_path / "b", odd(100, 1)))
    assert (found.verdict, [reason.code for reason in found.reasons]) == ("incomparable", ["scenario-missing"])
    assert compare(base, judged(tmp_path / "c", odd(100, 40))).verdict == "worse"
    assert compare(tmp_path / "b", base).verdict == "not worse"


def test_runs_without_a_common_scenario(tmp_path: Path) -> None:
    found = compare(judged(tmp_path / "a", many(9)), judged(tmp_path / "b", many(9, scenario="reconnect")))
    assert found.exit_code == 4
    assert {reason.code for reason in found.reasons} == {"scenario-missing", "nothing-in-common"}


def test_what_else_differs_is_noted(tmp_path: Path) -> None:
    base = judged(tmp_path / "a", many(9), users=20, connection="kept")
    found = compare(base, judged(tmp_path / "b", many(9), users=200, connection="kept", turns_per_second=5.0))
    assert found.notes == [
        "users at the same time: 20 in the base, 200 in the candidate",
        "turns a second: not set in the base, 5 in the candidate",
    ]


def test_incidents_of_faults_make_runs_incomparable(tmp_path: Path) -> None:
    base, candidate = judged(tmp_path / "a", many(20)), judged(tmp_path / "b", odd(100, 50))
    results = json.loads((candidate / "results.json").read_text())
    results["scenarios"][0]["incidents"] = 2
    (candidate / "results.json").write_text(json.dumps(results))
    found = compare(base, candidate)
    assert (found.verdict, found.reasons[0].code) == ("incomparable", "incidents")


@pytest.mark.parametrize("missing", ["run.json", "results.json", "users.parquet"])
def test_what_is_no_judged_run_says_what_to_do(tmp_path: Path, missing: str) -> None:
    base, candidate = judged(tmp_path / "a", many(3)), judged(tmp_path / "b", many(3))
    (candidate / missing).unlink()
    with pytest.raises(RecordError, match="is no run directory" if missing == "run.json" else "goldfish analyze"):
        compare(base, candidate)
