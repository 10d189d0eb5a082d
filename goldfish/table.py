"""The verdict in the terminal: the content of ``results.json`` as a table and sentences.

A pure function of that content, without pandas, so that the command prints what the analyzer printed. Names and texts
may come from the memory under test: they are shown as text, never as markup, and control characters are made visible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from goldfish.contract import Budget, Contract, in_words

NOTHING = "–"
REASONS_MAX = 40
_STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}
_FOUND = {
    "foreign": "messages of other conversations were listed",
    "corrupted": "messages were listed with another content",
    "rejected-yet-shown": "rejected messages were listed",
    "duplicated": "messages were listed twice",
    "reordered": "messages were listed in an impossible order",
    "phantom": "something was listed that nobody stored",
    "over-retained": "messages were listed that must have expired",
    "resurrected": "deleted messages were listed",
    "window-overrun": "more was listed than may be",
    "conversations-harmed": "more conversations were harmed than tolerated",
    "latency": "requests took longer than tolerated",
}
# Control characters drive the terminal; bidirectional controls turn a line around.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def plain(text: str, chars_max: int = 2_000) -> str:
    """Text of unknown origin on one line of a terminal: invisible characters named, the rest cut off."""
    shown = _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text[:chars_max])
    return shown if len(text) <= chars_max else f"{shown}…"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """1234, "recall" → 1,234 recalls."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def share(value: float | None) -> str:
    """A fraction of 1 in percent, small ones with three significant digits: 0.1234 → 12.3 %, 0.00069 → 0.069 %."""
    return NOTHING if value is None else f"{_percent(value, _digits(value))} %"


def span(low: float, high: float) -> str:
    """Two fractions of 1 with the digits of the upper one: 0.04–1.18 %."""
    digits = _digits(high) if high < 1 else 1
    return f"{_percent(low, digits)}–{_percent(high, digits)} %"


def headline(results: Mapping[str, Any]) -> str:
    """The verdict in one sentence; a pass says how far it reaches."""
    scenarios = results["scenarios"]
    checked = sum(scenario["recalls"]["checked"] for scenario in scenarios)
    lossy = sum(scenario["recalls"]["lossy"] for scenario in scenarios)
    conversations = sum(scenario["conversations"]["checked"] for scenario in scenarios)
    seen = f"{count(checked, 'checked recall')} of {count(conversations, 'conversation')}"
    verdict = results["verdict"]
    if verdict == "fail":
        codes = dict.fromkeys(reason["code"] for reason in results["reasons"])
        proven = [f"{lossy:,} of {seen} lack messages they owe"] if lossy else []
        proven += [words for code, words in _FOUND.items() if code in codes]
        return f"FAIL: {', and '.join(proven)}{'' if lossy else f' ({seen}, none lossy)'}."
    if not checked:
        return "INCONCLUSIVE: nothing could be checked."
    found = f"{lossy:,} lossy of {seen}" if lossy else f"no loss in {seen}"
    if verdict == "inconclusive":
        return f"INCONCLUSIVE: {found}, but that is not enough to pass."
    worst = max((scenario["recalls"]["high"] for scenario in scenarios), default=1.0)
    level = results["budget"]["confidence"]
    sentence = f"PASS: {found}; with {level:.0%} confidence every scenario's loss rate is below {share(worst)}."
    if results.get("until_proven") and _at_stake(results):
        sentence = f"PASS: {found}; every budget is proven to be kept, by tests that may be looked at any time."
    return sentence if results["exit_code"] == 0 else f"{sentence} But too many requests failed."


def _at_stake(results: Mapping[str, Any]) -> bool:
    """Whether there is a loss budget above 0, which intervals of a fixed length cannot be held against."""
    return any(results["budget"].get(name) for name in ("context_loss", "conversations_harmed"))


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


def _digits(value: float) -> int:
    percent = value * 100
    return next((digits for digits, least in enumerate((10, 1, 0.1, 0.01), start=1) if percent >= least), 5)


def _percent(value: float, digits: int) -> str:
    return f"{value * 100:.{0 if value in (0, 1) else digits}f}"
