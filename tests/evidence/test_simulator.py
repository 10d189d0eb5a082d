"""A sound store is never accused; of a lossy one nobody innocent is named; and both reach every corner."""

from __future__ import annotations

from collections import Counter

import pytest

from . import oracle
from .faults import FAULTS, compound, plant_loss
from .histories import Append, Key
from .oracle import FATES, INDETERMINATE, OK, REJECTED, UNCHECKED, Extra, Facts, judge
from .scale import SCALE, rare, told
from .simulator import simulate

SOUND_HISTORIES = 4_000 * SCALE
PLANTED_HISTORIES = 3_000 * SCALE
COMPOUND_HISTORIES = 4_000 * SCALE
MUTANT_HISTORIES = 1_000
LATER: tuple[Extra, ...] = ("resurrected", "window overrun")

FEATURES = frozenset(
    {
        "window",
        "no-window",
        "limit",
        "limit-zero",
        "visibility",
        "lag",
        "batch",
        "batch-in-turn",
        "several-devices",
        "overlapping-devices",
        "overlapping-writers",
        "recall-overlaps-append",
        "indeterminate-lost",
        "indeterminate-at-once",
        "indeterminate-late",
        "indeterminate-after-recall",
        "indeterminate-partial",
        "rejected",
        "killed-recall",
        "failed-recall",
        "session-scope",
        "user-scope",
        "several-sessions",
        "equal-stamps",
        "delete",
        "delete-failed",
        "delete-indeterminate",
        "trims-at-write",
        "unmarked-allowed",
        "final",
    }
)
CLASSES = frozenset(
    {
        "missing: blank",
        "missing: tail",
        "missing: head",
        "missing: gap",
        "missing: unplaced",
        "unnamed",
        "duplicated",
        "reordered: certain",
        "reordered: opposite",
        "corrupted: truncated",
        "corrupted: altered",
        "corrupted: role",
        "foreign: session",
        "foreign: user",
        "foreign: tenant",
        "phantom: rejected",
        "phantom: other-run",
        "phantom: unmarked",
        "from the future",
        "resurrected",
        "window overrun",
        "surfaced",
        *FATES,
    }
)


def test_a_sound_store_is_never_accused() -> None:
    counts = Counter[str]()
    features = Counter[str]()
    for seed in range(SOUND_HISTORIES):
        sound = simulate(seed).history
        verdict = judge(sound, also=LATER)
        assert not verdict.lossy, f"seed {seed}"
        assert not verdict.missing, f"seed {seed}"
        assert not verdict.other, f"seed {seed}"
        assert set(verdict.fate.values()) <= {OK, UNCHECKED, REJECTED, INDETERMINATE}, f"seed {seed}"
        features.update(sound.features)
        counts["recalls checked"] += len(verdict.checked)
        counts["ok recalls"] += sum(1 for _ in sound.ok_recalls())
        counts.update(verdict.fate.values())
    print(told(f"{SOUND_HISTORIES} sound histories", counts), told("of which with", features), sep="\n")
    assert not rare(features, FEATURES)
    assert set(features) == FEATURES
    assert counts["recalls checked"] > counts["ok recalls"] / 2


def test_of_a_planted_loss_nobody_innocent_is_named() -> None:
    counts = Counter[str]()
    for seed in range(PLANTED_HISTORIES):
        planted = plant_loss(simulate(seed), seed)
        if planted is None:
            counts["nothing to lose"] += 1
            continue
        verdict = judge(planted.history, also=LATER)
        named = {(number, (device, seq)) for number, device, seq, _ in verdict.missing}
        assert named <= {(number, planted.lost) for number in planted.taken_from}, f"seed {seed}"
        assert verdict.lossy <= planted.taken_from, f"seed {seed}"
        assert not verdict.other, f"seed {seed}"
        (kind,) = planted.history.faults
        counts[kind] += 1
        counts[f"{kind}, named"] += bool(named)
        counts[f"{kind}, lossy, but nobody named"] += bool(verdict.lossy) and not named
    print(told(f"{PLANTED_HISTORIES} histories with one loss", counts))
    kinds = {"lose-once", "lose-once-and-refill", "lose-for-good", "lose-for-good-and-refill"}
    assert not rare(counts, frozenset(kinds | {f"{kind}, named" for kind in kinds}))


def test_compound_faults_reach_every_class() -> None:
    faults, features, classes = Counter[str](), Counter[str](), Counter[str]()
    for seed in range(COMPOUND_HISTORIES):
        history = compound(seed)
        faults.update(history.faults)
        features.update(history.features)
        verdict = judge(history, also=LATER)
        classes.update({f"missing: {position}" for _, _, _, position in verdict.missing})
        classes.update(
            {anomaly if anomaly == kind else f"{anomaly}: {kind}" for _, anomaly, _, _, kind in verdict.detail}
        )
        classes.update(set(verdict.fate.values()))
        classes["unnamed"] += bool(verdict.unnamed)
        classes["surfaced"] += bool(verdict.surfaced)
        sent = sum(len(op.messages) for op in history.ops if isinstance(op, Append))
        assert len(verdict.fate) == sent, "the fates are a partition of all that was sent"
    print(told("compound histories with the fault", faults), told("with the class", classes), sep="\n")
    assert not rare(faults, frozenset(FAULTS))
    assert not rare(classes, CLASSES)
    assert not rare(features, FEATURES)
    assert set(classes) == CLASSES


def test_the_seed_decides_everything() -> None:
    for seed in range(50):
        assert simulate(seed) == simulate(seed)
        assert compound(seed) == compound(seed)
        assert plant_loss(simulate(seed), seed) == plant_loss(simulate(seed), seed)


def stored_when_sent(facts: Facts, m: Key) -> float:
    return facts.sent[m].append.end_ns


def at_once_visible(facts: Facts, m: Key, number: int) -> bool:
    return facts.kappa[m] < facts.reads_after_ns(number)


def never_excused(facts: Facts, m: Key, number: int) -> bool:
    return False


def by_start(facts: Facts, n: Key, m: Key) -> bool:
    return facts.sent[n].append.start_ns < facts.sent[m].append.start_ns


def not_strict(facts: Facts, n: Key, m: Key) -> bool:
    return n != m and facts.kappa[n] <= facts.sent[m].append.start_ns


def without_limit(facts: Facts, number: int) -> float:
    return facts.contract.window or 99


@pytest.mark.parametrize(
    ("definition", "wrong"),
    [
        ("_kappa", stored_when_sent),
        ("due", at_once_visible),
        ("excused", never_excused),
        ("before", by_start),
        ("before", not_strict),
        ("places", without_limit),
    ],
)
def test_the_sound_store_convicts_an_unsound_rule(
    definition: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle.Facts, definition, wrong)
    for seed in range(MUTANT_HISTORIES):
        verdict = judge(simulate(seed).history)
        if verdict.lossy or verdict.other:
            return
    pytest.fail("no sound history contradicts it")


def certain_ones_only(facts: Facts, m: Key, number: int) -> bool:
    return facts.due(m, number)


def only_what_is_listed(facts: Facts, m: Key, number: int) -> int:
    return len(facts.recalls[number].items)


@pytest.mark.parametrize(("definition", "wrong"), [("may_be_stored", certain_ones_only), ("rank", only_what_is_listed)])
def test_planted_losses_convict_a_rule_that_names_too_many(
    definition: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle.Facts, definition, wrong)
    for seed in range(MUTANT_HISTORIES):
        planted = plant_loss(simulate(seed), seed)
        if planted is not None:
            named = {(number, (device, seq)) for number, device, seq, _ in judge(planted.history).missing}
            if named - {(number, planted.lost) for number in planted.taken_from}:
                return
    pytest.fail("no planted loss contradicts it")
