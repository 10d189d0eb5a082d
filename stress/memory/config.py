"""What one instance is told when it starts."""

from __future__ import annotations

from pathlib import Path

import msgspec

from stress.memory.registry import Settings
from stress.targets.host.hosted import Hosted


class InstanceConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contents of ``--config FILE`` (JSON)."""

    name: str
    store: str = ""
    postgres: str
    """A DSN; may name a folder of unix sockets: ``postgresql://postgres@/postgres?host=/folder``."""
    redis: str
    """Path of a unix socket."""
    defects: Settings = {}
    host: str = "127.0.0.1"
    port: int = 0
    """0: the system chooses."""
    library: Hosted | None = None
    """A library that is hosted instead of the store."""
    folder: str = ""
    """With a library: where it may keep files that all instances share."""
    ready_file: str | None = None
    """Written, whole, once the instance listens: ``{"name", "pid", "address"}``; None: one line on standard output."""


def read_config(path: Path) -> InstanceConfig:
    """Read the file; msgspec.ValidationError says what is wrong with it."""
    return msgspec.json.decode(path.read_bytes(), type=InstanceConfig)
