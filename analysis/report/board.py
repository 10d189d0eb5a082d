"""The table of the first screen: a row for each scenario, and columns that follow the failure.

What fails a run in a single case stands first, then what is lost, then what is late or out of order; a run without any
of it shows how far its evidence reaches. Colour tells how grave it is, not how frequent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from analysis.report.figures import DOTS_PX, round_end
from goldfish.anomalies import ANOMALIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.results import Scenario

CLASSES_MAX = 20
Tone = Literal["", "mild", "grave"]
"""grave: gone, or somebody else's; mild: late, twice or out of order."""


class Cell(NamedTuple):
    """How often, in one scenario."""

    rate: float | None
    """None if nothing was checked."""
    events: int
    trials: int
    interval: tuple[float, float] | None
    incidents: int
    """Where there is no interval because so few faults say nothing of the next: how many there were."""
    tone: Tone


class Column(NamedTuple):
    """One kind of harm, in all scenarios."""

    heading: str
    unit: str
    """What is counted."""
    term: str
    """Its entry among the terms."""
    class_: str
    """The class of findings it belongs to; empty: all."""
    cells: list[Cell]

    @property
    def found(self) -> bool:
        """Whether there is any."""
        return any(cell.events for cell in self.cells)


class Dots(NamedTuple):
    """Rate and interval of one scenario on the axis shared by all."""

    low_px: float
    rate_px: float
    high_px: float


def columns(scenarios: Sequence[Scenario]) -> list[Column]:
    """What the table shows, the failure first; the first column is drawn, too."""
    lossy, lost, late = _lossy(scenarios), _lost(scenarios), _late(scenarios)
    found = [column for name in _classes(scenarios) if (column := _of_class(name, scenarios)).found]
    grave = [column for column in found if _is_grave(column.class_)]
    mild = [column for column in found if not _is_grave(column.class_)]
    if not lossy.found:
        return [*grave, *mild, lossy, *([] if found else [lost]), _harmed(scenarios)]
    missing = [lost, lossy, late] if lost.found else [lossy, late, lost]
    return [*grave, *(column for column in missing if column.found or column is lost), *mild, _harmed(scenarios)]


def axis_end(column: Column) -> float:
    """The share at which the axis of a column ends: a round one that holds all intervals."""
    tops = [cell.interval[1] if cell.interval else cell.rate for cell in column.cells if cell.rate is not None]
    return round_end(max((top for top in tops if top is not None), default=0))


def dots(cell: Cell, end: float) -> Dots | None:
    """Where rate and interval stand; None if nothing was checked."""
    if cell.rate is None:
        return None
    low, high = cell.interval or ((0, 1) if cell.incidents else (cell.rate, cell.rate))
    return Dots(*(round(min(max(value / end, 0), 1) * DOTS_PX, 1) for value in (low, cell.rate, high)))


def _lossy(scenarios: Sequence[Scenario]) -> Column:
    cells = []
    for scenario in scenarios:
        part = scenario.recalls
        tone: Tone = ("grave" if scenario.messages.lost else "mild") if part.lossy else ""
        cells.append(_cell(scenario, part.rate, part.lossy, part.checked, (part.low, part.high), tone))
    return Column("Lossy", "recalls", "lossy", "missing", cells)


def _lost(scenarios: Sequence[Scenario]) -> Column:
    cells = []
    for scenario in scenarios:
        part = scenario.messages
        tone: Tone = "grave" if part.lost else ""
        cells.append(_cell(scenario, part.rate, part.lost, part.checked, (part.low, part.high), tone))
    return Column("Lost", "messages", "lost", "missing", cells)


def _late(scenarios: Sequence[Scenario]) -> Column:
    cells = []
    for scenario in scenarios:
        part = scenario.messages
        late = part.stale + part.flicker
        rate = late / part.checked if part.checked else None
        cells.append(_cell(scenario, rate, late, part.checked, None, "mild" if late else ""))
    return Column("Late", "messages", "late", "missing", cells)


def _harmed(scenarios: Sequence[Scenario]) -> Column:
    cells = []
    for scenario in scenarios:
        part = scenario.conversations
        cells.append(_cell(scenario, part.rate, part.harmed, part.checked, (part.low, part.high), ""))
    return Column("Harmed", "conversations", "harmed", "", cells)


def _of_class(name: str, scenarios: Sequence[Scenario]) -> Column:
    cells = []
    for scenario in scenarios:
        part = scenario.classes.get(name)
        if part is None:
            cells.append(Cell(None, 0, 0, None, 0, ""))
            continue
        tone: Tone = ("grave" if _is_grave(name) else "mild") if part.conversations else ""
        cells.append(_cell(scenario, part.rate, part.conversations, part.checked, (part.low, part.high), tone))
    entry = ANOMALIES.get(name)
    return Column(name[:1].upper() + name[1:], "conversations", entry.code if entry else "", name, cells)


def _cell(
    scenario: Scenario, rate: float | None, events: int, trials: int, interval: tuple[float, float] | None, tone: Tone
) -> Cell:
    # A scenario whose rates have no interval has the whole of 0 to 1 in its place.
    unsure = bool(scenario.incidents) and interval == (0, 1)
    return Cell(rate, events, trials, None if unsure else interval, scenario.incidents if unsure else 0, tone)


def _classes(scenarios: Sequence[Scenario]) -> list[str]:
    """Classes beside loss that were found."""
    found = dict.fromkeys(name for scenario in scenarios for name in scenario.classes if name != "missing")
    return list(found)[:CLASSES_MAX]


def _is_grave(name: str) -> bool:
    return name in ANOMALIES and ANOMALIES[name].severity == "zero-tolerance"
