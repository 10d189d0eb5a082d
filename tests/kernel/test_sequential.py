"""Tests that may be looked at after every user: by hand, and in simulated runs that end when something is proven."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import msgspec
import pytest

from goldfish.contract import Budget
from goldfish.sequential import (
    Evidence,
    Wager,
    budgets_at_stake,
    design,
    fail_level,
    of_user,
    pass_level,
    proven,
    wager,
)

ONE_PERCENT = Budget(context_loss=0.01, min_conversations=1)


def test_walds_ratios_by_hand() -> None:
    spared, struck = wager(0, 0.01), wager(1, 0.01)
    assert spared == (pytest.approx(math.log(0.998 / 0.99)), pytest.approx(math.log(0.97 / 0.99)))
    assert struck == (pytest.approx(math.log(0.2)), pytest.approx(math.log(3)))
    assert wager(0.25, 0.01).over == pytest.approx(math.log(0.75 * 0.97 / 0.99 + 0.25 * 3))


@pytest.mark.parametrize("budget", [0.001, 0.05, 0.4, 0.9])
def test_at_the_budget_no_wager_grows_in_the_mean(budget: float) -> None:
    for shares in ((0, 1), (0, 0.5), (0.2, 0.9)):
        low, high = shares
        if not low <= budget <= high:
            continue
        weight = (budget - low) / (high - low)
        for side in ("within", "over"):
            mean = sum(
                part * math.exp(getattr(wager(share, budget), side))
                for part, share in ((1 - weight, low), (weight, high))
            )
            assert mean == pytest.approx(1)


def test_a_worse_memory_never_helps_the_wager_that_the_budget_is_kept() -> None:
    within = [wager(share / 10, 0.02).within for share in range(11)]
    over = [wager(share / 10, 0.02).over for share in range(11)]
    assert within == sorted(within, reverse=True)
    assert over == sorted(over)


def test_only_budgets_above_zero_are_at_stake() -> None:
    assert budgets_at_stake(Budget()) == {}
    assert budgets_at_stake(Budget(context_loss=1.0, conversations_harmed=0.0)) == {}
    both = Budget(context_loss=0.02, conversations_harmed=0.1)
    assert budgets_at_stake(both) == {"context_loss": 0.02, "conversations_harmed": 0.1}
    assert pass_level(both) == pytest.approx(0.025)
    assert fail_level(both, 2) == pytest.approx(0.025)


def user(**counts: int) -> Evidence:
    return of_user(Budget(context_loss=0.02, conversations_harmed=0.1), **{"lossy": 0, "harmed": 0} | counts)  # type: ignore[arg-type]


def test_evidence_of_users_and_processes_adds_up() -> None:
    one, two = user(checked=10, lossy=1, conversations=2, harmed=1, wrong=1), user(checked=5, conversations=1)
    empty = user(checked=0, conversations=0)
    total = Evidence(wagers={})
    for each in (one, two, empty):
        total.add(msgspec.json.decode(msgspec.json.encode(each), type=Evidence))
    assert (total.users, total.conversations, total.harmed, total.lossy, total.wrong) == (2, 3, 1, 1, 1)
    expected = wager(0.1, 0.02).plus(wager(0, 0.02))
    assert total.wagers["context_loss"] == pytest.approx(tuple(expected))
    assert total.wagers["conversations_harmed"] == pytest.approx(tuple(wager(0.5, 0.1).plus(wager(0, 0.1))))
    assert empty.wagers == {}


def evidence(users: int, **more: Any) -> Evidence:
    """So many users, all of them spared by the budget of 1 %."""
    placed = wager(0, 0.01).times(users)
    return Evidence(
        **{"users": users, "conversations": users, "wagers": {"context_loss": (placed.within, placed.over)}} | more
    )


@pytest.mark.parametrize(
    ("budget", "seen", "what"),
    [
        (Budget(), evidence(99), None),
        (Budget(), evidence(100), "no loss in 100 conversations each"),
        (Budget(), evidence(5, lossy=1), "a loss in a, and none is tolerated"),
        (Budget(), evidence(5, wrong=1, harmed=1), "a harmed conversation in a, and none is tolerated"),
        (Budget(disorder="report"), evidence(5, wrong=1, harmed=1), None),
        (Budget(disorder="report", conversations_harmed=0), evidence(5, harmed=1), "a harmed conversation in a, and"),
        (ONE_PERCENT, evidence(458), None),
        (ONE_PERCENT, evidence(459), "every budget is kept"),
        (Budget(context_loss=0.01), evidence(459), "every budget is kept"),
        (Budget(context_loss=0.01, min_conversations=500), evidence(459), None),
        (Budget(context_loss=0.01, conversations_harmed=0.5), evidence(459), None),
        (ONE_PERCENT, evidence(9, wagers={"context_loss": (0.0, math.log(19.9))}, lossy=3), None),
        (ONE_PERCENT, evidence(9, wagers={"context_loss": (0.0, math.log(20.1))}, lossy=3), "a exceeds context_loss"),
    ],
)
def test_what_ends_a_run(budget: Budget, seen: Evidence, what: str | None) -> None:
    found = proven(budget, {"a": seen})
    assert (found or "").startswith(what or "")
    assert (found is None) == (what is None)


def test_every_scenario_must_be_proven_and_they_share_the_level_of_a_fail() -> None:
    assert proven(ONE_PERCENT, {"a": evidence(459), "b": evidence(100)}) is None
    assert proven(ONE_PERCENT, {"a": evidence(459), "b": evidence(459)}) == "every budget is kept"
    bad = evidence(9, wagers={"context_loss": (0.0, math.log(30))}, lossy=3)
    assert proven(ONE_PERCENT, {"a": bad}) is not None
    assert proven(ONE_PERCENT, {"a": bad, "b": evidence(1)}) is None
    assert proven(Budget(), {}) is None


@pytest.mark.parametrize("conversations", [1, 4])
@pytest.mark.parametrize(
    ("true", "kept", "over"), [(0.05, (0, 0.035), (0, 0.06)), (0.01, (0.97, 1), (0, 0.01)), (0.2, (0, 0.01), (0.97, 1))]
)
def test_stopped_whenever_it_looks_proven_it_is_rarely_wrong(
    true: float, kept: tuple[float, float], over: tuple[float, float], conversations: int
) -> None:
    # All conversations of a user are harmed together: the hardest case for whoever counts conversations.
    rng = Random(f"{true} {conversations}")
    budget = Budget(context_loss=1, conversations_harmed=0.05, min_conversations=1, disorder="report")
    runs, ends = 1_000, {"every budget is kept": 0, "a exceeds conversations_harmed": 0}
    placed = {
        harmed: of_user(budget, checked=1, lossy=0, conversations=conversations, harmed=harmed * conversations)
        for harmed in (0, 1)
    }
    for _ in range(runs):
        within = over_ = 0.0
        for _ in range(1_500):
            wagers = placed[rng.random() < true].wagers["conversations_harmed"]
            within, over_ = within + wagers[0], over_ + wagers[1]
            if within > 3.5 or over_ > 2.9:  # else nothing can be proven
                total = Evidence(conversations=9, wagers={"conversations_harmed": (within, over_)})
                if what := proven(budget, {"a": total}):
                    ends[what] += 1
                    break
    assert kept[0] <= ends["every budget is kept"] / runs <= kept[1]
    assert over[0] <= ends["a exceeds conversations_harmed"] / runs <= over[1]


def test_the_design_tells_what_ends_a_run() -> None:
    told = "\n".join(design(Budget(context_loss=0.01, min_conversations=50)))
    assert "ends at 50 checked conversations" in told
    assert "after 459 users without a loss" in told
    assert "first loss" not in told
    assert design(Budget())[0] == "ends at the first loss, for none is tolerated"


def test_wagers_add_and_multiply() -> None:
    assert Wager(1, 2).plus(Wager(3, 4)) == (4, 6)
    assert Wager(1, -2).times(3) == (3, -6)
