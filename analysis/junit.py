"""``junit.xml``: every budget of every scenario as a test case, for CI servers that show such.

A case is green only if it was earned. What is proven over its budget is a *failure*; what could not be proven within
it, because too little was checked or the record is not whole, is an *error*: red as well, but nobody takes it for a
broken memory. Only scenarios that were never meant to run are *skipped*.

The form is the one that Ant, Surefire and pytest share (elements and attributes that both the schema of Ant's JUnit
task and that of Jenkins' xUnit plugin know), so that every server reads it.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from goldfish.run import Run
from goldfish.table import count, headline, plain, share, span, told

State = Literal["passed", "failure", "error", "skipped"]

# Scenario reasons that belong to a case of their own; every other one tells of the record.
_CASES = {
    "context-loss": "context_loss",
    "few-conversations": "context_loss",
    "nothing-checked": "context_loss",
    "no-operations": "context_loss",
    "rate-unproven": "context_loss",
    "foreign": "zero_tolerance",
    "corrupted": "zero_tolerance",
    "rejected-yet-shown": "zero_tolerance",
    "duplicated": "disorder",
    "reordered": "disorder",
    "phantom": "disorder",
    "request-failures": "request_failures",
}
_FAILING = {"context-loss", "foreign", "corrupted", "rejected-yet-shown", "request-failures"}
_DISORDER = {"duplicated", "reordered", "phantom"}
_NOTES = {"load-saturated", "late-arrivals"}
"""Reasons that say how far a figure may be trusted and decide nothing."""

# XML 1.0 has no form for these, not even escaped.
_FORBIDDEN = re.compile("[\ufffe\uffff]")


class Case(NamedTuple):
    """One budget of one scenario, or of the whole run."""

    scenario: str | None
    name: str
    state: State
    message: str = ""
    """One line: what was found and what is tolerated."""
    text: str = ""
    """The reasons in full, with an example and what to try."""


def junit(results: Mapping[str, Any], run: Run) -> bytes:
    """The document; ``results`` is the decoded content of ``results.json``."""
    found = list(cases(results))
    states = [case.state for case in found]
    suites = ET.Element("testsuites")
    started = datetime.fromtimestamp(run.started or 0, UTC)
    length_s = (run.end_ns - run.start_ns) / 1e9 if run.start_ns is not None and run.end_ns is not None else 0.0
    suite = ET.SubElement(
        suites,
        "testsuite",
        name="goldfish",
        package="goldfish",
        id="0",
        timestamp=started.strftime("%Y-%m-%dT%H:%M:%S"),
        hostname=_text(str(run.target.get("host") or "unknown"), 200) or "unknown",
        tests=str(len(found)),
        failures=str(states.count("failure")),
        errors=str(states.count("error")),
        skipped=str(states.count("skipped")),
        time=f"{max(length_s, 0):.3f}",
    )
    properties = ET.SubElement(suite, "properties")
    for name in ("run", "verdict", "exit_code"):
        ET.SubElement(properties, "property", name=name, value=_text(str(results[name])))
    ET.SubElement(properties, "property", name="owed", value=_text(told(results)))
    for case in found:
        _write(suite, case)
    lines = [headline(results), *(f"{case.state} {_where(case)} {case.name}: {case.message}" for case in found)]
    ET.SubElement(suite, "system-out").text = "\n".join(map(_text, lines))
    ET.SubElement(suite, "system-err")
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'.encode()


def cases(results: Mapping[str, Any]) -> Iterator[Case]:
    """Every case, scenario by scenario, then those of the whole run."""
    red = False
    for scenario in results["scenarios"]:
        told_of = _Reasons(results, scenario["name"])
        for case in (
            _context_loss(scenario, results["budget"], told_of),
            _listed("disorder", scenario, told_of),
            _listed("zero_tolerance", scenario, told_of),
            told_of.case("record", "every conversation of the scenario could be judged"),
        ):
            red = red or case.state != "passed"
            yield case
    for skipped in results["skipped"]:
        yield Case(skipped["scenario"], "context_loss", "skipped", skipped["reason"])
    whole = _Reasons(results, None)
    requests = whole.case("request_failures", f"at most {share(results['budget']['request_failures'])} tolerated")
    record = whole.case("record", "the record is whole")
    red = red or requests.state != "passed" or record.state != "passed"
    if results["exit_code"] and not red:
        # Whatever the reason is called: a run that did not pass is never all green.
        state: State = "failure" if results["verdict"] == "fail" else "error"
        record = Case(None, "record", state, headline(results))
    yield requests
    yield record


class _Reasons:
    """The reasons of one scenario, or those of the whole run, by the case they belong to."""

    def __init__(self, results: Mapping[str, Any], scenario: str | None) -> None:
        self.scenario = scenario
        self.passed = results["verdict"] == "pass"
        self.reported = _DISORDER if results["budget"]["disorder"] == "report" else set()
        self.reasons = [reason for reason in results["reasons"] if reason["scenario"] == scenario]

    def of(self, case: str) -> list[Mapping[str, Any]]:
        """Those that decide a case."""
        return [
            reason
            for reason in self.reasons
            if _CASES.get(reason["code"], "record") == case and reason["code"] not in _NOTES | self.reported
        ]

    def case(self, name: str, good: str) -> Case:
        """Failed if a reason proves it, an error if one bars a pass, else passed."""
        deciding = self.of(name)
        if not deciding or (self.passed and name == "record"):
            return Case(self.scenario, name, "passed", good)
        failing = any(reason["code"] in _FAILING | _DISORDER for reason in deciding)
        text = "\n\n".join(f"{reason['code']}: {reason['text']}" for reason in deciding)
        return Case(self.scenario, name, "failure" if failing else "error", _first_sentence(deciding[0]["text"]), text)


def _context_loss(scenario: Mapping[str, Any], budget: Mapping[str, Any], told_of: _Reasons) -> Case:
    """Passed only if this scenario alone earned it, whatever failed the run elsewhere."""
    recalls, checked = scenario["recalls"], scenario["conversations"]["checked"]
    tolerated = budget["context_loss"]
    if not recalls["checked"]:
        found, earned = "nothing was checked", False
    else:
        found = (
            f"{recalls['lossy']:,} of {count(recalls['checked'], 'checked recall')} lossy: {share(recalls['rate'])} "
            f"({budget['confidence']:.0%} interval {span(recalls['low'], recalls['high'])}); "
            f"{share(tolerated)} tolerated"
        )
        earned = recalls["high"] <= tolerated if tolerated else checked >= budget["min_conversations"]
        if checked < budget["min_conversations"]:
            found += f"; {count(checked, 'conversation')} checked, at least {budget['min_conversations']:,} needed"
    case = told_of.case("context_loss", found)
    if case.state != "passed":
        return case._replace(message=found)
    return case if earned else case._replace(state="error", text="Not failed, but not proven either: run longer.")


def _listed(name: str, scenario: Mapping[str, Any], told_of: _Reasons) -> Case:
    """What must not be listed; where no list was seen, nobody knows."""
    answered = scenario["requests"].get("recall", {}).get("ok", 0)
    case = told_of.case(name, f"nothing to fail for in {count(answered, 'answered recall')}")
    return (
        case if answered or case.state != "passed" else case._replace(state="error", message="no recall was answered")
    )


def _write(suite: ET.Element, case: Case) -> None:
    element = ET.SubElement(suite, "testcase", classname=f"goldfish.{_where(case)}", name=case.name, time="0")
    if case.state == "passed":
        return
    told_in = ET.SubElement(element, case.state, message=_text(case.message), type=case.name)
    if case.text:
        told_in.text = "\n".join(_text(line) for line in case.text.split("\n"))


def _where(case: Case) -> str:
    return _text(case.scenario, 200) if case.scenario is not None else "run"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.;])\s", text, maxsplit=1)[0].rstrip(";")


def _text(text: str, chars_max: int = 4_000) -> str:
    """Text that XML can hold, its invisible characters named."""
    return _FORBIDDEN.sub("\ufffd", plain(text, chars_max))
