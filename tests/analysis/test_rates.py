"""Rates and their intervals against numbers worked out by hand, and against simulated runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import betainc

from analysis.rates import estimate, exceeds, holm, users_for_fail, users_for_pass, users_for_zero


def test_with_one_trial_a_user_the_upper_end_is_clopper_and_pearsons() -> None:
    # 10 of 100: Clopper and Pearson 1934 give 4.90 to 17.62 %. The lower end is the middle of two such ends.
    rate = estimate([1] * 10 + [0] * 90, [1] * 100, 0.95)
    assert rate.high == pytest.approx(0.17622, rel=2e-3)
    low = rate.low
    assert (betainc(10, 91, low) + betainc(11, 90, low)) / 2 == pytest.approx(0.025, rel=0.045)
    assert 0.0490 < low < 0.0552  # between that of Clopper and Pearson and that of Wilson


def test_the_design_effect_by_hand() -> None:
    # Four users of 10 recalls; all 4 losses at one of them. p = 0.1,
    # v = 4/3 · (3² + 1 + 1 + 1) / 40² = 0.01, deff = 0.01 / (0.09 / 40) = 4.444
    rate = estimate([4, 0, 0, 0], [10, 10, 10, 10], 0.95)
    assert rate.rate == pytest.approx(0.1)
    assert rate.deff == pytest.approx(0.01 / (0.09 / 40))
    assert (rate.events, rate.trials, rate.clusters) == (4, 40, 4)


def test_with_many_affected_users_the_interval_is_that_of_the_design_effect() -> None:
    rng = np.random.default_rng(5)
    trials = rng.integers(10, 40, 20_000)
    events = np.where(rng.random(20_000) < 0.05, trials, rng.binomial(trials, 0.05))
    rate = estimate(events, trials, 0.95)
    assert rate.rate is not None
    assert rate.deff is not None
    assert rate.deff > 10
    half = 1.96 * math.sqrt(rate.deff * rate.rate * (1 - rate.rate) / rate.trials)
    assert rate.high - rate.rate == pytest.approx(half, rel=0.05)
    assert rate.rate - rate.low == pytest.approx(half, rel=0.05)


def test_losses_in_one_burst_tell_less_than_losses_spread_over_users() -> None:
    spread = estimate([1] * 20 + [0] * 980, [20] * 1_000, 0.95)
    burst = estimate([20] + [0] * 999, [20] * 1_000, 0.95)
    assert spread.rate == burst.rate
    assert burst.low < spread.low < spread.high < burst.high


@pytest.mark.parametrize("lost", [1, 3, 10, 40])
def test_a_run_with_losses_never_claims_more_than_one_without(lost: int) -> None:
    none = estimate([0] * 60, [40] * 60, 0.95)
    one = estimate([lost] + [0] * 59, [40] * 60, 0.95)
    assert one.high > none.high
    assert one.low > 0


@pytest.mark.parametrize("users", [1, 2, 30])
@pytest.mark.parametrize("lost", [0, 1, 3])
def test_the_interval_holds_the_rate_and_both_ends_move_with_the_confidence(users: int, lost: int) -> None:
    sample = [lost] + [0] * (users - 1), [7] * users
    wide, narrow = estimate(*sample, 0.99), estimate(*sample, 0.8)
    assert narrow.rate is not None
    assert 0 <= wide.low <= narrow.low <= narrow.rate <= narrow.high < wide.high < 1


@pytest.mark.parametrize("clusters", [1, 10, 100])
def test_without_an_event_users_count(clusters: int) -> None:
    rate = estimate([0] * clusters, [50] * clusters, 0.95)
    assert rate.low == 0
    assert rate.high == pytest.approx(1 - 0.025 ** (1 / clusters))
    assert rate.deff is None


def test_without_an_event_the_bound_is_about_3_7_by_the_users() -> None:
    assert estimate([0] * 1_000, [7] * 1_000, 0.95).high == pytest.approx(3.7 / 1_000, rel=0.01)


def test_with_nothing_but_events_the_bound_is_the_mirrored_one() -> None:
    rate = estimate([5] * 20, [5] * 20, 0.95)
    assert (rate.low, rate.high) == (pytest.approx(0.025 ** (1 / 20)), 1.0)


def test_without_a_trial_nothing_is_known() -> None:
    rate = estimate([0, 0], [0, 0], 0.95)
    assert (rate.rate, rate.low, rate.high, rate.clusters) == (None, 0.0, 1.0, 0)


def test_a_single_user_tells_next_to_nothing() -> None:
    rate = estimate([5], [100], 0.95)
    assert rate.low < 0.005
    assert rate.high > 0.95
    assert rate.deff is None


def test_users_without_a_trial_do_not_count() -> None:
    assert estimate([1, 0, 0], [5, 5, 0], 0.95)[:7] == estimate([1, 0], [5, 5], 0.95)[:7]


@pytest.mark.parametrize("burst", [0.0, 0.2, 0.8])
@pytest.mark.parametrize(("users", "p"), [(200, 0.01), (5_000, 0.001)])
def test_the_interval_covers_the_truth_though_losses_come_in_bursts(users: int, p: float, burst: float) -> None:
    # benchmarks/intervals.py does the same over the whole table.
    rng = np.random.default_rng(11)
    covered, runs = 0, 200
    for _ in range(runs):
        trials = rng.integers(10, 31, users)
        struck = rng.random(users) < p * burst
        events = np.where(struck, trials, rng.binomial(trials, p * (1 - burst) / (1 - p * burst)))
        rate = estimate(events, trials, 0.95)
        covered += rate.low <= p <= rate.high
    assert covered / runs >= 0.92


def test_the_test_of_a_budget_is_the_binomial_one_with_one_trial_a_user() -> None:
    # 10 of 100 against a budget of 5 %: P(X ≥ 10) = 0.0282
    rate = estimate([1] * 10 + [0] * 90, [1] * 100, 0.95)
    assert exceeds(rate, 0.05) == pytest.approx(float(betainc(10, 91, 0.05)), rel=0.02)
    assert exceeds(rate, 0.05) == pytest.approx(0.0282, abs=0.0006)


def test_a_burst_at_one_user_is_no_proof_against_a_budget() -> None:
    assert exceeds(estimate([20] + [0] * 99, [20] * 100, 0.95), 0.001) > 0.05
    assert exceeds(estimate([1] * 20 + [0] * 80, [20] * 100, 0.95), 0.001) < 1e-6


def test_a_rate_within_the_budget_is_no_evidence_against_it() -> None:
    rate = estimate([1] * 10 + [0] * 90, [1] * 100, 0.95)
    assert exceeds(rate, 0.1) > 0.4
    assert exceeds(rate, 1.0) == 1
    assert exceeds(estimate([], [], 0.95), 0.1) == 1
    assert exceeds(estimate([0] * 5, [3] * 5, 0.95), 0.1) == 1


@pytest.mark.parametrize("lost", [1, 4, 9])
def test_a_lower_end_above_the_budget_is_proven_over_it(lost: int) -> None:
    rate = estimate([lost] * 6 + [0] * 94, [10] * 100, 0.95)
    assert exceeds(rate, rate.low) <= 0.05


def test_holm_by_hand() -> None:
    # Three at 5 %: thresholds 0.0167, 0.025, 0.05 in order; it stops at the first that holds.
    assert holm([0.03, 0.001, 0.02], 0.05) == [True, True, True]
    assert holm([0.04, 0.001, 0.026], 0.05) == [False, True, False]
    assert holm([0.02, 0.04, 0.03], 0.05) == [False, False, False]
    assert holm([], 0.05) == []


def test_the_number_needed_without_a_loss_just_suffices() -> None:
    users = users_for_zero(0.01, 0.95)
    assert estimate([0] * users, [1] * users, 0.95).high <= 0.01
    assert estimate([0] * (users - 1), [1] * (users - 1), 0.95).high > 0.01


def test_the_number_needed_for_a_pass_just_suffices() -> None:
    rate = estimate([1, 0, 0, 0, 0] * 8, [2] * 40, 0.95)
    needed = users_for_pass(rate, 0.2, 0.95)
    assert needed is not None
    assert needed % 5 == 0 or needed > 40
    blocks = needed / 5
    assert estimate([1, 0, 0, 0, 0] * math.ceil(blocks), [2] * 5 * math.ceil(blocks), 0.95).high <= 0.2
    assert estimate([1, 0, 0, 0, 0] * math.floor(0.95 * blocks), [2] * 5 * math.floor(0.95 * blocks), 0.95).high > 0.2
    assert users_for_pass(rate, 0.1, 0.95) is None


def test_without_a_loss_the_number_needed_for_a_pass_is_that_for_zero() -> None:
    rate = estimate([0] * 40, [2] * 40, 0.95)
    assert users_for_pass(rate, 0.01, 0.95) == users_for_zero(0.01, 0.95)


def test_the_number_needed_for_a_fail_just_suffices() -> None:
    pattern = [1] * 3 + [0] * 37
    rate = estimate(pattern, [1] * 40, 0.95)
    assert exceeds(rate, 0.05) > 0.05
    needed = users_for_fail(rate, 0.05, 0.95)
    assert needed is not None
    blocks = needed / 40
    assert exceeds(estimate(pattern * math.ceil(blocks), [1] * 40 * math.ceil(blocks), 0.95), 0.05) <= 0.05
    fewer = math.floor(0.9 * blocks)
    assert exceeds(estimate(pattern * fewer, [1] * 40 * fewer, 0.95), 0.05) > 0.05
    assert users_for_fail(rate, 0.1, 0.95) is None
