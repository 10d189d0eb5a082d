"""How much a claim takes: the plan is what runs of that size then prove."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.planning import Need, Pace, pace_of, plan
from analysis.rates import estimate, exceeds

PACE = Pace(source="here", users_per_minute=100, conversations_per_user=4, recalls_per_user=20)


def needs(max_loss: float, burst: float) -> dict[float, Need]:
    return {round(need.true_rate / max_loss, 3): need for need in plan(max_loss, 0.95, burst, PACE).needs}


def test_without_a_loss_it_is_the_number_that_every_run_needs() -> None:
    need = needs(0.01, 0.8)[0]
    assert (need.users, need.proves) == (368, "kept")
    assert (need.conversations, need.recalls) == (4 * 368, 20 * 368)
    assert need.minutes == pytest.approx(3.68)


@pytest.mark.parametrize("burst", [0.0, 0.2, 0.8])
def test_the_closer_to_the_claim_the_more_it_takes(burst: float) -> None:
    users = [needs(0.01, burst)[share].users or 0 for share in (0, 0.1, 0.25, 0.5)]
    assert users == sorted(users)
    assert users[-1] > 2 * users[0]
    over = needs(0.01, burst)
    assert (over[5].users or 0) < (over[2].users or 0)
    assert over[2].proves == "exceeded"


def test_bursts_take_more_than_single_losses() -> None:
    few, many = needs(0.01, 0.0), needs(0.01, 0.8)
    for share in (0.25, 0.5, 2):
        assert (many[share].users or 0) > (few[share].users or 0)


@pytest.mark.parametrize(("burst", "share"), [(0.8, 0.25), (0.0, 0.25), (0.2, 0.5), (0.8, 2.0), (0.0, 2.0)])
def test_about_four_of_five_runs_of_that_size_prove_it(burst: float, share: float) -> None:
    claim, rng, runs, proven = 0.01, np.random.default_rng(3), 150, 0
    users = needs(claim, burst)[share].users
    assert users is not None
    true = share * claim
    for _ in range(runs):
        struck = rng.random(users) < true * burst
        single = rng.binomial(20, true * (1 - burst) / (1 - true * burst), users)
        rate = estimate(np.where(struck, 20, single), np.full(users, 20), 0.95)
        proven += rate.high <= claim if share < 1 else exceeds(rate, claim) <= 0.05
    assert 0.72 <= proven / runs <= 0.95


def test_a_claim_that_cannot_be_exceeded_fivefold_has_no_such_row() -> None:
    assert max(needs(0.3, 0.5)) == 2
    assert max(needs(0.6, 0.5)) < 1


def test_the_pace_of_a_run_is_that_of_its_slowest_scenario() -> None:
    def scenario(name: str, users: int) -> dict[str, object]:
        return {
            "name": name,
            "recalls": {"checked": 12 * users, "clusters": users},
            "conversations": {"checked": 3 * users},
        }

    pace = pace_of({"run": "r", "scenarios": [scenario("a", 50), scenario("b", 20), scenario("c", 0)]}, 120)
    assert pace is not None
    assert (pace.users_per_minute, pace.conversations_per_user, pace.recalls_per_user) == (10, 3, 12)
    assert pace.source == "run r, scenario b"
    assert pace_of({"run": "r", "scenarios": [scenario("c", 0)]}, 120) is None
