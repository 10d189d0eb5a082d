"""What all load processes of a run have in common. The conductor makes it; to workers it travels as JSON."""

from __future__ import annotations

import msgspec

from goldfish.contract import Settings
from stress.swarm.device import ConnectionPolicy
from stress.targets.load import Source


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as every load process has to know it."""

    run: str
    tag: str
    """What users and tokens of this run carry."""
    directory: str
    """The run directory, absolute."""
    host: str
    target: Source
    """How it is asked; secrets are left to the environment of each process."""
    timeout_s: float
    """How long one answer may take."""
    settings: Settings
    scenarios: tuple[str, ...]
    """Those that the contract allows."""
    connection: ConnectionPolicy
    seed: int
    owned: bool
    """The deployment is ours: nothing needs to be deleted, a store dump may follow."""
    users: int
    """Over all load processes."""
    turns: int = 0
    """The run ends after this many, over all load processes; 0: by time or by hand."""
    until_proven: bool = False
    """The run ends when the budget is proven to be kept, or not to be."""
    turns_per_second: float = 0
    """Open arrivals over all load processes; 0: every user begins a turn when it likes."""

    def encode(self) -> str:
        """As text."""
        return msgspec.json.encode(self).decode()

    @staticmethod
    def decode(text: str) -> Plan:
        """From text."""
        return msgspec.json.decode(text, type=Plan)
