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
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from goldfish.anomalies import ANOMALIES
from goldfish.headline import headline
from goldfish.run import Run
from goldfish.table import told
from goldfish.words import count, plain, share, span

State = Literal["passed", "failure", "error", "skipped"]

_UNPROVEN = {"few-conversations", "nothing-checked", "no-operations", "rate-unproven", "incidents"}
"""Reasons of a scenario for which a loss budget is neither met nor broken."""
_DISORDER = {entry.code for entry in ANOMALIES.values() if entry.severity == "disorder"} | {"phantom"}
_ZERO_TOLERANCE = {"foreign", "corrupted", "rejected-yet-shown"}
_LATENCY = {"latency", "latency-unproven"}
_CASES = {
    "context-loss": "context_loss",
    "conversations-harmed": "conversations_harmed",
    **dict.fromkeys(_DISORDER, "disorder"),
    **dict.fromkeys(_ZERO_TOLERANCE, "zero_tolerance"),
    "request-failures": "request_failures",
}
_FAILING = {"context-loss", "conversations-harmed", "request-failures", *_DISORDER, *_ZERO_TOLERANCE}
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
    whole = _Reasons(results, None)
    found = [case for scenario in results["scenarios"] for case in _of_scenario(scenario, results)]
    found += [Case(skipped["scenario"], "context_loss", "skipped", skipped["reason"]) for skipped in results["skipped"]]
    found.append(whole.case("request_failures", f"at most {share(results['budget']['request_failures'])} tolerated"))
    record = whole.case("record", "the record is whole")
    if results["exit_code"] and {case.state for case in [*found, record]} <= {"passed", "skipped"}:
        # Whatever the reason is called: a run that did not pass is never all green.
        record = Case(None, "record", "failure" if results["verdict"] == "fail" else "error", headline(results))
    yield from found
    yield record


def _of_scenario(scenario: Mapping[str, Any], results: Mapping[str, Any]) -> Iterator[Case]:
    budget = results["budget"]
    told_of = _Reasons(results, scenario["name"])
    recalls, talks = scenario["recalls"], scenario["conversations"]
    yield _rate("context_loss", recalls, recalls["lossy"], "checked recall", "lossy", budget, told_of, scenario)
    if budget["conversations_harmed"] is not None:
        what = "checked conversation"
        yield _rate("conversations_harmed", talks, talks["harmed"], what, "harmed", budget, told_of, scenario)
    yield _listed("disorder", scenario, told_of)
    yield _listed("zero_tolerance", scenario, told_of)
    for kind in ("recall", "append"):
        if budget[f"{kind}_p95_ms"] is not None:
            yield _latency(kind, scenario, budget[f"{kind}_p95_ms"], results)
    yield told_of.case("record", "every conversation of the scenario could be judged")


class _Reasons:
    """The reasons of one scenario, or those of the whole run, by the case they belong to."""

    def __init__(self, results: Mapping[str, Any], scenario: str | None) -> None:
        self.scenario = scenario
        self.passed = results["verdict"] == "pass"
        self.reported = _DISORDER if results["budget"]["disorder"] == "report" else set()
        self.reasons = [reason for reason in results["reasons"] if reason["scenario"] == scenario]

    def coded(self, codes: Collection[str]) -> list[Mapping[str, Any]]:
        """Those of some codes."""
        return [reason for reason in self.reasons if reason["code"] in codes]

    def case(self, name: str, good: str) -> Case:
        """Failed if a reason proves it, an error if one bars a pass, else passed."""
        elsewhere = _NOTES | _UNPROVEN | _LATENCY | self.reported
        deciding = [
            reason
            for reason in self.reasons
            if _CASES.get(reason["code"], "record") == name and reason["code"] not in elsewhere
        ]
        if not deciding or (self.passed and name == "record"):
            return Case(self.scenario, name, "passed", good)
        failing = any(reason["code"] in _FAILING for reason in deciding)
        message = _first_sentence(deciding[0]["text"])
        return Case(self.scenario, name, "failure" if failing else "error", message, _told(deciding))


def _rate(
    name: str,
    rate: Mapping[str, Any],
    events: int,
    what: str,
    wrong: str,
    budget: Mapping[str, Any],
    told_of: _Reasons,
    scenario: Mapping[str, Any],
) -> Case:
    """A loss budget: passed only if this scenario alone earned it, whatever failed the run elsewhere."""
    tolerated, least, talks = budget[name], budget["min_conversations"], scenario["conversations"]["checked"]
    found = "nothing was checked"
    if rate["checked"]:
        interval = f"{budget['confidence']:.0%} interval {span(rate['low'], rate['high'])}"
        found = (
            f"{events:,} of {count(rate['checked'], what)} {wrong}: {share(rate['rate'])} ({interval}); "
            f"{share(tolerated)} tolerated"
        )
    if talks < least:
        found += f"; {count(talks, 'conversation')} checked, at least {least:,} needed"
    case = told_of.case(name, found)
    if case.state != "passed":
        return case._replace(message=found)
    within = rate["high"] <= tolerated if tolerated else not events
    if rate["checked"] and talks >= least and within:
        return case
    text = _told(told_of.coded(_UNPROVEN)) or "Not failed, but not proven either: run longer."
    return case._replace(state="error", text=text)


def _latency(kind: str, scenario: Mapping[str, Any], most_ms: float, results: Mapping[str, Any]) -> Case:
    """A latency budget: an error where nothing can be said."""
    latency = scenario["latency_ms"].get(kind)
    measured = f"p95 {latency['p95']:,.1f} ms" if latency else "nothing was measured"
    case = Case(scenario["name"], f"{kind}_p95_ms", "passed", f"{measured}; at most {most_ms:g} ms tolerated")
    doubts = [reason for reason in results["reasons"] if reason["code"] == "latency-unreliable"]
    doubts += [
        reason
        for reason in results["reasons"]
        if reason["code"] == "latency-unproven"
        and reason["scenario"] == scenario["name"]
        and f"{kind}_p95_ms" in reason["text"]
    ]
    if doubts or not latency:
        return case._replace(state="error", text=_told(doubts))
    return case._replace(state="failure", text=case.message) if latency["p95"] > most_ms else case


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


def _told(reasons: Sequence[Mapping[str, Any]]) -> str:
    return "\n\n".join(f"{reason['code']}: {reason['text']}" for reason in reasons)


def _where(case: Case) -> str:
    return _text(case.scenario, 200) if case.scenario is not None else "run"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.;])\s", text, maxsplit=1)[0].rstrip(";")


def _text(text: str, chars_max: int = 4_000) -> str:
    """Text that XML can hold, its invisible characters named."""
    return _FORBIDDEN.sub("\ufffd", plain(text, chars_max))
