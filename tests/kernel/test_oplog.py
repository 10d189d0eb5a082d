"""The op log: lists as runs and back, and logs as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldfish.errors import RecordError
from goldfish.oplog import Footer, Header, Odd, Recall, encode_runs, listing
from stress.swarm.recorder import Recorder
from tests.oplogs import rows_of_log

elements = st.lists(st.one_of(st.tuples(st.sampled_from(["phone", "laptop"]), st.integers(0, 5)), st.just("odd")))


def recall(**fields: object) -> Recall:
    shared = {
        "id": 1,
        "scenario": "s",
        "user": "u",
        "conversation": "c",
        "device": "phone",
        "start_ns": 1,
        "end_ns": 2,
        "outcome": "ok",
        "view": "session",
    }
    return Recall(**shared, **fields)  # type: ignore[arg-type]


@given(elements)
def test_a_list_is_read_back_as_it_was_returned(elements: list[object]) -> None:
    seen = encode_runs([element for element in elements if isinstance(element, tuple)])
    odd = [Odd(at=at, why="unmarked") for at, element in enumerate(elements) if element == "odd"]
    row = recall(seen=seen, odd=odd)
    assert row.length == len(elements)
    assert [("odd" if isinstance(e, Odd) else e) for e in listing(row)] == elements


def test_a_sound_recall_costs_one_short_entry() -> None:
    assert encode_runs([("phone", seq) for seq in range(100)]) == [("phone", 0, 99)]


def test_disorder_and_duplicates_stay_visible() -> None:
    assert encode_runs([("phone", 1), ("phone", 0), ("phone", 0)]) == [
        ("phone", 1, 1),
        ("phone", 0, 0),
        ("phone", 0, 0),
    ]


def test_an_odd_position_outside_the_list_is_refused() -> None:
    with pytest.raises(RecordError, match="position 7"):
        list(listing(recall(seen=[("phone", 0, 1)], odd=[Odd(at=7, why="unmarked")])))


def test_a_recorded_log_is_read_back_with_header_and_footer(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "w0.jsonl", "r1", "w0", 0)
    recorder.write(recall(seen=[("phone", 0, 3)]))
    recorder.write(recall(limit=4))
    recorder.close()
    recorder.close()
    rows = rows_of_log(tmp_path / "w0.jsonl")
    assert isinstance(rows[0], Header)
    assert rows[0].run == "r1"
    assert rows[1] == recall(seen=[("phone", 0, 3)])
    assert rows[-1] == Footer(lines=4, counts={"recall": 2})


def test_nothing_is_written_behind_the_footer(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "w0.jsonl", "r1", "w0", 0)
    recorder.close()
    with pytest.raises(ValueError, match="closed"):
        recorder.write(recall())
