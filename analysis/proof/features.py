"""What the proof understands: a closed list. Everything else is for the slow path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.batches import NONE, Batch, Conversations
from analysis.columns import OPERATIONS, SUSPECT, select
from goldfish.contract import Contract, Window

Mask = NDArray[np.bool_]
SPAN_MAX = 2**61
"""Stamps of a batch, laid end to end, fit into 62 bits."""


def understood(contract: Contract) -> bool:
    """Whether the contract promises nothing but what this proof knows of."""
    plain = Contract(
        scope=contract.scope,
        window=Window(messages=contract.window.messages),
        page=contract.page,
        visibility_ms=contract.visibility_ms,
        settle_ms=contract.settle_ms,
        # These excuse elements of a kind that no plain conversation has.
        isolation=contract.isolation,
        content=contract.content,
        unmarked=contract.unmarked,
    )
    return plain == contract


def unusual(batch: Batch, conversations: Conversations, contract: Contract) -> Mask:
    """Conversations with a row that is not plain: a search, a second attempt, a delete, an element of others."""
    tables = batch.tables
    suspect = np.zeros(batch.size, bool)
    appends, recalls = tables["append"], tables["recall"]

    suspect[appends["conversation"][(appends["messages"] == 0) | (appends["attempt"] != 1)]] = True
    suspect[recalls["conversation"][recalls["odd"] == SUSPECT]] = True
    if contract.unmarked == "forbid":
        suspect[recalls["conversation"][recalls["odd"] > 0]] = True

    # One view, and one that is promised.
    views = np.array([view in ("session", "user") and view in contract.scope for view in conversations.views], bool)
    suspect[recalls["conversation"][~views[recalls["view"]]]] = True
    differs = recalls["view"][1:] != recalls["view"][:-1]
    suspect[recalls["conversation"][1:][differs & (np.diff(recalls["conversation"]) == 0)]] = True
    by_session = np.zeros(batch.size, bool)
    in_session = np.array([view == "session" for view in conversations.views], bool)
    by_session[recalls["conversation"][in_session[recalls["view"]]]] = True

    # Whoever writes names the session; a session conversation has one.
    low, high = np.full(batch.size, np.iinfo(np.int32).max), np.full(batch.size, NONE - 1)
    for kind in ("append", "recall", "delete"):
        where, session = tables[kind]["conversation"], conversations.voice_session[tables[kind]["voice"]]
        if kind != "recall":
            suspect[where[session == NONE]] = True
        np.minimum.at(low, where, session)
        np.maximum.at(high, where, session)
    suspect |= by_session & (low < high)

    # A delete excuses from its start on; one that comes after the last recall excuses nobody.
    latest = np.full(batch.size, -1)
    np.maximum.at(latest, recalls["conversation"], recalls["end"])
    where = tables["delete"]["conversation"]
    suspect[where[tables["delete"]["start"] <= latest[where]]] = True
    return suspect


def without(batch: Batch, suspect: Mask) -> Batch:
    """The rows of the other conversations."""
    if not suspect.any():
        return batch
    masks = {kind: ~suspect[batch.tables[kind]["conversation"]] for kind in OPERATIONS}
    return Batch(batch.first, batch.size, select(batch.tables, masks))
