"""What a memory promises (the contract) and what a run tolerates (the budget).

Both are read from ``goldfish.toml``; the run directory keeps what was in force, so a run can be judged again later.
Unknown keys, impossible values and combinations that cannot be meant are errors that name key, value, line and what is
allowed.

What is promised decides what is owed: a shorter window, an expiry, a delay each excuse something. So the defaults
promise everything at once and for ever, and whatever a memory does not promise has to be said.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from goldfish.errors import UsageError
from goldfish.mistakes import explain, not_toml

Scope = Literal["session", "user"]
Level = Literal["tenant", "user", "session"]
LEVELS: tuple[Level, ...] = ("session", "user", "tenant")
"""How far a message can stray, nearest first; one of another tenant is one of another user and session, too."""

Count = Annotated[int, msgspec.Meta(ge=1)]
CountOrZero = Annotated[int, msgspec.Meta(ge=0)]
DURATION_MS_MAX = 600_000
SECONDS_MAX = 366 * 86_400
Duration = Annotated[float, msgspec.Meta(ge=0, le=DURATION_MS_MAX)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Milliseconds = Annotated[float, msgspec.Meta(gt=0, le=DURATION_MS_MAX)]

SETTLE_MS_MIN = 2_000


class Window(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of a conversation one recall may span; counted in messages, turns or tokens, or not bounded at all."""

    messages: Count | None = None
    """The newest N messages."""
    turns: Count | None = None
    """The newest N turns; a turn is what a person says and the answer to it."""
    tokens: Count | None = None
    """The newest messages that together have at most N tokens."""
    pinned: CountOrZero = 0
    """The first so many messages of a conversation are always listed, also under a limit; they take places of the
    list."""
    keep_at_least: CountOrZero = 0
    """With tokens: the newest so many messages are listed even where they alone have more than N tokens."""
    chars_per_token: tuple[float, float] = (2, 6)
    """With tokens: fewest and most characters a token stands for, where the log does not tell a message's tokens. For
    what is owed, bytes of UTF-8 count as characters, for text that is not English has more tokens. The marker at the
    start of every text counts; a tokenizer that makes more of letters or emoji needs a lower first bound."""

    def __post_init__(self) -> None:
        bounds = {"messages": self.messages, "turns": self.turns, "tokens": self.tokens}
        given = [unit for unit, bound in bounds.items() if bound is not None]
        if len(given) > 1:
            raise ValueError(
                f"{given[1]} = {bounds[given[1]]} beside {given[0]} = {bounds[given[0]]}: a window is counted in one "
                "unit; allowed: one of messages, turns, tokens"
            )
        if self.pinned and not given:
            raise ValueError(
                f"pinned = {self.pinned} without a window: nothing is pushed out, so nothing need be pinned; allowed: "
                "beside messages, turns or tokens"
            )
        if self.messages is not None and self.pinned >= self.messages:
            raise ValueError(
                f"pinned = {self.pinned} leaves no place for anything new in a window of {self.messages} messages; "
                f"allowed: 0 to {self.messages - 1}"
            )
        if self.tokens is None and self.keep_at_least:
            raise ValueError(f"keep_at_least = {self.keep_at_least} without tokens; allowed: beside tokens")
        fewest, most = self.chars_per_token
        if not 0 < fewest <= most:
            raise ValueError(
                f"chars_per_token = [{fewest:g}, {most:g}]: a token stands for some characters; allowed: [fewest, "
                "most], above 0"
            )
        if self.tokens is None and self.chars_per_token != (2, 6):
            raise ValueError(f"chars_per_token = [{fewest:g}, {most:g}] without tokens; allowed: beside tokens")

    @property
    def unbounded(self) -> bool:
        """Whether a recall spans the whole history."""
        return self.messages is None and self.turns is None and self.tokens is None


class Page(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many elements one answer holds, however long the window."""

    default: Count | None = None
    """If a recall asks for no limit."""
    max: Count | None = None
    """Whatever a recall asks for."""

    def __post_init__(self) -> None:
        if self.default is not None and self.max is not None and self.default > self.max:
            raise ValueError(f"default = {self.default} is above max = {self.max}; allowed: 1 to {self.max}")


class Ttl(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When what was said expires."""

    seconds: Annotated[float, msgspec.Meta(gt=0, le=SECONDS_MAX)]
    """How long it is kept after it was written or refreshed."""
    refresh: Literal["write", "read", "none"] | None = None
    """What prolongs it: appends ("write"), appends and recalls ("read"), or nothing ("none"). Not set: "write"; with
    unit "message", "none"."""
    unit: Literal["session", "user", "message"] = "session"
    """What expires as a whole: a session, all that a user ever said, or each message by itself."""
    granularity_ms: Duration = 0
    """How long after its time something expired may still be listed, as where a sweep runs now and then."""

    def __post_init__(self) -> None:
        if self.unit == "message" and self.refresh not in (None, "none"):
            raise ValueError(
                f'refresh = "{self.refresh}" with unit = "message": a message is written once, and expires seconds '
                'later; allowed: "none"'
            )

    @property
    def refreshed_by(self) -> Literal["write", "read", "none"]:
        """What prolongs it, the default resolved."""
        return self.refresh or ("none" if self.unit == "message" else "write")


class Content(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes of texts that are long or hold characters that stores find hard."""

    max_bytes: Count | None = None
    """A text longer than this in UTF-8 may be refused, or cut to this length."""
    nul: Literal["keep", "strip", "reject"] = "keep"
    """NUL characters: kept, taken out, or a reason to refuse the append."""
    surrogate: Literal["keep", "replace", "reject"] = "keep"
    """Lone surrogates: kept, replaced by U+FFFD or "?" each, or a reason to refuse the append."""


class Contract(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the memory under test promises. The defaults promise everything at once and for ever."""

    scope: tuple[Scope, ...] = ("session", "user")
    """What one recall may span: one session, or all sessions of a user."""
    window: Window = Window()
    """How much of a conversation one recall may span; not set, the whole history."""
    page: Page = Page()
    """How many elements one answer holds; not set, as many as the window has."""
    ttl: Ttl | None = None
    """When what was said expires; not set, never. Only pauses about as long as that put it to the test."""
    visibility_ms: Duration = 0
    """An append acknowledged at b is in every recall that starts after b + visibility_ms."""
    settle_ms: Duration | None = None
    """Pause between a conversation's last append and its final recall; not set: twice the visibility, at least 2 s."""
    order: Literal["append", "unspecified"] = "append"
    """Whether a list is in the order in which the messages were stored ("append"), or in any ("unspecified")."""
    order_slack_ms: Duration = 0
    """How long after its acknowledgement a message's place in the order may still change."""
    dedupe: Literal["id", "none"] = "id"
    """A message that is sent again with the same id is stored once ("id"), or each time ("none")."""
    concurrency: Literal["serialize", "reject", "last-writer"] = "serialize"
    """Appends of several devices at the same time are all stored, or refused with 409 ("reject"), or may overwrite each
    other ("last-writer")."""
    isolation: tuple[Level, ...] = ("tenant", "user", "session")
    """Whose messages never turn up in a list: those of another tenant, of another user, of another session."""
    roles: tuple[str, ...] | None = None
    """Roles whose messages are stored; not set, all."""
    unmarked: Literal["forbid", "allow"] = "forbid"
    """Listed elements that nobody of us wrote, such as system prompts or summaries: "forbid" or "allow"."""
    content: Content = Content()
    """What becomes of long texts, NUL characters and lone surrogates; not set, all is kept."""

    def __post_init__(self) -> None:
        for key in ("scope", "isolation", "roles"):
            values = getattr(self, key)
            if values is not None and len(set(values)) < len(values):
                raise ValueError(f"{key} = {_listed(values)} names one twice; allowed: each once")
        for key in ("scope", "roles"):
            if getattr(self, key) == ():
                raise ValueError(f"{key} = []: nothing would be owed; allowed: at least one")
        if self.settle_ms is not None and self.settle_ms < self.visibility_ms:
            raise ValueError(
                f"settle_ms = {self.settle_ms:g} is shorter than visibility_ms = {self.visibility_ms:g}: "
                f"final recalls would come before anything is owed; allowed: {self.visibility_ms:g} or more"
            )
        if self.order == "unspecified" and self.order_slack_ms:
            raise ValueError(
                f'order_slack_ms = {self.order_slack_ms:g} beside order = "unspecified": what has no order has none to '
                'change; allowed: beside order = "append"'
            )
        if self.order == "unspecified" and self.window.pinned:
            raise ValueError(
                f'order = "unspecified" beside window.pinned = {self.window.pinned}: nothing is the first; allowed: '
                '"append"'
            )

    @property
    def visibility_ns(self) -> int:
        """The visibility in the unit of stamps."""
        return int(self.visibility_ms * 1e6)

    @property
    def settle_s(self) -> float:
        """The pause before final recalls in seconds."""
        settle_ms = max(SETTLE_MS_MIN, 2 * self.visibility_ms) if self.settle_ms is None else self.settle_ms
        return settle_ms / 1_000

    def isolates(self, level: Level) -> bool:
        """Whether a listed message of another session, user or tenant breaks the contract."""
        return any(LEVELS.index(promised) <= LEVELS.index(level) for promised in self.isolation)


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run tolerates before it fails."""

    context_loss: Share = 0.0
    """Highest tolerated share of lossy recalls among checked recalls; 0: any proven loss fails the run."""
    conversations_harmed: Share | None = None
    """Highest tolerated share of harmed conversations among checked ones; not set, none is tested."""
    disorder: Literal["fail", "report"] = "fail"
    """Messages proven to be listed where they may not be (duplicated, reordered, phantom, over-retained, resurrected,
    window overrun): "fail" the run, or "report" only. (A foreign or corrupted message, or a rejected one that is shown,
    always fails it.)"""
    request_failures: Share = 0.01
    """Highest tolerated share of failed and indeterminate requests; requests marked failed for loss do not count."""
    recall_p95_ms: Milliseconds | None = None
    """Highest tolerated 95th percentile of the latency of recalls; not set, any."""
    append_p95_ms: Milliseconds | None = None
    """Highest tolerated 95th percentile of the latency of appends; not set, any."""
    min_conversations: Count = 100
    """Checked conversations per scenario below which a pass is inconclusive."""
    confidence: Annotated[float, msgspec.Meta(gt=0.5, lt=1)] = 0.95
    """Of every interval and test."""


def in_words(contract: Contract, budget: Budget) -> str:
    """What was promised and tolerated, in a line for people."""
    parts = [f"recall by {' and '.join(contract.scope)}", _window(contract.window), *_bounds(contract)]
    parts.append(
        f"visible {contract.visibility_ms:g} ms after the acknowledgement"
        if contract.visibility_ms
        else "visible at once"
    )
    parts += _allowances(contract)
    parts += [
        f"unmarked elements {'allowed' if contract.unmarked == 'allow' else 'forbidden'}",
        f"final recalls after {contract.settle_s:g} s",
        f"tolerated loss {budget.context_loss:.3%}" if budget.context_loss else "no loss tolerated",
    ]
    if budget.conversations_harmed is not None:
        parts.append(f"at most {budget.conversations_harmed:.3%} of the conversations harmed")
    for kind, most_ms in (("recalls", budget.recall_p95_ms), ("appends", budget.append_p95_ms)):
        if most_ms is not None:
            parts.append(f"95 % of {kind} within {most_ms:g} ms")
    return ", ".join(parts + (["disorder only reported"] if budget.disorder == "report" else []))


def _window(window: Window) -> str:
    for unit in ("messages", "turns", "tokens"):
        bound = getattr(window, unit)
        if bound is not None:
            pinned = f" with the first {window.pinned} pinned" if window.pinned else ""
            kept = f" but at least {window.keep_at_least} messages" if window.keep_at_least else ""
            return f"the newest {bound} {unit}{kept}{pinned}"
    return "the whole history"


def _bounds(contract: Contract) -> list[str]:
    """Pages and expiry, where there are any."""
    parts = []
    if contract.page.default is not None:
        parts.append(f"{contract.page.default} to a page unless asked otherwise")
    if contract.page.max is not None:
        parts.append(f"at most {contract.page.max} to a page")
    if contract.ttl is not None:
        by = {"write": " after the last append", "read": " after the last append or recall", "none": ""}
        since = " after it was written" if contract.ttl.unit == "message" else by[contract.ttl.refreshed_by]
        parts.append(f"a {contract.ttl.unit} expires {contract.ttl.seconds:g} s{since or ' after its first append'}")
    return parts


def _allowances(contract: Contract) -> list[str]:
    """What is promised less than by default."""
    content = contract.content
    told = {
        "in any order": contract.order == "unspecified",
        f"order settled after {contract.order_slack_ms:g} ms": bool(contract.order_slack_ms),
        "a resend is stored again": contract.dedupe == "none",
        "appends at the same time may be refused": contract.concurrency == "reject",
        "appends at the same time may overwrite each other": contract.concurrency == "last-writer",
        f"isolated by {' and '.join(contract.isolation) or 'nothing'}": not contract.isolates("session"),
        f"only {' and '.join(contract.roles or ())} messages stored": contract.roles is not None,
        f"texts up to {content.max_bytes} bytes": content.max_bytes is not None,
        f"NUL characters {'taken out' if content.nul == 'strip' else 'refused'}": content.nul != "keep",
        f"lone surrogates {'replaced' if content.surrogate == 'replace' else 'refused'}": content.surrogate != "keep",
    }
    return [words for words, given in told.items() if given]


def _listed(values: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of ``goldfish.toml``."""

    contract: Contract = Contract()
    budget: Budget = Budget()


TABLES: dict[str, type[msgspec.Struct]] = {
    "": Settings,
    "contract": Contract,
    "contract.window": Window,
    "contract.page": Page,
    "contract.ttl": Ttl,
    "contract.content": Content,
    "budget": Budget,
}
"""Every table a settings file may have."""

ALLOWED = {
    "contract.scope": '["session"], ["user"] or both',
    "contract.window": "{messages = N}, {turns = N} or {tokens = N}",
    "contract.window.chars_per_token": "[fewest, most]",
    "contract.page": "{default = N, max = N}",
    "contract.ttl": '{seconds = S, refresh = "write", unit = "session", granularity_ms = N}',
    "contract.ttl.refresh": '"write", "read" or "none"',
    "contract.ttl.unit": '"session", "user" or "message"',
    "contract.order": '"append" or "unspecified"',
    "contract.dedupe": '"id" or "none"',
    "contract.concurrency": '"serialize", "reject" or "last-writer"',
    "contract.isolation": 'some of ["tenant", "user", "session"]',
    "contract.roles": 'a list such as ["user", "assistant"]',
    "contract.unmarked": '"forbid" or "allow"',
    "contract.content": '{max_bytes = N, nul = "keep", surrogate = "keep"}',
    "contract.content.nul": '"keep", "strip" or "reject"',
    "contract.content.surrogate": '"keep", "replace" or "reject"',
    "budget.disorder": '"fail" or "report"',
}
"""What may stand where a wrong value was found."""


def load_settings(
    path: Path | None, base: Mapping[str, Any] | None = None, base_name: str = "", base_text: str = ""
) -> Settings:
    """Read a settings file; what it does not say is taken from a base, and then from the defaults.

    Args:
        path: the file; None: there is none.
        base: tables beneath it, as TOML reads them, such as a target's own contract.
        base_name: where those were found, for people.
        base_text: what was found there, to name lines.

    Raises:
        UsageError: the file is missing, is not TOML, or holds an unknown key or an impossible value.
    """
    tables = {name: dict(values) for name, values in (base or {}).items()}
    text = base_text
    if path is not None:
        try:
            text = path.read_text(encoding="utf-8")
            raw = tomllib.loads(text)
        except OSError as error:
            raise UsageError(f"cannot read the contract {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} is not valid TOML: {error}") from error
        except tomllib.TOMLDecodeError as error:
            raise UsageError(not_toml(str(path), text, error)) from error
        for name, values in raw.items():
            both = isinstance(values, dict) and name in tables
            tables[name] = {**tables[name], **values} if both else values
    try:
        return msgspec.convert(tables, Settings, strict=True)
    except msgspec.ValidationError as error:
        where = path or Path(base_name)
        raise UsageError(explain(where, text, tables, str(error), tables=TABLES, values=ALLOWED)) from error
