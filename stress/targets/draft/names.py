"""What names in other people's interfaces usually stand for."""

from __future__ import annotations

import re
from typing import Literal

Part = Literal["user", "session", "device", "limit", "cursor", "offset", "page", "order", "request", ""]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ENDINGS = {"id", "uuid", "guid", "key", "ref", "identifier", "number", "no", "name", "slug", "handle"}
_USERS = {
    "user", "customer", "person", "owner", "account", "actor", "member", "client", "username", "uid", "guest",
    "visitor", "contact", "profile", "subscriber", "participant", "resource", "people",
}  # fmt: skip
_SESSIONS = {
    "session", "conversation", "thread", "chat", "dialog", "dialogue", "topic", "channel", "room", "run", "context",
    "convo", "conv", "sid", "ticket", "case", "chatroom",
}  # fmt: skip
_LIMITS = {
    "limit", "page_size", "size", "count", "last", "n", "k", "top_k", "first", "per_page", "max_results", "num", "take",
    "last_n", "lastn", "pagesize", "max", "max_items", "max_messages", "page_limit", "max_count", "tail", "amount",
}  # fmt: skip
_CURSORS = {
    "cursor", "after", "starting_after", "page_token", "next", "next_token", "continuation", "continuation_token",
    "start_cursor", "marker", "page_cursor", "next_cursor", "after_id", "before", "before_id", "since_id", "bookmark",
}  # fmt: skip
_OFFSETS = {"offset", "skip", "start", "start_index", "from", "start_at", "from_index"}
_PAGES = {"page", "page_number", "page_no", "page_num", "p", "page_index"}
_ORDERS = {"order", "sort", "direction", "sort_order", "order_by", "sort_by", "sort_direction", "ordering"}
_REQUESTS = {"idempotency", "idempotency_key", "x_idempotency_key", "request_id", "x_request_id", "dedupe_key"}
_DEVICES = {"device", "device_id", "client_device"}

TEXTS = (
    "content", "text", "message", "body", "say", "said", "line", "utterance", "memory", "parts", "value", "msg",
    "input", "prompt", "words", "query", "question", "payload", "data",
)  # fmt: skip
"""Of what is said, likeliest first."""
ROLES = (
    "role", "author", "author_role", "sender", "sender_role", "sender_type", "author_type", "from", "who", "speaker",
    "by", "side", "type", "actor", "source", "direction", "name",
)  # fmt: skip
"""Of who said it, likeliest first."""
IDS = ("id", "message_id", "msg_id", "client_id", "client_message_id", "external_id", "uuid", "entry_id", "key")
"""Of a message, likeliest first."""
REPLIES = ("reply", "answer", "response", "output", "completion", "assistant", "message", "content", "text")
NEXT = (
    "next_cursor", "next", "cursor", "next_page_token", "next_token", "next_page", "continuation_token",
    "continuation", "last_id", "end_cursor", "bookmark",
)  # fmt: skip
"""Of the next page, in an answer."""
MORE = ("has_more", "has_next", "more", "has_next_page", "is_truncated", "truncated")
LISTING = {
    "message", "history", "entry", "transcript", "memory", "log", "turn", "item", "line", "event", "utterance", "post",
    "conversation", "chat", "note",
}  # fmt: skip
"""In paths of lists of messages."""
TALKING = {"chat", "talk", "ask", "reply", "respond", "completion", "generate", "turn", "invoke", "converse", "answer"}
"""In paths where a service answers."""

HUMANS = ("user", "human", "customer", "client", "visitor", "person", "member", "caller", "guest", "you", "patient")
MACHINES = ("assistant", "ai", "agent", "bot", "model", "me", "chatbot", "llm", "support", "operator", "advisor")
OTHERS = ("system", "developer", "tool", "function", "instruction", "summary", "context")
"""Roles of what nobody of us says."""


def words_of(name: str) -> list[str]:
    """sessionId, session-id, SESSION_ID → session, id."""
    return [word.lower() for word in _WORD.findall(name)]


def snake(name: str) -> str:
    """sessionId → session_id."""
    return "_".join(words_of(name))


def singular(word: str) -> str:
    """histories → history."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us")) else word


def part_of(name: str, *, query: bool = False) -> Part:
    """What a parameter or field stands for; empty if nobody can tell.

    Args:
        name: its name.
        query: whether it is a parameter of a query, where "from" and "last" are about the list.
    """
    plain = snake(name)
    if query:
        for part, known in _ABOUT_LISTS:
            if plain in known:
                return part
    if plain in _REQUESTS:
        return "request"
    if plain in _DEVICES:
        return "device"
    words = [word for word in words_of(name) if word != "x"]
    while len(words) > 1 and words[-1] in _ENDINGS:
        words.pop()
    if len(words) == 1 and words[0] not in _USERS | _SESSIONS:
        for ending in ("uuid", "id"):
            words = [words[0].removesuffix(ending) or words[0]]
    last = singular(words[-1]) if words else ""
    if last in _SESSIONS:
        return "session"
    return "user" if last in _USERS else ""


_ABOUT_LISTS: tuple[tuple[Part, set[str]], ...] = (
    ("limit", _LIMITS),
    ("cursor", _CURSORS),
    ("offset", _OFFSETS),
    ("page", _PAGES),
    ("order", _ORDERS),
)


def segments(path: str) -> list[str]:
    """The parts of a path."""
    return [segment for segment in path.split("/") if segment]


def is_parameter(segment: str) -> bool:
    """Whether a segment is nothing but a parameter."""
    return segment.startswith("{") and segment.endswith("}")


def path_parts(path: str) -> list[tuple[str, Part]]:
    """Each parameter of a path, and what it stands for: /conversations/{id} is a session."""
    found: list[tuple[str, Part]] = []
    before = ""
    for segment in segments(path):
        for name in re.findall(r"\{([^{}]*)\}", segment):
            found.append((name, part_of(name) or part_of(singular(before))))
        before = segment
    return found
