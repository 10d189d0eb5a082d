"""Records that are not what they should be, through the real command.

Each gives a message that names file and line, never a traceback, and never a pass: exit 2 if no row can be trusted, 4
if some can. What is only hostile, and not malformed, is judged like anything else.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from goldfish.contract import Budget
from goldfish.oplog import LINE_BYTES_MAX
from tests.cli.command import GOLDFISH

from .runs import Process, sound, write

LOG = "transcript/0.jsonl"
GIB = 1 << 30
MEMORY_KIB_MAX = 800_000
"""Whoever reads a line of 1 GB whole needs more."""
HOSTILE = "<script>alert(1)</script>\u202e\u2066\x1b[31m\x9b31m`|[x](http://evil)&lt;"
CONTROLS = "\u202e\u2066\x1b\x9b"


class Case(NamedTuple):
    """One way to spoil a run directory."""

    name: str
    spoil: Callable[[Path], object]
    exit_code: int
    told: str
    """What the message says, a regular expression."""


def rewrite(directory: Path, change: Callable[[list[bytes]], list[bytes]], log: str = LOG) -> None:
    path = directory / log
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], None]:
    return lambda directory: rewrite(directory, change)


def half(directory: Path) -> None:
    path = directory / LOG
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def second_log(directory: Path) -> None:
    (directory / "transcript" / "0-copy.jsonl").write_bytes((directory / LOG).read_bytes())


def renamed_log(directory: Path) -> None:
    (directory / "transcript" / "1.jsonl").write_bytes((directory / LOG).read_bytes())
    in_run_json('"processes": ["0"]', '"processes": ["0", "1"]')(directory)


def nobodys_log(directory: Path) -> None:
    (directory / "transcript" / "7.jsonl").write_bytes((directory / LOG).read_bytes().replace(b'"0"', b'"7"', 1))


def in_run_json(old: str, new: str) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        path = directory / "run.json"
        text = path.read_text().replace('[\n    "0"\n  ]', '["0"]')
        assert old in text, text
        path.write_text(text.replace(old, new))

    return change


def huge(at: int) -> Callable[[Path], None]:
    """A line of 1 GB that takes no room on the disk: zeros."""

    def grow(directory: Path) -> None:
        path = directory / LOG
        kept = b"".join(path.read_bytes().splitlines(keepends=True)[:at])
        path.write_bytes(kept)
        with path.open("r+b") as file:
            file.truncate(len(kept) + GIB)

    return grow


def no_log(directory: Path) -> None:
    (directory / LOG).unlink()


def folder_for_log(directory: Path) -> None:
    no_log(directory)
    (directory / LOG).mkdir()


def replaced(old: bytes, new: bytes, line: int) -> Callable[[Path], None]:
    def change(rows: list[bytes]) -> list[bytes]:
        assert old in rows[line], rows[line]
        rows[line] = rows[line].replace(old, new, 1)
        return rows

    return lines(change)


MALFORMED = [
    Case("truncated line", lines(lambda rows: [*rows[:-1], rows[-1][:-9]]), 4, r"0\.jsonl is incomplete: line 42 "),
    Case("half-written file", half, 4, r"0\.jsonl is incomplete: line 2\d "),
    Case(
        "missing footer", lines(lambda rows: rows[:-1]), 4, r"0\.jsonl is incomplete: it ends with line 41 .*no footer"
    ),
    Case(
        "a footer that counts more",
        lines(lambda rows: [*rows[:5], *rows[6:]]),
        4,
        r"0\.jsonl .* footer counts 42 lines",
    ),
    Case("a row after the footer", lines(lambda rows: [*rows, rows[3]]), 2, r"0\.jsonl:43: a row after the footer"),
    Case("a process named twice", in_run_json('["0"]', '["0", "0"]'), 2, r"run\.json: .*named twice"),
    Case("a second log of a process", second_log, 2, r"0-copy\.jsonl:1: a second op log of process '0'"),
    Case("a log under another name", renamed_log, 2, r"1\.jsonl:1: the log is of process '0'"),
    Case("a log nobody named", nobodys_log, 4, r"7\.jsonl lies among the op logs"),
    Case("two logs in one file", lines(lambda rows: [*rows[:-1], *rows]), 2, r"0\.jsonl:42: a second header"),
    Case("unknown schema of a log", replaced(b'"schema":1', b'"schema":99', 0), 2, r"0\.jsonl:1: schema 99"),
    Case("unknown schema of the run", in_run_json('"schema": 1', '"schema": 99'), 2, r"run\.json: schema 99"),
    Case("no run.json", lambda directory: (directory / "run.json").unlink(), 2, r"cannot read run\.json"),
    Case(
        "run.json cut", lambda directory: (directory / "run.json").write_text('{"schema": 1,\n"ru'), 2, r"run\.json:2: "
    ),
    Case("run.json of zeros", lambda directory: (directory / "run.json").write_bytes(bytes(99)), 2, r"run\.json:1: "),
    Case("no log", no_log, 2, r"0\.jsonl: the file is missing"),
    Case("a folder for a log", folder_for_log, 2, r"cannot read .*0\.jsonl"),
    Case("an empty log", lines(lambda _: []), 2, r"0\.jsonl: it ends with line 0"),
    Case("a log without header", lines(lambda rows: rows[1:]), 2, r"0\.jsonl:1: expected a header"),
    Case("a log of another run", replaced(b'"a-run"', b'"another"', 0), 2, r"0\.jsonl:1: the log is of run 'another'"),
    Case(
        "a clock that runs backwards",
        replaced(b'"end_ns":', b'"end_ns":-', 4),
        2,
        r"0\.jsonl:5: .*clock cannot be trus",
    ),
    Case("a stamp beyond all clocks", replaced(b'"end_ns":', b'"end_ns":9999999999999', 4), 2, r"0\.jsonl:5: .*clock"),
    Case(
        "a list of what comes later",
        replaced(b'["phone",0,0]', b'["phone",0,2]', 2),
        4,
        r"line 3 ended at .*was sent at",
    ),
    Case("an operation twice", lines(lambda rows: [*rows[:9], *rows[8:]]), 2, r"0\.jsonl:10: operation 7 stands twice"),
    Case("zeros at the end", lines(lambda rows: [*rows[:-1], bytes(4096)]), 4, r"0\.jsonl is incomplete: line 42 "),
    Case("zeros in the midst", lines(lambda rows: [*rows[:9], bytes(512), *rows[9:]]), 4, r"0\.jsonl .*: line 10 "),
    Case("a zero in a line", replaced(b'"hello"', b'"he\0lo"', 7), 4, r"0\.jsonl is incomplete: line 8 "),
    Case("nothing but zeros", lines(lambda _: [bytes(1 << 16)]), 2, r"0\.jsonl: line 1 cannot be read"),
    Case("a first line of 1 GB", huge(0), 2, r"0\.jsonl: line 1 cannot be read .*longer than"),
    Case("a line of 1 GB", huge(20), 4, r"0\.jsonl is incomplete: line 21 cannot be read .*longer than"),
    Case(
        "a text beyond measure", replaced(b'"hello"', b'"%s"' % (b"x" * LINE_BYTES_MAX), 7), 4, r"line 8 .*longer than"
    ),
    Case("what is no text", replaced(b'"hello"', b'"\xff\xfe"', 7), 4, r"0\.jsonl is incomplete: line 8 .*UTF-8"),
    Case(
        "a mark of byte order", lines(lambda rows: [b"\xef\xbb\xbf" + rows[0], *rows[1:]]), 2, r"0\.jsonl:1: not a row"
    ),
    Case("half a surrogate", replaced(b'"hello"', b'"\\ud800"', 7), 4, r"0\.jsonl is incomplete: line 8 "),
    Case("a row of no kind", replaced(b'"append"', b'"banana"', 7), 4, r"0\.jsonl is incomplete: line 8 .*banana"),
    Case(
        "two rows on a line", lines(lambda rows: [*rows[:7], rows[7][:-1] + rows[8], *rows[9:]]), 4, r"line 8 cannot be"
    ),
    Case(
        "a row on two lines",
        lines(lambda rows: [*rows[:7], rows[7].replace(b",", b",\n", 1), *rows[8:]]),
        4,
        r"line 8 ",
    ),
    Case("brackets without end", lines(lambda rows: [*rows[:7], b"[" * 100_000 + b"\n", *rows[7:]]), 4, r"line 8 "),
    Case(
        "a number beyond all numbers", replaced(b'"id":', b'"id":9' + b"9" * 30, 7), 2, r"0\.jsonl:8: operation 9{20,}"
    ),
    Case(
        "a list beyond all lists",
        replaced(b",0,0]", b",0,999999999999999999999]", 2),
        2,
        r"0\.jsonl:3: .*no answer holds that many",
    ),
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A sound run that passes."""
    process = Process()
    for number in range(5):
        sound(process, number, start=100 * number, turns=3 + (number == 0))
    process.talk("0.9.s0").append("phone", 900, 901, 0).recall("phone", 902, 903, ("phone", 0), final=True)
    process.recall("phone", 904, 905, ("phone", 0), final=True)
    return write(tmp_path, process, budget=Budget(min_conversations=3))


def analyzed(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [*GOLDFISH, "analyze", str(directory)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


def test_what_is_spoiled_here_was_good_before(run: Path) -> None:
    done = analyzed(run)
    assert (done.returncode, done.stderr) == (0, "")
    assert len((run / LOG).read_bytes().splitlines()) == 42


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case.name)
def test_a_malformed_record_is_named_and_never_passes(run: Path, case: Case) -> None:
    case.spoil(run)
    done = analyzed(run)
    told = " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in told
    assert done.returncode == case.exit_code, told
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < MEMORY_KIB_MAX
    assert re.search(case.told, told), told
    if case.exit_code == 2:
        assert done.stderr.startswith("error: ")
        assert not (run / "results.json").exists()
    else:
        assert json.loads((run / "results.json").read_text())["verdict"] == "inconclusive"
        assert (run / "report.html").stat().st_size < 2_000_000


@pytest.mark.parametrize("text", [HOSTILE, HOSTILE * 20_000], ids=["hostile", "hostile and megabytes long"])
def test_hostile_contents_are_judged_and_shown_as_text(tmp_path: Path, text: str) -> None:
    name = text[:400]
    process = Process().talk(name, scenario=name, user=name, session=name)
    process.append(name, 0, 1, 0, text=text, instance=name).recall(name, 2, 3, instance=name, final=True)
    done = analyzed(write(tmp_path, process))
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    files = {
        path.name: path.read_text(encoding="utf-8")
        for path in tmp_path.iterdir()
        if path.suffix in (".html", ".md", ".xml")
    }
    assert set(files) == {"report.html", "summary.md", "junit.xml"}
    for where, shown in {"terminal": done.stdout + done.stderr, **files}.items():
        assert not set(CONTROLS) & set(shown), where
        assert where == "terminal" or "<script>alert" not in shown
        assert len(shown) < 2_000_000
