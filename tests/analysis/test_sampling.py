"""Of a disaster a sample is enough: the same one however the work is shared out, and it tells the same causes."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from analysis.analyze import analyze
from analysis.check import Checked, check
from analysis.diagnosis import Diagnosis, diagnose
from analysis.judged import Judged
from analysis.load import load
from analysis.symptoms import sampling
from analysis.symptoms.sampling import LEVELS, Sampling, level_of
from goldfish.contract import Contract

from . import faulty
from .faulty import Swarm, play
from .runs import write
from .test_symptoms import by_columns, one_by_one, symptoms


@pytest.fixture
def disaster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory that loses something in most conversations of two writers, of which a few are enough."""
    monkeypatch.setattr(sampling, "LOSSY_MAX", 30)
    swarms = Swarm(users=100, together=0.5), Swarm(users=60, turns=4, scenario="alone")
    return write(tmp_path, play(faulty.LostUpdate(1), *swarms))


def judged_conversations(directory: Path) -> list[Checked]:
    return [check(conversation, Contract()) for conversation in load(directory).conversations.values()]


def shared_out(conversations: list[Checked], number: int, seed: int) -> Judged:
    """What conversations come to when shares judge them, merged in any order."""
    rng, shares = Random(seed), [Judged() for _ in range(number)]
    for checked in rng.sample(conversations, len(conversations)):
        rng.choice(shares).add(checked)
    total = Judged()
    for share in shares:
        total.merge(pickle.loads(pickle.dumps(share)))
    return total


@pytest.mark.parametrize("number", [1, 2, 5])
def test_the_sample_does_not_depend_on_the_sharing(disaster: Path, number: int) -> None:
    conversations = judged_conversations(disaster)
    expected = symptoms(shared_out(conversations, 1, seed=0))
    assert expected["Losses.lossy"] in range(5, 31)
    for seed in range(4):
        assert symptoms(shared_out(conversations, number, seed)) == expected


def test_the_fewest_levels_are_dropped(disaster: Path) -> None:
    conversations = judged_conversations(disaster)
    losses = shared_out(conversations, 3, seed=1).symptoms.losses()
    lossy = Counter(level_of(each.conversation.name) for each in conversations if each.recalls_lossy)
    lowest = min(low for low in range(LEVELS) if sum(n for level, n in lossy.items() if level >= low) <= 30)
    assert lowest
    kept = [each for each in conversations if level_of(each.conversation.name) >= lowest]
    assert losses.conversations == len(kept)
    assert losses.lossy == sum(bool(each.recalls_lossy) for each in kept)


def test_proven_conversations_are_sampled_alike(disaster: Path) -> None:
    found = symptoms(by_columns(disaster, Contract()))
    assert found == symptoms(one_by_one(disaster, Contract()))
    assert found["Losses.lossy"] < found["Losses.conversations"] < 160


def causes_of(judged: Judged) -> Diagnosis:
    return diagnose(judged, Contract(), 0.95)


def test_a_sample_tells_the_cause_and_says_that_it_is_one(disaster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = causes_of(by_columns(disaster, Contract()))
    monkeypatch.undo()
    whole = causes_of(by_columns(disaster, Contract()))
    assert told.causes[0].code == whole.causes[0].code == "lost-update"
    assert told.causes[0].explains == pytest.approx(whole.causes[0].explains, abs=0.2)
    assert told.classes == whole.classes
    assert whole.causes_sample is None
    assert told.causes_sample is not None
    assert (told.causes_sample.conversations < 160, told.causes_sample.of) == (True, 160)


def test_report_and_summary_say_where_causes_were_sought(disaster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = analyze(disaster, processes=1)
    told = str(results.causes_sample)
    assert "of 160 conversations" in told
    assert told in (disaster / "report.html").read_text()
    assert told in (disaster / "summary.md").read_text()
    monkeypatch.undo()
    assert analyze(disaster, processes=1).causes_sample is None
    assert "in a sample" not in (disaster / "report.html").read_text() + (disaster / "summary.md").read_text()


def test_the_last_level_is_never_dropped(disaster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "LOSSY_MAX", 0)
    monkeypatch.setattr(sampling, "level_of", lambda _: LEVELS - 1)
    counted = Sampling(0)
    for checked in judged_conversations(disaster):
        counted.add(checked)
    assert counted.losses().conversations == 160


def test_levels_hold_a_quarter_of_what_is_below() -> None:
    number = Counter(level_of(f"conversation {at}") for at in range(40_000))
    for level in range(3):
        assert sum(n for at, n in number.items() if at >= level) == pytest.approx(40_000 / 4**level, rel=0.1)
    assert max(number) < LEVELS
