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

from goldfish.contract import Budget, Contract, in_words
from goldfish.headline import headline
from goldfish.words import NOTHING, count, plain, share, span

REASONS_MAX = 40
_STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}


def cause(results: Mapping[str, Any]) -> str:
    """The likeliest cause in a line, and how much it accounts for."""
    first, *others = results["causes"]
    line = f"{plain(first['title'])} ({accounts(first)})"
    return f"{line}; {count(len(others), 'other')} in the report" if others else line


def accounts(cause: Mapping[str, Any]) -> str:
    """How much of the harm a cause accounts for."""
    of = "what was missing" if cause["anomaly"] == "missing" else f"the {plain(cause['anomaly'], 40)} elements"
    return f"accounts for about {cause['explains']:.0%} of {of}"


def told(results: Mapping[str, Any]) -> str:
    """What was promised and tolerated."""
    contract = msgspec.convert(results["contract"], Contract)
    return in_words(contract, msgspec.convert(results["budget"], Budget))


def render(results: Mapping[str, Any]) -> RenderableType:
    """What a person at the terminal sees of one run; ``results`` is the decoded content of ``results.json``."""
    level = results["budget"]["confidence"]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("scenario", no_wrap=True, max_width=30)
    headings = ["recalls", "lossy", "loss rate", f"{level:.0%} interval", "harmed", "lost", "late"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for scenario in results["scenarios"]:
        table.add_row(*_cells(scenario))
    parts: list[RenderableType] = [Text(headline(results), style=_STYLES[results["verdict"]]), Text(), table]
    if any(scenario["messages"]["stale"] + scenario["messages"]["flicker"] for scenario in results["scenarios"]):
        parts.append(Text("late: missing when owed, but shown again, for good or by turns", style="dim"))
    parts.append(Text(f"owed: {told(results)}", style="dim"))
    for skipped in results["skipped"]:
        parts.append(Text(f"skipped {plain(skipped['scenario'], 100)}: {plain(skipped['reason'])}", style="dim"))
    reasons = results["reasons"]
    if reasons or results["causes"]:
        parts.append(Text())
    if results["causes"]:
        parts.append(Text.assemble(("likely cause: ", "bold"), cause(results)))
    for reason in reasons[:REASONS_MAX]:
        where = f" {plain(reason['scenario'], 100)}" if reason["scenario"] else ""
        parts.append(Text.assemble((f"{reason['code']}{where}: ", "bold"), plain(reason["text"])))
    if len(reasons) > REASONS_MAX:
        parts.append(Text(f"and {len(reasons) - REASONS_MAX:,} more reasons in results.json", style="dim"))
    return Group(*parts)


def _cells(scenario: Mapping[str, Any]) -> list[Text]:
    recalls, conversations, messages = scenario["recalls"], scenario["conversations"], scenario["messages"]
    bad = "red" if recalls["lossy"] else ""
    interval = span(recalls["low"], recalls["high"]) if recalls["checked"] else NOTHING
    if scenario.get("incidents") and (recalls["low"], recalls["high"]) == (0, 1):
        interval = count(scenario["incidents"], "incident")
    late = messages["stale"] + messages["flicker"]
    return [
        Text(plain(scenario["name"], 100)),
        Text(f"{recalls['checked']:,}"),
        Text(f"{recalls['lossy']:,}", style=bad),
        Text(share(recalls["rate"]), style=bad),
        Text(interval),
        Text(f"{conversations['harmed']:,}/{conversations['checked']:,}"),
        Text(f"{messages['lost']:,}", style="red" if messages["lost"] else ""),
        Text(f"{late:,}", style="red" if late else ""),
    ]
