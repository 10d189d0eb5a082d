"""The verdict in the terminal: the content of ``results.json`` as a table and sentences.

A pure function of that content, without pandas, so that the command prints what the analyzer printed. Names and texts
may come from the memory under test: they are shown as text, never as markup, and control characters are made visible.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from goldfish.anomalies import ANOMALIES
from goldfish.contract import Budget, Contract, in_words
from goldfish.headline import accounts, sentences
from goldfish.words import NOTHING, count, plain, share, span

REASONS_MAX = 40
CLASSES_MAX = 3
"""Columns of classes in the terminal."""
GRAVE, MILD = "red", "yellow"
"""What is gone or somebody else's, and what comes late or out of order."""
_LOSSES = {entry.name for entry in ANOMALIES.values() if entry.severity == "loss"}
_STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}


def cause(results: Mapping[str, Any]) -> str:
    """The likeliest cause in a line, and how much it accounts for."""
    first, *others = results["causes"]
    line = f"{plain(first['title'])} ({accounts(first, results['scenarios'])})"
    return f"{line}; {count(len(others), 'other')} in the report" if others else line


def told(results: Mapping[str, Any]) -> str:
    """What was promised and tolerated."""
    contract = msgspec.convert(results["contract"], Contract)
    return in_words(contract, msgspec.convert(results["budget"], Budget))


def render(results: Mapping[str, Any]) -> RenderableType:
    """What a person at the terminal sees of one run; ``results`` is the decoded content of ``results.json``."""
    first, *others = sentences(results)
    verdict = results["verdict"]
    parts: list[RenderableType] = [Text(f"{verdict.upper()}: {first}", style=_STYLES[verdict])]
    parts += [Text(sentence) for sentence in others]
    parts += [Text(), _table(results), Text(legend(results), style="dim")]
    parts.append(Text(f"owed: {told(results)}", style="dim"))
    for skipped in results["skipped"]:
        parts.append(Text(f"skipped {plain(skipped['scenario'], 100)}: {plain(skipped['reason'])}", style="dim"))
    reasons = results["reasons"]
    if reasons or results["causes"]:
        parts.append(Text())
    if results["causes"]:
        parts.append(Text.assemble(("likely cause: ", "bold"), cause(results)))
        example = results["causes"][0].get("example")
        if example:
            parts.append(Text.assemble(("for example: ", "bold"), plain(example["text"])))
    for reason in reasons[:REASONS_MAX]:
        where = f" {plain(reason['scenario'], 100)}" if reason["scenario"] else ""
        parts.append(Text.assemble((f"{reason['code']}{where}: ", "bold"), plain(reason["text"])))
    if len(reasons) > REASONS_MAX:
        parts.append(Text(f"and {len(reasons) - REASONS_MAX:,} more reasons in results.json", style="dim"))
    return Group(*parts)


def classes(results: Mapping[str, Any]) -> list[str]:
    """Classes beside loss that were found in some scenario, those that fail a run in a single case first."""
    found = {name for scenario in results["scenarios"] for name in scenario["anomalies"] if name not in _LOSSES}
    return sorted(
        found, key=lambda name: (not is_grave(name), list(ANOMALIES).index(name) if name in ANOMALIES else 99)
    )


def is_grave(name: str) -> bool:
    """Whether one case of a class fails a run."""
    return name in ANOMALIES and ANOMALIES[name].severity == "zero-tolerance"


def legend(results: Mapping[str, Any]) -> str:
    """What the columns of the table count."""
    parts = [f"{', '.join(classes(results)[:CLASSES_MAX])}: conversations that show it"] if classes(results) else []
    parts += ["lossy: recalls that lack something they owe"]
    if _any_missed(results):
        parts += ["lost: messages that never came (back)", "late: messages missing when owed, shown again"]
    return "; ".join([*parts, "harmed: conversations with any finding"])


def _table(results: Mapping[str, Any]) -> Table:
    """The columns follow the failure: what fails a run in a single case first, then loss."""
    level = results["budget"]["confidence"]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("scenario", no_wrap=True, max_width=30)
    shown, missed = classes(results)[:CLASSES_MAX], _any_missed(results)
    headings = [*shown, "lossy", "rate", f"{level:.0%} interval"]
    headings += ["lost", "late"] if missed else []
    for heading in [*headings, "harmed"]:
        table.add_column(heading, justify="right")
    for scenario in results["scenarios"]:
        cells = [_found(scenario, name) for name in shown] + _lossy(scenario)
        cells += _fates(scenario) if missed else []
        harmed = scenario["conversations"]
        table.add_row(Text(plain(scenario["name"], 100)), *cells, Text(f"{harmed['harmed']:,}/{harmed['checked']:,}"))
    return table


def _any_missed(results: Mapping[str, Any]) -> bool:
    return any(scenario["recalls"]["lossy"] for scenario in results["scenarios"])


def _found(scenario: Mapping[str, Any], name: str) -> Text:
    """Conversations with a finding of a class."""
    rate = scenario["classes"].get(name)
    if rate is None:
        return Text(NOTHING)
    style = (GRAVE if is_grave(name) else MILD) if rate["conversations"] else ""
    return Text(f"{rate['conversations']:,}/{rate['checked']:,}", style=style)


def _lossy(scenario: Mapping[str, Any]) -> list[Text]:
    """Lossy recalls, coloured by whether anything is lost or only late."""
    recalls = scenario["recalls"]
    bad = (GRAVE if scenario["messages"]["lost"] else MILD) if recalls["lossy"] else ""
    interval = span(recalls["low"], recalls["high"]) if recalls["checked"] else NOTHING
    if scenario.get("incidents") and (recalls["low"], recalls["high"]) == (0, 1):
        interval = count(scenario["incidents"], "incident")
    return [
        Text(f"{recalls['lossy']:,}/{recalls['checked']:,}", style=bad),
        Text(share(recalls["rate"]), style=bad),
        Text(interval),
    ]


def _fates(scenario: Mapping[str, Any]) -> list[Text]:
    """Messages lost, with their share of the checked ones, and late: recalls of a long history repeat one loss."""
    messages = scenario["messages"]
    lost, late = messages["lost"], messages["stale"] + messages["flicker"]
    of = f" {share(lost / messages['checked'])}" if lost else ""
    return [Text(f"{lost:,}{of}", style=GRAVE if lost else ""), Text(f"{late:,}", style=MILD if late else "")]
