"""Which resource a path names, and whose it is.

Paths are taken apart here and not by the framework's router, because an id may be any text: ``%2F`` inside an id stays
part of it, ``a%2Fb`` and ``a/b`` are different paths, and bytes that are no UTF-8 are refused instead of guessed.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from stress.memory.problems import ProblemError

ID_BYTES_MAX = 256

_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


class Route(NamedTuple):
    """A resource; user and session are decoded, None where the resource has none."""

    name: str
    user: str | None = None
    session: str | None = None


def find_route(raw_path: str) -> Route:
    """The resource that a path (percent-encoded, without query) names.

    Raises:
        ProblemError: 404 for a path that is none of ours, 400 for an id that is none.
    """
    match raw_path.split("/")[1:]:
        case ["v1", "users", user, "sessions", session, "messages"]:
            return Route("session-messages", _id("user", user), _id("session", session))
        case ["v1", "users", user, "messages"]:
            return Route("user-messages", _id("user", user))
        case ["v1", "users", user, "sessions", session]:
            return Route("session", _id("user", user), _id("session", session))
        case ["v1", "users", user, ("context" | "search") as name]:
            return Route(name, _id("user", user))
        case [("healthz" | "readyz" | "metrics") as name]:
            return Route(name)
        case _:
            raise ProblemError(404, "unknown-route", "no such resource; the messages of a session are at"
                               " /v1/users/{user}/sessions/{session}/messages")  # fmt: skip


def check_id(what: str, text: str, status: int) -> str:
    """The id itself if it has 1 to 256 bytes and can be stored.

    Raises:
        ProblemError: with ``status``, if it cannot be one.
    """
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError:
        raise ProblemError(status, "bad-id", f"the {what} id is not UTF-8") from None
    if not 1 <= size_bytes <= ID_BYTES_MAX:
        raise ProblemError(status, "bad-id", f"the {what} id has {size_bytes} bytes, expected 1 to {ID_BYTES_MAX}")
    if "\0" in text:
        raise ProblemError(status, "bad-id", f"the {what} id contains NUL, which PostgreSQL cannot store")
    return text


def _id(what: str, segment: str) -> str:
    # Left to itself, "%zz" would be read as it stands, and become the id that "%25zz" is.
    if _BAD_ESCAPE.search(segment):
        raise ProblemError(400, "bad-id", f"the {what} id has a '%' without two hexadecimal digits")
    try:
        text = unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        raise ProblemError(400, "bad-id", f"the {what} id is not UTF-8 once percent-decoded") from None
    return check_id(what, text, 400)
