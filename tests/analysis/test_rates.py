"""Rates and their intervals against numbers worked out by hand, and against simulated runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.rates import (
    estimate,
    exceeds,
    holm,
    trials_for_fail,
    trials_for_pass,
    users_for_zero,
    wilson,
)


def test_wilson_by_hand() -> None:
    # Wilson 1927; 10 of 100 at 95 %: 0.0552 to 0.1744
    low, high = wilson(0.1, 100, 0.95)
    assert low == pytest.approx(0.05523, abs=1e-5)
    assert high == pytest.approx(0.17437, abs=1e-5)


def test_the_design_effect_by_hand() -> None:
    # Four users of 10 recalls; all 4 losses at one of them. p = 0.1,
    # v = 4/3 · (3² + 1 + 1 + 1) / 40² = 0.01, estimated deff = 0.01 / (0.09 / 40) = 4.444; one user is affected,
    # so it weighs as much as the mean cluster size, 10: deff = 7.222, n_eff = 40 / 7.222
    rate = estimate([4, 0, 0, 0], [10, 10, 10, 10], 0.95)
    assert rate.rate == pytest.approx(0.1)
    assert rate.deff == pytest.approx((0.01 / (0.09 / 40) + 10) / 2)
    assert rate.effective == pytest.approx(40 / 7.2222, rel=1e-4)
    assert (rate.low, rate.high) == pytest.approx(wilson(0.1, rate.effective, 0.95))
    assert (rate.events, rate.trials, rate.clusters) == (4, 40, 4)


def test_losses_spread_evenly_are_not_taken_for_more_than_they_are() -> None:
    few = estimate([1, 1, 1, 1], [10, 10, 10, 10], 0.95)
    assert few.deff == pytest.approx((4 * 0 + 10) / 5)
    many = estimate([1] * 1_000, [10] * 1_000, 0.95)
    assert many.deff == pytest.approx(10 / 1_001)
    assert many.effective == many.trials == 10_000


@pytest.mark.parametrize("lost", [1, 3, 10])
def test_one_affected_user_does_not_make_recalls_count_as_independent(lost: int) -> None:
    none = estimate([0] * 60, [40] * 60, 0.95)
    one = estimate([lost] + [0] * 59, [40] * 60, 0.95)
    assert none.effective == 60
    assert one.effective < 2 * 60
    assert one.high > none.high / 2


@pytest.mark.parametrize("burst", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize(("users", "p"), [(60, 0.01), (200, 0.01), (1_000, 0.001)])
def test_the_interval_covers_the_truth_though_few_bursts_are_seen(users: int, p: float, burst: float) -> None:
    rng = np.random.default_rng(11)
    length, runs = 8, 400
    trials = rng.integers(10, 40, (runs, users))
    events = np.minimum(
        rng.binomial(trials, p * (1 - burst)) + rng.poisson(p * burst * trials / length) * length, trials
    )
    truth = events.sum() / trials.sum()
    rates = [estimate(x, n, 0.95) for x, n in zip(events, trials, strict=True)]
    assert sum(rate.low <= truth <= rate.high for rate in rates) / runs >= 0.92


@pytest.mark.parametrize("clusters", [1, 10, 100])
def test_without_an_event_users_count(clusters: int) -> None:
    rate = estimate([0] * clusters, [50] * clusters, 0.95)
    assert rate.low == 0
    assert rate.high == pytest.approx(1 - 0.025 ** (1 / clusters))
    assert rate.deff is None
    assert rate.effective == clusters


def test_without_an_event_the_bound_is_about_3_7_by_the_users() -> None:
    assert estimate([0] * 1_000, [7] * 1_000, 0.95).high == pytest.approx(3.7 / 1_000, rel=0.01)


def test_with_nothing_but_events_the_bound_mirrors() -> None:
    rate = estimate([5] * 20, [5] * 20, 0.95)
    assert (rate.low, rate.high) == (pytest.approx(0.025 ** (1 / 20)), 1.0)


def test_without_a_trial_nothing_is_known() -> None:
    rate = estimate([0, 0], [0, 0], 0.95)
    assert (rate.rate, rate.low, rate.high, rate.clusters) == (None, 0.0, 1.0, 0)


def test_a_single_user_is_as_good_as_a_single_trial() -> None:
    rate = estimate([5], [100], 0.95)
    assert rate.effective == 1
    assert rate.high > 0.7


def test_users_without_a_trial_do_not_count() -> None:
    assert estimate([1, 0, 0], [5, 5, 0], 0.95) == estimate([1, 0], [5, 5], 0.95)


@pytest.mark.parametrize(("p", "burst", "users"), [(0.01, 0.0, 300), (0.05, 0.8, 400), (0.05, 0.2, 3_000)])
def test_the_interval_covers_the_truth_though_losses_come_in_bursts(p: float, burst: float, users: int) -> None:
    # Each cell expects a dozen bursts or more: of what did not happen in a run, no interval can know.
    rng = np.random.default_rng(7)
    recalls, runs = 20, 400
    covered = 0
    for _ in range(runs):
        trials = rng.integers(recalls // 2, recalls * 2, users)
        # A burst takes all recalls of a user, otherwise losses are independent; the mean is p.
        bursts = rng.random(users) < p * burst
        events = np.where(bursts, trials, rng.binomial(trials, p * (1 - burst) / (1 - p * burst)))
        rate = estimate(events, trials, 0.95)
        covered += rate.low <= p <= rate.high
    assert 0.92 <= covered / runs <= 0.99


def test_the_score_test_by_hand() -> None:
    # 100 independent trials, 10 events against a budget of 5 %: z = 0.05 / sqrt(0.05 · 0.95 / 100) = 2.294
    rate = estimate([1] * 10 + [0] * 90, [1] * 100, 0.95)
    z = 0.05 / math.sqrt(0.05 * 0.95 / rate.effective)
    assert exceeds(rate, 0.05) == pytest.approx(0.5 * math.erfc(z / math.sqrt(2)))
    assert 0.010 < exceeds(rate, 0.05) < 0.012


def test_a_rate_within_the_budget_is_no_evidence_against_it() -> None:
    rate = estimate([1] * 10 + [0] * 90, [1] * 100, 0.95)
    assert exceeds(rate, 0.1) == 1
    assert exceeds(rate, 1.0) == 1
    assert exceeds(estimate([], [], 0.95), 0.1) == 1


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
    needed = trials_for_pass(rate, 0.2, 0.95)
    assert needed is not None
    effective = needed * rate.effective / rate.trials
    assert rate.rate is not None
    assert wilson(rate.rate, effective, 0.95)[1] <= 0.2
    assert wilson(rate.rate, effective - 1, 0.95)[1] > 0.2
    assert trials_for_pass(rate, 0.1, 0.95) is None


def test_the_number_needed_for_a_fail_just_suffices() -> None:
    rate = estimate([1] * 3 + [0] * 37, [1] * 40, 0.95)
    assert exceeds(rate, 0.05) > 0.05
    needed = trials_for_fail(rate, 0.05, 0.95)
    assert needed is not None
    assert exceeds(rate._replace(effective=needed * rate.effective / rate.trials), 0.05) <= 0.05
    assert trials_for_fail(rate, 0.1, 0.95) is None
