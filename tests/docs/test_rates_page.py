"""The figures on the page about rates are those that were measured, and they keep what the page promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import early_stop, intervals

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rates-and-verdicts.md").read_text(encoding="utf-8")


def measured(name: str) -> dict[str, Any]:
    return dict(json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8")))


def test_the_table_of_coverage_is_the_measured_one() -> None:
    rows = measured("intervals")["rounds"]
    assert intervals.table(rows) in PAGE
    cells = {(row["users"], row["rate"], row["burst"]) for row in rows}
    assert cells == {(u, p, b) for u in (200, 1_000, 5_000) for p in (1e-4, 1e-3, 1e-2) for b in (0.0, 0.2, 0.8)}


def test_the_table_of_early_stops_is_the_measured_one() -> None:
    assert early_stop.table(measured("early_stop")["rounds"]) in PAGE


def test_intervals_cover_the_truth_in_every_cell_and_are_not_wider_than_they_need_be() -> None:
    for row in measured("intervals")["rounds"]:
        for level in intervals.LEVELS:
            coverage = row[level]["coverage"]
            assert coverage >= 0.93, row
            assert coverage <= 0.99 or row["harmed"] < 20, row


@pytest.mark.parametrize("test", ["gate", "compare"])
def test_no_test_cries_wolf(test: str) -> None:
    assert max(row[test] for row in measured("intervals")["rounds"]) <= 0.06


def test_a_small_part_of_the_table_comes_out_as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first runs of a cell are no other ones because fewer are made; so their coverage must be near that of all.
    monkeypatch.setattr(intervals, "RUNS", 60)
    cell = intervals.Cell(1_000, 1e-2, 0.8)
    row = intervals.measure(cell)
    (recorded,) = [r for r in measured("intervals")["rounds"] if (r["users"], r["rate"], r["burst"]) == cell]
    assert row["harmed"] == pytest.approx(recorded["harmed"])
    for level in intervals.LEVELS:
        assert row[level]["coverage"] == pytest.approx(recorded[level]["coverage"], abs=0.12)


def test_stopping_early_is_wrong_no_more_often_than_promised() -> None:
    rows = {round(row["true"], 4): row for row in measured("early_stop")["rounds"]}
    assert rows[0.01]["kept"] <= 0.03
    assert rows[0.01]["exceeded"] <= 0.055
    assert rows[0.002]["kept"] > 0.99
    assert rows[0.03]["exceeded"] > 0.99
    assert rows[0.002]["users"] < rows[0.002]["fixed"]
