"""Bounds of tokens: what is cut, escaped or unknown widens them, and never the wrong way."""

from __future__ import annotations

import pytest

from goldfish.oplog import TEXT_CHARS_MAX, Odd
from goldfish.rule.size import token_bounds, tokens_max


@pytest.mark.parametrize(
    ("text", "size_bytes", "chars_per_token", "bounds"),
    [
        ("", 0, (1, 1), (0, 0)),
        ("a" * 10, 10, (2, 5), (2, 5)),
        ("a" * 10, 50, (2, 5), (4, 25)),
        ("é" * 10, 20, (2, 5), (2, 10)),
        ("\\ud800", 3, (1, 1), (1, 3)),
        ("\\ud800" * 2, 6, (1, 1), (2, 6)),
    ],
    ids=["nothing", "whole", "cut", "wide", "lone surrogate", "two of them"],
)
def test_bounds_of_a_text(
    text: str, size_bytes: int, chars_per_token: tuple[float, float], bounds: tuple[int, int]
) -> None:
    assert token_bounds(text, size_bytes, chars_per_token) == bounds


def odd(why: str, text: str = "", **more: object) -> Odd:
    return Odd(at=0, why=why, text=text, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("element", "most"),
    [
        (odd("corrupted", kind="truncated", text="abcd"), 0),
        (odd("corrupted", kind="role", text="abcd"), 0),
        (odd("corrupted", kind="altered", text="abcd"), None),
        (odd("corrupted", kind="altered", text="abcd", changes=["nul-stripped"]), 0),
        (odd("unmarked", text="abcde"), 3),
        (odd("unmarked", text="é" * 4), 4),
        (odd("unmarked", text="a" * (TEXT_CHARS_MAX - 1)), TEXT_CHARS_MAX // 2),
        (odd("unmarked", text="a" * TEXT_CHARS_MAX), None),
    ],
)
def test_the_most_tokens_of_an_element_that_is_no_intact_message(element: Odd, most: int | None) -> None:
    assert tokens_max(element, (2, 5)) == most
