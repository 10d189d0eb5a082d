"""The classes of anomalies, one entry each. Checker, report, docs and tests read this registry."""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["loss", "zero-tolerance", "disorder"]


class Anomaly(NamedTuple):
    """One class of findings."""

    name: str
    meaning: str
    rule: str
    severity: Severity
    """loss: counts in the context-loss rate · zero-tolerance: one proven case fails the run · disorder: reported."""
    clock: str
    """What the proof needs of the stamps."""
    example: str
    causes: tuple[str, ...]
    remedies: tuple[str, ...]


ANOMALIES: dict[str, Anomaly] = {
    entry.name: entry
    for entry in (
        Anomaly(
            "missing",
            "a message that was owed is not in the recalled list",
            "due in the recall, not shown, and nothing that may have been stored can have pushed it out of the list",
            "loss",
            "stamps of one conversation share one clock",
            "acknowledged at 3 s; a recall at 5 s lists everything around it, but not this message",
            (
                "a write acknowledged before it is stored",
                "a per-process cache behind a balancer",
                "read, append, write back without a lock",
            ),
            (
                "acknowledge after commit",
                "share or validate the cache",
                "append atomically, or hold a lock over read and write",
            ),
        ),
        Anomaly(
            "duplicated",
            "one message is listed more than once",
            "a second copy of one token in one list",
            "disorder",
            "none",
            "a resend after a timeout is stored as a new message",
            ("a retry without an idempotency key", "a merge of two caches"),
            ("take the message id as the idempotency key",),
        ),
        Anomaly(
            "reordered",
            "messages are listed in an order that cannot be the one they were stored in",
            "x is listed before y though y is certainly before x; or two recalls show a pair in opposite orders",
            "disorder",
            "stamps of one conversation share one clock",
            "the answer is listed before the question it answers",
            ("order by a coarse or skewed timestamp", "several writers without one sequence"),
            ("order by a sequence that the store assigns",),
        ),
        Anomaly(
            "corrupted",
            "a message is listed with another content than was sent",
            "its token is legible, but the text was truncated or altered, or the role changed",
            "zero-tolerance",
            "none",
            "a text cut at 4,000 characters",
            ("a column or field of limited length", "a character set that cannot hold the text"),
            ("reject what cannot be stored", "store UTF-8 without a length limit"),
        ),
        Anomaly(
            "foreign",
            "a message of another conversation is listed",
            "a listed token names another session, another user or another tenant",
            "zero-tolerance",
            "none",
            "Ada's laptop lists what Ben told the assistant",
            ("state shared between requests", "a key that leaves out the user or the tenant"),
            ("keep nothing in a process between requests", "put tenant, user and session into every key"),
        ),
        Anomaly(
            "phantom",
            "something is listed that nobody stored",
            "a rejected append is shown (only this fails a run), a token of another run, or an element without one",
            "zero-tolerance",
            "none",
            "the service answered 422, and the message turns up all the same",
            ("stored before it was validated", "left over data under reused ids"),
            ("validate before storing", "never reuse ids"),
        ),
    )
}

POSITIONS: dict[str, str] = {
    "blank": "nothing of the conversation is listed",
    "tail": "the newest messages are missing",
    "head": "the oldest messages are missing",
    "gap": "messages between listed ones are missing",
    "unplaced": "overlapping writes leave its place open",
}
