"""What became of a message, told by the recalls that show or lack it."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.fates import FATES, Observation, read_story
from analysis.results import Messages

from .runs import Process, judge, many, write


@pytest.mark.parametrize(
    ("story", "finals", "fate"),
    [
        ("+", "", "ok"),
        ("-", "", "lost: never visible"),
        ("-", "-", "lost: never visible"),
        ("-+", "", "stale"),
        ("--+", "+", "stale"),
        ("+-", "", "lost: vanished"),
        ("-+-", "", "lost: vanished"),
        ("+-+-", "--", "lost: vanished"),
        ("+-+", "", "flicker"),
        ("-+-+", "", "flicker"),
        ("+", "+-", "flicker"),
        ("-", "-+", "flicker"),
    ],
)
def test_a_fate_follows_what_was_seen(story: str, finals: str, fate: str) -> None:
    seen = [Observation(sign == "+", False) for sign in story] + [Observation(sign == "+", True) for sign in finals]
    assert read_story(seen) == fate


def test_final_recalls_have_the_last_word_whenever_they_ended() -> None:
    assert read_story([Observation(False, True), Observation(True, False)]) == "lost: vanished"


def fate_of(directory: Path, process: Process) -> tuple[str, bool]:
    checked = judge(directory, process)
    fate = checked.fates[checked.sent["phone", 0].message]
    return fate.name, fate.surfaced


@pytest.mark.parametrize(
    ("outcome", "shown", "fate", "surfaced"),
    [
        ("ok", True, "ok", False),
        ("ok", False, "lost: never visible", False),
        ("fail", True, "ok", True),
        ("fail", False, "rejected", False),
        ("info", True, "ok", True),
        ("info", False, "indeterminate", False),
    ],
)
def test_what_was_shown_has_an_ordinary_fate(
    tmp_path: Path, outcome: str, shown: bool, fate: str, surfaced: bool
) -> None:
    process = Process().append("phone", 0, 1, 0, outcome=outcome)
    process.recall("laptop", 2, 3, *([("phone", 0)] if shown else []))
    assert fate_of(tmp_path, process) == (fate, surfaced)


def test_a_message_no_recall_could_have_missed_is_unchecked_not_ok(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1).recall("phone", 4, 5, ("phone", 1), limit=1)
    assert fate_of(tmp_path, process) == ("unchecked", False)


def test_a_stale_message_tells_how_long_it_took(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0).recall("laptop", 2, 3).recall("laptop", 7, 8, ("phone", 0))
    checked = judge(tmp_path, process)
    (fate,) = checked.fates.values()
    assert fate.name == "stale"
    assert fate.delay_ns == 7_000_000
    assert not fate.surfaced  # it had been acknowledged


def test_fates_are_a_partition_of_all_sent_messages(tmp_path: Path) -> None:
    from analysis.analyze import analyze

    process = many(3)
    process.talk("x").append("phone", 0, 1, 0, outcome="fail").append("phone", 2, 3, 1, outcome="info")
    process.append("phone", 4, 5, 2, 3, 4).recall("phone", 6, 7, ("phone", 4)).recall(
        "phone", 8, 9, ("phone", 3), limit=1
    )
    process.recall("phone", 10, 11, ("phone", 2), ("phone", 4), final=True)
    process.talk("y").append("phone", 0, 1, 0)
    # However often it is sent, it is one message.
    process.talk("z").append("phone", 0, 1, 0, outcome="fail").append("phone", 2, 3, 0, attempt=2, outcome="info")
    process.append("phone", 4, 5, 0, attempt=3).append("phone", 6, 7, 1, outcome="fail")
    process.append("phone", 8, 9, 1, attempt=2, outcome="fail").recall("phone", 10, 11, ("phone", 0))
    process.search("phone", 12, 13, asked=[("phone", 0)])
    messages: Messages = analyze(write(tmp_path, process)).scenarios[0].messages
    assert messages.sent == 3 * 3 + 5 + 1 + 2
    assert messages.rejected == 2
    assert messages.sent == messages.rejected + messages.indeterminate + messages.unchecked + messages.checked
    assert messages.checked == messages.ok + messages.stale + messages.flicker + messages.lost
    assert len(FATES) == 8
