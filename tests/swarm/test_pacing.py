"""Open arrivals: turns fall due at a rate, whoever is free takes them, and lateness is what is measured."""

from __future__ import annotations

import gevent
import pytest

from stress.swarm import pacing
from stress.swarm.pacing import Pacer


class Clock:
    """Time that passes when somebody sleeps, and then at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(pacing.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(pacing.gevent, "sleep", self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.until_s = self.now_s + seconds
        while self.now_s < self.until_s:
            gevent.hub.sleep(0)

    def passes(self, seconds: float) -> None:
        """Let time pass, in steps small enough for whoever sleeps."""
        for _ in range(round(seconds * 1000)):
            self.now_s += 0.001
            gevent.hub.sleep(0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def user(pacer: Pacer, clock: Clock, busy_s: float, turns: list[float]) -> None:
    while pacer.take():
        turns.append(clock.now_s)
        clock_until = clock.now_s + busy_s
        while clock.now_s < clock_until:
            gevent.hub.sleep(0)


def run(clock: Clock, rate: float, users: int, busy_s: float, seconds: float) -> tuple[Pacer, list[float]]:
    pacer, turns = Pacer(rate), list[float]()
    crew = [gevent.spawn(user, pacer, clock, busy_s, turns) for _ in range(users)]
    clock.passes(seconds)
    pacer.stop()
    clock.passes(2 * busy_s + 0.01)
    gevent.joinall(crew, timeout=5, raise_error=True)
    assert all(member.dead for member in crew)
    return pacer, turns


def test_turns_begin_at_the_rate_whatever_they_take(clock: Clock) -> None:
    for busy_s in (0.001, 0.1, 0.4):
        pacer, turns = run(clock, rate=20, users=20, busy_s=busy_s, seconds=2)
        assert len(turns) == pytest.approx(40, abs=1)
        assert pacer.lateness().max_ms < 5
        assert pacer.lateness().waiting == 0


def test_with_too_few_users_turns_are_late_and_counted(clock: Clock) -> None:
    pacer, turns = run(clock, rate=20, users=2, busy_s=0.2, seconds=2)
    lateness = pacer.lateness()
    assert len(turns) == lateness.begun == pytest.approx(20, abs=2)
    assert lateness.begun + lateness.waiting == pytest.approx(40, abs=1)
    assert lateness.max_ms == pytest.approx(1000, rel=0.15)
    assert lateness.p50_ms == pytest.approx(500, rel=0.4)
    assert lateness.p50_ms < lateness.p95_ms <= lateness.max_ms


def test_the_rate_can_change_under_way(clock: Clock) -> None:
    pacer, turns = Pacer(0), list[float]()
    crew = [gevent.spawn(user, pacer, clock, 0.0, turns) for _ in range(3)]
    clock.passes(0.5)
    assert not turns
    pacer.set_rate(100)
    clock.passes(0.5)
    assert len(turns) == pytest.approx(50, abs=2)
    pacer.set_rate(10)
    before = len(turns)
    clock.passes(1)
    assert len(turns) - before == pytest.approx(10, abs=1)
    pacer.stop()
    gevent.joinall(crew, timeout=5)


def test_a_user_that_is_killed_while_it_waits_costs_no_turn(clock: Clock) -> None:
    pacer, turns = Pacer(0), list[float]()
    victim, other = (gevent.spawn(user, pacer, clock, 0.0, turns) for _ in range(2))
    clock.passes(0.01)
    pacer.set_rate(100)
    victim.kill()
    clock.passes(0.2)
    assert len(turns) == pytest.approx(20, abs=2)
    pacer.stop()
    other.join(5)


def test_what_is_due_is_bounded(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "WAITING_MAX", 10)
    pacer = Pacer(1000)
    clock.passes(0.1)
    assert pacer.lateness().waiting == pytest.approx(100, abs=2)
    assert len(pacer._due) == 10
    pacer.stop()
    assert pacer.lateness().waiting == pytest.approx(100, abs=2)
