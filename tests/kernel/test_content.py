"""Which change of a text a contract declares, and how many tokens a text may have."""

from __future__ import annotations

import pytest

from goldfish.content import changes, declared, utf8_bytes
from goldfish.contract import Content
from goldfish.oplog import TEXT_CHARS_MAX, Change, Odd
from goldfish.rule.size import token_bounds, tokens_max


@pytest.mark.parametrize(
    ("sent", "listed", "done"),
    [
        ("abc", "abc", []),
        ("abc", "ab", ["cut"]),
        ("a\0bc", "abc", ["nul-stripped"]),
        ("a\0bc", "ab", ["cut", "nul-stripped"]),
        ("a\ud800c", "a\ufffdc", ["surrogate-replaced"]),
        ("a\ud800c", "a?c", ["surrogate-replaced"]),
        ("a\0\ud800c", "a?", ["cut", "nul-stripped", "surrogate-replaced"]),
        ("abc", "abd", []),
        ("a\0bc", "a bc", []),
        ("abc", "abcd", []),
        ("a\ud800c", "a\ufffd\ufffd\ufffdc", []),
    ],
)
def test_a_change_is_told_only_if_it_explains_all(sent: str, listed: str, done: list[Change]) -> None:
    assert changes(sent, listed) == done


def odd(*done: Change, kind: str = "altered", size: int | None = None) -> Odd:
    return Odd(at=0, why="corrupted", kind=kind, changes=list(done), bytes=size)  # type: ignore[arg-type]


STRIPS, REPLACES = Content(nul="strip"), Content(surrogate="replace")


@pytest.mark.parametrize(
    ("element", "content", "excused"),
    [
        (odd("nul-stripped"), STRIPS, True),
        (odd("nul-stripped"), Content(), False),
        (odd("nul-stripped"), Content(nul="reject"), False),
        (odd("nul-stripped"), REPLACES, False),
        (odd("surrogate-replaced"), REPLACES, True),
        (odd("surrogate-replaced"), STRIPS, False),
        (odd("nul-stripped", "surrogate-replaced"), STRIPS, False),
        (odd("nul-stripped", "surrogate-replaced"), Content(nul="strip", surrogate="replace"), True),
        (odd(), STRIPS, False),
        (odd("nul-stripped", kind="role"), STRIPS, False),
    ],
)
def test_only_the_declared_change_excuses(element: Odd, content: Content, excused: bool) -> None:
    assert declared(element, 100, content) == excused


@pytest.mark.parametrize(
    ("size", "sent_bytes", "excused"),
    [(40, 100, True), (37, 100, True), (36, 100, False), (41, 100, False), (40, 40, False), (40, 41, True)],
)
def test_a_text_may_be_cut_at_its_declared_length_and_nowhere_else(size: int, sent_bytes: int, excused: bool) -> None:
    # A character of four bytes is left out whole.
    assert declared(odd("cut", kind="truncated", size=size), sent_bytes, Content(max_bytes=40)) == excused


def test_a_cut_without_a_declared_or_known_length_is_none() -> None:
    assert not declared(odd("cut", kind="truncated", size=40), 100, Content())
    assert not declared(odd("cut", kind="truncated"), 100, Content(max_bytes=40))


def test_a_lone_surrogate_has_three_bytes() -> None:
    assert utf8_bytes("a\ud800") == 4


@pytest.mark.parametrize(
    ("text", "size", "bounds"),
    [
        ("", 0, (0, 0)),
        ("abcdef", 6, (1, 3)),
        ("abcdefg", 7, (1, 4)),
        ("日本語", 9, (0, 5)),  # three characters, nine bytes
        ("a" * 6, 6 + 4 * 6, (2, 15)),  # the rest may be characters of four bytes
        ("\\ud800" * 6, 18, (1, 9)),  # written out by the log
    ],
)
def test_tokens_have_bounds(text: str, size: int, bounds: tuple[int, int]) -> None:
    assert token_bounds(text, size, (2, 6)) == bounds


@pytest.mark.parametrize(
    ("element", "most"),
    [
        (Odd(at=0, why="unmarked", text="abcde"), 3),
        (Odd(at=0, why="unmarked", text="日"), 2),
        (Odd(at=0, why="foreign", text="a" * TEXT_CHARS_MAX), None),
        (Odd(at=0, why="foreign", text="a" * (TEXT_CHARS_MAX - 1)), TEXT_CHARS_MAX // 2),
        (Odd(at=0, why="corrupted", kind="truncated", text="a" * TEXT_CHARS_MAX), 0),
        (Odd(at=0, why="corrupted", kind="role"), 0),
        (Odd(at=0, why="corrupted", kind="altered"), None),
        (Odd(at=0, why="corrupted", kind="altered", changes=["nul-stripped"]), 0),
    ],
)
def test_a_listed_element_takes_at_most_so_many_tokens(element: Odd, most: int | None) -> None:
    assert tokens_max(element, (2, 6)) == most
