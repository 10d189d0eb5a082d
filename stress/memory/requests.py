"""Reading what a client sent: the body of an append, and ``limit``.

msgspec reads what is right in one pass. What it refuses is looked at again with the standard library, only to tell the
client what is wrong with it: JSON that escapes half a surrogate pair is valid JSON, yet no text that UTF-8 can carry.
"""

from __future__ import annotations

import json
from uuid import uuid4

import msgspec

from stress.memory.problems import ProblemError
from stress.memory.routes import check_id
from stress.memory.store import Message, Role

LIMIT_MAX = 2**31 - 1


class _Said(msgspec.Struct):
    role: Role
    content: str
    id: str | None = None


class _Batch(msgspec.Struct):
    messages: list[_Said]


_decode = msgspec.json.Decoder(_Batch).decode


def read_messages(body: bytes, *, any_text: bool = False) -> list[Message]:
    """The messages of an append, ids filled in; with ``any_text`` also those that have no form in UTF-8 or PostgreSQL.

    Raises:
        ProblemError: 400 if the body is no JSON, 422 if it is no batch of messages that can be stored.
    """
    try:
        batch = _read_any(body) if any_text else _decode(body)
    except msgspec.ValidationError as error:
        raise ProblemError(422, "bad-message", f'expected {{"messages":[{{"role","content"}}]}}: {error}') from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _refusal(body) from None
    if not batch.messages:
        raise ProblemError(422, "no-messages", "the batch is empty, expected at least one message")
    messages = [_storable(said, any_text) for said in batch.messages]
    if len({message.id for message in messages}) < len(messages):
        raise ProblemError(422, "duplicate-id", "two messages of the batch have the same id")
    return messages


def read_limit(text: str | None) -> int | None:
    """How many messages are asked for; None is all of them.

    Raises:
        ProblemError: 400 if it is not a whole number from 0 on.
    """
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise ProblemError(400, "bad-limit", "limit must be a whole number from 0 on")
    # A number too long to be meant is as good as no limit; int() refuses texts of thousands of digits.
    return int(text) if len(text) < len(str(LIMIT_MAX)) else LIMIT_MAX


def _read_any(body: bytes) -> _Batch:
    try:
        return _decode(body)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        try:
            read = json.loads(body)
        except ValueError:
            raise error from None
        return msgspec.convert(read, _Batch)


def _storable(said: _Said, any_text: bool) -> Message:
    if not any_text and "\0" in said.content:
        raise ProblemError(422, "nul-in-content", "content contains NUL (U+0000), which PostgreSQL cannot store")
    return Message(uuid4().hex if said.id is None else check_id("message", said.id, 422), said.role, said.content)


def _refusal(body: bytes) -> ProblemError:
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return ProblemError(
            422, "lone-surrogate", "the body escapes half of a surrogate pair, which is no Unicode text"
        )
    except (ValueError, RecursionError):
        pass
    return ProblemError(400, "bad-json", "the body is no JSON")
