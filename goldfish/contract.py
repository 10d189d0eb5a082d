"""What a memory promises (the contract) and what a run tolerates (the budget).

Both are read from ``goldfish.toml``; the run directory keeps what was in force, so a run can be judged again later.
Unknown keys and impossible values are errors that name key, value, line and what is allowed.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from goldfish.errors import UsageError

Scope = Literal["session", "user"]
Count = Annotated[int, msgspec.Meta(ge=1)]
DURATION_MS_MAX = 600_000
Duration = Annotated[float, msgspec.Meta(ge=0, le=DURATION_MS_MAX)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

SETTLE_MS_MIN = 2_000


class Window(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of a conversation one recall may span."""

    messages: Count | None = None
    """The newest N messages; None: the whole history."""


class Contract(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the memory under test promises. The defaults promise everything at once."""

    scope: tuple[Scope, ...] = ("session", "user")
    """What one recall may span: one session, or all sessions of a user."""
    window: Window = Window()
    """How much of a conversation one recall may span: {messages = N}, the newest N; not set, the whole history."""
    visibility_ms: Duration = 0
    """An append acknowledged at b is in every recall that starts after b + visibility_ms."""
    unmarked: Literal["forbid", "allow"] = "forbid"
    """Listed elements that nobody of us wrote, such as system prompts or summaries: "forbid" or "allow"."""
    settle_ms: Duration | None = None
    """Pause between a conversation's last append and its final recall; None: twice the visibility, at least 2 s."""

    def __post_init__(self) -> None:
        if self.settle_ms is not None and self.settle_ms < self.visibility_ms:
            raise ValueError(
                f"settle_ms = {self.settle_ms:g} is shorter than visibility_ms = {self.visibility_ms:g}: "
                "final recalls would come before anything is owed"
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


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run tolerates before it fails."""

    context_loss: Share = 0.0
    """Highest tolerated share of lossy recalls among checked recalls; 0: any proven loss fails the run."""
    disorder: Literal["fail", "report"] = "fail"
    """Proven duplicated, reordered or phantom messages: "fail" the run, or "report" only. (A foreign or corrupted
    message, or a rejected one that is shown, always fails it.)"""
    request_failures: Share = 0.01
    """Highest tolerated share of failed and indeterminate requests; requests marked failed for loss do not count."""
    min_conversations: Count = 100
    """Checked conversations per scenario below which a pass is inconclusive."""
    confidence: Annotated[float, msgspec.Meta(gt=0.5, lt=1)] = 0.95
    """Of every interval and test."""


def in_words(contract: Contract, budget: Budget) -> str:
    """What was promised and tolerated, in a line for people."""
    window = contract.window.messages
    parts = [
        f"recall by {' and '.join(contract.scope)}",
        f"the newest {window} messages" if window else "the whole history",
        f"visible {contract.visibility_ms:g} ms after the acknowledgement"
        if contract.visibility_ms
        else "visible at once",
        f"unmarked elements {'allowed' if contract.unmarked == 'allow' else 'forbidden'}",
        f"final recalls after {contract.settle_s:g} s",
        f"tolerated loss {budget.context_loss:.3%}" if budget.context_loss else "no loss tolerated",
    ]
    return ", ".join(parts + (["disorder only reported"] if budget.disorder == "report" else []))


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of ``goldfish.toml``."""

    contract: Contract = Contract()
    budget: Budget = Budget()


def load_settings(path: Path | None) -> Settings:
    """Read a settings file; None gives the defaults.

    Raises:
        UsageError: the file is missing, is not TOML, or holds an unknown key or an impossible value.
    """
    if path is None:
        return Settings()
    try:
        text = path.read_text(encoding="utf-8")
        raw = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"cannot read the contract {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error
    try:
        return msgspec.convert(raw, Settings, strict=True)
    except msgspec.ValidationError as error:
        raise UsageError(_explain(path, text, raw, str(error))) from error


def _explain(path: Path, text: str, raw: dict[str, Any], problem: str) -> str:
    """Say where in the file the problem stands, what was found there, and what is allowed."""
    message, _, place = problem.partition(" - at `$")
    keys = [key for key in re.split(r"\.|\[\d+\]|\[\.\.\.\]", place.rstrip("`")) if key]
    unknown = re.match(r"Object contains unknown field `(.+)`", message)
    if unknown:
        allowed = ", ".join(_fields(keys))
        where = ".".join([*keys, unknown[1]])
        return f"{path}:{_line(text, [*keys, unknown[1]])}: unknown key '{where}'; allowed here: {allowed}"
    found: Any = raw
    for key in keys:
        found = found.get(key, found) if isinstance(found, dict) else found
    where = ".".join(keys)
    allowed_here = f"; allowed: {_ALLOWED[where]}" if where in _ALLOWED else ""
    told = f"{message[:1].lower()}{message[1:]}{allowed_here}"
    if isinstance(found, dict):
        return f"{path}:{_line(text, keys)}: [{where}]: {told}"
    return f"{path}:{_line(text, keys)}: {where or 'the file'} = {found!r}: {told}"


_ALLOWED = {
    "contract.scope": '["session"], ["user"] or both',
    "contract.window": "{messages = N}",
    "contract.unmarked": '"forbid" or "allow"',
    "budget.disorder": '"fail" or "report"',
}


def _fields(keys: list[str]) -> list[str]:
    known = {"": Settings, "contract": Contract, "budget": Budget, "contract.window": Window}
    return list(known[".".join(keys)].__struct_fields__) if ".".join(keys) in known else []


def _line(text: str, keys: list[str]) -> int:
    """The 1-based line that sets the last of ``keys``, looking below the table header where there is one."""
    if not keys:
        return 1
    table, wanted = "", keys[-1]
    fallback = 1
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[([^\[\]]+)\]", line)
        if header:
            table = header[1].strip()
            if table == ".".join(keys):
                return number
        elif re.search(rf"(?:^|[\s{{,.])['\"]?{re.escape(wanted)}['\"]?\s*[=.]", line):
            if table == ".".join(keys[:-1]) or table == keys[0]:
                return number
            fallback = number
    return fallback
