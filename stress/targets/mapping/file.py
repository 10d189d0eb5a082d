"""What may be written in a target file. The attributes' docstrings are its reference."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Code = Annotated[int, msgspec.Meta(ge=100, le=599)]
IdForm = Literal["plain", "uuid5", "safe"]
Need = Literal["postgres", "redis"]


class Auth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who we are."""

    bearer: str | None = None
    """The token of ``Authorization: Bearer …``."""
    basic: str | None = None
    """``user:password`` of ``Authorization: Basic …``."""


class Tls(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the server is trusted, and how it may trust us."""

    ca: str | None = None
    """A file of certificates to trust instead of this machine's."""
    verify: bool = True
    """Whether the server's certificate is checked."""
    cert: str | None = None
    """A file with our own certificate."""
    key: str | None = None
    """A file with its key."""


class About(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is tested, and where it listens."""

    about: str = ""
    """What it is, in a sentence."""
    base_url: str | None = None
    """Scheme, host, port and path prefix; --host says another one."""
    headers: dict[str, str] = {}
    """Sent with every request."""
    auth: Auth | None = None
    """{bearer = "${TOKEN}"} or {basic = "${USER}:${PASSWORD}"}."""
    tls: Tls | None = None
    """{ca, verify, cert, key}; not set, certificates are checked against those that this machine trusts."""
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=120)] = 10
    """How long an answer may take."""
    instance_header: str | None = None
    """The header of an answer that names the instance which gave it; not set, X-Memory-Instance."""
    adapter: str | None = None
    """A Python class that speaks to the memory instead of the steps of this file: "file.py:Class", "module:Class", or
    the name of an entry point of the group goldfish.adapters."""
    library: str | None = None
    """A Python class that wraps a memory library, to be hosted by several instances: "file.py:Class" or
    "module:Class"."""
    needs: tuple[Need, ...] = ()
    """What a library keeps its data in, of "postgres" and "redis"."""
    packages: tuple[str, ...] = ()
    """Packages whose versions are told with the results."""


class Ids(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How ids look: "plain" (gf-k3v9x2-0.17-s3), "safe" (letters, digits, - and _ only) or "uuid5" (a UUID made of the
    plain one)."""

    user: IdForm = "plain"
    """Of users."""
    session: IdForm = "plain"
    """Of sessions, where we make them."""
    message: IdForm = "plain"
    """Of messages; each text starts with its plain one, whatever this says."""
    length_max: Annotated[int, msgspec.Meta(ge=16)] | None = None
    """Longer ids are cut, and end with a part of their hash."""


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] | None = None
    """Not set: GET to recall, DELETE to delete, else POST."""
    path: str
    """Below the base URL. Values are percent-encoded."""
    query: dict[str, str | int | float | bool] = {}
    """Parameters; one whose placeholder has no value is left out."""
    headers: dict[str, str] = {}
    """Beside those of [target]."""
    body: Any = None
    """The JSON body, as a table; what stands under a key whose placeholder has no value is left out."""
    accepted: tuple[Code, ...] | None = None
    """Statuses that mean it was done; not set, any 2xx."""
    rejected: tuple[Code, ...] = (400, 401, 403, 404, 409, 413, 422, 429)
    """Statuses that mean it was certainly not done."""


class Open(Step, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Makes a session, before anything is said in it. Several, as [[open]], run in their order."""

    save: dict[str, str] = {}
    """Placeholder = selector: what the answer tells, for all later steps of the session."""


class Append(Step, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Stores messages. A body with {messages} takes several at a time; one with {text} takes one."""

    message: Any = None
    """The form of one element of {messages}."""
    ids: str | None = None
    """Selector of the ids that the answer acknowledges; they must be those that were sent."""


class Turn(Step, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Says something to an assistant whose service writes the reply and stores both; instead of [append]."""

    reply: Literal["echo", "free"]
    """"echo": the reply repeats what was said, word for word, and is checked as well; "free": it is anything, and the
    contract says unmarked = "allow"."""


class Paging(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to ask for the rest of a list; {cursor}, {offset} or {page} stands in the request."""

    cursor: str | None = None
    """Selector of the next {cursor} in an answer; nothing there: it was the last page."""
    offset: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Elements of a full page: {offset} counts them from 0, {page} counts pages from first_page; a page that is not
    full was the last."""
    first_page: int = 1
    """With {page}: the number of the first."""
    more: str | None = None
    """Selector of whether there is another page; false or nothing there: it was the last."""


class RecallStep(Step, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lists what was said in a session: the newest {limit}, or, where the request has no {limit}, always all of it."""

    items: str = "@"
    """Selector of the list in the answer."""
    text: str
    """Selector of the text in an element: a string, or a list of parts (strings, or tables with a text)."""
    role: str
    """Selector of the role in an element."""
    id: str | None = None
    """Selector of the id in an element; not set, the start of the text tells it."""
    order: Literal["oldest-first", "newest-first"] = "oldest-first"
    """Of the list, and of pages."""
    empty: tuple[Code, ...] = (404,)
    """Statuses that mean an empty list."""
    paging: Paging | None = None
    """How to ask for the rest; not set, one answer is the whole list."""


class Delete(Step, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Forgets a session."""


class TargetFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole file."""

    target: About = About()
    contract: dict[str, Any] = {}
    """As in goldfish.toml: what this memory promises, unless goldfish.toml says it."""
    budget: dict[str, Any] = {}
    """As in goldfish.toml."""
    ids: Ids = Ids()
    roles: dict[str, str] = {}
    """Our role = the target's, such as user = "human"."""
    open: tuple[Open, ...] | Open = ()
    append: Append | None = None
    turn: Turn | None = None
    recall: RecallStep | None = None
    recall_default: RecallStep | None = None
    """Where asking without a limit is another request."""
    recall_user: RecallStep | None = None
    """Where everything of a user can be listed."""
    delete: Delete | None = None


TABLES: dict[str, type[msgspec.Struct]] = {
    "": TargetFile,
    "target": About,
    "target.auth": Auth,
    "target.tls": Tls,
    "ids": Ids,
    "open": Open,
    "append": Append,
    "turn": Turn,
    "recall": RecallStep,
    "recall.paging": Paging,
    "recall_default": RecallStep,
    "recall_default.paging": Paging,
    "recall_user": RecallStep,
    "recall_user.paging": Paging,
    "delete": Delete,
}
"""Every table a target file may have, beside those of goldfish.toml."""

_METHODS = '"GET", "POST", "PUT", "PATCH" or "DELETE"'
ALLOWED = {
    **{f"{step}.method": _METHODS for step in TABLES if step and "." not in step},
    **{f"ids.{key}": '"plain", "uuid5" or "safe"' for key in ("user", "session", "message")},
    "turn.reply": '"echo" or "free"',
    "recall.order": '"oldest-first" or "newest-first"',
    "target.auth": '{bearer = "${TOKEN}"} or {basic = "${USER}:${PASSWORD}"}',
    "target.timeout_s": "seconds above 0, at most 120",
    "target.needs": 'some of ["postgres", "redis"]',
}
"""What may stand where a wrong value was found."""

PLACEHOLDERS = {
    "user": "the person's id, as [ids] forms it",
    "session": "the session's id, as [ids] forms it",
    "device": "the device's name: each person has a few, such as phone and laptop",
    "messages": "in the body of [append]: all messages, each in the form of message",
    "id": "of a message, as [ids] forms it",
    "role": 'who says it: "user" or "assistant", translated by [roles]',
    "text": "what is said; not in headers",
    "limit": "how many messages are asked for; no value where all are asked for",
    "cursor": "what the page before says of the next; no value for the first page",
    "offset": "how many elements the pages before had",
    "page": "the number of the page, counted from first_page",
}
"""What ``{…}`` may stand for, beside the names that [open] saves. Which of them a step knows is checked when the file
is loaded."""
