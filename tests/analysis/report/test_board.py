"""The columns of the first screen follow the failure."""

from __future__ import annotations

import msgspec

from analysis.report.board import Column, axis_end, columns, dots
from analysis.results import Scenario
from tests.analysis.report.report_samples import scenario


def board(lossy: int = 0, lost: int = 0, **found: int) -> list[Column]:
    """The columns of a scenario with so many lossy recalls, lost messages, and conversations by class."""
    base = scenario("chat", 1_000, lossy, 0.1, 0.3, 2.0, 100)
    late = lossy - lost if lossy else 0
    ok = 500 - lost - late
    messages = msgspec.structs.replace(base.messages, checked=500, ok=ok, stale=late, flicker=0, lost=lost)
    rate = base.classes["missing"]
    classes = {name: msgspec.structs.replace(rate, conversations=number) for name, number in found.items()}
    one: Scenario = msgspec.structs.replace(base, messages=messages, classes=classes)
    return columns([one])


def names(found: list[Column]) -> list[str]:
    return [column.heading for column in found]


def test_a_leak_stands_before_everything() -> None:
    assert names(board(20, 20, duplicated=1, foreign=3)) == ["Foreign", "Lost", "Lossy", "Duplicated", "Harmed"]
    assert names(board(0, 0, duplicated=1, foreign=3)) == ["Foreign", "Duplicated", "Lossy", "Harmed"]


def test_what_is_lost_stands_before_what_is_lossy_and_what_is_late_behind_it() -> None:
    assert names(board(20, 5)) == ["Lost", "Lossy", "Late", "Harmed"]
    assert names(board(20, 0)) == ["Lossy", "Late", "Lost", "Harmed"]


def test_a_sound_run_shows_how_far_it_reaches_by_recall_and_by_message() -> None:
    found = board()
    assert names(found) == ["Lossy", "Lost", "Harmed"]
    assert not any(cell.tone for column in found for cell in column.cells)


def test_colour_tells_how_grave_it_is() -> None:
    tones = {column.heading: column.cells[0].tone for column in board(20, 5, duplicated=1, foreign=3)}
    grave, mild = dict.fromkeys(("Foreign", "Lost", "Lossy"), "grave"), dict.fromkeys(("Late", "Duplicated"), "mild")
    assert tones == {**grave, **mild, "Harmed": ""}
    assert {column.heading: column.cells[0].tone for column in board(20)}["Lossy"] == "mild"


def test_the_axis_holds_all_intervals() -> None:
    lossy = board(20)[0]
    assert axis_end(lossy) == 0.5
    place = dots(lossy.cells[0], 0.5)
    assert place is not None
    assert (place.low_px, place.rate_px, place.high_px) == (30.0, 6.0, 90.0)
    assert dots(lossy.cells[0]._replace(rate=None), 0.5) is None
