"""What a deployment should consist of."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from goldfish.errors import UsageError
from goldfish.spec import Spec
from stress.memory.registry import Settings, defects_of, store_named
from stress.targets.host.hosted import NEEDS, Hosted, Need

INSTANCES_MAX = 32

BALANCES = {"round-robin": "round_robin", "sticky": "cookie goldfish_instance", "random": "random"}
"""How the balancer chooses an instance, and how Caddy calls it. ``sticky`` is a cookie, kept per device."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment of the reference memory, or of a library that is hosted in its place.

    Raises:
        UsageError: it cannot be meant; the message says what is known or allowed.
    """

    store: str = "journal"
    instances: int = 3
    balance: str = "round-robin"
    defects: tuple[Spec, ...] = ()
    """For all instances, or (``lost-update@m2``) for one."""
    port: int = 0
    """Of the balancer on 127.0.0.1; 0: the system chooses."""
    library: Hosted | None = None
    """What the instances serve instead of the store; ``stress.targets.host.hosted.hosted`` finds it."""

    def __post_init__(self) -> None:
        store_named(self.store)
        if not 1 <= self.instances <= INSTANCES_MAX:
            raise UsageError(f"instances is {self.instances}, expected 1 to {INSTANCES_MAX}")
        if self.balance not in BALANCES:
            raise UsageError(f"unknown balance '{self.balance}': known are {', '.join(BALANCES)}")
        if not 0 <= self.port <= 65535:
            raise UsageError(f"port is {self.port}, expected 0 (any) to 65535")
        for spec in self.defects:
            if spec.part not in (None, *self.names):
                raise UsageError(f"defect '{spec}': no instance '{spec.part}', there are {', '.join(self.names)}")
        if self.library is None:
            defects_of(self.names[0], self.store, self.defects)
        elif self.defects:
            raise UsageError(f"defect '{self.defects[0]}': a hosted library has no defects to switch on")

    @property
    def names(self) -> list[str]:
        """The instances: m1, m2, …."""
        return [f"m{number}" for number in range(1, self.instances + 1)]

    @property
    def needs(self) -> tuple[Need, ...]:
        """The servers that the instances connect to."""
        return NEEDS if self.library is None else self.library.needs

    @property
    def what(self) -> str:
        """What is deployed, for people."""
        return f"store {self.store}" if self.library is None else f"library {self.library.library}"

    def told(self) -> dict[str, Any]:
        """The plan as JSON; of store and library only the one that is deployed."""
        told: dict[str, Any] = json.loads(msgspec.json.encode(self))
        for key in ("library",) if self.library is None else ("store", "defects"):
            del told[key]
        return told

    def defects_of(self, instance: str) -> Settings:
        """What one instance is told."""
        return defects_of(instance, self.store, self.defects)
