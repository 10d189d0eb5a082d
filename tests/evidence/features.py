"""The names of what is special about a history, so that it can be counted how often each was tried."""

from __future__ import annotations

from collections.abc import Mapping

from .histories import NS_PER_MS, Append, Delete, History, Key, Recall
from .store import Design


def name_features(design: Design, history: History, drawn: set[str], *, devices: int, sessions: int) -> set[str]:
    """The features that a history has, besides those named when they were drawn.

    Args:
        design: the store it came from.
        history: the history.
        drawn: the features named already.
        devices: how many devices there are.
        sessions: how many sessions; 0: the conversation spans one.
    """
    contract = history.contract
    ttl = contract.ttl
    several = sessions > 1
    deletes = any(isinstance(op, Delete) for op in history.ops)
    present = {
        "user-scope": sessions > 0,
        "session-scope": not sessions,
        "no-window": contract.window is None and contract.turns is None and contract.tokens is None,
        "window": contract.window is not None,
        "turns": contract.turns is not None,
        "tokens": contract.tokens is not None,
        "keep-at-least": contract.keep_at_least > 0,
        "pinned": contract.pinned == 1,
        "several pinned": contract.pinned > 1,
        "page-default": contract.page_default is not None,
        "page-max": contract.page_max is not None,
        "several-sessions": several,
        "several-devices": devices > 1,
        "visibility": contract.visibility_ns > 0,
        "order-slack": contract.slack_ns > 0,
        "order-unspecified": not contract.ordered,
        "dedupe-none": contract.stores_resends,
        "resend stored again": contract.stores_resends and "resend" in drawn,
        "last-writer": contract.last_writer,
        "roles": contract.roles is not None,
        "session not isolated": "session" not in contract.isolation,
        "nul stripped": contract.strips_nul,
        "trims-at-write": design.trims is not None,
        "trims each session": design.trims == "session" and several,
        "trims and lets go": design.trims is not None and (ttl is not None or deletes),
        "unmarked-allowed": contract.unmarked == "allow",
        "granularity": ttl is not None and ttl.granularity_ns > 0,
        "ttl and visibility": ttl is not None and contract.visibility_ns > 0,
    }
    if ttl is not None:
        present[f"ttl of a {ttl.unit}, refresh {ttl.refresh}"] = True
    ends = {op.end_ns for op in history.ops}
    present["equal-stamps"] = any(op.start_ns in ends for op in history.ops if op.start_ns != op.end_ns)
    return {name for name, there in present.items() if there} | _overlaps(history)


def late_writes(history: History, stored: Mapping[Key, float]) -> set[str]:
    """An indeterminate write that took effect only after a recall that began after its end had been answered.

    Args:
        history: the history.
        stored: when each message was stored for the last time, in ticks.
    """
    for op in history.ops:
        if isinstance(op, Append) and op.outcome == "info":
            at_ns = stored.get((op.device, op.messages[0].seq), -1.0) * NS_PER_MS
            if any(
                isinstance(other, Recall) and op.end_ns < other.start_ns and other.end_ns + NS_PER_MS < at_ns
                for other in history.ops
            ):
                return {"indeterminate-after-recall"}
    return set()


def _overlaps(history: History) -> set[str]:
    found: set[str] = set()
    writers = [op for op in history.ops if isinstance(op, Append)]
    for op in history.ops:
        for writer in writers:
            if writer.device != op.device and writer.start_ns <= op.end_ns and op.start_ns <= writer.end_ns:
                found.add("overlapping-devices")
                if isinstance(op, Append):
                    found.add("overlapping-writers")
                elif isinstance(op, Recall):
                    found.add("recall-overlaps-append")
    return found
