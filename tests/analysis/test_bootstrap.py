"""Users drawn anew: against exact distributions where there are any, and against drawn weights elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import betainc

from analysis.bootstrap import Unseen, Users, alike, chance_below, rate_at


def test_users_that_are_alike_are_put_together() -> None:
    users = alike([0, 2, 0, 1, 0], [3, 3, 3, 5, 0])
    rows = {*zip(users.events, users.trials, users.number, strict=True)}
    assert rows == {(0, 3, 2), (2, 3, 1), (1, 5, 1)}
    assert users.total == 4
    assert users.times(2.5).total == 10


@pytest.mark.parametrize("users", [20, 200, 5_000])
@pytest.mark.parametrize("harmed", [1, 2, 7])
def test_with_one_trial_a_user_the_chances_are_clopper_and_pearsons(users: int, harmed: int) -> None:
    sample = alike([1] * harmed + [0] * (users - harmed), [1] * users)
    for at in (0.2 * harmed / users, harmed / users, min(3 * harmed / users, 0.9)):
        # The rate of a struck newcomer is Beta(harmed + 1, users - harmed), that of a spared one Beta(harmed, … + 1).
        for unseen, (a, b) in {
            "struck": (harmed + 1, users - harmed),
            "spared": (harmed, users - harmed + 1),
        }.items():
            exact = float(betainc(a, b, at))
            chance = chance_below(sample, at, unseen)  # type: ignore[arg-type]
            smaller = min(exact, 1 - exact)
            assert abs(chance - exact) <= 0.045 * smaller


@pytest.mark.parametrize("unseen", ["spared", "struck"])
@pytest.mark.parametrize(
    ("events", "trials"),
    [
        ([0] * 50 + [1] * 6 + [20, 13], [20] * 30 + [13] * 28),
        ([0] * 9 + [4], [10] * 10),
        ([3, 1, 0, 7, 9, 2], [9, 8, 7, 9, 9, 2]),
    ],
)
def test_the_chance_is_that_of_drawn_weights(events: list[int], trials: list[int], unseen: Unseen) -> None:
    rng = np.random.default_rng(3)
    size = sum(trials) / len(trials)
    x = np.array([*events, size if unseen == "struck" else 0])
    n = np.array([*trials, size])
    weights = rng.exponential(size=(200_000, len(n)))
    rates = (weights @ x) / (weights @ n)
    users = alike(events, trials)
    for share in (0.01, 0.05, 0.3, 0.5, 0.7, 0.95, 0.99):
        rate = float(np.quantile(rates, share))
        assert chance_below(users, rate, unseen) == pytest.approx(share, abs=0.003 + 0.045 * min(share, 1 - share))


def test_the_chance_grows_without_a_step_where_the_formula_is_undefined() -> None:
    users = alike([0] * 40 + [3] * 5, [10] * 45)
    rates = np.linspace(0.02, 0.08, 4_001)
    chances = [chance_below(users, float(rate), "struck") for rate in rates]
    steps = np.diff(chances)
    assert (steps > 0).all()
    assert steps.max() < 2 * np.median(steps) + 1e-3


def test_a_struck_newcomer_makes_every_rate_less_likely_to_suffice() -> None:
    users = alike([0] * 40 + [3] * 5, [10] * 45)
    for rate in (0.01, 0.03, 0.1):
        assert chance_below(users, rate, "struck") < chance_below(users, rate, "spared")


def test_bounds_of_what_is_possible() -> None:
    none = Users(np.array([0.0]), np.array([5.0]), np.array([10.0]))
    assert chance_below(none, 0.01, "spared") == 1.0
    all_lost = Users(np.array([5.0]), np.array([5.0]), np.array([10.0]))
    assert chance_below(all_lost, 0.99, "struck") == 0.0


@pytest.mark.parametrize("level", [0.001, 0.025, 0.5, 0.975, 0.999])
@pytest.mark.parametrize("start", [1e-6, 0.03, 0.7])
def test_the_rate_at_a_level_is_found_from_anywhere(level: float, start: float) -> None:
    def chance(rate: float) -> float:
        return float(betainc(3, 98, rate))

    assert chance(rate_at(chance, level, start)) == pytest.approx(level, rel=1e-5)


def test_a_level_that_is_never_reached_ends_at_the_edge() -> None:
    assert rate_at(lambda _: 0.0, 0.5, 0.1) == pytest.approx(1.0)
    assert math.isclose(rate_at(lambda _: 1.0, 0.5, 0.1), 0.0, abs_tol=1e-12)
