"""A report as one HTML page that needs nothing else: no network, no server, no other file.

The page carries a content security policy that admits exactly its own style and its own scripts, by hash, and nothing
from anywhere. Content reaches it in two ways only: as escaped text (every expression of the template passes
``hostile.visible`` and autoescape), and as JSON that cannot close its element (``hostile.script_json``).
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.report import board, figures, numbers
from analysis.report.hostile import script_json, visible
from analysis.report.transcript import MARKS, Gap, shown_rows
from goldfish.anomalies import ANOMALIES
from goldfish.headline import accounts

if TYPE_CHECKING:
    from analysis.report.model import Report

REASONS_MAX = 40
SCENARIOS_MAX = 60
INSTANCES_MAX = 16
WORST_MAX = 8
FAILURES_MAX = 60
PROCESSES_MAX = 64
UNVERIFIABLE_MAX = 60
REQUEST_IDS_MAX = 12
MESSAGE_CHARS_MAX = 400
NAME_CHARS_MAX = 120

EXITS = {
    0: "pass",
    1: "pass, but too many requests failed",
    3: "a proven fail",
    4: "not enough evidence",
}
"""What an exit code says."""

_HERE = Path(__file__).parent


def render(report: Report) -> str:
    """The page, to be written as UTF-8."""
    style, script = _style(), _script()
    columns = board.columns(report.scenarios[:SCENARIOS_MAX])
    told = [msgspec.to_builtins(scenario) for scenario in report.scenarios]
    return (
        _environment()
        .get_template("template.html")
        .render(
            report=report,
            scenarios=report.scenarios[:SCENARIOS_MAX],
            reasons=report.reasons[:REASONS_MAX],
            scenario_at={scenario.name: at for at, scenario in enumerate(report.scenarios[:SCENARIOS_MAX])},
            columns=columns,
            axis_end=board.axis_end(columns[0]),
            dots=board.dots,
            meaning_of={name: entry.meaning for name, entry in ANOMALIES.items()},
            code_of={name: entry.code for name, entry in ANOMALIES.items()},
            persons=sum(scenario.recalls.clusters for scenario in report.scenarios),
            lost=sum(scenario.messages.lost for scenario in report.scenarios),
            exits=EXITS,
            accounts=lambda cause: accounts(msgspec.to_builtins(cause), told),
            unfound=_unfound(report),
            worst=[(worst, shown_rows(worst.rows)) for worst in report.worst_conversations[:WORST_MAX]],
            failures=report.failures[:FAILURES_MAX],
            unverifiable=report.unverifiable[:UNVERIFIABLE_MAX],
            skipped=report.skipped[:SCENARIOS_MAX],
            findings=_findings(report),
            dots_px=figures.DOTS_PX,
            processes_max=PROCESSES_MAX,
            matrix=report.instance_matrix,
            cells=figures.cells(report.instance_matrix) if report.instance_matrix else [],
            instances_max=INSTANCES_MAX,
            time_table=figures.time_table(report),
            age_table=figures.age_table(report),
            latency_axis=figures.latency_axis(report.scenarios[:SCENARIOS_MAX]),
            bar=figures.bar,
            chart=Markup(script_json(figures.chart(report))),
            ages=Markup(script_json(figures.ages(report))),
            style=Markup(style),
            script=Markup(script),
            style_hash=_hash(style),
            script_hash=_hash(script),
            harmed=sum(scenario.conversations.harmed for scenario in report.scenarios),
            marks=MARKS,
            is_gap=lambda row: isinstance(row, Gap),
            request_ids_max=REQUEST_IDS_MAX,
        )
    )


def _unfound(report: Report) -> list[str]:
    """Classes that were looked for and not found."""
    untested = {entry.class_ for entry in report.untested if not entry.part}
    found = {name for scenario in report.scenarios for name in scenario.anomalies}
    return [name for name in ANOMALIES if name not in found | untested]


def _findings(report: Report) -> list[tuple[str, str, int, list[tuple[str, int]]]]:
    """Class, meaning, total, and the scenarios it was found in, most frequent first."""
    found: dict[str, list[tuple[str, int]]] = {}
    for scenario in report.scenarios:
        for name, count in scenario.anomalies.items():
            if count:
                found.setdefault(name, []).append((scenario.name, count))
    rows = [
        (name, ANOMALIES[name].meaning if name in ANOMALIES else "", sum(count for _, count in where), where)
        for name, where in found.items()
    ]
    return sorted(rows, key=lambda row: -row[2])


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": numbers.count,
        "share": numbers.share,
        "ms": numbers.milliseconds,
        "seconds": numbers.seconds,
        "duration": numbers.duration,
        "instant": numbers.instant,
        "message": lambda text: visible(text, MESSAGE_CHARS_MAX),
        "name": lambda text: visible(text, NAME_CHARS_MAX),
    }
    environment.globals["interval"] = numbers.interval
    return environment


def _finalize(value: Any) -> Any:
    """Make each text of the page visible; it is escaped afterwards, so this holds in attributes, too."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _style() -> str:
    return _read("vendor/uplot/uPlot.min.css") + _read("report.css")


@cache
def _script() -> str:
    return _read("vendor/uplot/uPlot.iife.min.js") + _read("report.js")


def _read(name: str) -> str:
    # Hashes are taken of what the browser sees, and it sees every line end as \n.
    return (_HERE / name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
