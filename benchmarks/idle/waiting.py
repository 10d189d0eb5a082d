"""Measures what a user costs that has done its ``TURNS`` and waits: memory before the first and with all of them.

The measurement is one JSON line, after which the process ends at once: nobody needs the verdict of a run without load.
"""

from __future__ import annotations

import gc
import json
import os
from random import uniform
from typing import Any

import psutil
from locust import events

TURNS = int(os.environ.get("IDLE_TURNS", "1"))
"""After so many turns a user waits for good."""

_before: dict[str, float] = {}
_users: dict[int, int] = {}


def _memory() -> dict[str, float]:
    gc.collect()
    full = psutil.Process().memory_full_info()
    return {"rss_kib": full.rss / 1024, "uss_kib": full.uss / 1024}


@events.init.add_listener
def _on_init(environment: Any, **_: Any) -> None:
    environment.events.test_start.add_listener(lambda **_: _before.update(_memory()))


def pause(user: Any) -> float:
    """A ``wait_time``: as users have it by default between turns, and an hour once they are done."""
    turns = _users[id(user)] = _users.get(id(user), 0) + 1
    if turns < TURNS:
        return uniform(0.02, 0.2)
    if turns == TURNS and sum(told >= TURNS for told in _users.values()) == user.environment.parsed_options.num_users:
        _tell(user.environment)
    return 3600


def _tell(environment: Any) -> None:
    after = _memory()
    told = {"users": len(_users), "turns": TURNS, "failures": environment.stats.total.num_failures}
    told |= {f"{name}_per_user": (after[name] - _before[name]) / len(_users) for name in after}
    print("METER", json.dumps(told), flush=True)
    os._exit(0)
