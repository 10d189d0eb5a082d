"""What is believed of a record, what is not, and what is judged in spite of a gap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.load import load
from goldfish.errors import RecordError
from goldfish.oplog import LINE_BYTES_MAX, Footer

from .runs import MS, Process, corrupted, sound, write

Spoil = Callable[[Process], object]


def log_of(directory: Path) -> Path:
    return directory / "transcript" / "0.jsonl"


def rewrite(directory: Path, change: Callable[[list[bytes]], list[bytes]]) -> Path:
    path = log_of(directory)
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    return directory


def talk() -> Process:
    return Process().append("phone", 0, 1, 0).recall("phone", 2, 3, ("phone", 0))


def test_a_whole_record_has_no_flaw_and_no_doubt(tmp_path: Path) -> None:
    record = load(write(tmp_path, talk()))
    assert record.logs[0].flaw is None
    assert record.logs[0].rows == {"append": 1, "recall": 1}
    (conversation,) = record.conversations.values()
    assert conversation.doubt is None
    assert conversation.scope == "session"


def test_touches_and_samples_are_kept_and_counted(tmp_path: Path) -> None:
    touch = (
        b'{"kind":"touch","id":7,"scenario":"rapid-switch","user":"user of 0.0.s0","conversation":"0.0.s0",'
        b'"device":"phone","start_ns":5,"end_ns":6,"outcome":"ok"}\n'
    )
    sample = b'{"kind":"sample","at_ns":9,"users":3,"in_flight":1,"cpu_pct":12.5,"lag_ms":0.4}\n'

    def add(lines: list[bytes]) -> list[bytes]:
        footer = Footer(lines=len(lines) + 2, counts={"append": 1, "recall": 1, "touch": 1, "sample": 1})
        return [*lines[:-1], touch, sample, msgspec.json.encode(footer) + b"\n"]

    record = load(rewrite(write(tmp_path, talk()), add))
    assert record.logs[0].flaw is None
    assert record.logs[0].rows == {"append": 1, "recall": 1, "touch": 1, "sample": 1}
    (conversation,) = record.conversations.values()
    assert conversation.doubt is None
    assert len(conversation.appends) == len(conversation.recalls) == len(conversation.touches) == 1
    assert len(conversation.operations()) == 3


def backwards(process: Process) -> None:
    process.append("phone", 5, 4, 1)


def same_id(process: Process) -> None:
    process.append("phone", 4, 5, 1, id=0)


def two_scopes(process: Process) -> None:
    process.recall("phone", 4, 5, ("phone", 0), view="user")


def context(process: Process) -> None:
    process.recall("phone", 4, 5, view="context")


def ask(process: Process) -> None:
    process.recall("phone", 4, 5, asked=[("phone", 0)])


def twice(process: Process) -> None:
    process.append("phone", 4, 5, 0, attempt=2).append("phone", 6, 7, 0, attempt=2)


def zeroth(process: Process) -> None:
    process.append("phone", 4, 5, 1, attempt=0)


def two_sessions(process: Process) -> None:
    process.append("phone", 4, 5, 1, session="another")


def no_session(process: Process) -> None:
    process.append("phone", 4, 5, 1, session=None)


def two_users(process: Process) -> None:
    process.append("phone", 4, 5, 1, user="somebody else")


def number_used_twice(process: Process) -> None:
    process.append("phone", 4, 5, 0)


def number_out_of_order(process: Process) -> None:
    process.append("phone", 4, 5, 2).append("phone", 6, 7, 1)


def empty_append(process: Process) -> None:
    process.append("phone", 4, 5)


def run_backwards(process: Process) -> None:
    process.recall("phone", 4, 5, seen=[("phone", 3, 1)])


def endless_run(process: Process) -> None:
    process.recall("phone", 4, 5, seen=[("phone", 0, 10**12)])


def odd_beyond_the_list(process: Process) -> None:
    process.recall("phone", 4, 5, odd=[corrupted("phone", 0).__class__(at=7, why="unmarked")])


def nameless_corruption(process: Process) -> None:
    process.recall("phone", 4, 5, odd=[corrupted("phone", 0).__class__(at=0, why="corrupted", kind="role")])


def ownerless_leak(process: Process) -> None:
    process.recall("phone", 4, 5, odd=[corrupted("phone", 0).__class__(at=0, why="foreign")])


@pytest.mark.parametrize(
    ("spoil", "line", "message"),
    [
        (backwards, 4, "the clock cannot be trusted"),
        (same_id, 4, "stands twice"),
        (two_scopes, 4, "expected one scope"),
        (context, 4, "reads session, user, search and store"),
        (ask, 4, "only a search does"),
        (twice, 5, "stands twice"),
        (zeroth, 4, "count from 1"),
        (two_sessions, 4, "expected one session"),
        (no_session, 4, "names no session"),
        (two_users, 4, "has user"),
        (number_used_twice, 4, "expected a new number"),
        (number_out_of_order, 5, "after a later number"),
        (empty_append, 4, "carries no message"),
        (run_backwards, 4, "first <= last"),
        (endless_run, 4, "no answer holds that many"),
        (odd_beyond_the_list, 4, "position 7 of a list of 1"),
        (nameless_corruption, 4, "names no message"),
        (ownerless_leak, 4, "names no owner"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused_with_file_and_line(
    tmp_path: Path, spoil: Spoil, line: int, message: str
) -> None:
    process = talk()
    spoil(process)
    with pytest.raises(RecordError) as error:
        load(write(tmp_path, process))
    assert str(error.value).startswith(f"{log_of(tmp_path)}:{line}: ")
    assert message in str(error.value)


def test_a_conversation_lives_in_one_process(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is also in process '0'"):
        load(write(tmp_path, talk(), Process("1").append("phone", 9, 10, 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[1:], "1: expected a header"),
        (lambda lines: [lines[0], *lines], "2: a second header"),
        (lambda lines: [*lines, lines[1]], "5: a row after the footer"),
        (lambda lines: [lines[0].replace(b'"schema":1', b'"schema":99'), *lines[1:]], "1: schema 99"),
        (lambda lines: [lines[0].replace(b'"a-run"', b'"another"'), *lines[1:]], "1: the log is of run 'another'"),
        (lambda lines: [lines[0].replace(b'"process":"0"', b'"process":"1"'), *lines[1:]], "1: the log is of process"),
        (lambda lines: [b"what is this\n", *lines[1:]], "1: not a row"),
    ],
)
def test_a_log_that_is_not_this_process_s_log_is_refused(tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(RecordError) as error:
        load(rewrite(write(tmp_path, talk()), change))
    assert str(error.value).startswith(f"{log_of(tmp_path)}:{message}")


@pytest.mark.parametrize("name", ["../0", "a/b", "", "..", "nul\0"])
def test_a_log_outside_the_transcript_is_not_opened(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordError, match="cannot be the name of an op log"):
        load(write(tmp_path, talk(), processes=[name]))


def test_a_process_named_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="named twice"):
        load(write(tmp_path, talk(), processes=["0", "0"]))


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        (lambda lines: lines[:-1], "no footer"),
        (lambda lines: [*lines[:-1], lines[-1][:20]], "line 5 cannot be read"),
        (lambda lines: [*lines[:-2], lines[-2][:20]], "line 4 cannot be read"),
        (lambda lines: [*lines[:-1], b"\0" * 4096], "line 5 cannot be read"),
        (lambda lines: [*lines[:-1], b"\xff\xfe\n"], "line 5 cannot be read"),
        (lambda lines: [*lines[:-1], b"[" * (LINE_BYTES_MAX + 1)], "line 5 cannot be read"),
        (lambda lines: [*lines[:-1], b"[" * 100_000 + b"\n"], "line 5 cannot be read"),
    ],
)
def test_an_unfinished_log_is_read_as_far_as_it_goes(tmp_path: Path, change: Any, flaw: str) -> None:
    process = talk().recall("phone", 4, 5, ("phone", 0))
    log = load(rewrite(write(tmp_path, process), change)).logs[0]
    assert log.flaw is not None
    assert flaw in log.flaw
    assert log.rows["append"] == 1


def test_only_conversations_closed_before_the_break_are_judged(tmp_path: Path) -> None:
    process = sound(Process(), 0).talk("open").append("phone", 90, 91, 0).recall("phone", 92, 93, ("phone", 0))
    record = load(rewrite(write(tmp_path, process), lambda lines: lines[:-1]))
    assert record.conversations["0.0.s0"].doubt is None
    doubt = record.conversations["open"].doubt
    assert doubt is not None
    assert doubt.code == "incomplete"


def test_where_rows_are_missing_anywhere_nothing_of_the_log_is_judged(tmp_path: Path) -> None:
    record = load(rewrite(write(tmp_path, sound(Process(), 0)), lambda lines: [lines[0], *lines[3:]]))
    assert record.logs[0].scattered
    assert all(conversation.doubt for conversation in record.conversations.values())


def test_a_missing_log_leaves_the_others(tmp_path: Path) -> None:
    record = load(write(tmp_path, sound(Process(), 0), processes=["0", "gone"]))
    assert [log.flaw for log in record.logs] == [None, "the file is missing"]
    assert len(record.conversations) == 1


@pytest.mark.parametrize("content", [b"", b'{"kind":"hea'])
def test_a_run_without_a_single_row_is_refused(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, talk())
    log_of(tmp_path).write_bytes(content)
    with pytest.raises(RecordError, match="no row of this run can be trusted"):
        load(tmp_path)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is no run directory"):
        load(tmp_path)


def test_a_hole_in_the_numbers_of_a_device_is_a_missing_row(tmp_path: Path) -> None:
    (conversation,) = load(write(tmp_path, talk().append("phone", 4, 5, 2))).conversations.values()
    assert conversation.doubt is not None
    assert "message 1 by phone" in conversation.doubt.text


@pytest.mark.parametrize("shown", [("phone", 1), ("laptop", 0), corrupted("phone", 8)])
def test_a_listed_message_that_nobody_sent_is_a_missing_row(tmp_path: Path, shown: Any) -> None:
    (conversation,) = load(write(tmp_path, talk().recall("phone", 4, 5, shown))).conversations.values()
    assert conversation.doubt is not None
    assert "whose sending is not recorded" in conversation.doubt.text


@pytest.mark.parametrize(("attempts", "lacking"), [((2,), 1), ((1, 3), 2)])
def test_a_later_attempt_without_an_earlier_one_is_a_missing_row(
    tmp_path: Path, attempts: tuple[int, ...], lacking: int
) -> None:
    process = talk()
    for number, attempt in enumerate(attempts):
        process.append("laptop", 4 + 2 * number, 5 + 2 * number, 0, attempt=attempt)
    (conversation,) = load(write(tmp_path, process)).conversations.values()
    assert conversation.doubt is not None
    assert f"attempt {lacking} at message 0 by laptop is not recorded" in conversation.doubt.text


def test_later_attempts_are_no_new_messages(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 9, 0, outcome="info").append("phone", 3, 4, 0, attempt=2)
    process.append("phone", 5, 6, 1)
    (conversation,) = load(write(tmp_path, process)).conversations.values()
    assert conversation.doubt is None


def test_a_search_spans_the_user_whatever_the_conversation_spans(tmp_path: Path) -> None:
    process = talk().recall("phone", 4, 5, ("phone", 0), view="search", session=None, asked=[("phone", 0)])
    (conversation,) = load(write(tmp_path, process)).conversations.values()
    assert conversation.scope == "session"
    assert conversation.doubt is None


def test_a_search_for_what_nobody_sent_is_a_missing_row(tmp_path: Path) -> None:
    process = talk().recall("phone", 4, 5, view="search", asked=[("phone", 7)])
    (conversation,) = load(write(tmp_path, process)).conversations.values()
    assert conversation.doubt is not None
    assert "asks for message 7" in conversation.doubt.text


def test_messages_sent_at_one_stamp_are_numbered_in_any_order(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 9, 0).append("phone", 0, 5, 1)
    (conversation,) = load(write(tmp_path, process)).conversations.values()
    assert conversation.doubt is None


def test_only_the_wanted_conversation_is_kept(tmp_path: Path) -> None:
    process = sound(sound(Process(), 0), 1)
    record = load(write(tmp_path, process), only="0.1.s0")
    assert list(record.conversations) == ["0.1.s0"]
    assert min(row.start_ns for _, row in record.conversations["0.1.s0"].operations()) == 0 * MS
