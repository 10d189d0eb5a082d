"""The numbers behind the pictures, each with the words that say the same to those who do not see it."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from analysis.report.hostile import visible
from analysis.report.numbers import share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.report.model import AgeCurve, InstanceMatrix, LossOverTime, LossSeries, Report
    from analysis.results import Latency, Scenario

DOTS_PX = 150
"""Width of the picture of a rate and its interval."""

BINS_MAX = 400
"""More bins than a chart has pixels to tell apart are merged."""

TABLE_ROWS_MAX = 30
"""Rows of a chart's table."""

HEATS = (0.0, 0.001, 0.01, 0.05, 0.15, 0.3, 0.6)
"""A cell is as hot as the number of these shares that its own exceeds."""


FAULTS_MAX = 100
"""Bands drawn."""

AGE_PAIRS_MIN = 20
"""Fewer pairs of an age tell nothing about it."""

KINS = {"same": "same instance", "other": "another instance", "unknown": "unknown instance"}
"""How the reading instance is related to the writing one, in words."""


class Cell(NamedTuple):
    """One pair of writing and reading instance."""

    pairs: int
    missing: int
    share: float | None
    heat: int


class Bar(NamedTuple):
    """Latency quantiles on the logarithmic axis shared by all."""

    p50_px: float
    p95_px: float
    p99_px: float


class AgeRow(NamedTuple):
    """Messages of one age, by how the instances that wrote and read are related."""

    age: str
    cells: list[tuple[int, int]]
    """Missing and all pairs, one for each kin of the table."""


class AgeTable(NamedTuple):
    """The age curve in words and numbers."""

    sentence: str
    kins: list[str]
    rows: list[AgeRow]


class TimeTable(NamedTuple):
    """Loss over time in words and numbers."""

    sentences: list[str]
    names: list[str]
    rows: list[tuple[float, list[tuple[int, int]]]]
    """Seconds, and for each name checked and lossy recalls."""
    bin_s: float


def round_end(most: float) -> float:
    """The least round share that holds another one."""
    return next((end for power in range(-6, 1) for end in _rounds(power) if end >= most), 1)


def cells(matrix: InstanceMatrix) -> list[list[Cell]]:
    """The instance matrix, row by row."""
    return [
        [_cell(pairs, missing) for pairs, missing in zip(*row, strict=True)]
        for row in zip(matrix.pairs, matrix.missing, strict=True)
    ]


def heat(value: float | None) -> int:
    """How hot a share is, from 0 to the number of steps."""
    return sum((value or 0) > step for step in HEATS)


def bar(latency: Latency, least: float, most: float) -> Bar:
    """Where quantiles stand on an axis from ``least`` to ``most`` milliseconds."""
    span = math.log(most / least) or 1.0
    places = (
        math.log(min(max(value, least), most) / least) / span for value in (latency.p50, latency.p95, latency.p99)
    )
    return Bar(*(round(place * DOTS_PX, 1) for place in places))


def latency_axis(scenarios: Sequence[Scenario]) -> tuple[float, float] | None:
    """Powers of ten that hold all medians and 99th percentiles; None without a latency."""
    told = [latency for scenario in scenarios for latency in scenario.latency_ms.values() if latency]
    if not told:
        return None
    least, most = min(latency.p50 for latency in told), max(latency.p99 for latency in told)
    low = 10.0 ** math.floor(math.log10(max(least, 0.001)))
    return low, max(10.0 ** math.ceil(math.log10(max(most, 0.001))), low * 10)


def ages(report: Report) -> dict[str, Any]:
    """What the page's script draws of ages; a bin without a pair has no share."""
    curve = report.ages
    if curve is None:
        return {"bins": [], "series": []}
    return {
        "bins": [f"< {_age(curve.edges_ms[0])}", *(f"{_age(edge)}" for edge in curve.edges_ms)],
        "series": [
            {"scenario": series.scenario_at, "kin": series.kin, "missing": series.missing, "pairs": series.pairs}
            for series in _placed(curve, report)
        ],
    }


def age_table(report: Report) -> AgeTable | None:
    """The same in words and numbers, all scenarios together."""
    curve = report.ages
    if curve is None or not curve.series:
        return None
    kins = [kin for kin in KINS if any(series.kin == kin for series in curve.series)]
    sums = {
        kin: [
            (sum(missing), sum(pairs))
            for missing, pairs in zip(
                zip(*(series.missing for series in curve.series if series.kin == kin), strict=True),
                zip(*(series.pairs for series in curve.series if series.kin == kin), strict=True),
                strict=True,
            )
        ]
        for kin in kins
    }
    names = [f"less than {_age(curve.edges_ms[0])}"]
    names += [f"{_age(begin)} to {_age(end)}" for begin, end in pairwise(curve.edges_ms)]
    names.append(f"{_age(curve.edges_ms[-1])} and more")
    rows = [AgeRow(name, [sums[kin][at] for kin in kins]) for at, name in enumerate(names)]
    used = [at for at, row in enumerate(rows) if any(pairs for _, pairs in row.cells)]
    return AgeTable(_age_sentence(rows), [KINS[kin] for kin in kins], rows[used[0] : used[-1] + 1] if used else [])


def _age_sentence(rows: list[AgeRow]) -> str:
    """What the curve does, in words."""
    totals = [(row.age, sum(m for m, _ in row.cells), sum(p for _, p in row.cells)) for row in rows]
    told = [(age, missing / pairs) for age, missing, pairs in totals if pairs >= AGE_PAIRS_MIN]
    if len(told) < 2:
        return "Too few messages to tell how their age matters."
    (young, first), (old, last) = told[0], told[-1]
    peak_age, peak = max(told, key=lambda entry: entry[1])
    ends = f"At an age of {young} {share(first)} were missing, at {old} {share(last)}"
    return f"{ends}; at most {share(peak)}, at {peak_age}."


class _Placed(NamedTuple):
    scenario_at: int
    kin: str
    missing: list[int]
    pairs: list[int]


def _placed(curve: AgeCurve, report: Report) -> list[_Placed]:
    """Series with the number of their scenario on the page instead of its name."""
    names = [scenario.name for scenario in report.scenarios]
    return [
        _Placed(names.index(series.scenario), series.kin, series.missing, series.pairs)
        for series in curve.series
        if series.scenario in names
    ]


def _age(ms: float) -> str:
    return f"{ms:g} ms" if ms < 1_000 else f"{ms / 1_000:g} s"


def chart(report: Report) -> dict[str, Any]:
    """What the page's script draws: the lines share one axis of time; a bin without a checked recall has no share."""
    loss = _merged(report.loss_over_time, BINS_MAX)
    if loss is None:
        return {"bin_s": 0, "seconds": [], "series": [], "faults": []}
    axis = _axis(loss)
    return {
        "bin_s": loss.bin_s,
        "seconds": axis,
        "faults": [
            {"name": visible(f"{fault.kind}@{fault.part}", 60), "begin": fault.requested_s, "end": fault.healthy_s}
            for fault in report.faults[:FAULTS_MAX]
        ],
        "series": [
            {"name": visible(series.scenario, 60), "checked": checked, "lossy": lossy}
            for series in loss.series
            for checked, lossy in [_aligned(series, axis)]
        ],
    }


def time_table(report: Report) -> TimeTable | None:
    """The same as ``chart``, coarser; None if there is nothing to show."""
    loss = _merged(report.loss_over_time, TABLE_ROWS_MAX)
    if loss is None or not loss.series:
        return None
    axis = _axis(loss)
    aligned = [list(zip(*_aligned(series, axis), strict=True)) for series in loss.series]
    rows = [(second, [column[at] for column in aligned]) for at, second in enumerate(axis)]
    return TimeTable(_sentences(report.loss_over_time), [series.scenario for series in loss.series], rows, loss.bin_s)


def _sentences(loss: LossOverTime | None) -> list[str]:
    """In the bins of the chart, so that words and picture agree."""
    drawn = _merged(loss, BINS_MAX)
    return [_sentence(series, drawn.bin_s) for series in drawn.series] if drawn else []


def _sentence(series: LossSeries, bin_s: float) -> str:
    losses = [
        (lossy / checked, second, lossy, checked)
        for second, checked, lossy in zip(series.seconds, series.checked, series.lossy, strict=True)
        if checked and lossy
    ]
    if not losses:
        return f"{series.scenario}: no loss in {sum(series.checked):,} recalls."
    worst, second, lossy, checked = max(losses)
    return (
        f"{series.scenario}: at most {share(worst)} between {second:g} and {second + bin_s:g} s "
        f"({lossy:,} of {checked:,} recalls)."
    )


def _merged(loss: LossOverTime | None, bins_max: int) -> LossOverTime | None:
    """Neighbouring bins added up until there are no more than ``bins_max``."""
    if loss is None or not loss.series:
        return None
    last = max((second for series in loss.series for second in series.seconds), default=0)
    factor = max(1, math.ceil((last / loss.bin_s + 1) / bins_max))
    bin_s = loss.bin_s * factor
    return type(loss)(bin_s=bin_s, series=[_rebinned(series, bin_s) for series in loss.series])


def _rebinned(series: LossSeries, bin_s: float) -> LossSeries:
    sums: dict[int, tuple[int, int]] = {}
    for second, checked, lossy in zip(series.seconds, series.checked, series.lossy, strict=True):
        # Half of a microsecond keeps 0.3 / 0.1 in the bin it is the start of.
        at = int((second + 5e-7) / bin_s)
        before = sums.get(at, (0, 0))
        sums[at] = (before[0] + checked, before[1] + lossy)
    bins = sorted(sums)
    return type(series)(
        scenario=series.scenario,
        seconds=[round(at * bin_s, 6) for at in bins],
        checked=[sums[at][0] for at in bins],
        lossy=[sums[at][1] for at in bins],
    )


def _axis(loss: LossOverTime) -> list[float]:
    """The start of every bin, those in which nothing was recalled included: a pause has to look like one."""
    last = max((series.seconds[-1] for series in loss.series if series.seconds), default=-loss.bin_s)
    return [round(at * loss.bin_s, 6) for at in range(round(last / loss.bin_s) + 1)]


def _aligned(series: LossSeries, axis: list[float]) -> tuple[list[int], list[int]]:
    checked = dict(zip(series.seconds, series.checked, strict=True))
    lossy = dict(zip(series.seconds, series.lossy, strict=True))
    return [checked.get(second, 0) for second in axis], [lossy.get(second, 0) for second in axis]


def _cell(pairs: int, missing: int) -> Cell:
    missing_share = missing / pairs if pairs else None
    return Cell(pairs, missing, missing_share, heat(missing_share))


def _rounds(power: int) -> tuple[float, ...]:
    return tuple(round(step * 10**power, 9) for step in (0.1, 0.2, 0.5, 1))
