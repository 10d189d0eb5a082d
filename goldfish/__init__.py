"""goldfish: does the memory behind a conversational AI lose, delay, mix up or leak what users said, under real load?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stress.swarm.user import MemoryUser
    from stress.targets.adapter import Adapter
    from stress.targets.host.library import Library, Surroundings
    from stress.targets.message import Message

__all__ = ["Adapter", "Library", "MemoryUser", "Message", "Surroundings"]

_HOMES = {
    "Adapter": "stress.targets.adapter",
    "Library": "stress.targets.host.library",
    "MemoryUser": "stress.swarm.user",
    "Message": "stress.targets.message",
    "Surroundings": "stress.targets.host.library",
}


def __getattr__(name: str) -> Any:
    """``from goldfish import MemoryUser`` loads Locust only then: the command itself stays light."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'goldfish' has no attribute '{name}'")
