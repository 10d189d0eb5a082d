"""Two runs against each other: closed forms, worked numbers, and identical memories that must not look different."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.bootstrap import Users, alike
from analysis.rates import estimate
from analysis.shuffle import Table, chance_as_bad, detectable, difference, fisher

NONE = alike([], [])


def single(harmed: int, users: int) -> Users:
    return alike([1] * harmed + [0] * (users - harmed), [1] * users)


def test_fishers_test_by_hand() -> None:
    # The tea of the lady: of four cups and four, three right: P(3) = 16/70, P(4) = 1/70; mid-p = 1/70 + 8/70
    assert fisher(Table(1, 4, 3, 4)) == pytest.approx(1 / 70 + 8 / 70)
    assert fisher(Table(0, 4, 4, 4)) == pytest.approx(0.5 / 70)
    assert fisher(Table(4, 4, 0, 4)) == pytest.approx(1 - 0.5 / 70)
    assert fisher(Table(0, 100, 0, 100)) == pytest.approx(0.5)
    assert fisher(Table(7, 5_000, 40, 6_000)) < 1e-4


@pytest.mark.parametrize(
    "table", [Table(3, 100, 12, 110), Table(0, 50, 5, 70), Table(9, 90, 9, 90), Table(5, 40, 1, 30)]
)
def test_dealing_out_labels_is_fishers_test_where_users_have_one_trial(table: Table) -> None:
    base, candidate = single(table.base_harmed, table.base), single(table.harmed, table.all)
    exact = fisher(table)
    assert chance_as_bad(base, candidate, np.random.default_rng(1)) == exact
    # With two trials a user, both harmed or none, the labels have to be dealt out; nothing else changes.
    doubled = [users._replace(events=2 * users.events, trials=2 * users.trials) for users in (base, candidate)]
    dealt = chance_as_bad(doubled[0], doubled[1], np.random.default_rng(1))
    assert dealt == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000) + 1e-4)


def test_one_user_with_a_burst_is_one_user() -> None:
    base = alike([0] * 100, [20] * 100)
    burst, spread = alike([20] + [0] * 99, [20] * 100), alike([1] * 20 + [0] * 80, [20] * 100)
    rng = np.random.default_rng(1)
    assert chance_as_bad(base, burst, rng) == pytest.approx(0.25, abs=0.02)  # a half, the tie counted half
    assert chance_as_bad(base, spread, rng) < 0.001


def test_more_trials_are_not_more_harm() -> None:
    # The candidate's users have three times as many recalls and lose the same share of them.
    base, candidate = alike([1] * 10 + [0] * 90, [10] * 100), alike([3] * 10 + [0] * 90, [30] * 100)
    assert chance_as_bad(base, candidate, np.random.default_rng(1)) > 0.3


def test_nothing_lost_or_nothing_tried_is_no_evidence() -> None:
    rng = np.random.default_rng(1)
    sound = alike([0] * 10, [5] * 10)
    assert chance_as_bad(sound, sound, rng) == 1
    assert chance_as_bad(NONE, sound, rng) == 1
    assert chance_as_bad(sound, NONE, rng) == 1


def test_the_same_seed_gives_the_same_value() -> None:
    base, candidate = alike([2, 0, 1, 0] * 9, [5, 3, 4, 8] * 9), alike([2, 3, 1, 0] * 9, [5, 3, 4, 8] * 9)
    values = {chance_as_bad(base, candidate, np.random.default_rng(seed)) for seed in (1, 1, 2)}
    assert len(values) == 2


@pytest.mark.parametrize(("users", "p", "burst"), [(200, 0.02, 0.8), (200, 0.02, 0.0), (600, 0.003, 0.5)])
def test_identical_memories_rarely_look_different(users: int, p: float, burst: float) -> None:
    # benchmarks/intervals.py does the same over the whole table, with both measures.
    rng = np.random.default_rng(5)

    def run() -> Users:
        trials = rng.integers(10, 31, users)
        events = np.where(rng.random(users) < p * burst, trials, rng.binomial(trials, p * (1 - burst)))
        return alike(events, trials)

    runs = 200
    alarms = sum(chance_as_bad(run(), run(), rng, deals=500) <= 0.05 for _ in range(runs))
    assert alarms / runs <= 0.09


def test_newcombes_interval_by_hand() -> None:
    base, candidate = estimate([1] * 5 + [0] * 95, [1] * 100, 0.95), estimate([1] * 15 + [0] * 85, [1] * 100, 0.95)
    apart = difference(base, candidate)
    assert apart is not None
    assert apart[0] == pytest.approx(0.1)
    assert apart[1] == pytest.approx(0.1 - math.hypot(0.15 - candidate.low, base.high - 0.05))
    assert apart[2] == pytest.approx(0.1 + math.hypot(candidate.high - 0.15, 0.05 - base.low))
    # With Wilson's intervals, Newcombe 1998 (method 10) gives 1.5 to 18.6 %; these are a little wider.
    assert 0.0 < apart[1] < 0.017
    assert 0.18 < apart[2] < 0.21
    assert difference(estimate([], [], 0.95), candidate) is None


@pytest.mark.parametrize(("harmed", "deff"), [(0, 1.0), (6, 1.0), (6, 2.0)])
def test_four_of_five_comparisons_find_the_smallest_detectable_share(harmed: int, deff: float) -> None:
    base = estimate([1] * harmed + [0] * (400 - harmed), [1] * 400, 0.95)._replace(deff=deff)
    after = round(500 / deff)
    share = detectable(base, base._replace(trials=500), 0.05)
    assert share is not None
    rng = np.random.default_rng(2)
    drawn = rng.binomial(after, share, 2_000)
    before = Table(round(harmed / deff), round(400 / deff), 0, after)
    found = np.mean([fisher(before._replace(harmed=int(number))) <= 0.05 for number in drawn])
    assert 0.78 <= found <= 0.87


def test_what_not_even_the_harm_of_all_would_show_is_not_detectable() -> None:
    tiny = estimate([0] * 2, [1] * 2, 0.95)
    assert detectable(tiny, tiny, 0.05) is None
    assert detectable(estimate([], [], 0.95), tiny, 0.05) is None
