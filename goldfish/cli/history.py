"""``goldfish history``: the judged runs of a folder, oldest first, and where they are heading."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from goldfish.errors import GoldfishError, UsageError
from goldfish.run import FILE, read_run
from goldfish.terminal import console, emit
from goldfish.words import NOTHING, count, plain, share

_BARS = "▁▂▃▄▅▆▇█"
_STYLES = {"pass": "green", "fail": "red", "inconclusive": "yellow"}
TREND_MAX = 60
"""So many of the latest runs are in a trend."""


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario of one run."""

    checked: int
    lossy: int
    rate: float | None
    low: float
    high: float
    harmed: float | None
    """Share of conversations."""
    recall_p95_ms: float | None


class PastRun(msgspec.Struct, frozen=True, kw_only=True):
    """One judged run."""

    run: str
    directory: str
    started: float | None
    """Seconds since the epoch."""
    target: str
    verdict: str
    exit_code: int
    scenarios: dict[str, Past]


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a folder, oldest first, and the run directories that could not be read, with the reason."""

    runs: list[PastRun]
    unread: dict[str, str]


def show_history(folder: Path, *, as_json: bool) -> int:
    """Print the runs of a folder."""
    history = read_history(folder)
    if as_json:
        emit(msgspec.json.format(msgspec.json.encode(history), indent=2).decode())
    else:
        console().print(render(history, folder))
    return 0


def read_history(folder: Path) -> History:
    """All judged runs of a folder.

    Raises:
        UsageError: there is no such folder.
    """
    try:
        directories = sorted(path for path in folder.iterdir() if (path / FILE).exists())
    except OSError as error:
        raise UsageError(f"cannot read the folder '{folder}': {error.strerror}; expected one with runs") from error
    runs, unread = [], {}
    for directory in directories:
        try:
            runs.append(_past(directory))
        except (GoldfishError, OSError, msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
            judged = (directory / "results.json").exists()
            unread[directory.name] = str(error) if judged else f"not judged: goldfish analyze {directory}"
    runs.sort(key=lambda past: (past.started or 0, past.run))
    return History(runs=runs, unread=unread)


def _past(directory: Path) -> PastRun:
    run = read_run(directory)
    results = msgspec.json.decode((directory / "results.json").read_bytes())
    return PastRun(
        run=run.run,
        directory=str(directory),
        started=run.started,
        target=_target(run.target),
        verdict=str(results["verdict"]),
        exit_code=int(results["exit_code"]),
        scenarios={str(scenario["name"]): _scenario(scenario) for scenario in results["scenarios"]},
    )


def _scenario(scenario: dict[str, Any]) -> Past:
    recalls, latency = scenario["recalls"], scenario["latency_ms"].get("recall")
    return Past(
        checked=recalls["checked"],
        lossy=recalls["lossy"],
        rate=recalls["rate"],
        low=recalls["low"],
        high=recalls["high"],
        harmed=scenario["conversations"]["rate"],
        recall_p95_ms=latency["p95"] if latency else None,
    )


def _target(target: dict[str, Any]) -> str:
    """What was tested: for a deployment of ours its store and defects, else the address."""
    if not target.get("store"):
        return str(target.get("host") or "unknown")
    defects = [str(d.get("name", d)) if isinstance(d, dict) else str(d) for d in target.get("defects") or []]
    return " ".join([str(target["store"]), *(f"+{defect}" for defect in defects)])


def render(history: History, folder: Path) -> RenderableType:
    """What a person sees: a row for each run, then a trend for each scenario and target."""
    if not history.runs:
        parts: list[RenderableType] = [Text(f"no judged run in {folder}")]
    else:
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for heading in ("run", "target", "verdict"):
            table.add_column(heading, no_wrap=True, max_width=40)
        for heading in ("recalls", "lossy", "loss rate", "p95 ms"):
            table.add_column(heading, justify="right", no_wrap=True)
        for past in history.runs:
            table.add_row(*_cells(past))
        parts = [table, Text(), Text("loss rate, oldest to latest:", style="bold"), _trends(history.runs)]
    parts += [
        Text(f"left out {plain(name, 100)}: {plain(why)}", style="dim") for name, why in sorted(history.unread.items())
    ]
    return Group(*parts)


def _cells(past: PastRun) -> list[Text]:
    checked = sum(scenario.checked for scenario in past.scenarios.values())
    lossy = sum(scenario.lossy for scenario in past.scenarios.values())
    slowest = max((s.recall_p95_ms for s in past.scenarios.values() if s.recall_p95_ms is not None), default=None)
    return [
        Text(plain(past.run, 100)),
        Text(plain(past.target, 100)),
        Text(plain(past.verdict, 20), style=_STYLES.get(past.verdict, "")),
        Text(f"{checked:,}"),
        Text(f"{lossy:,}", style="red" if lossy else ""),
        Text(share(lossy / checked if checked else None)),
        Text(NOTHING if slowest is None else f"{slowest:,.1f}"),
    ]


def _trends(runs: Sequence[PastRun]) -> Table:
    """A line for each target and scenario: the loss rate of its latest runs as bars, and the last one in figures."""
    series: dict[tuple[str, str], list[float]] = {}
    for past in runs:
        for name, scenario in past.scenarios.items():
            if scenario.rate is not None:
                series.setdefault((past.target, name), []).append(scenario.rate)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for (target, name), rates in sorted(series.items()):
        latest = rates[-TREND_MAX:]
        table.add_row(
            Text(plain(target, 40)),
            Text(plain(name, 40)),
            Text(sparkline(latest)),
            Text(f"{share(latest[-1])}, at most {share(max(latest))}, {count(len(rates), 'run')}"),
        )
    return table


def sparkline(rates: Sequence[float]) -> str:
    """Rates as bars; only nothing at all is the lowest bar, and the greatest is the highest."""
    most = max(rates, default=0.0)
    if not most:
        return _BARS[0] * len(rates)
    return "".join(_BARS[0] if not rate else _BARS[max(1, round(rate / most * (len(_BARS) - 1)))] for rate in rates)
