"""Sound histories that some earlier version of the rule accused: each reduced from a seed that failed, with its reason.

Times are ticks. A store that is described here answers exactly like this, and breaks no promise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from .histories import NS_PER_MS, Append, Contract, Delete, Foreign, History, Key, Message, Op, Recall, Ttl, own


class Kept(NamedTuple):
    """A history and why it is sound."""

    name: str
    why: str
    history: History


def say(device: int, start: int, end: int, *seqs: int, **more: Any) -> Append:
    """An append; `session`, `turn`, `tokens` and `role` are those of all its messages."""
    outcome, attempt = more.pop("outcome", "ok"), more.pop("attempt", 1)
    messages = tuple(replace(Message(seq), **more) for seq in seqs)
    return Append(device, start * NS_PER_MS, end * NS_PER_MS, outcome, messages, attempt)


def look(start: int, end: int, *shown: Key | Foreign, device: int = 0, **more: Any) -> Recall:
    """An answered recall."""
    items = tuple(key if isinstance(key, Foreign) else own(*key) for key in shown)
    return Recall(device, start * NS_PER_MS, end * NS_PER_MS, more.get("limit"), "ok", items, asked=more.get("asked"))


def forget(start: int, end: int, session: int | None = None) -> Delete:
    """An acknowledged delete."""
    return Delete(0, start * NS_PER_MS, end * NS_PER_MS, "ok", session)


def user(contract: Contract, *ops: Op) -> History:
    """A conversation over all sessions of a user."""
    return History(contract, ops, "user")


def ttl(life: int, **more: Any) -> Ttl:
    """An expiry, by default of a session, refreshed by writing."""
    return Ttl(life * NS_PER_MS, **({"unit": "session", "refresh": "write"} | more))


KEPT = (
    Kept(
        "trimmed-then-deleted",
        "the window is cut when it is written to: 0.1 and 0.2 pushed 0.0 out, and then their session was deleted",
        user(
            Contract(window=2),
            say(0, 0, 1, 0, session=1),
            say(0, 2, 3, 1, 2, session=2),
            look(4, 5, (0, 1), (0, 2)),
            forget(6, 7, session=2),
            look(8, 9),
        ),
    ),
    Kept(
        "trimmed-then-expired",
        "the same, but the other session expired",
        user(
            Contract(window=2, ttl=ttl(20)),
            say(0, 0, 1, 0, session=1),
            say(0, 2, 3, 1, 2, session=2),
            say(1, 12, 13, 0, session=1),
            say(1, 14, 15, 1, session=1),
            look(16, 17, (1, 0), (1, 1)),
            look(25, 26, (1, 0), (1, 1)),
        ),
    ),
    Kept(
        "late-write-of-the-same-device",
        "where the last writer wins, 0.1 read before 0.2 was written and was written after it, long after its timeout",
        History(
            Contract(last_writer=True),
            (say(0, 0, 1, 0), say(0, 4, 5, 1, outcome="info"), say(0, 6, 7, 2), look(9, 10, (0, 0), (0, 1))),
        ),
    ),
    Kept(
        "delete-undone-by-the-last-writer",
        "the append of 0.1 had read the history before the delete, and wrote it back after it",
        History(
            Contract(last_writer=True),
            (say(0, 0, 1, 0), say(1, 2, 6, 0), forget(3, 4), look(8, 9, (0, 0), (1, 0))),
        ),
    ),
    Kept(
        "turn-interrupted",
        "0.0 and 0.1 went when a fifth turn began; then their turn went on with 0.2, and the turn of 1.0 had to go",
        History(
            Contract(turns=4),
            (
                say(0, 0, 8, 0, turn=1),
                say(1, 4, 5, 0, turn=1),
                say(1, 6, 9, 1, turn=2),
                say(1, 10, 11, 2, turn=3),
                say(0, 14, 18, 1, 2, turn=1),
                say(1, 15, 16, 3, turn=4),
                look(20, 21, (1, 1), (1, 2), (1, 3), (0, 2)),
            ),
        ),
    ),
    Kept(
        "stranger-at-the-edge",
        "between 0.0 and 0.1 of one turn another session wrote, whose turn is the one that had to go",
        user(
            Contract(turns=1, isolation=frozenset({"user", "tenant"})),
            say(0, 0, 1, 0, turn=1),
            say(0, 5, 6, 1, turn=1),
            look(8, 9, (0, 1)),
        ),
    ),
    Kept(
        "strangers-that-came-and-went",
        "another session filled the window that both share, and was deleted by a conversation of its own",
        user(
            Contract(window=2, isolation=frozenset({"user", "tenant"})),
            say(0, 0, 1, 0),
            look(4, 5, Foreign("session"), Foreign("session")),
            look(8, 9),
        ),
    ),
    Kept(
        "pinned-and-gone",
        "pinned 0.0 left no room for 0.1 in the window; then it expired",
        History(
            Contract(tokens=10, pinned=1, ttl=ttl(30, unit="message", refresh="none")),
            (
                say(0, 0, 1, 0, tokens=8),
                say(0, 4, 5, 1, tokens=4),
                look(6, 7, (0, 0)),
                look(32, 33),
            ),
        ),
    ),
    Kept(
        "pinned-in-a-session",
        "session 2 is kept as a window of its own, its first message pinned, which leaves no room for 0.2 in it",
        user(
            Contract(tokens=10, pinned=1),
            say(0, 0, 1, 0, session=1, tokens=2),
            say(0, 2, 3, 1, session=2, tokens=6),
            say(0, 4, 5, 2, session=2, tokens=5),
            say(0, 6, 7, 3, session=1, tokens=1),
            look(8, 9, (0, 0), (0, 1), (0, 3)),
        ),
    ),
    Kept(
        "small-one-kept-by-its-session",
        "session 1 had no room for large 0.1 beside 0.2; what is left is so small that 0.0 of session 2 fits",
        user(
            Contract(tokens=10),
            say(0, 0, 1, 0, session=2, tokens=1),
            say(0, 2, 3, 1, session=1, tokens=8),
            say(0, 4, 5, 2, session=1, tokens=5),
            look(6, 7, (0, 0), (0, 2)),
        ),
    ),
    Kept(
        "answered-twice",
        "both copies of a resent fact are what was searched for, and fill the page",
        History(
            Contract(stores_resends=True),
            (
                say(0, 0, 1, 0),
                say(0, 2, 3, 1, outcome="info"),
                say(0, 4, 5, 1, attempt=2),
                look(6, 7, (0, 1), (0, 1), limit=2, asked=((0, 0), (0, 1))),
            ),
        ),
    ),
    Kept(
        "brought-back-by-a-resend",
        "0.0 was deleted; its resend, under way since before 0.1 was sent, stored it anew behind 0.1",
        History(
            Contract(),
            (
                say(0, 0, 1, 0, outcome="info"),
                look(2, 3, (0, 0)),
                forget(4, 5),
                say(0, 6, 12, 0, attempt=2, outcome="info"),
                say(1, 7, 8, 0),
                look(14, 15, (1, 0), (0, 0)),
            ),
        ),
    ),
    Kept(
        "resend-that-changed-nothing",
        "the resend was taken for known, and prolonged nothing: the session expired",
        History(
            Contract(ttl=ttl(10)),
            (say(0, 0, 1, 0), say(0, 6, 7, 0, attempt=2), look(8, 9, (0, 0)), look(14, 15)),
        ),
    ),
    Kept(
        "refreshed-too-late-for-the-replica",
        "the replica that answers is not yet told of the append at 8, and lets the session expire by what it knows",
        History(
            Contract(ttl=ttl(10), visibility_ns=6 * NS_PER_MS),
            (say(0, 0, 1, 0), say(0, 8, 9, 1), look(12, 13)),
        ),
    ),
)
"""All of them."""
