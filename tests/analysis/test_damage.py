"""Records damaged at random: an error for people or a verdict, never a traceback, and never a pass for a lossy run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from analysis.analyze import analyze
from goldfish.contract import Budget
from goldfish.errors import GoldfishError
from goldfish.oplog import Owner

from .runs import UNMARKED, corrupted, foreign, many, write

OWNER = Owner(tenant=None, user="ben", session="s", conversation="0.1.s0")
NUMBERS = (b"-1", b"0", b"1", b"null", b"1e9", b'"x"', b"[]", b"1000001", b"9223372036854775808", b"9" * 30)
WORDS = re.compile(rb'"(?:phone|laptop|session|user|0\.\d\.s0|fail|ok|append|recall|final|load|other-run)"')


def flip(rng: Random, log: bytes) -> bytes:
    at = rng.randrange(len(log))
    return log[:at] + bytes([rng.randrange(256)]) + log[at + 1 :]


def cut(rng: Random, log: bytes) -> bytes:
    return log[: rng.randrange(len(log))]


def drop_a_line(rng: Random, log: bytes) -> bytes:
    lines = log.splitlines(keepends=True)
    del lines[rng.randrange(len(lines))]
    return b"".join(lines)


def repeat_a_line(rng: Random, log: bytes) -> bytes:
    lines = log.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return b"".join(lines)


def another_number(rng: Random, log: bytes) -> bytes:
    found = rng.choice(list(re.finditer(rb"(?<=[:,\[])-?\d+", log)))
    return log[: found.start()] + rng.choice(NUMBERS) + log[found.end() :]


def another_word(rng: Random, log: bytes) -> bytes:
    words = list(WORDS.finditer(log))
    found = rng.choice(words)
    return log[: found.start()] + rng.choice(words)[0] + log[found.end() :]


DAMAGES: list[Callable[[Random, bytes], bytes]] = [flip, cut, drop_a_line, repeat_a_line, another_number, another_word]


def damaged_run(directory: Path) -> Path:
    """A small run with every class in it."""
    process = many(4).talk("bad").append("phone", 0, 1, 0).append("phone", 2, 3, 1, 2, outcome="info")
    listed = (foreign(OWNER), corrupted("phone", 0), UNMARKED, ("phone", 2), ("phone", 2))
    process.recall("laptop", 4, 5, *listed, limit=9).delete("phone", 6, 7).append("phone", 8, 9, 3)
    process.recall("phone", 10, 11, final=True)
    return write(directory, process, budget=Budget(min_conversations=2, request_failures=1.0))


def outcome(directory: Path) -> tuple[int, str]:
    """The exit code, and the message if it is an error."""
    try:
        return analyze(directory).exit_code, ""
    except GoldfishError as error:
        return error.exit_code, str(error)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_to_a_log_gives_an_error_or_a_verdict_and_never_a_pass(tmp_path: Path, damage: object) -> None:
    path = damaged_run(tmp_path) / "transcript" / "0.jsonl"
    whole = path.read_bytes()
    for seed in range(30):
        path.write_bytes(damage(Random(seed), whole))  # type: ignore[operator]
        code, message = outcome(tmp_path)
        assert code in (2, 3, 4), seed
        assert code != 2 or str(path) in message, seed


def test_damage_to_run_json_gives_an_error_or_a_verdict(tmp_path: Path) -> None:
    path = damaged_run(tmp_path) / "run.json"
    whole = path.read_bytes()
    for seed in range(60):
        rng = Random(seed)
        path.write_bytes(rng.choice([flip, cut, another_number])(rng, whole.replace(b": ", b":")))
        assert outcome(tmp_path)[0] in (2, 3, 4), seed
