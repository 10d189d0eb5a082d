"""Start, inspect and stop a deployment of the reference memory.

An embedded deployment is a handful of plain processes (PostgreSQL, Redis, instances, Caddy) in one folder, without
Docker and without root. Three roles share it::

    owner ── starts it, serves control.sock ──► asked by whoever wants to see or disturb it (``ask``)
      │ pipe
    keeper ── parent of all parts; ends them and removes the folder when the pipe ends, however it ends
      │
    parts

Use it as a context manager::

    with Deployment.start(Plan(store="journal", instances=3)) as deployment:
        print(deployment.url)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stress.deployment.control import ask
    from stress.deployment.embedded import Deployment
    from stress.deployment.plan import Plan

__all__ = ["Deployment", "Plan", "ask"]

_HOMES = {"Deployment": "embedded", "Plan": "plan", "ask": "control"}


def __getattr__(name: str) -> Any:
    # On first use: the keeper imports this package too, and must be up before anything else is.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
