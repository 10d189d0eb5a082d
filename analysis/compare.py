"""Is a candidate worse than a base? Two judged runs, scenario by scenario.

Two things are compared in every scenario that both ran: the share of **harmed conversations**, and the share of
**lossy recalls**; how, ``analysis.shuffle`` tells. All these tests share one level (Holm), so that a candidate that is
no worse is called worse in at most ``1 - confidence`` of all comparisons, whatever the number of scenarios.

Runs are compared only if they were held to the same contract and each is whole: what is missing from a record, or was
never checked, may be just what differs. A candidate may be called worse on the scenarios that both ran; that it is not
worse is said only if it ran all that the base ran.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from analysis.bootstrap import Users
from analysis.rates import Rate, holm, rate_of
from analysis.reason import Reason
from analysis.shuffle import chance_as_bad, detectable, difference
from analysis.users import Fared, read_users
from goldfish.errors import RecordError
from goldfish.run import Run, read_run

SCHEMA = 1
SEED = 1
SHORT = frozenset({"few-conversations", "rate-unproven", "latency-unproven", "latency-unreliable"})
"""Reasons for being inconclusive that are about too little, or about other things, and leave the record whole."""


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """One rate of one run."""

    events: int
    trials: int
    rate: float | None
    low: float
    high: float
    users: int


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """One rate in both runs."""

    base: Level
    candidate: Level
    difference: float | None
    """Candidate minus base; None if one of them has no trial."""
    low: float | None
    high: float | None
    p: float
    """How often chance alone makes the candidate look so bad, one-sided."""
    worse: bool
    """All tests together say so."""
    detectable: float | None
    """The smallest true rate in the candidate that is found in 80 % of such comparisons; None if none is."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario."""

    name: str
    conversations: Measure
    """Harmed."""
    recalls: Measure
    """Lossy."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison says."""

    schema: int = SCHEMA
    base: str
    candidate: str
    confidence: float
    verdict: Literal["worse", "not worse", "incomparable"]
    exit_code: int
    """3 worse · 0 not worse · 4 incomparable"""
    reasons: list[Reason]
    """Why they cannot be compared, or not wholly."""
    notes: list[str]
    """What else differs between the runs."""
    scenarios: list[Compared]


class Side(NamedTuple):
    """One run."""

    name: str
    directory: Path
    run: Run
    results: dict[str, Any]
    users: dict[str, Fared]


def compare(base: Path, candidate: Path) -> Comparison:
    """Compare two run directories.

    Raises:
        RecordError: one of them is no judged run.
    """
    sides = _read("base", base), _read("candidate", candidate)
    confidence = float(sides[1].results["budget"]["confidence"])
    void = [*_contracts(*sides), *(reason for side in sides for reason in _doubtful(side))]
    common = [name for name in sides[0].users if name in sides[1].users]
    missing = _missing(*sides)
    scenarios = _compare(sides, common, confidence)
    worse = any(measure.worse for each in scenarios for measure in (each.conversations, each.recalls))
    verdict: Literal["worse", "not worse", "incomparable"] = "not worse"
    if void or (missing and not worse):
        verdict = "incomparable"
    elif worse:
        verdict = "worse"
    return Comparison(
        base=sides[0].run.run,
        candidate=sides[1].run.run,
        confidence=confidence,
        verdict=verdict,
        exit_code={"worse": 3, "not worse": 0, "incomparable": 4}[verdict],
        reasons=[*void, *missing],
        notes=_notes(sides[0].run, sides[1].run),
        scenarios=scenarios,
    )


def _read(name: str, directory: Path) -> Side:
    run = read_run(directory)
    path = directory / "results.json"
    try:
        results = msgspec.json.decode(path.read_bytes())
        told = {key: results[key] for key in ("verdict", "reasons", "contract", "budget", "scenarios")}
    except (OSError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise RecordError(f"cannot read {path}: judge the run first, with goldfish analyze {directory}") from error
    return Side(name, directory, run, told, read_users(directory))


def _contracts(base: Side, candidate: Side) -> list[Reason]:
    ours, theirs = base.results["contract"], candidate.results["contract"]
    differ = sorted(key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key))
    if not differ:
        return []
    text = (
        f"The runs were held to different contracts ({', '.join(differ)}): what counts as lost differs. Judge both by "
        f"one, e.g. goldfish analyze {candidate.directory} --contract FILE."
    )
    return [Reason(code="other-contract", text=text)]


def _doubtful(side: Side) -> list[Reason]:
    """Why a run is no ground for a comparison."""
    reasons = []
    codes = [reason["code"] for reason in side.results["reasons"]]
    grave = [code for code in codes if code not in SHORT]
    if side.results["verdict"] == "inconclusive" and grave:
        text = f"The {side.name} is inconclusive for {', '.join(dict.fromkeys(grave))}: mend that, and run it again."
        reasons.append(Reason(code="inconclusive-run", text=text))
    for scenario in side.results["scenarios"]:
        if scenario.get("incidents"):
            text = (
                f"The {side.name} lost something in {scenario['incidents']} faults: too few to say how much of that is "
                "chance. Compare runs with five faults or more (every=…), or with none."
            )
            reasons.append(Reason(code="incidents", scenario=scenario["name"], text=text))
    return reasons


def _missing(base: Side, candidate: Side) -> list[Reason]:
    """Scenarios in which something was checked in the base and nothing in the candidate."""
    gone = [name for name, fared in base.users.items() if _idle(candidate, name) and fared.recalls.total]
    reasons = []
    for name in gone:
        text = "Checked in the base and not in the candidate: whether it is worse there nobody can say. Run it there."
        reasons.append(Reason(code="scenario-missing", scenario=name, text=text))
    if not any(not _idle(candidate, name) for name in base.users):
        reasons.append(Reason(code="nothing-in-common", text="No scenario was checked in both runs."))
    return reasons


def _idle(side: Side, name: str) -> bool:
    return name not in side.users or not side.users[name].recalls.total


def _compare(sides: tuple[Side, Side], names: list[str], confidence: float) -> list[Compared]:
    rng = np.random.default_rng(SEED)
    levels = ("conversations", "recalls")
    users: dict[tuple[str, str], tuple[Users, Users]] = {
        (name, level): (getattr(sides[0].users[name], level), getattr(sides[1].users[name], level))
        for name in names
        for level in levels
    }
    p = {key: chance_as_bad(base, candidate, rng) for key, (base, candidate) in users.items()}
    worse = dict(zip(p, holm(list(p.values()), 1 - confidence), strict=True))

    def measure(name: str, level: str) -> Measure:
        base, candidate = (rate_of(each, confidence) for each in users[name, level])
        apart = difference(base, candidate)
        return Measure(
            base=_level(base),
            candidate=_level(candidate),
            difference=apart[0] if apart else None,
            low=apart[1] if apart else None,
            high=apart[2] if apart else None,
            p=p[name, level],
            worse=worse[name, level],
            detectable=detectable(base, candidate, (1 - confidence) / len(p)),
        )

    return [
        Compared(name=name, conversations=measure(name, "conversations"), recalls=measure(name, "recalls"))
        for name in names
    ]


def _level(rate: Rate) -> Level:
    return Level(
        events=rate.events, trials=rate.trials, rate=rate.rate, low=rate.low, high=rate.high, users=rate.clusters
    )


def _notes(base: Run, candidate: Run) -> list[str]:
    """What else than the memory differs; it may be the cause."""
    what = {
        "users": "users at the same time",
        "turns_per_second": "turns a second",
        "connection": "connections",
        "processes": "load processes",
    }
    notes = []
    for key, words in what.items():
        ours, theirs = getattr(base, key), getattr(candidate, key)
        if key == "processes":
            ours, theirs = len(ours), len(theirs)
        if ours != theirs:
            notes.append(f"{words}: {_told(ours)} in the base, {_told(theirs)} in the candidate")
    return notes


def _told(value: object) -> str:
    return "not set" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
