"""Before any load: does the target answer as its interface says?

One message is appended, recalled and deleted. A target that fails here would otherwise look like a memory that loses
everything.
"""

from __future__ import annotations

from goldfish.errors import TargetError
from goldfish.token import PREFIX, Person, Token, mark
from stress.swarm import exchange
from stress.swarm.exchange import Result
from stress.swarm.http import Answer, AttemptError, Connection, Cookies, Endpoint
from stress.targets.reference import Item, ReferenceTarget, Request

TIMEOUT_S = 3.0
EXCERPT_CHARS = 120


def check_target(endpoint: Endpoint, target: ReferenceTarget, person: Person, *, by_user: bool) -> list[str]:
    """Append, recall and delete one message; returns what is odd but no obstacle.

    Args:
        endpoint: where the memory listens.
        target: how it is asked.
        person: the test user; nobody else may be this one.
        by_user: some scenario recalls everything of a person.

    Raises:
        TargetError: what was asked, what was expected, what came, what to try.
    """
    token = str(Token(person, "session", 0, "preflight", 0))
    message = Item(token, "user", mark(token, "Can you remember this? · 你记得吗？ · 🐠"))
    session = person.session(0)
    cookies = Cookies()

    request = target.append(person.id, session, [message])
    answer = _ask(endpoint, request, cookies)
    result = exchange.of_append(target, [token], answer)
    if result.outcome != "ok":
        raise _explain(endpoint, request, answer, result, '2xx with {"stored": [{"id": …}]}, the ids of what was sent')
    listed = '2xx with {"messages": [{"id": …, "role": …, "content": …}]}'
    try:
        request = target.recall(person.id, session, None)
        answer = _ask(endpoint, request, cookies)
        result = exchange.of_recall(target, answer)
        if result.outcome != "ok":
            raise _explain(endpoint, request, answer, result, listed)
        if by_user and result.items:
            request = target.recall(person.id, None, None)
            answer = _ask(endpoint, request, cookies)
            result = exchange.of_recall(target, answer)
            if result.outcome != "ok" or result.status == 404:
                without = (
                    "if the memory has no recall over all sessions of a user, say scope = ['session'] in the contract"
                )
                raise _explain(endpoint, request, answer, result, f"{listed}, over all sessions of the user", without)
    finally:
        deleted = exchange.of_delete(_ask(endpoint, target.delete(person.id, session), cookies))
    if deleted.outcome != "ok" or deleted.status == 404:
        told = f"status {deleted.status}" if deleted.status else deleted.reason
        return [
            f"the memory does not delete a session ({told}): the sessions of test users, {PREFIX}-…, will stay in it"
        ]
    return []


def _ask(endpoint: Endpoint, request: Request, cookies: Cookies) -> Answer | AttemptError:
    try:
        connection = Connection(endpoint, TIMEOUT_S)
        try:
            answer = connection.exchange(
                endpoint.request(request.method, request.path, "preflight", cookies.header, request.body), TIMEOUT_S
            )
        finally:
            connection.close()
    except AttemptError as error:
        return error
    cookies.take(answer.cookies)
    return answer


_ADVICE = {
    "refused": "is it running, and is the port right? `goldfish up` starts a deployment to try with",
    "dns": "is the host name spelled right?",
    "tls": "does the server speak TLS on this port, with a certificate this machine trusts?",
    "timeout": "is the address reachable from here, and does the service answer at all?",
    "reset": "does something else listen on this port?",
    "eof": "does something else listen on this port?",
}


def _explain(
    endpoint: Endpoint,
    request: Request,
    answer: Answer | AttemptError,
    result: Result,
    expected: str,
    advice: str | None = None,
) -> TargetError:
    asked = f"{request.method} {endpoint}{request.path}"
    if isinstance(answer, AttemptError):
        found = f"found no answer: {answer}"
        advice = advice or _ADVICE.get(result.reason or "", "does an HTTP service listen there?")
    else:
        excerpt = answer.body[:EXCERPT_CHARS].decode("utf-8", "replace")
        shown = "".join(c if c.isprintable() else " " for c in excerpt).strip()
        found = f"found status {answer.status}, {_kind(answer)}" + (f": {shown!r}" if shown else "")
        if advice is None and "json" in answer.content_type and 200 <= answer.status < 300:
            advice = "answer in the form that docs/http-interface.md describes; every listed element needs these three"
        advice = advice or (
            "is this the memory's own address, with the path prefix it needs? `goldfish up` serves the interface"
        )
    return TargetError(
        f"the target does not answer as a memory should\n  asked:    {asked}\n  expected: {expected}\n"
        f"  {found.replace('found ', 'found:    ', 1)}\n  try:      {advice}"
    )


def _kind(answer: Answer) -> str:
    if not answer.body:
        return "an empty body"
    if "html" in answer.content_type or answer.body.lstrip()[:1] == b"<":
        return "a web page"
    if answer.content_encoding not in ("", "identity"):
        return f"a body encoded as {answer.content_encoding}, which was not asked for"
    return f"{len(answer.body)} bytes of {answer.content_type.partition(';')[0] or 'unknown type'}"
