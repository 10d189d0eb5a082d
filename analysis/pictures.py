"""Where and when loss happened: over time, and by the instance that wrote and the instance that read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from analysis.check import Checked
from analysis.report.model import InstanceMatrix, LossOverTime, LossSeries

BINS = 120
"""About how many bins a run is cut into."""


def loss_over_time(judged: Iterable[Checked], scenarios: Sequence[str], start_ns: int) -> LossOverTime | None:
    """Checked and lossy recalls by the time they started, per scenario; None if no recall was checked."""
    frame = pd.DataFrame(
        [
            (checked.conversation.scenario, (entry.row.start_ns - start_ns) / 1e9, entry.judgement.lossy)
            for checked in judged
            for entry in checked.listed
            if entry.judgement.checked
        ],
        columns=["scenario", "second", "lossy"],
    )
    if frame.empty:
        return None
    bin_s = _round_up(float(frame["second"].max()) / BINS)
    frame["bin"] = np.floor(frame["second"] / bin_s).astype("int64")
    counted = frame.groupby(["scenario", "bin"])["lossy"].agg(["size", "sum"]).reset_index()
    series = []
    for name in scenarios:
        own = counted[counted["scenario"] == name]
        if len(own):
            series.append(
                LossSeries(
                    scenario=name,
                    seconds=[round(int(at) * bin_s, 6) for at in own["bin"]],
                    checked=[int(number) for number in own["size"]],
                    lossy=[int(number) for number in own["sum"]],
                )
            )
    return LossOverTime(bin_s=bin_s, series=series)


def instance_matrix(judged: Iterable[Checked]) -> InstanceMatrix | None:
    """Pairs of message and recall that shows or lacks it, by writing and reading instance.

    None if no instance is known. Off the diagonal: memory held in single processes behind a balancer that does not
    stick.
    """
    shown: Counter[tuple[str, str]] = Counter()
    missing: Counter[tuple[str, str]] = Counter()
    for checked in judged:
        written_by = {sent.message: sent.append.instance for sent in checked.sent.values()}
        for entry in checked.listed:
            read_by = entry.row.instance
            if read_by is None or not entry.judgement.checked:
                continue
            for instance, number in Counter(map(written_by.__getitem__, entry.shown)).items():
                if instance is not None:
                    shown[instance, read_by] += number
            for lost in entry.judgement.missing:
                instance = written_by[lost.message]
                if instance is not None:
                    missing[instance, read_by] += 1
    pairs = shown + missing
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


def _round_up(least_s: float) -> float:
    """The next of 0.1, 0.2, 0.5, 1, 2, 5, … seconds."""
    return next(step * 10.0**power for power in range(-1, 12) for step in (1, 2, 5) if step * 10.0**power >= least_s)
