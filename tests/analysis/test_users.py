"""How users fared, as a comparison reads it."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis.analyze import analyze
from analysis.users import SCHEMA, read_users
from goldfish.errors import RecordError

from .runs import Process, many, sound, write


def rows(directory: Path) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in pq.read_table(directory / "users.parquet").to_pylist()]


def test_users_that_fared_alike_stand_in_one_row(tmp_path: Path) -> None:
    process = many(5)
    process.talk("x", user="ann").append("phone", 0, 1, 0).recall("phone", 2, 3).recall("phone", 4, 5, final=True)
    process.talk("y", user="ann").append("phone", 0, 1, 0).recall("phone", 2, 3, ("phone", 0), final=True)
    sound(process, 9, scenario="two-devices")
    analyze(write(tmp_path, process))
    assert rows(tmp_path) == [
        # scenario, checked recalls, lossy, conversations, harmed, checked messages, lost, users
        ("rapid-switch", 3, 2, 2, 1, 2, 1, 1),
        ("rapid-switch", 4, 0, 1, 0, 3, 0, 5),
        ("two-devices", 4, 0, 1, 0, 3, 0, 1),
    ]
    fared = read_users(tmp_path)
    assert [*fared] == ["rapid-switch", "two-devices"]
    for level, harmed, seen in (("recalls", 2, 23), ("conversations", 1, 7), ("messages", 1, 17)):
        users = getattr(fared["rapid-switch"], level)
        assert (users.events @ users.number, users.trials @ users.number, users.total) == (harmed, seen, 6)


def test_a_user_who_could_lose_nothing_is_no_evidence(tmp_path: Path) -> None:
    process = many(2).talk("x").append("phone", 0, 1, 0).recall("phone", 2, 3, limit=0, final=True)
    analyze(write(tmp_path, process))
    assert read_users(tmp_path)["rapid-switch"].recalls.total == 2


def test_a_run_of_nothing_has_an_empty_table(tmp_path: Path) -> None:
    analyze(write(tmp_path, Process()))
    assert pq.read_schema(tmp_path / "users.parquet").equals(SCHEMA)
    assert read_users(tmp_path) == {}


def test_a_run_that_was_not_judged_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=f"goldfish analyze {tmp_path}"):
        read_users(tmp_path)
    (tmp_path / "users.parquet").write_text("not parquet")
    with pytest.raises(RecordError, match="goldfish analyze"):
        read_users(tmp_path)
