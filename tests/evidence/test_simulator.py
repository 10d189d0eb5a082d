"""A sound store is never accused; of a lossy one nobody innocent is named; and both reach every corner."""

from __future__ import annotations

from collections import Counter

import pytest

from .facts import Facts
from .faults import FAULTS, compound, plant_loss
from .histories import Key
from .kept import KEPT
from .oracle import FATES, INDETERMINATE, OK, REJECTED, UNCHECKED, Verdict, judge, sent_messages
from .places import Places
from .scale import rare, scaled, told
from .simulator import simulate

SOUND_HISTORIES = scaled(20_000)
PLANTED_HISTORIES = scaled(10_000)
COMPOUND_HISTORIES = scaled(10_000)
MUTANT_HISTORIES = 6_000

FEATURES = frozenset(
    {
        "window",
        "turns",
        "tokens",
        "no-window",
        "keep-at-least",
        "pinned",
        "several pinned",
        "page-default",
        "page-max",
        "limit",
        "limit-zero",
        "visibility",
        "lag",
        "order-slack",
        "order-unspecified",
        "batch",
        "batch-in-turn",
        "resend",
        "dedupe-none",
        "resend stored again",
        "last-writer",
        "roles",
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
        "search",
        "touch",
        "session-scope",
        "user-scope",
        "several-sessions",
        "session not isolated",
        "other sessions listed",
        "equal-stamps",
        "delete",
        "delete-failed",
        "delete-indeterminate",
        "trims-at-write",
        "trims each session",
        "trims and lets go",
        "ttl of a session, refresh write",
        "ttl of a session, refresh read",
        "ttl of a session, refresh none",
        "ttl of a user, refresh write",
        "ttl of a user, refresh read",
        "ttl of a user, refresh none",
        "ttl of a message, refresh none",
        "ttl and visibility",
        "granularity",
        "elsewhere",
        "unmarked-allowed",
        "nul stripped",
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
        "unretrieved",
        "duplicated",
        "duplicated: after a retry",
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
        "over-retained",
        "resurrected",
        "window overrun",
        "torn turn",
        "read-your-writes",
        "monotonic-reads",
        "monotonic-writes",
        "writes-follow-reads",
        "cross-device",
        "surfaced",
        *FATES,
    }
)


def classes_of(verdict: Verdict) -> set[str]:
    """The names of all that a verdict reports."""
    found = {f"missing: {position}" for *_, position in verdict.missing}
    found |= {
        f"{anomaly}: {kind}" if kind not in ("", anomaly) else anomaly for _, anomaly, _, _, kind in verdict.detail
    }
    found |= {flag for *_, flag in verdict.flags} | set(verdict.fate.values())
    for name in ("unnamed", "unretrieved", "surfaced"):
        if getattr(verdict, name):
            found.add(name)
    return found


def accused(verdict: Verdict) -> bool:
    """Whether anything is wrong."""
    return bool(verdict.lossy or verdict.missing or verdict.unretrieved or verdict.other)


def test_a_sound_store_is_never_accused() -> None:
    counts = Counter[str]()
    features = Counter[str]()
    for seed in range(SOUND_HISTORIES):
        sound = simulate(seed).history
        verdict = judge(sound)
        assert not accused(verdict), f"seed {seed}"
        assert set(verdict.fate.values()) <= {OK, UNCHECKED, REJECTED, INDETERMINATE}, f"seed {seed}"
        features.update(sound.features)
        counts["recalls checked"] += len(verdict.checked)
        counts["ok recalls"] += sum(1 for _ in sound.ok_recalls())
        counts.update(verdict.fate.values())
    print(told(f"{SOUND_HISTORIES} sound histories", counts), told("of which with", features), sep="\n")
    assert not rare(features, FEATURES)
    assert set(features) == FEATURES
    assert counts["recalls checked"] > counts["ok recalls"] / 2


def named(verdict: Verdict) -> set[tuple[int, Key]]:
    """Who is said to be missing where."""
    names = {(number, (device, seq)) for number, device, seq, _ in verdict.missing}
    return names | {
        (number, (device, seq)) for number, device, seq in verdict.unretrieved if device is not None and seq is not None
    }


def test_of_a_planted_loss_nobody_innocent_is_named() -> None:
    counts = Counter[str]()
    for seed in range(PLANTED_HISTORIES):
        planted = plant_loss(simulate(seed), seed)
        if planted is None:
            counts["nothing to lose"] += 1
            continue
        verdict = judge(planted.history)
        assert named(verdict) <= {(number, planted.lost) for number in planted.taken_from}, f"seed {seed}"
        assert verdict.lossy <= planted.taken_from, f"seed {seed}"
        assert not verdict.other, f"seed {seed}"
        (kind,) = planted.history.faults
        counts[kind] += 1
        counts[f"{kind}, named"] += bool(named(verdict))
        counts[f"{kind}, lossy, but nobody named"] += bool(verdict.lossy) and not named(verdict)
    print(told(f"{PLANTED_HISTORIES} histories with one loss", counts))
    kinds = {"lose-once", "lose-once-and-refill", "lose-for-good", "lose-for-good-and-refill"}
    assert not rare(counts, frozenset(kinds | {f"{kind}, named" for kind in kinds}))


def test_compound_faults_reach_every_class() -> None:
    faults, features, classes = Counter[str](), Counter[str](), Counter[str]()
    for seed in range(COMPOUND_HISTORIES):
        history = compound(seed)
        faults.update(history.faults)
        features.update(history.features)
        verdict = judge(history)
        classes.update(classes_of(verdict))
        assert set(verdict.fate) == sent_messages(history), "the fates are a partition of all that was sent"
    print(told("compound histories with the fault", faults), told("with the class", classes), sep="\n")
    assert not rare(faults, frozenset(FAULTS))
    assert not rare(classes, CLASSES)
    assert not rare(features, FEATURES)
    assert set(classes) == CLASSES


def test_the_seed_decides_everything() -> None:
    for seed in range(50):
        assert simulate(seed).history == simulate(seed).history
        assert compound(seed) == compound(seed)
        assert plant_loss(simulate(seed), seed) == plant_loss(simulate(seed), seed)


def stored_when_sent(facts: Facts, m: Key) -> float:
    return facts.sent[m].attempts[0].append.end_ns


def at_once_visible(facts: Facts, m: Key, number: int) -> bool:
    return facts.kappa[m] < facts.reads_after_ns(number)


def never(*_: object) -> bool:
    return False


def always(*_: object) -> bool:
    return True


def once(*_: object) -> int:
    return 1


def by_start(facts: Facts, n: Key, m: Key, by_ns: float = 0) -> bool:
    return facts.start_ns(n) < facts.start_ns(m)


def not_strict(facts: Facts, n: Key, m: Key, by_ns: float = 0) -> bool:
    return n != m and facts.kappa[n] <= facts.start_ns(m)


def without_slack(facts: Facts, n: Key, m: Key, by_ns: float = 0) -> bool:
    return facts.kappa[n] < facts.start_ns(m)


def without_limit(places: Places) -> float:
    return places.contract.window or 99


def by_other_devices_only(facts: Facts, m: Key, number: int) -> bool:
    return facts.contract.last_writer and any(
        n[0] != m[0] and facts.may_be_stored(n, number) and facts.overlaps(n, facts.start_ns(m), facts.kappa[m])
        for n in facts.sent
    )


def touched_by_all(facts: Facts, m: Key, number: int) -> list[tuple[int, int]]:
    return [(op.start_ns, op.end_ns) for op in facts.history.ops if op.outcome == "ok"]


def touched_invisibly(facts: Facts, m: Key, number: int) -> list[tuple[int, int]]:
    return facts._touches[m]


def touched_certainly_only(facts: Facts, m: Key) -> list[tuple[int, int]]:
    return facts._touches[m]


def stored_once(facts: Facts, m: Key) -> float:
    return facts.kappa[m]


def anything_older(places: Places, m: Key) -> bool:
    return bool(places.older_shown(m))


def older_messages(places: Places, m: Key) -> set[Key]:
    return {s for s in places.shown if not places.facts.loose(s) and places._before(s, m)}


def older_though_loose(places: Places, m: Key) -> set[Key]:
    return {s for s in places.shown if places._before(s, m)}


def as_if_alone(places: Places, m: Key) -> bool:
    return len(places.pinned_shown() | places.older_shown(m)) > places.contract.pinned


def behind_m_alone(places: Places, n: Key, m: Key) -> bool:
    return places.facts.loose(n) or not places._before(n, m)


def no_pins_counted(places: Places, messages: list[Key]) -> int:
    return 0


def smallest(places: Places, messages: list[Key]) -> int:
    return sum(places.facts.sent[n].message.tokens_min for n in messages)


@pytest.mark.parametrize(
    ("where", "definition", "wrong"),
    [
        (Facts, "_kappa", stored_when_sent),
        (Facts, "due", at_once_visible),
        (Facts, "may_be_deleted", never),
        (Facts, "may_have_expired", never),
        (Facts, "may_be_overwritten", never),
        (Facts, "may_be_overwritten", by_other_devices_only),
        (Facts, "_certain_touches", touched_by_all),
        (Facts, "_certain_touches", touched_invisibly),
        (Facts, "_possible_touches", touched_certainly_only),
        (Facts, "settled_ns", stored_once),
        (Facts, "loose", never),
        (Facts, "copies", once),
        (Facts, "before", by_start),
        (Facts, "before", not_strict),
        (Facts, "before", without_slack),
        (Places, "length_max", without_limit),
        (Places, "certainly_pinned", always),
        (Places, "follows_shown", anything_older),
        (Places, "follows_shown", as_if_alone),
        (Places, "older_shown", older_messages),
        (Places, "older_shown", older_though_loose),
        (Places, "pushed_out_and_went", never),
        (Places, "strangers_may_be_stored", never),
        (Places, "_takes_room", behind_m_alone),
        (Places, "_largest", no_pins_counted),
        (Places, "_size", smallest),
    ],
)
def test_the_sound_store_convicts_an_unsound_rule(
    where: type, definition: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, definition, wrong)
    if any(accused(judge(kept.history)) for kept in KEPT):
        return
    for seed in range(MUTANT_HISTORIES):
        if accused(judge(simulate(seed).history)):
            return
    pytest.fail("no sound history contradicts it")


def certain_ones_only(facts: Facts, m: Key, number: int, by_ns: float = 0) -> bool:
    return facts.due(m, number)


def only_what_is_listed(places: Places, m: Key) -> int:
    return len(places.recall.items)


@pytest.mark.parametrize(
    ("where", "definition", "wrong"),
    [
        (Facts, "may_be_stored", certain_ones_only),
        (Places, "rank", only_what_is_listed),
        (Places, "has_place_in_its_session", always),
    ],
)
def test_planted_losses_convict_a_rule_that_names_too_many(
    where: type, definition: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, definition, wrong)
    for seed in range(MUTANT_HISTORIES):
        planted = plant_loss(simulate(seed), seed)
        if planted is not None and named(judge(planted.history)) - {(r, planted.lost) for r in planted.taken_from}:
            return
    pytest.fail("no planted loss contradicts it")
