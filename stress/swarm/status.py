"""What a load process tells its conductor: once a second, and whenever its state changes.

Counters are totals, not differences: a message that is lost is made good by the next one.
"""

from __future__ import annotations

import os
import socket
from typing import Any, Literal

import msgspec

from goldfish.run import Counters

State = Literal["warmup", "load", "drain", "final", "closed", "absent"]
"""absent: the process takes no part in the run, and has nothing open."""


class Status(msgspec.Struct, kw_only=True):
    """How one load process stands."""

    run: str
    process: str
    state: State
    pid: int = msgspec.field(default_factory=os.getpid)
    machine: str = msgspec.field(default_factory=socket.gethostname)
    turns: int = 0
    open: int = 0
    """Conversations that are not closed."""
    counters: Counters = msgspec.field(default_factory=Counters)
    problems: list[str] = []
    failure: str | None = None
    """Why nothing can be recorded any more."""

    def pack(self) -> dict[str, Any]:
        """As plain types, for the message."""
        return dict(msgspec.to_builtins(self))

    @staticmethod
    def unpack(data: Any) -> Status:
        """From the message.

        Raises:
            msgspec.ValidationError: another version of this tool sent it.
        """
        return msgspec.convert(data, Status)
