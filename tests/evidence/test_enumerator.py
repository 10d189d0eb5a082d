"""The rule accuses a recall if and only if no order of the writes explains it."""

from __future__ import annotations

from collections import Counter

import pytest

from .enumerator import disputed, divided, explained
from .facts import Facts
from .histories import Contract, Delete, History, Key, Outcome, Recall, own
from .oracle import inexplicable, judge
from .places import Places
from .scale import OCCURRENCES_MIN, scaled, told
from .small_histories import small_history
from .test_oracle import append, history, recall

HISTORIES = scaled(5_000)
MUTANT_HISTORIES = 1_000


def accused(tried: History) -> set[int]:
    return inexplicable(judge(tried))


@pytest.mark.parametrize("faulty", [True, False], ids=["faulty", "sound"])
def test_the_rule_equals_the_exhaustive_search(faulty: bool) -> None:
    counts = Counter[str]()
    for seed in range(HISTORIES):
        tried = small_history(seed, faulty=faulty)
        guilty = accused(tried)
        for number, _ in tried.ok_recalls():
            innocent = explained(tried, number)
            outside = divided(tried, number) or disputed(tried, number)
            counts["explained" if innocent else "inexplicable"] += 1
            counts["outside"] += outside
            counts["outside, found by the search alone"] += outside and not innocent and number not in guilty
            assert not (innocent and number in guilty), f"seed {seed}: recall {number} is accused, but explained"
            assert outside or innocent or number in guilty, f"seed {seed}: recall {number} is not accused"
    print(told(f"recalls of {HISTORIES} small {'faulty' if faulty else 'sound'} histories", counts))
    assert counts["explained"] >= OCCURRENCES_MIN
    if faulty:
        assert counts["inexplicable"] >= counts["explained"] / 5
    else:
        assert not counts["inexplicable"]


def test_what_is_accused_no_batch_stored_whole_explains_either() -> None:
    counts = Counter[str]()
    for seed in range(HISTORIES // 5):
        tried = small_history(seed, faulty=True)
        guilty = accused(tried)
        for number, _ in tried.ok_recalls():
            innocent = explained(tried, number, "whole")
            counts[f"{'explained' if innocent else 'inexplicable'}, {'' if number in guilty else 'not '}accused"] += 1
            assert not (innocent and number in guilty), f"seed {seed}: recall {number} is accused, but explained"
    print(told("batches stored whole", counts))


def not_strict(facts: Facts, n: Key, m: Key, by_ns: float = 0) -> bool:
    return n != m and facts.kappa[n] <= facts.start_ns(m)


def no_later_parts(facts: Facts, m: Key, number: int) -> bool:
    return facts.kappa[m] < facts.reads_after_ns(number)


def from_its_start_only(facts: Facts, number: int) -> int:
    return facts.recalls[number].start_ns


def one_place_more(places: Places) -> float:
    return 1 + min(n for n in (places.contract.window, places.recall.limit, 99) if n is not None)


@pytest.mark.parametrize(
    ("where", "definition", "wrong"),
    [
        (Facts, "before", not_strict),
        (Facts, "due", no_later_parts),
        (Facts, "reads_after_ns", from_its_start_only),
        (Facts, "_kappa", Facts.acknowledged_ns),
        (Places, "length_max", one_place_more),
    ],
)
def test_a_wrong_definition_is_told_from_the_right_one(
    where: type, definition: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, definition, wrong)
    for seed in range(MUTANT_HISTORIES):
        tried = small_history(seed, faulty=True)
        guilty = accused(tried)
        for number, _ in tried.ok_recalls():
            outside = divided(tried, number) or disputed(tried, number)
            if not outside and explained(tried, number) == (number in guilty):
                return
    pytest.fail("the small histories do not tell it apart")


def test_the_rule_owes_an_earlier_part_only_of_an_acknowledged_batch() -> None:
    parts = own(0, 0), own(0, 1)
    outcomes: dict[Outcome, set[int]] = {"ok": {1}, "info": set()}
    for outcome, guilty in outcomes.items():
        tried = history(append(0, 0, 9, 0, 1, outcome=outcome), recall(2, 3, parts[1]), recall(4, 5, *parts))
        assert divided(tried, 1) == (outcome == "info")
        assert not explained(tried, 1)
        assert accused(tried) == guilty


def test_a_batch_in_the_making_may_be_seen_in_part() -> None:
    tried = history(append(0, 0, 9, 0, 1), recall(2, 3, own(0, 0)))
    assert explained(tried, 1)
    assert not explained(tried, 1, "whole")
    assert not accused(tried)


def test_a_showing_before_the_sending_voids_what_others_prove() -> None:
    tried = history(append(0, 9, 10, 0), recall(2, 3, own(0, 0)), recall(11, 12, own(0, 0)))
    assert disputed(tried, 2)
    assert not disputed(tried, 1)
    assert accused(tried) == {1}


@pytest.mark.parametrize(
    "beyond",
    [
        history(append(0, 0, 1, 0), Delete(0, 2, 3, "ok"), recall(4, 5)),
        History(Contract(visibility_ns=1), (append(0, 0, 1, 0), Recall(0, 2, 3, None, "ok", ()))),
        history(append(0, 0, 1, 0, 1, 2, 3, 4, 5), recall(4, 5)),
    ],
    ids=["delete", "visibility", "six messages"],
)
def test_a_history_beyond_the_search_is_refused(beyond: History) -> None:
    with pytest.raises(ValueError, match="beyond"):
        explained(beyond, len(beyond.ops) - 1)
