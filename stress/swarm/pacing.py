"""Open arrivals: turns begin when they are due, whether or not the memory has answered the ones before.

In a closed swarm a slow memory slows its users, who then ask less and see less. Here turns fall due at a constant rate,
and each is taken by a user who is free. A turn for which nobody is free stays due; how late it began is measured, for
lateness is what a person at the other end would have waited.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import deque

import gevent
from gevent.event import AsyncResult

from goldfish.run import Lateness

WAITING_MAX = 10_000
"""Turns that may be due at once; beyond, the swarm is hopelessly too small, and the rest is given up and counted."""

_STEP = 1.25
_BOUNDS_MS = [0.0, *(0.1 * _STEP**power for power in range(70))]


class Pacer:
    """Gives the users of one load process their turns; used from one hub."""

    def __init__(self, turns_per_second: float) -> None:
        self._rate = 0.0
        self._next_s = 0.0
        self._due: deque[float] = deque()
        self._free: deque[AsyncResult] = deque()
        self._counts = [0] * len(_BOUNDS_MS)
        self._begun = 0
        self._max_ms = 0.0
        self._given_up = 0
        """Turns that nobody was free for, beyond ``WAITING_MAX`` or to the end."""
        self._stopped = False
        self._clock: gevent.Greenlet | None = None
        self.set_rate(turns_per_second)

    def set_rate(self, turns_per_second: float) -> None:
        """Turns fall due at this rate from now on; 0: none do."""
        if turns_per_second == self._rate or self._stopped:
            return
        now_s = time.monotonic()
        # What of the interval is still to come is kept, or a rate that changes often would never come to a turn.
        left = min(max((self._next_s - now_s) * self._rate, 0.0), 1.0) if self._rate else 1.0
        self._rate = turns_per_second
        self._halt()
        if turns_per_second:
            self._next_s = now_s + left / turns_per_second
            self._clock = gevent.spawn(self._run)

    def take(self) -> bool:
        """Wait for a turn that is due; False if no more will come."""
        if self._stopped:
            return False
        if self._due:
            self._begin(self._due.popleft())
            return True
        ticket: AsyncResult = AsyncResult()
        self._free.append(ticket)
        try:
            due_s = ticket.get()
        except BaseException:
            if ticket.ready() and ticket.value is not None:
                self._due.appendleft(ticket.value)
            elif ticket in self._free:
                self._free.remove(ticket)
            raise
        if due_s is None:
            return False
        self._begin(due_s)
        return True

    def stop(self) -> None:
        """No more turns."""
        self._stopped = True
        self._halt()
        self._given_up += len(self._due)
        self._due.clear()
        while self._free:
            self._free.popleft().set(None)

    def lateness(self) -> Lateness:
        """How late turns began; quantiles are upper bounds, at most 25 % too high."""
        return Lateness(
            begun=self._begun,
            waiting=len(self._due) + self._given_up,
            p50_ms=self._quantile(0.50),
            p95_ms=self._quantile(0.95),
            max_ms=round(self._max_ms, 3),
        )

    def _halt(self) -> None:
        if self._clock is not None:
            self._clock.kill()
            self._clock = None

    def _run(self) -> None:
        while True:
            pause_s = self._next_s - time.monotonic()
            if pause_s > 0:
                gevent.sleep(pause_s)
                continue
            if self._free:
                self._free.popleft().set(self._next_s)
            elif len(self._due) < WAITING_MAX:
                self._due.append(self._next_s)
            else:
                self._given_up += 1
            self._next_s += 1 / self._rate

    def _begin(self, due_s: float) -> None:
        late_ms = max(time.monotonic() - due_s, 0) * 1e3
        self._begun += 1
        self._max_ms = max(self._max_ms, late_ms)
        self._counts[min(bisect_left(_BOUNDS_MS, late_ms), len(_BOUNDS_MS) - 1)] += 1

    def _quantile(self, share: float) -> float:
        seen = 0
        for bound, number in zip(_BOUNDS_MS, self._counts, strict=True):
            seen += number
            if number and seen >= share * self._begun:
                return round(min(bound, self._max_ms), 3)
        return 0.0
