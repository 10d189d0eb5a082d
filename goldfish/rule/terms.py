"""A contract as the rule reads it: stamps instead of milliseconds, one flat record instead of tables."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec

from goldfish.contract import Contract
from goldfish.rule.message import Message


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What is promised. The defaults promise everything at once and for ever."""

    visibility_ns: int = 0
    slack_ns: int | None = 0
    """How long after its storing a message's place may still change; None: lists have no order."""
    messages: int | None = None
    turns: int | None = None
    tokens: int | None = None
    pinned: int = 0
    shared: bool = False
    """Messages of the user's other sessions may take places, too, and go as they came."""
    alone: bool = True
    """Nothing but own messages takes places: no elements of the memory's own, and none of the user's other sessions."""
    keep_at_least: int = 0
    page_default: int | None = None
    page_max: int | None = None
    ttl_ns: int | None = None
    granularity_ns: int = 0
    unit: Literal["session", "user", "message"] = "session"
    refresh: Literal["write", "read", "none"] = "write"
    stores_resends: bool = False
    """A message that is sent again is stored again."""
    last_writer: bool = False
    """Appends of several devices at the same time may overwrite each other."""
    roles: frozenset[str] | None = None
    """Roles that are stored; None: all."""

    @property
    def sized(self) -> bool:
        """Whether the window is counted in turns or tokens."""
        return self.turns is not None or self.tokens is not None

    @property
    def plain(self) -> bool:
        """Whether what is owed, while nothing expires, is simply the newest messages at once."""
        return not (self.visibility_ns or self.sized or self.pinned or self.last_writer or self.roles is not None)

    def capacity(self, limit: int | None, *, search: bool = False) -> int | None:
        """K of a recall that asks for ``limit``: the smallest bound that applies, None if none does.

        A window bounds what of a history is listed, not what a search finds.
        """
        bound = self.page_default if limit is None else limit
        for other in (self.page_max, None if search else self.messages):
            if other is not None and (bound is None or other < bound):
                bound = other
        return bound

    def copies(self, m: Message) -> int:
        """How many copies of a message the store may hold at a time."""
        return m.attempts if self.stores_resends else 1


@lru_cache(maxsize=16)
def terms_of(contract: Contract) -> Terms:
    """The terms of a contract."""
    window, ttl = contract.window, contract.ttl
    return Terms(
        visibility_ns=contract.visibility_ns,
        slack_ns=None if contract.order == "unspecified" else int(contract.order_slack_ms * 1e6),
        messages=window.messages,
        turns=window.turns,
        tokens=window.tokens,
        pinned=window.pinned,
        shared=not contract.isolates("session"),
        alone=contract.unmarked == "forbid" and contract.isolates("session"),
        keep_at_least=window.keep_at_least,
        page_default=contract.page.default,
        page_max=contract.page.max,
        ttl_ns=None if ttl is None else round(ttl.seconds * 1e9),
        granularity_ns=0 if ttl is None else int(ttl.granularity_ms * 1e6),
        unit="session" if ttl is None else ttl.unit,
        refresh="write" if ttl is None else ttl.refreshed_by,
        stores_resends=contract.dedupe == "none",
        last_writer=contract.concurrency == "last-writer",
        roles=None if contract.roles is None else frozenset(contract.roles),
    )
