"""Support history: keeps what customers and agents wrote to each other.

Start it:

    python tests/targets/services/support_history.py --port 8101

Interactive documentation is at http://127.0.0.1:8101/docs, the OpenAPI document at /openapi.json.

Every request needs the team's token: ``Authorization: Bearer support-token`` (another one: ``--token``).

Open a conversation. We choose the number; the customer is yours to name (up to 80 characters):

    curl -X POST http://127.0.0.1:8101/api/conversations -H 'Authorization: Bearer support-token' \\
         -H 'Content-Type: application/json' -d '{"customer": "ada"}'
    201 {"conversation_id": 1000, "customer": "ada", "opened_at": "2025-03-01T12:00:00+00:00"}

Write to it, one or more entries at a time (up to 10). An entry is written by the customer or by an agent; its content
is a list of parts. All entries of a request are stored, or none:

    POST /api/conversations/1000/entries
         {"entries": [{"author": "customer", "content": [{"kind": "text", "text": "My parcel is late."}]}]}
    201 {"entry_ids": [5002]}

Read it, newest entry first. A page holds 25 entries unless you ask for another ``page_size`` (at most 50). ``next``
is the cursor of the next page, and null on the last one. The oldest entry of every conversation is our own
instruction to the assistant; its author is ``system``:

    GET /api/conversations/1000/entries?page_size=2
    200 {"entries": [{"entry_id": 5002, "author": "customer",
                      "content": [{"kind": "text", "text": "My parcel is late."}], "written_at": "…"},
                     {"entry_id": 5001, "author": "system",
                      "content": [{"kind": "text", "text": "You are …"}], "written_at": "…"}],
         "next": null}
    GET /api/conversations/1000/entries?page_size=2&cursor=…

Delete it, and it is gone (404 from then on):

    DELETE /api/conversations/1000
    204

Errors: 401 without the token, 404 for a conversation we do not have, 422 for anything that is not as described here.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import itertools
import secrets
import socket
import threading
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Query
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

INSTRUCTION = "You are a friendly support assistant. Never promise a refund."


class Model(BaseModel):
    """A table that has the declared fields and no others."""

    model_config = ConfigDict(extra="forbid")


class NewConversation(Model):
    """Opens a conversation."""

    customer: Annotated[str, Field(min_length=1, max_length=80)]


class Conversation(Model):
    """A conversation, without what was written."""

    conversation_id: int
    customer: str
    opened_at: datetime


class Part(Model):
    """A part of an entry."""

    kind: Literal["text"]
    text: str


class NewEntry(Model):
    """An entry as you write it."""

    author: Literal["customer", "agent"]
    content: Annotated[list[Part], Field(min_length=1)]


class NewEntries(Model):
    """Writes entries."""

    entries: Annotated[list[NewEntry], Field(min_length=1, max_length=10)]


class Written(Model):
    """The numbers of the entries that were written."""

    entry_ids: list[int]


class Entry(Model):
    """An entry as we keep it."""

    entry_id: int
    author: Literal["customer", "agent", "system"]
    content: list[Part]
    written_at: datetime


class Page(Model):
    """Entries, newest first."""

    entries: list[Entry]
    next: str | None


class History:
    """All conversations and their entries, oldest first. Handlers run in threads, so each step holds the lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1000)
        self._entry_numbers = itertools.count(5000)
        self._entries: dict[int, list[Entry]] = {}

    def open(self, customer: str) -> Conversation:
        with self._lock:
            number = next(self._numbers)
            instruction = NewEntry(author="agent", content=[Part(kind="text", text=INSTRUCTION)])
            self._entries[number] = [self._kept(instruction).model_copy(update={"author": "system"})]
        return Conversation(conversation_id=number, customer=customer, opened_at=datetime.now(UTC))

    def write(self, number: int, new: list[NewEntry]) -> list[int]:
        with self._lock:
            kept = [self._kept(entry) for entry in new]
            self._of(number).extend(kept)
        return [entry.entry_id for entry in kept]

    def page(self, number: int, size: int, before: int | None) -> tuple[list[Entry], int | None]:
        """Entries that are older than ``before``, newest first, and before which the next page begins."""
        with self._lock:
            older = [entry for entry in self._of(number) if before is None or entry.entry_id < before]
        page = older[: -size - 1 : -1]
        return page, page[-1].entry_id if len(older) > size else None

    def delete(self, number: int) -> None:
        with self._lock:
            self._of(number)
            del self._entries[number]

    def _kept(self, new: NewEntry) -> Entry:
        return Entry(
            entry_id=next(self._entry_numbers), author=new.author, content=new.content, written_at=datetime.now(UTC)
        )

    def _of(self, number: int) -> list[Entry]:
        if number not in self._entries:
            raise HTTPException(404, f"There is no conversation {number}.")
        return self._entries[number]


def application(token: str = "support-token") -> FastAPI:
    """The service, with nothing in it."""
    history = History()

    def guard(given: Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]) -> None:
        if given is None or not secrets.compare_digest(given.credentials.encode(), token.encode()):
            raise HTTPException(401, "The token is missing or wrong.", {"WWW-Authenticate": "Bearer"})

    app = FastAPI(title="Support history", version="2.3.0", dependencies=[Depends(guard)])
    errors: dict[int | str, dict[str, Any]] = {
        401: {"description": "The token is missing or wrong."},
        404: {"description": "There is no such conversation."},
    }

    @app.post("/api/conversations", status_code=201, responses={401: errors[401]})
    def open_conversation(new: NewConversation) -> Conversation:
        """Open a conversation; its number is ours."""
        return history.open(new.customer)

    @app.post("/api/conversations/{conversation_id}/entries", status_code=201, responses=errors)
    def write_entries(conversation_id: int, new: NewEntries) -> Written:
        """Write entries, all of them or none."""
        return Written(entry_ids=history.write(conversation_id, new.entries))

    @app.get("/api/conversations/{conversation_id}/entries", responses=errors)
    def read_entries(
        conversation_id: int,
        page_size: Annotated[int, Query(ge=1, le=50, description="Entries on this page.")] = 25,
        cursor: Annotated[str | None, Query(description="What `next` of the page before said.")] = None,
    ) -> Page:
        """Read entries, newest first."""
        entries, following = history.page(conversation_id, page_size, None if cursor is None else _read(cursor))
        return Page(entries=entries, next=None if following is None else _cursor(following))

    @app.delete("/api/conversations/{conversation_id}", status_code=204, responses=errors)
    def delete_conversation(conversation_id: int) -> None:
        """Delete a conversation with all of its entries."""
        history.delete(conversation_id)

    return app


def _cursor(entry_id: int) -> str:
    return base64.urlsafe_b64encode(f"before:{entry_id}".encode()).decode()


def _read(cursor: str) -> int:
    try:
        return int(base64.urlsafe_b64decode(cursor).decode().removeprefix("before:"))
    except (ValueError, binascii.Error) as error:
        raise HTTPException(422, "This cursor is not one of ours.") from error


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(description="Keeps what customers and agents wrote to each other.")
    parser.add_argument("--port", type=int, default=8101, help="0: any that is free")
    parser.add_argument("--token", default="support-token")
    options = parser.parse_args()
    with socket.create_server(("127.0.0.1", options.port), backlog=1024) as listener:
        print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        server = uvicorn.Server(uvicorn.Config(application(options.token), log_level="warning", access_log=False))
        server.run(sockets=[listener])


if __name__ == "__main__":
    main()
