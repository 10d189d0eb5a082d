"""``goldfish compare``: two runs side by side, in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from goldfish.terminal import console, emit
from goldfish.words import NOTHING, plain, share

if TYPE_CHECKING:
    from analysis.compare import Compared, Comparison, Level, Measure

_STYLES = {"worse": "bold red", "not worse": "bold green", "incomparable": "bold yellow"}


def compare_runs(base: Path, candidate: Path, *, as_json: bool) -> int:
    """Compare two runs and print what that says; returns the exit code."""
    from analysis.compare import compare  # numpy and scipy: only for this command

    comparison = compare(base, candidate)
    if as_json:
        emit(msgspec.json.format(msgspec.json.encode(comparison), indent=2).decode())
    else:
        console().print(render(comparison))
    return comparison.exit_code


def render(comparison: Comparison) -> RenderableType:
    """What a person sees of a comparison."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("scenario", no_wrap=True, max_width=30)
    table.add_column("what", no_wrap=True)
    for heading in ("base", "candidate", "change", f"{comparison.confidence:.0%} interval", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    for scenario in comparison.scenarios:
        table.add_row(Text(plain(scenario.name, 100)), "harmed", *_cells(scenario.conversations))
        table.add_row("", "lossy", *_cells(scenario.recalls))
    parts: list[RenderableType] = [Text(_headline(comparison), style=_STYLES[comparison.verdict]), Text(), table]
    told = "harmed: conversations with a finding · lossy: recalls · p: how often chance alone looks so bad"
    parts.append(Text(told, style="dim"))
    parts += [Text(_reach(scenario), style="dim") for scenario in comparison.scenarios]
    parts += [Text(f"note: {plain(note)}", style="dim") for note in comparison.notes]
    for reason in comparison.reasons:
        where = f" {plain(reason.scenario, 100)}" if reason.scenario else ""
        parts.append(Text.assemble((f"{reason.code}{where}: ", "bold"), plain(reason.text)))
    return Group(*parts)


def _headline(comparison: Comparison) -> str:
    base, candidate = plain(comparison.base, 100), plain(comparison.candidate, 100)
    if comparison.verdict == "worse":
        where = [each.name for each in comparison.scenarios if each.conversations.worse or each.recalls.worse]
        return f"WORSE: {candidate} loses more than {base} in {', '.join(plain(name, 100) for name in where)}."
    if comparison.verdict == "not worse":
        return f"NOT WORSE: nothing shows that {candidate} loses more than {base}."
    return f"INCOMPARABLE: whether {candidate} is worse than {base} these runs do not tell."


def _reach(scenario: Compared) -> str:
    """How small a change would have been seen."""
    harmed, lossy = scenario.conversations.detectable, scenario.recalls.detectable
    name = plain(scenario.name, 100)
    return f"{name}: four of five such comparisons find {share(harmed)} harmed, or {share(lossy)} lossy"


def _cells(measure: Measure) -> list[Text]:
    style = "red" if measure.worse else ""
    change = interval = NOTHING
    if measure.difference is not None and measure.low is not None and measure.high is not None:
        change = f"{100 * measure.difference:+.2f} %"
        interval = f"{100 * measure.low:+.2f}…{100 * measure.high:+.2f} %"
    return [
        Text(_of(measure.base)),
        Text(_of(measure.candidate), style=style),
        Text(change, style=style),
        Text(interval),
        Text(f"{measure.p:.3f}" if measure.p >= 0.001 else "<0.001", style=style),
    ]


def _of(level: Level) -> str:
    return f"{level.events:,}/{level.trials:,}"
