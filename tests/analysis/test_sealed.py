"""What is sealed of a record makes the next analysis faster, and is believed only of the very files that were read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis import reading, sealed, share
from analysis.analyze import analyze
from analysis.publish import REPORT, RESULTS
from analysis.sealed import FOLDER, INDEX
from goldfish.contract import Budget

from .recorded import of_any, record
from .runs import many, write


class OpLogReadError(AssertionError):
    """Rows were read from an op log in order."""


def refuse_op_logs(patch: pytest.MonkeyPatch, directory: Path) -> None:
    """Nobody may read the op logs of this run; those of copies that the analyzer makes for itself, yes."""
    read = reading._read

    def refuse(where: Path, *rest: Any) -> Any:
        if where == directory:
            raise OpLogReadError
        return read(where, *rest)

    patch.setattr(reading, "_read", refuse)


@pytest.fixture(autouse=True)
def _every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seal small and young records, too."""
    monkeypatch.setattr(reading, "BYTES_MIN", 0)
    monkeypatch.setattr(sealed, "STILL_NS", 0)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run, analyzed by three shares, and so sealed."""
    record(tmp_path, of_any(3_000_000, 15), processes=2)
    analyze(tmp_path, processes=3)
    assert (tmp_path / FOLDER / INDEX).exists()
    return tmp_path


def outputs(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


@pytest.mark.parametrize("processes", [1, 2])
def test_a_second_analysis_reads_no_op_log_and_says_the_same(
    run: Path, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = outputs(run)
    refuse_op_logs(monkeypatch, run)
    analyze(run, processes=processes)
    assert outputs(run) == first


def test_another_contract_judges_what_is_sealed(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.toml"
    for text in ("[contract]\nwindow = {messages = 3}\n", '[contract]\nttl = {seconds = 0.02, unit = "user"}\n'):
        other.write_text(text)
        with monkeypatch.context() as patch:
            refuse_op_logs(patch, run)
            again = analyze(run, other)
        shutil.rmtree(run / FOLDER)
        assert analyze(run, other) == again


def edited(path: Path) -> None:
    """A byte in the midst, and the times set back to what they were."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[content.index(b'"kept"') if b'"kept"' in content else content.index(b'"new"') + 1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def grown(path: Path) -> None:
    with path.open("ab") as log:
        log.write(b"\n")


def replaced(path: Path) -> None:
    """By a copy that keeps everything a copy can keep."""
    shutil.copy2(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


@pytest.mark.parametrize("change", [edited, grown, replaced])
def test_a_log_that_changed_is_read_again(
    run: Path, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    change(run / "transcript" / "w1.jsonl")
    refuse_op_logs(monkeypatch, run)
    with pytest.raises(OpLogReadError):
        analyze(run, processes=1)


def cut(folder: Path) -> None:
    path = folder / "recall-1.parquet"
    path.write_bytes(path.read_bytes()[:-100])


def flipped(folder: Path) -> None:
    path = folder / "append-0.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 4] ^= 0xFF
    path.write_bytes(content)


def gone(folder: Path) -> None:
    (folder / "voice-2.parquet").unlink()


def of_another_version(folder: Path) -> None:
    index = folder / INDEX
    index.write_bytes(index.read_bytes().replace(b'"schema":1', b'"schema":2'))


def nonsense(folder: Path) -> None:
    (folder / INDEX).write_bytes(b"\0")


@pytest.mark.parametrize("damage", [cut, flipped, gone, of_another_version, nonsense])
def test_whatever_is_wrong_with_it_the_op_logs_are_read(run: Path, damage: Callable[[Path], None]) -> None:
    first, index = outputs(run), (run / FOLDER / INDEX).read_bytes()
    damage(run / FOLDER)
    analyze(run, processes=3)
    assert outputs(run) == first
    assert (run / FOLDER / INDEX).read_bytes() == index


def test_an_incomplete_log_is_not_sealed(tmp_path: Path) -> None:
    record(tmp_path, of_any(3_100_000, 3))
    path = tmp_path / "transcript" / "w0.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    analyze(tmp_path)
    assert not (tmp_path / FOLDER).exists()


def test_a_log_that_changed_under_way_is_not_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path, of_any(3_200_000, 3))
    path, read = tmp_path / "transcript" / "w0.jsonl", share.read_lines

    def touch_it(*arguments: Any) -> Any:
        path.touch()
        return read(*arguments)

    monkeypatch.setattr(share, "read_lines", touch_it)
    analyze(tmp_path)
    assert not (tmp_path / FOLDER).exists()


def test_a_log_that_was_written_a_moment_ago_is_not_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "STILL_NS", 10**12)
    analyze(write(tmp_path, many(3)))
    assert not (tmp_path / FOLDER).exists()


def test_a_small_record_is_not_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BYTES_MIN", sealed.BYTES_MIN)
    analyze(write(tmp_path, many(3)))
    assert not (tmp_path / FOLDER).exists()


def test_an_analysis_that_fails_leaves_no_half_of_it(tmp_path: Path) -> None:
    write(tmp_path, many(3), budget=Budget(min_conversations=2))
    (tmp_path / REPORT).mkdir()
    with pytest.raises(Exception, match="cannot write the results"):
        analyze(tmp_path)
    assert not [path.name for path in tmp_path.iterdir() if "sealed" in path.name or path.name == RESULTS]
