"""``junit.xml``: red unless a pass was earned, and of the form that CI servers read."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from analysis.analyze import analyze
from analysis.publish import JUNIT, RESULTS
from goldfish.contract import Budget
from goldfish.run import Skipped

from .runs import Process, many, sound, write
from .test_outputs import HOSTILE, hostile_run

BUDGET = Budget(min_conversations=10)

# What the schemas of Ant's JUnit task and of Jenkins' xUnit plugin both allow: element → (required attributes,
# allowed attributes, children in their order with how many of each).
GRAMMAR: dict[str, tuple[set[str], set[str], list[tuple[str, int, int]]]] = {
    "testsuites": (set(), set(), [("testsuite", 0, 99)]),
    "testsuite": (
        {"name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "time"},
        {"skipped"},
        [("properties", 1, 1), ("testcase", 0, 9_999), ("system-out", 1, 1), ("system-err", 1, 1)],
    ),
    "properties": (set(), set(), [("property", 0, 99)]),
    "property": ({"name", "value"}, set(), []),
    "testcase": ({"name", "classname", "time"}, set(), [("skipped", 0, 1), ("error", 0, 1), ("failure", 0, 1)]),
    "skipped": (set(), {"message", "type"}, []),
    "error": ({"type"}, {"message"}, []),
    "failure": ({"type"}, {"message"}, []),
    "system-out": (set(), set(), []),
    "system-err": (set(), set(), []),
}


def check_form(element: ET.Element) -> None:
    required, allowed, children = GRAMMAR[element.tag]
    assert required <= set(element.attrib) <= required | allowed, element.tag
    names = [child.tag for child in element]
    assert names == [name for name, _, _ in children for _ in range(names.count(name))], f"order in {element.tag}"
    for name, least, most in children:
        assert least <= names.count(name) <= most
    if element.tag == "testsuite":
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", element.attrib["timestamp"])
        assert re.fullmatch(r"\d+\.\d+", element.attrib["time"])
        cases = element.findall("testcase")
        assert int(element.attrib["tests"]) == len(cases)
        for plural, name in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.attrib[plural]) == sum(case.find(name) is not None for case in cases)
    if element.tag == "testcase":
        assert len(element) <= 1
    for child in element:
        check_form(child)


def states(directory: Path) -> dict[tuple[str, str], str]:
    root = ET.fromstring((directory / JUNIT).read_bytes())
    check_form(root)
    return {
        (case.attrib["classname"], case.attrib["name"]): case[0].tag if len(case) else "passed"
        for case in root.iter("testcase")
    }


def lossy(process: Process, number: int) -> Process:
    """A conversation that lost its first message."""
    process.talk(f"lossy.{number}").append("phone", 0, 1, 0).append("phone", 2, 3, 1)
    return process.recall("phone", 4, 5, ("phone", 1)).recall("phone", 9, 10, ("phone", 1), final=True)


def test_a_pass_is_green(tmp_path: Path) -> None:
    analyze(write(tmp_path, many(10), budget=BUDGET))
    assert states(tmp_path) == {
        ("goldfish.rapid-switch", "context_loss"): "passed",
        ("goldfish.rapid-switch", "disorder"): "passed",
        ("goldfish.rapid-switch", "zero_tolerance"): "passed",
        ("goldfish.rapid-switch", "record"): "passed",
        ("goldfish.run", "request_failures"): "passed",
        ("goldfish.run", "record"): "passed",
    }


def test_a_loss_is_a_failure_with_rate_interval_and_example(tmp_path: Path) -> None:
    analyze(write(tmp_path, lossy(many(10), 0), budget=BUDGET))
    found = states(tmp_path)
    assert found["goldfish.rapid-switch", "context_loss"] == "failure"
    assert found["goldfish.rapid-switch", "disorder"] == "passed"
    failure = next(ET.fromstring((tmp_path / JUNIT).read_bytes()).iter("failure"))
    assert "2 of 42 checked recalls lossy: 4.76 % (95% interval" in failure.attrib["message"]
    assert "First: request 0-72, answered by m1, lacks message 0 by phone (head)" in (failure.text or "")


def test_too_few_conversations_are_an_error_and_no_failure(tmp_path: Path) -> None:
    assert analyze(write(tmp_path, many(3), budget=BUDGET)).exit_code == 4
    found = states(tmp_path)
    assert found.pop(("goldfish.rapid-switch", "context_loss")) == "error"
    assert set(found.values()) == {"passed"}


def test_a_scenario_is_not_green_because_another_one_failed_the_run(tmp_path: Path) -> None:
    process = sound(lossy(many(10), 0), 99, scenario="two-devices")
    analyze(write(tmp_path, process, budget=BUDGET))
    found = states(tmp_path)
    assert found["goldfish.rapid-switch", "context_loss"] == "failure"
    assert found["goldfish.two-devices", "context_loss"] == "error"


def test_a_scenario_in_which_no_recall_was_answered_has_no_green_case_but_its_record(tmp_path: Path) -> None:
    process = many(10).talk("x", scenario="mute").append("phone", 0, 1, 0).recall("phone", 2, 3, outcome="fail")
    analyze(write(tmp_path, process, budget=BUDGET))
    found = states(tmp_path)
    assert {found["goldfish.mute", name] for name in ("context_loss", "disorder", "zero_tolerance")} == {"error"}


def test_disorder_and_leaks_fail_their_own_cases(tmp_path: Path) -> None:
    process = many(10).talk("x").append("phone", 0, 1, 0).append("phone", 2, 3, 1, outcome="fail")
    process.recall("phone", 4, 5, ("phone", 0), ("phone", 0), ("phone", 1), final=True)
    analyze(write(tmp_path, process, budget=BUDGET))
    found = states(tmp_path)
    assert found["goldfish.rapid-switch", "disorder"] == "failure"
    assert found["goldfish.rapid-switch", "zero_tolerance"] == "failure"
    assert found["goldfish.rapid-switch", "context_loss"] == "passed"


def test_reported_disorder_is_not_red(tmp_path: Path) -> None:
    process = many(10).talk("x").append("phone", 0, 1, 0).recall("phone", 4, 5, ("phone", 0), ("phone", 0), final=True)
    assert analyze(write(tmp_path, process, budget=Budget(min_conversations=10, disorder="report"))).exit_code == 0
    assert set(states(tmp_path).values()) == {"passed"}


def test_budgets_of_harm_and_latency_have_cases_of_their_own(tmp_path: Path) -> None:
    budget = Budget(min_conversations=10, conversations_harmed=0.9, recall_p95_ms=5, append_p95_ms=1)
    analyze(write(tmp_path, many(40), budget=budget))
    found = states(tmp_path)
    assert found["goldfish.rapid-switch", "conversations_harmed"] == "passed"
    assert found["goldfish.rapid-switch", "recall_p95_ms"] == "passed"
    assert found["goldfish.rapid-switch", "append_p95_ms"] == "failure"


def test_a_budget_that_was_neither_met_nor_broken_is_an_error(tmp_path: Path) -> None:
    budget = Budget(min_conversations=10, context_loss=0.2, conversations_harmed=0.001, recall_p95_ms=5)
    analyze(write(tmp_path, many(12), budget=budget))
    found = states(tmp_path)
    assert found["goldfish.rapid-switch", "conversations_harmed"] == "error"
    assert found["goldfish.rapid-switch", "recall_p95_ms"] == "error"
    error = next(ET.fromstring((tmp_path / JUNIT).read_bytes()).iter("error"))
    assert "rate-unproven" in (error.text or "")


def test_failed_requests_are_a_failure_of_the_run(tmp_path: Path) -> None:
    process = many(10).talk("x").append("phone", 0, 1, 0)
    for at in range(20):
        process.recall("phone", 4 + at, 5 + at, outcome="fail")
    assert analyze(write(tmp_path, process.recall("phone", 50, 51, *[("phone", 0)], final=True), budget=BUDGET))
    assert states(tmp_path)["goldfish.run", "request_failures"] == "failure"


def test_a_damaged_record_is_an_error_of_the_run(tmp_path: Path) -> None:
    directory = write(tmp_path, many(10), budget=BUDGET, processes=["0", "1"])
    assert analyze(directory).exit_code == 4
    assert states(tmp_path)["goldfish.run", "record"] == "error"


def test_a_scenario_that_was_skipped_is_skipped(tmp_path: Path) -> None:
    skipped = [Skipped(scenario="reconnect", reason="the contract offers no recall by user")]
    analyze(write(tmp_path, many(10), budget=BUDGET, skipped=skipped))
    assert states(tmp_path)["goldfish.reconnect", "context_loss"] == "skipped"


def test_a_reason_nobody_foresaw_is_red(tmp_path: Path) -> None:
    from analysis.junit import cases

    analyze(write(tmp_path, many(10), budget=BUDGET))
    results = json.loads((tmp_path / RESULTS).read_text(encoding="utf-8"))
    for scenario in (None, "rapid-switch", "elsewhere"):
        reason = {"code": "unheard-of", "scenario": scenario, "text": "Something. Else."}
        told = [
            case.state for case in cases(results | {"verdict": "inconclusive", "exit_code": 4, "reasons": [reason]})
        ]
        assert told.count("error") == 1


@pytest.mark.parametrize("text", [*HOSTILE, "nul\x00 and \ufffe and \uffff and \ud800", "]]> <![CDATA["], ids=range(9))
def test_hostile_names_stay_names(tmp_path: Path, text: str) -> None:
    if "\ud800" in text:
        text = text.encode("utf-8", "backslashreplace").decode()
    hostile_run(tmp_path, text)
    found = states(tmp_path)
    assert "passed" not in {state for (_, case), state in found.items() if case == "context_loss"}
    raw = (tmp_path / JUNIT).read_text(encoding="utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ufffe\uffff]", raw)
