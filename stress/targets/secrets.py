"""Secrets of a target file: taken from the environment, and kept out of everything that people read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from goldfish.errors import UsageError
from goldfish.mistakes import line_of

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
CHARS_MIN = 4
"""Shorter values would be found everywhere; they are shown."""
MASK = "***"


class Secrets:
    """Values that must not be shown."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, value: str) -> None:
        """Hide a value from now on, also as it stands in a URL or in JSON."""
        if len(value) >= CHARS_MIN:
            in_json = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
            self._values |= {value, quote(value, safe=""), quote(value), *in_json}
            longest_first = sorted(self._values, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def mask(self, text: str) -> str:
        """The text without secrets."""
        return self._pattern.sub(MASK, text) if self._pattern else text


def resolve(
    raw: Any, environ: Mapping[str, str], secrets: Secrets, where: str, text: str, keys: tuple[str, ...] = ()
) -> Any:
    """What a TOML file says, with ``${NAME}`` in its strings replaced by environment variables.

    Args:
        raw: the file as TOML reads it, or a part of it.
        environ: the variables.
        secrets: learns their values.
        where: the file's name.
        text: the file, to name lines.
        keys: what leads to the part.

    Raises:
        UsageError: a variable is not set; the line is named.
    """
    if isinstance(raw, dict):
        return {key: resolve(value, environ, secrets, where, text, (*keys, key)) for key, value in raw.items()}
    if isinstance(raw, list):
        return [resolve(value, environ, secrets, where, text, keys) for value in raw]
    if not isinstance(raw, str):
        return raw

    def value_of(match: re.Match[str]) -> str:
        value = environ.get(match[1])
        wrong = None
        if value is None:
            wrong = "is not set"
        elif not value:
            wrong = "is empty"
        elif any(ord(char) < 32 for char in value):
            wrong = "holds control characters; expected one line of text"
        if value is None or wrong is not None:
            line = next(
                (number for number, line in enumerate(text.splitlines(), 1) if match[0] in line),
                line_of(text, list(keys)),
            )
            raise UsageError(
                f"{where}:{line}: {match[0]} in '{'.'.join(keys)}': the environment variable {match[1]} {wrong}; "
                f"set it, e.g. export {match[1]}=…"
            )
        secrets.add(value)
        return value

    return _VARIABLE.sub(value_of, raw)
