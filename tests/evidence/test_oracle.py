"""The oracle against the worked examples, and against what its docstrings decide."""

from __future__ import annotations

import pytest

from .histories import (
    NS_PER_MS,
    Append,
    Case,
    Contract,
    Foreign,
    History,
    Message,
    Op,
    Outcome,
    Own,
    Phase,
    Recall,
    known_at,
    load_cases,
    own,
)
from .oracle import FLICKER, NEVER_VISIBLE, STALE, VANISHED, judge
from .store import UNMARKED

CASES = load_cases()


def append(device: int, start: int, end: int, *seqs: int, outcome: Outcome = "ok") -> Append:
    return Append(device, start * NS_PER_MS, end * NS_PER_MS, outcome, tuple(Message(seq) for seq in seqs))


def recall(start: int, end: int, *shown: Own, phase: Phase = "load") -> Recall:
    return Recall(0, start * NS_PER_MS, end * NS_PER_MS, None, "ok", shown, phase)


def history(*ops: Op, window: int | None = None) -> History:
    return History(Contract(window), ops)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_worked_example_comes_out_exactly(case: Case) -> None:
    verdict = judge(case.history)
    expected = case.expected
    assert verdict.lossy == set(expected["lossy"]), case.why
    assert verdict.missing == {tuple(entry) for entry in expected["missing"]}, case.why
    assert verdict.unnamed == set(expected["unnamed"]), case.why
    assert verdict.other == {tuple(entry) for entry in expected["other"]}, case.why
    for name, fate in expected.get("fate", {}).items():
        device, seq = map(int, name.split("."))
        assert verdict.fate[device, seq] == fate, case.why


@pytest.mark.parametrize(
    ("words", "finals", "fate"),
    [
        ("-", "", NEVER_VISIBLE),
        ("-+", "", STALE),
        ("--++", "++", STALE),
        ("+-", "", VANISHED),
        ("-+-", "", VANISHED),
        ("+-+-", "--", VANISHED),
        ("+-+", "", FLICKER),
        ("-+-+", "+", FLICKER),
        ("+", "+-", FLICKER),
        ("-", "-+", FLICKER),
    ],
)
def test_the_fate_of_a_message_follows_its_showings(words: str, finals: str, fate: str) -> None:
    shown = {"+": (own(0, 0),), "-": ()}
    ops: list[Op] = [append(0, 0, 1, 0)]
    for number, word in enumerate(words + finals):
        phase: Phase = "load" if number < len(words) else "final"
        ops.append(recall(10 + 2 * number, 11 + 2 * number, *shown[word], phase=phase))
    assert judge(history(*ops)).fate == {(0, 0): fate}


def test_a_final_recall_has_the_last_word_whenever_it_ended() -> None:
    verdict = judge(history(append(0, 0, 1, 0), recall(2, 3, phase="final"), recall(2, 9, own(0, 0))))
    assert verdict.fate == {(0, 0): VANISHED}


def test_of_two_opposite_lists_the_later_is_reported() -> None:
    both = append(0, 0, 5, 0), append(1, 0, 5, 0)
    verdict = judge(history(*both, recall(6, 9, own(0, 0), own(1, 0)), recall(6, 8, own(1, 0), own(0, 0))))
    assert verdict.detail == {(2, "reordered", None, None, "opposite")}


def test_a_right_list_is_not_blamed_for_contradicting_a_wrong_one() -> None:
    both = append(0, 0, 1, 0), append(0, 2, 3, 1)
    verdict = judge(history(*both, recall(4, 5, own(0, 1), own(0, 0)), recall(6, 7, own(0, 0), own(0, 1))))
    assert verdict.other == {(2, "reordered", None, None)}


def test_elements_are_classed_one_by_one() -> None:
    items = (Foreign("tenant"), UNMARKED, own(0, 0, "truncated"), own(0, 0, "role"))
    ops = (append(0, 0, 1, 0), Recall(0, 2 * NS_PER_MS, 3 * NS_PER_MS, None, "ok", items))
    verdict = judge(history(*ops))
    assert verdict.detail == {
        (1, "foreign", None, None, "tenant"),
        (1, "phantom", None, None, "unmarked"),
        (1, "corrupted", 0, 0, "truncated"),
        (1, "corrupted", 0, 0, "role"),
        (1, "duplicated", 0, 0, ""),
    }
    assert not verdict.lossy
    assert not judge(History(Contract(unmarked="allow"), ops)).other & {(1, "phantom", None, None)}


def test_a_corrupted_copy_shows_its_message() -> None:
    verdict = judge(history(append(0, 0, 1, 0), recall(2, 3, own(0, 0, "altered"))))
    assert verdict.fate == {(0, 0): "ok"}


def test_what_was_shown_without_acknowledgement_has_surfaced() -> None:
    ops = append(0, 0, 1, 0, outcome="info"), append(0, 2, 3, 1, outcome="fail"), recall(4, 5, own(0, 0), own(0, 1))
    verdict = judge(history(*ops))
    assert verdict.surfaced == {(0, 0), (0, 1)}
    assert verdict.other == {(2, "phantom", 0, 1)}
    assert set(verdict.fate.values()) == {"ok"}


def test_nothing_is_owed_where_no_place_is_asked_for() -> None:
    verdict = judge(history(append(0, 0, 1, 0), Recall(0, 2 * NS_PER_MS, 3 * NS_PER_MS, 0, "ok", ())))
    assert not verdict.checked
    assert verdict.fate == {(0, 0): "unchecked"}


def test_what_ends_after_a_recall_is_open_when_the_recall_completes() -> None:
    ops = append(0, 0, 1, 0), append(1, 0, 9, 0, outcome="fail"), recall(2, 5), recall(6, 9, own(0, 0))
    known = known_at(history(*ops), 2).ops
    assert [op.outcome for op in known] == ["ok", "info", "ok", "info"]
    assert [op.items for op in known if isinstance(op, Recall)] == [(), ()]


@pytest.mark.parametrize(
    "ops",
    [
        (append(0, 0, 1, 0), append(0, 2, 3, 0)),
        (append(0, 3, 1, 0),),
        (recall(0, 1, own(0, 0)),),
    ],
    ids=["sent twice", "ends before it starts", "never sent"],
)
def test_a_history_that_cannot_be_is_refused(ops: tuple[Op, ...]) -> None:
    with pytest.raises(ValueError):
        history(*ops)
