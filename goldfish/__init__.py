"""goldfish: does the memory behind a conversational AI lose, delay, mix up or leak what users said, under real load?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stress.swarm.user import MemoryUser
    from stress.targets.adapter import Adapter, Message

__all__ = ["Adapter", "MemoryUser", "Message"]

_HOMES = {
    "Adapter": "stress.targets.adapter",
    "MemoryUser": "stress.swarm.user",
    "Message": "stress.targets.adapter",
}


def __getattr__(name: str) -> Any:
    """``from goldfish import MemoryUser`` loads Locust only then: the command itself stays light."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'goldfish' has no attribute '{name}'")
