"""Measures the middle of a run: begins when all users are there and have connected, and ends the run when it is done.

Prints one JSON line: its bounds on the monotonic clock; CPU of this process and of the server's; how much of the time
the hub had nothing to do, which tells saturation also where others use the same cores; how late it was to wake a
greenlet that wanted to run, which every user of this process waits on top of the memory's answer; memory per user.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

import gevent
import psutil
from locust import events

SETTLE_S = float(os.environ.get("STEADY_SETTLE_S", "3"))
"""From the last user's start to the beginning: connections are made, stories have fallen out of step."""
SECONDS = float(os.environ.get("STEADY_S", "7"))
TICK_S = 0.02


@events.init.add_listener
def _on_init(environment: Any, **_: Any) -> None:
    before: dict[str, float] = {}
    environment.events.test_start.add_listener(lambda **_: before.update(uss=_uss_kib()))
    environment.events.spawning_complete.add_listener(lambda **_: gevent.spawn(_measure, environment, before))


def _measure(environment: Any, before: dict[str, float]) -> None:
    gevent.sleep(SETTLE_S)
    server = psutil.Process(int(os.environ["STEADY_SERVER"]))
    start_ns, cpu, server_cpu = time.monotonic_ns(), time.process_time(), _cpu_s(server)
    requests = environment.stats.total.num_requests
    idle = Idle()
    late_ms: list[float] = []
    while (now_ns := time.monotonic_ns()) < start_ns + SECONDS * 1e9:
        gevent.sleep(TICK_S)
        late_ms.append((time.monotonic_ns() - now_ns) / 1e6 - TICK_S * 1e3)
    end_ns = time.monotonic_ns()
    users = environment.runner.user_count
    told = {
        "users": users,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "requests": environment.stats.total.num_requests - requests,
        "cpu_s": time.process_time() - cpu,
        "server_cpu_s": _cpu_s(server) - server_cpu,
        "idle_s": idle.total_s,
        "hub_late_ms": _percentiles(late_ms),
        "uss_kib_per_user": (_uss_kib() - before["uss"]) / users,
        "failures": environment.stats.total.num_failures,
    }
    print("METER", json.dumps(told), flush=True)
    environment.runner.quit()


class Idle:
    """How long the hub waited for something to happen: from just before it polls to just after."""

    def __init__(self) -> None:
        self.total_s = 0.0
        self._since_s = 0.0
        loop = gevent.get_hub().loop
        # The last to be told before a poll, when all that was ready has run, and the first after it.
        self._before, self._after = loop.prepare(priority=loop.MINPRI), loop.check(priority=loop.MAXPRI)
        self._before.start(self._begin)
        self._after.start(self._end)

    def _begin(self) -> None:
        self._since_s = time.monotonic()

    def _end(self) -> None:
        if self._since_s:
            self.total_s += time.monotonic() - self._since_s


def _uss_kib() -> float:
    return float(psutil.Process().memory_full_info().uss / 1024)


def _cpu_s(process: psutil.Process) -> float:
    spent = process.cpu_times()
    return float(spent.user + spent.system)


def _percentiles(values: list[float]) -> dict[str, float]:
    values = sorted(values)
    return {name: round(values[int(share * (len(values) - 1))], 2) for name, share in SHARES.items()}


SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
