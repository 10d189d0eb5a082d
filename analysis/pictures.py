"""Where and when loss happened: over time, by the instances that wrote and read, and by the age of messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from analysis.report.model import AgeCurve, AgeSeries, InstanceMatrix, LossOverTime, LossSeries
from analysis.sums.instances import Instances
from analysis.sums.over_time import TICK_NS, OverTime
from analysis.symptoms.pairs import KINS, Pairs
from analysis.symptoms.scale import BINS, EDGES_NS, MS

TIME_BINS = 120
"""About how many bins a run is cut into."""


def loss_over_time(recalls: OverTime, scenarios: Sequence[str]) -> LossOverTime | None:
    """Checked and lossy recalls by the time they started, per scenario; None if no recall was checked."""
    if not recalls.checked:
        return None
    bin_s = _round_up(max(tick for _, tick in recalls.checked) * TICK_NS / 1e9 / TIME_BINS)
    ticks = round(bin_s * 1e9) // TICK_NS
    checked, lossy = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    for bins, counted in ((checked, recalls.checked), (lossy, recalls.lossy)):
        for (scenario, tick), number in counted.items():
            bins[scenario, tick // ticks] += number
    series = []
    for name in scenarios:
        own = sorted(at for scenario, at in checked if scenario == name)
        if own:
            series.append(
                LossSeries(
                    scenario=name,
                    seconds=[round(at * bin_s, 6) for at in own],
                    checked=[checked[name, at] for at in own],
                    lossy=[lossy[name, at] for at in own],
                )
            )
    return LossOverTime(bin_s=bin_s, series=series)


def instance_matrix(instances: Instances) -> InstanceMatrix | None:
    """Pairs of message and recall that shows or lacks it, by writing and reading instance.

    None if no instance is known. Off the diagonal: memory held in single processes behind a balancer that does not
    stick.
    """
    missing = instances.missing
    pairs = instances.shown + missing
    if not pairs:
        return None
    writing = sorted({instance for instance, _ in pairs})
    reading = sorted({instance for _, instance in pairs})
    return InstanceMatrix(
        writing=writing,
        reading=reading,
        pairs=[[pairs[wrote, read] for read in reading] for wrote in writing],
        missing=[[missing[wrote, read] for read in reading] for wrote in writing],
    )


def age_curve(pairs: Pairs, scenarios: Sequence[str]) -> AgeCurve | None:
    """Missing and all pairs by age since the acknowledgement, per kin and scenario that lacks something; else None."""
    lacking = {scenario for scenario, _, _ in pairs.missing}
    if not lacking:
        return None
    series = []
    for scenario in (name for name in scenarios if name in lacking):
        for kin in KINS:
            lost = [
                pairs.missing[scenario, kin, late] for late in (True, False) if (scenario, kin, late) in pairs.missing
            ]
            shown = [pairs.shown[scenario, kin]] if (scenario, kin) in pairs.shown else []
            if lost or shown:
                missing = [sum(bins) for bins in zip(*(part.tolist() for part in lost), strict=True)] or [0] * BINS
                every = [sum(bins) for bins in zip(*(part.tolist() for part in [*lost, *shown]), strict=True)]
                series.append(AgeSeries(scenario=scenario, kin=kin, missing=missing, pairs=every))
    return AgeCurve(edges_ms=[edge_ns / MS for edge_ns in EDGES_NS], series=series)


def _round_up(least_s: float) -> float:
    """The next of 0.1, 0.2, 0.5, 1, 2, 5, … seconds."""
    return next(step * 10.0**power for power in range(-1, 12) for step in (1, 2, 5) if step * 10.0**power >= least_s)
