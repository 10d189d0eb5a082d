"""``summary.md``: the verdict for a CI job summary, in Markdown that hostile contents cannot leave."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from analysis.diagnosis import CausesSample
from goldfish.headline import accounts, headline
from goldfish.table import REASONS_MAX, told
from goldfish.words import NOTHING, plain, share, span

CAUSES_MAX = 3

# Whatever could start markup, a table cell, an automatic link, a mention or a reference to an issue.
_SPECIAL = re.compile(r"[\\`*_\[\]#|~$@]|\.(?=[^\s\d])|:(?=/)")


def summary(results: Mapping[str, Any]) -> str:
    """Verdict, table and reasons; ``results`` is the decoded content of ``results.json``."""
    level = results["budget"]["confidence"]
    head = (
        f"| scenario | checked recalls | lossy recalls | loss rate | {level:.0%} interval | harmed conversations "
        "| lost messages | late messages | other findings |"
    )
    lines = [
        f"## {_escape(headline(results))}",
        "",
        f"Run {_escape(results['run'])}, exit code {results['exit_code']}. Owed: {_escape(told(results))}.",
        "",
        *_not_run(results),
        head,
        "|---|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    lines += [_row(scenario) for scenario in results["scenarios"]]
    lines.append("")
    for cause in results["causes"][:CAUSES_MAX]:
        lines.append(
            f"- **likely cause**: {_escape(cause['title'])} ({_escape(accounts(cause, results['scenarios']))})"
        )
        lines += [f"  - for: {_escape(evidence)}" for evidence in cause["evidence_for"]]
        lines += [f"  - against: {_escape(evidence)}" for evidence in cause["evidence_against"]]
        if cause.get("example"):
            lines.append(f"  - for example: {_escape(cause['example']['text'])}")
        lines.append(f"  - {_escape(cause['remedy'])}")
    if results["causes"] and results["causes_sample"]:
        lines.append(f"- {_escape(str(msgspec.convert(results['causes_sample'], CausesSample)))}")
    reasons = results["reasons"]
    for reason in reasons[:REASONS_MAX]:
        where = f" {_escape(reason['scenario'])}" if reason["scenario"] else ""
        lines.append(f"- **{_escape(reason['code'])}**{where}: {_escape(reason['text'])}")
    if len(reasons) > REASONS_MAX:
        lines.append(f"- and {len(reasons) - REASONS_MAX:,} more in results.json")
    lines += ["", "More: report.html in the run directory; one conversation, from there: goldfish show . CONVERSATION"]
    return "\n".join(lines) + "\n"


def _not_run(results: Mapping[str, Any]) -> list[str]:
    """A line for each scenario that the contract does not allow."""
    lines = [
        f"- Not run: {_escape(skipped['scenario'])}, because {_escape(skipped['reason'])}"
        for skipped in results["skipped"]
    ]
    return [*lines, ""] if lines else []


def _row(scenario: Mapping[str, Any]) -> str:
    recalls, conversations, messages = scenario["recalls"], scenario["conversations"], scenario["messages"]
    interval = span(recalls["low"], recalls["high"]) if recalls["checked"] else NOTHING
    other = ", ".join(f"{number:,} {name}" for name, number in scenario["anomalies"].items() if name != "missing")
    cells = [
        _escape(scenario["name"]),
        f"{recalls['checked']:,}",
        f"{recalls['lossy']:,}",
        share(recalls["rate"]),
        interval,
        f"{conversations['harmed']:,} of {conversations['checked']:,}",
        _of(messages["lost"], messages["checked"]),
        _of(messages["stale"] + messages["flicker"], messages["checked"]),
        other or NOTHING,
    ]
    return f"| {' | '.join(cells)} |"


def _of(number: int, checked: int) -> str:
    """Messages, and their share of the checked ones."""
    return f"{number:,} of {checked:,} ({share(number / checked)})" if number and checked else f"{number:,}"


def _escape(text: str) -> str:
    """Text that Markdown shows as it is: every sign that could start markup is escaped, and so is HTML."""
    return _SPECIAL.sub(r"\\\g<0>", plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
