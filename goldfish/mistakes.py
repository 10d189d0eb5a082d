"""Tells a mistake in a settings file to people: where it stands, what was found there, and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec


def explain(
    path: Path,
    text: str,
    raw: dict[str, Any],
    problem: str,
    *,
    tables: Mapping[str, type[msgspec.Struct]],
    values: Mapping[str, str],
) -> str:
    """A sentence with file, line, key, value and what is allowed.

    Args:
        path: the file.
        text: what it holds.
        raw: the same as TOML reads it.
        problem: what msgspec says of it.
        tables: every table the file may have, by its dotted name.
        values: what is allowed, by the dotted name of the key.
    """
    message, _, place = problem.partition(" - at `$")
    keys = [key for key in re.split(r"\.|\[\d+\]|\[\.\.\.\]", place.rstrip("`")) if key]
    unknown = re.match(r"Object contains unknown field `(.+)`", message)
    if unknown:
        table = tables.get(".".join(keys))
        allowed = ", ".join(table.__struct_fields__) if table else ""
        where = ".".join([*keys, unknown[1]])
        return f"{path}:{line_of(text, [*keys, unknown[1]])}: unknown key '{where}'; allowed here: {allowed}"
    found: Any = raw
    for key in keys:
        found = found.get(key, found) if isinstance(found, dict) else found
    where = ".".join(keys)
    told = f"{message[:1].lower()}{message[1:]}"
    combined = re.match(r"(\w+) = ", message)
    if combined:  # of several keys: the first that is named is the one to change
        return f"{path}:{line_of(text, [*keys, combined[1]])}: [{where}]: {told}"
    allowed_here = f"; allowed: {values[where]}" if where in values else ""
    if isinstance(found, dict):
        return f"{path}:{line_of(text, keys)}: [{where}]: {told}{allowed_here}"
    return f"{path}:{line_of(text, keys)}: {where or 'the file'} = {found!r}: {told}{allowed_here}"


def not_toml(path: str, text: str, error: ValueError) -> str:
    """A sentence with file and line for a file that is no TOML."""
    told = str(error)
    at = re.search(r" \(at line (\d+), column (\d+)\)", told)
    if at is None:
        return f"{path} is not valid TOML: {told}"
    lines = text.splitlines()
    words = lines[int(at[1]) - 1].strip() if int(at[1]) <= len(lines) else ""
    return f"{path}:{at[1]}: not valid TOML: {told.replace(at[0], '')}: {words}"


def line_of(text: str, keys: list[str], which: int = 0) -> int:
    """The 1-based line that sets the last of ``keys``; where none does, the header of its table; else a namesake's.

    Args:
        text: what the file holds.
        keys: the table, and what is below it.
        which: of several tables of this name, counted from 0.
    """
    if not keys:
        return 1
    table, wanted = "", keys[-1]
    fallback, above, before = 1, 0, -1
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[{1,2}([^\[\]]+)\]", line)
        if header:
            table = header[1].strip()
            before += table == keys[0]
            if table == keys[0] and before < which:
                table = ""  # another of the same name is meant
            if table == ".".join(keys):
                return number
            if table and table == ".".join(keys[:-1]):
                above = number
        elif re.search(rf"(?:^|[\s{{,.])['\"]?{re.escape(wanted)}['\"]?\s*[=.]", line):
            if table == ".".join(keys[:-1]) or table == keys[0]:
                return number
            fallback = number
    return above or fallback
