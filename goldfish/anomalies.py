"""The classes of anomalies and their flags, one entry each. Checker, report, docs and tests read this registry.

A finding has one class, which says what is wrong with a list, and perhaps flags, which say more about it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["loss", "zero-tolerance", "disorder", "flag"]


class Anomaly(NamedTuple):
    """One class of findings, or one flag."""

    name: str
    meaning: str
    rule: str
    severity: Severity
    """loss: counts in the context-loss rate · zero-tolerance: one proven case fails the run, whatever the budget ·
    disorder: one proven case fails the run unless the budget only reports it · flag: says more of a finding."""
    clock: str
    """What the proof needs of the stamps."""
    example: str
    causes: tuple[str, ...]
    remedies: tuple[str, ...]

    @property
    def code(self) -> str:
        """Its name as the code of a reason."""
        return self.name.replace(" ", "-")


ONE_CLOCK = "stamps of one conversation share one clock"

ANOMALIES: dict[str, Anomaly] = {
    entry.name: entry
    for entry in (
        Anomaly(
            "missing",
            "a message that was owed is not in the recalled list",
            "due in the recall, not shown, and nothing that may have been stored can have pushed it out of the list",
            "loss",
            ONE_CLOCK,
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
            ONE_CLOCK,
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
        Anomaly(
            "over-retained",
            "a message is listed that must have expired",
            "after it was stored there was a stretch longer than ttl and granularity without anything that could have "
            "prolonged its life, and the recall began after it",
            "disorder",
            ONE_CLOCK,
            "a session expires after an hour; after two silent hours it is listed",
            ("an expiry that is never set, or set anew by every sweep", "a copy elsewhere without an expiry"),
            ("set the expiry with the write, in one operation", "give caches and copies the same expiry"),
        ),
        Anomaly(
            "expired early",
            "what expires as a whole is gone as a whole after a pause that it should have survived",
            "a lossy recall shows nothing of a session (user, message) that was shown before and is never shown again, "
            "after a pause shorter than ttl, but longer than any it survived",
            "loss",
            ONE_CLOCK,
            "a session should live an hour after its last append; after ten quiet minutes all of it is gone",
            (
                "expiry in other units, or on a shifted clock",
                "an expiry that activity does not refresh",
                "eviction under memory pressure",
            ),
            ("refresh the expiry with every append", "use the store's own clock", "do not let the store evict"),
        ),
        Anomaly(
            "resurrected",
            "a message is listed that was deleted",
            "it was stored before an acknowledged delete of its session began, nothing can have stored it again, and "
            "the recall began after the delete and its visibility",
            "disorder",
            ONE_CLOCK,
            "the chat was deleted at 3 s; at 5 s a message from before is listed",
            ("a slow write that re-creates what was deleted", "a cache that a delete does not reach"),
            ("keep a tombstone or a generation for deleted sessions", "delete in caches as well"),
        ),
        Anomaly(
            "window overrun",
            "more is listed than the window, the limit or the page allows",
            "more first copies of own messages than the list has places; in turns or tokens, more than the window "
            "holds even by lower bounds",
            "disorder",
            "none",
            "21 messages from a window of 20",
            ("a window cut before the newest message is added", "a limit of 0 taken for none"),
            ("cut after adding", "tell 0 from absent"),
        ),
        Anomaly(
            "unretrieved",
            "a search did not return a fact that it was asked for",
            "the fact is due, the list has room for it or holds something that was not asked for",
            "loss",
            ONE_CLOCK,
            "asked for the order number, the search returns small talk",
            ("an index that lags", "approximate retrieval", "a filter that is applied after the best were chosen"),
            ("index before acknowledging", "search exactly, or wider", "filter inside the search"),
        ),
    )
}

FLAGS: dict[str, Anomaly] = {
    entry.name: entry
    for entry in (
        Anomaly(
            "torn turn",
            "the other half of the missing message's turn is listed",
            "all messages of the turn were acknowledged, and at least one of them is shown",
            "flag",
            ONE_CLOCK,
            "the answer is listed without its question",
            ("a window that cuts a turn in two", "two halves of a turn written one by one"),
            ("cut between turns", "store a turn in one operation"),
        ),
        Anomaly(
            "read-your-writes",
            "the reading device itself wrote the missing message",
            "it had the acknowledgement before the recall began",
            "flag",
            ONE_CLOCK,
            "the phone does not see what the phone just said",
            ("acknowledged before it is stored", "a recall from a replica or another instance's cache"),
            ("acknowledge after commit", "read from where the write went, or wait for it"),
        ),
        Anomaly(
            "monotonic-reads",
            "the reading device had seen the missing message",
            "a recall of the same device that shows it ended before this one began",
            "flag",
            ONE_CLOCK,
            "the laptop sees a message at 3 s and does not see it at 5 s",
            ("instances with caches of different age", "a write that is overwritten later"),
            ("stick to an instance, or validate caches", "append instead of writing back"),
        ),
        Anomaly(
            "monotonic-writes",
            "a later message of the same author is listed",
            "its author certainly wrote something shown after it",
            "flag",
            ONE_CLOCK,
            "of two messages from the phone only the second is listed",
            ("writes on different paths or queues", "one write of several that was lost"),
            ("one queue for one conversation",),
        ),
        Anomaly(
            "writes-follow-reads",
            "somebody who had seen the missing message wrote what is listed",
            "the author of a shown message had seen the missing one before sending it",
            "flag",
            ONE_CLOCK,
            "the laptop's answer is listed without the phone's question that it had read",
            ("writes that are copied without their order",),
            ("copy in the order of one log",),
        ),
        Anomaly(
            "cross-device",
            "another device than the author's misses the message",
            "none of the other guarantees is certainly broken",
            "flag",
            ONE_CLOCK,
            "what the phone said an hour ago is not listed on the laptop",
            ("memory kept by device, process or connection",),
            ("keep memory by user and session",),
        ),
        Anomaly(
            "after a retry",
            "the duplicated message was sent more than once",
            "the record holds more than one attempt at it",
            "flag",
            "none",
            "the append timed out and was sent again; both are listed",
            ("a retry without an idempotency key",),
            ("take the message id as the idempotency key",),
        ),
        Anomaly(
            "surfaced",
            "a message without acknowledgement is listed",
            "its append was refused, or never answered, and a recall shows it",
            "flag",
            "none",
            "the append timed out, and its message is listed a second later",
            ("a timeout shorter than the write takes",),
            ("none is needed: it is owed from then on",),
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
