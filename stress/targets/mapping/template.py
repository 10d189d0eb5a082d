"""Templates: strings with ``{placeholders}`` in paths, queries, headers and JSON bodies, compiled once.

A string that is nothing but one placeholder becomes the value itself, whatever its type. What stands under a key whose
placeholder has no value (no limit is asked for, there is no cursor yet) is left out. ``{{`` and ``}}`` are braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

Values = Mapping[str, Any]
Build = Callable[[Values], Any]

MISSING: Any = object()
"""There is no value."""
_PART = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}|[{}]")


class TemplateError(Exception):
    """A template that cannot be meant."""


def parts_of(text: str) -> list[tuple[str, str | None]]:
    """Constant text and the placeholder that follows it, or None at the end.

    Raises:
        TemplateError: a brace stands alone.
    """
    parts: list[tuple[str, str | None]] = []
    constant, at = "", 0
    for match in _PART.finditer(text):
        constant += text[at : match.start()]
        at = match.end()
        if match[1]:
            parts.append((constant, match[1]))
            constant = ""
        elif len(match[0]) == 2:
            constant += match[0][0]
        else:
            raise TemplateError(f"'{match[0]}' stands alone in '{text}'; a brace is written twice: {match[0] * 2}")
    return [*parts, (constant + text[at:], None)]


def placeholders(value: Any) -> Iterator[str]:
    """The names of all placeholders in a template of any form."""
    if isinstance(value, str):
        yield from (name for _, name in parts_of(value) if name is not None)
    elif isinstance(value, dict):
        for part in value.values():
            yield from placeholders(part)
    elif isinstance(value, list):
        for part in value:
            yield from placeholders(part)


def compiled(value: Any) -> Build:
    """A function that makes a JSON value from the values of placeholders."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return _table(value)
    if isinstance(value, list):
        members = [compiled(member) for member in value]
        return lambda values: [made for member in members if (made := member(values)) is not MISSING]
    return lambda _: value


def _text(text: str) -> Build:
    parts = parts_of(text)
    if len(parts) == 1:
        constant = parts[0][0]
        return lambda _: constant
    first = parts[0][1]
    if len(parts) == 2 and first is not None and not parts[0][0] and not parts[1][0]:
        return lambda values: values.get(first, MISSING)

    def build(values: Values) -> Any:
        made = ""
        for before, name in parts:
            made += before
            if name is not None:
                value = values.get(name, MISSING)
                if value is MISSING:
                    return MISSING
                made += value if isinstance(value, str) else str(value)
        return made

    return build


def _table(table: dict[str, Any]) -> Build:
    constant = {key: value for key, value in table.items() if not any(placeholders(value))}
    members = [(key, compiled(value)) for key, value in table.items() if key not in constant]
    whole = {key: compiled(value)({}) for key, value in constant.items()}
    order = list(table)
    if whole and members and order != [*whole, *(key for key, _ in members)]:
        members, whole = [(key, compiled(value)) for key, value in table.items()], {}

    def build(values: Values) -> dict[str, Any]:
        made = dict(whole)
        for key, member in members:
            value = member(values)
            if value is not MISSING:
                made[key] = value
        return made

    return build


def path(text: str) -> Callable[[Values], str]:
    """A function that makes a path; values are one percent-encoded segment each.

    It raises ``KeyError`` where a value is missing.
    """
    parts = parts_of(text)

    def build(values: Values) -> str:
        made = ""
        for before, name in parts:
            made += before
            if name is not None:
                made += _segment(str(values[name]))
        return made

    return build


def query(table: Mapping[str, Any]) -> Callable[[Values], str]:
    """A function that makes a query with its question mark; empty if nothing has a value."""
    members = [(quote(key, safe=""), compiled(value)) for key, value in table.items()]

    def build(values: Values) -> str:
        made = [
            f"{key}={_segment(_word(value))}" for key, member in members if (value := member(values)) is not MISSING
        ]
        return f"?{'&'.join(made)}" if made else ""

    return build


def headers(table: Mapping[str, str]) -> Callable[[Values], str]:
    """A function that makes header lines.

    It raises ``ValueError`` where a value, which may be what a service answered, would begin another line.
    """
    members = [(key, compiled(value)) for key, value in table.items()]

    def build(values: Values) -> str:
        made = ""
        for key, member in members:
            value = member(values)
            if value is not MISSING:
                line = f"{key}: {value}"
                if any(char in line for char in "\r\n\0"):
                    raise ValueError(f"the header {key} would have two lines")
                made += line + "\r\n"
        return made

    return build


@lru_cache(maxsize=16384)
def _segment(value: str) -> str:
    return quote(value, safe="")


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
