"""Prints what the load process spent between the end of the ramp and the end of the load, as one JSON line."""

from __future__ import annotations

import json
import time
from typing import Any

import psutil
from locust import events

_start: dict[str, float] = {}


@events.init.add_listener
def _on_init(environment: Any, **_: Any) -> None:
    stats = environment.stats

    @environment.events.spawning_complete.add_listener
    def _on_spawned(**_: Any) -> None:
        _start.update(cpu=time.process_time(), wall=time.monotonic(), requests=stats.total.num_requests)

    def _on_stopping(**_: Any) -> None:
        if _start:
            spent = {
                "cpu_s": time.process_time() - _start["cpu"],
                "wall_s": time.monotonic() - _start["wall"],
                "requests": stats.total.num_requests - _start["requests"],
                "failures": stats.total.num_failures,
                "rss_mib": psutil.Process().memory_info().rss / 1024**2,
            }
            print("METER", json.dumps(spent), flush=True)
            _start.clear()

    # Ahead of everyone else: closing conversations belongs to the end of a run, not to its cost per turn.
    environment.events.test_stopping._handlers.insert(0, _on_stopping)
