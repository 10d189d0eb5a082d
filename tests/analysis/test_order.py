"""Do the lists of a conversation agree on one order?"""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from analysis.order import Orders
from goldfish.rule import Message, Terms, before


def overlapping(number: int) -> list[Message]:
    """Messages of which no stamps tell the order."""
    return [Message(f"d{at}", 0, "s", 0, at, 0) for at in range(number)]


def contradictions(*lists: list[Message]) -> list[bool]:
    orders = Orders(Terms())
    return [orders.contradicts(shown, 0) for shown in lists]


def test_windows_on_one_history_agree() -> None:
    a, b, c, d = overlapping(4)
    assert contradictions([a, b], [b, c], [a, b, c, d], [b, d], [c]) == [False] * 5


def test_the_list_that_turns_a_pair_around_contradicts() -> None:
    a, b, c, _ = overlapping(4)
    assert contradictions([a, b, c], [a, c, b], [b, c]) == [False, True, True]


def test_an_arbitrary_choice_in_merging_accuses_nobody() -> None:
    a, b, c, d = overlapping(4)
    assert contradictions([a, b], [a, c], [a, c, b], [a, d, c]) == [False] * 4


def test_what_was_merged_into_the_midst_is_found_there_again() -> None:
    a, b, c, d, e, f, g = overlapping(7)
    assert contradictions([b, e, g], [b, d, e, f], [c, a, f, e]) == [False, False, True]


def test_pairs_with_a_certain_order_are_left_to_the_stamps() -> None:
    early, late = Message("d0", 0, "s", 0, 0, 0), Message("d0", 1, "s", 9, 1, 0)
    early.acked_ns = 5
    assert before(early, late)
    assert contradictions([late, early], [early, late]) == [False, False]


@pytest.mark.parametrize("seed", range(40))
def test_merging_finds_what_comparing_all_pairs_finds(seed: int) -> None:
    rng = Random(seed)
    messages = overlapping(5)
    turned = list(permutations(messages))
    lists = []
    for _ in range(8):
        order = list(rng.choice(turned)) if rng.random() < 0.3 else messages
        lists.append([message for message in order if rng.random() < 0.6])
    seen: set[tuple[Message, Message]] = set()
    expected = []
    for shown in lists:
        pairs = {(x, y) for at, x in enumerate(shown) for y in shown[at + 1 :]}
        expected.append(any((y, x) in seen for x, y in pairs))
        seen |= pairs
    assert contradictions(*lists) == expected
