"""goldfish: does the memory behind a conversational AI lose, delay, mix up or leak what users said, under real load?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stress.swarm.user import MemoryUser
    from stress.targets.host.library import Library, Message, Surroundings

__all__ = ["Library", "MemoryUser", "Message", "Surroundings"]


def __getattr__(name: str) -> Any:
    """``from goldfish import MemoryUser`` loads Locust only then: the command itself stays light."""
    if name == "MemoryUser":
        from stress.swarm.user import MemoryUser

        return MemoryUser
    if name in __all__:
        from stress.targets.host import library

        return getattr(library, name)
    raise AttributeError(f"module 'goldfish' has no attribute '{name}'")
