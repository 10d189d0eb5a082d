"""One request and its outcome: what an observed answer proves about what the memory did.

    observed                                                   append               recall
    no byte of the request was sent (refused, dns, tls, …)     fail                 fail
    2xx in the mapped form, every id acknowledged              ok                   ok
    2xx with other ids than those sent                         info partial-ack     –
    2xx, but cut, empty or not the mapped form                 info unparsable      fail unparsable
    400 401 403 409 413 422 429                                fail                 fail
    404                                                        fail                 ok, an empty list
    everything else, timeout, reset, end of connection         info                 fail
    killed in mid-request                                      info killed          info killed

A delete follows the append column, but a 404 to it is ok: there is nothing left of the session either way.
"""

from __future__ import annotations

import msgspec

from goldfish.oplog import Outcome, Reason
from stress.swarm.http import Answer, AttemptError
from stress.targets.reference import Item, ReferenceTarget, UnreadableError

REJECTED = frozenset({400, 401, 403, 404, 409, 413, 422, 429})
"""Statuses that say loudly: not stored."""


class Result(msgspec.Struct, frozen=True, gc=False):
    """The outcome of one attempt."""

    outcome: Outcome
    reason: Reason | None = None
    status: int | None = None
    instance: str | None = None
    detail: str = ""
    """For people, of few variants and without anything from a body."""
    items: list[Item] | None = None
    """What a recall that is ok listed."""


KILLED = Result("info", "killed", detail="killed")


def of_append(target: ReferenceTarget, ids: list[str], answer: Answer | AttemptError) -> Result:
    """Classify the answer to an append of the messages ``ids``."""
    if isinstance(answer, AttemptError):
        return _unanswered(answer, write=True)
    if not 200 <= answer.status < 300:
        return _refused(answer, write=True)
    try:
        stored = target.stored(answer)
    except UnreadableError:
        return _result("info", "unparsable", answer)
    return _ok(answer) if stored == ids else _result("info", "partial-ack", answer)


def of_recall(target: ReferenceTarget, answer: Answer | AttemptError) -> Result:
    """Classify the answer to a recall."""
    if isinstance(answer, AttemptError):
        return _unanswered(answer, write=False)
    if answer.status == 404:
        return _ok(answer, [])
    if not 200 <= answer.status < 300:
        return _refused(answer, write=False)
    try:
        items = target.listed(answer)
    except UnreadableError:
        return _result("fail", "unparsable", answer)
    return _ok(answer, items)


def of_delete(answer: Answer | AttemptError) -> Result:
    """Classify the answer to a delete."""
    if isinstance(answer, AttemptError):
        return _unanswered(answer, write=True)
    if 200 <= answer.status < 300 or answer.status == 404:
        return _ok(answer)
    return _refused(answer, write=True)


def _unanswered(error: AttemptError, *, write: bool) -> Result:
    if error.status is not None and 200 <= error.status < 300 and error.reason == "eof":
        return Result("info" if write else "fail", "unparsable", error.status, detail="unparsable: cut short")
    outcome: Outcome = "info" if write and error.sent else "fail"
    return Result(outcome, error.reason, error.status, detail=error.reason)


def _refused(answer: Answer, *, write: bool) -> Result:
    outcome: Outcome = "info" if write and answer.status not in REJECTED else "fail"
    return _result(outcome, "status", answer)


def _ok(answer: Answer, items: list[Item] | None = None) -> Result:
    return Result("ok", None, answer.status, answer.instance, "", items)


def _result(outcome: Outcome, reason: Reason, answer: Answer) -> Result:
    detail = f"status {answer.status}" if reason == "status" else reason
    return Result(outcome, reason, answer.status, answer.instance, detail)
