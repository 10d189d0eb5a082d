"""What an observed answer proves about what the memory did.

    observed                                                   append               recall
    no byte of the request was sent (refused, dns, tls, …)     fail                 fail
    2xx in the target's form, every id acknowledged            ok                   ok
    2xx with other ids than those sent                         info partial-ack     –
    2xx, but cut, empty or not the target's form               info unparsable      fail unparsable
    400 401 403 409 413 422 429                                fail                 fail
    404                                                        fail                 ok, an empty list
    everything else, timeout, reset, end of connection         info                 fail
    killed in mid-request                                      info killed          info killed

A delete follows the append column, but a 404 to it is ok: there is nothing left of the session either way.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from goldfish.oplog import Outcome, Reason
from stress.swarm.answer import Answer, AttemptError

REJECTED = frozenset({400, 401, 403, 404, 409, 413, 422, 429})
"""Statuses that say loudly: not stored."""


class Item(msgspec.Struct, frozen=True, gc=False):
    """One message as it is sent, or one element of a recalled list."""

    id: str
    role: str
    content: str


class Result(msgspec.Struct, frozen=True, gc=False):
    """The outcome of one step."""

    outcome: Outcome
    reason: Reason | None = None
    status: int | None = None
    instance: str | None = None
    detail: str = ""
    """For people, of few variants and without anything from a body."""
    items: list[Item] | None = None
    """What a recall that is ok listed."""


class UnreadableError(Exception):
    """A 2xx answer that has not the form the interface promises."""


KILLED = Result("info", "killed", detail="killed")


def unanswered(error: AttemptError, *, write: bool) -> Result:
    """There is no whole answer."""
    if error.status is not None and 200 <= error.status < 300 and error.reason == "eof":
        return Result("info" if write else "fail", "unparsable", error.status, detail="unparsable: cut short")
    outcome: Outcome = "info" if write and error.sent else "fail"
    return Result(outcome, error.reason, error.status, detail=error.reason)


def refused(answer: Answer, *, write: bool, rejected: Collection[int] = REJECTED) -> Result:
    """The status is not one of those that accept."""
    return unusual("info" if write and answer.status not in rejected else "fail", "status", answer)


def accepted(answer: Answer, items: list[Item] | None = None) -> Result:
    """All that was asked for was done."""
    return Result("ok", None, answer.status, answer.instance, "", items)


def unreadable(answer: Answer, *, write: bool) -> Result:
    """The status accepts, but nobody can say what."""
    return unusual("info" if write else "fail", "unparsable", answer)


def partial(answer: Answer) -> Result:
    """Other ids are acknowledged than were sent."""
    return unusual("info", "partial-ack", answer)


def unusual(outcome: Outcome, reason: Reason, answer: Answer) -> Result:
    """An answer that is not ok."""
    detail = f"status {answer.status}" if reason == "status" else reason
    return Result(outcome, reason, answer.status, answer.instance, detail)
