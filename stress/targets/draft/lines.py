"""The lines of a mapping that is written: each a key, its value, and where that was guessed from."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from goldfish.keys import toml, toml_key
from stress.targets.draft.settings import remark

WIDTH = 120
_FOREIGN = re.compile(r"\$\{(?!MEMORY_)")
"""A variable that is not ours: a document must not get at the secrets of whoever reads it."""


class Line(msgspec.Struct, kw_only=True):
    """A key of a table."""

    key: str
    value: Any
    why: str
    """What it was guessed from."""
    unsure: bool = False
    off: bool = False
    """Whether it stands there as a comment, as something to try."""


class Table(msgspec.Struct, kw_only=True):
    """A table of the mapping."""

    name: str
    why: str = ""
    unsure: bool = False
    several: bool = False
    """Whether it is one of several of the same name."""
    lines: list[Line] = []

    def say(self, key: str, value: Any, why: str, *, unsure: bool = False, off: bool = False) -> None:
        """Add a line."""
        self.lines.append(Line(key=key, value=value, why=why, unsure=unsure, off=off))

    @property
    def doubts(self) -> int:
        """How many of its lines are unsure."""
        return self.unsure + sum(line.unsure for line in self.lines)

    def written(self) -> str:
        """Its text."""
        header = f"[[{self.name}]]" if self.several else f"[{self.name}]"
        first = _beside(header, _mark(self.why, self.unsure))
        return "\n".join([*first, *(text for line in self.lines for text in _written(line))]) + "\n"


def _written(line: Line) -> list[str]:
    text = f"{toml_key(line.key)} = {_FOREIGN.sub('$ {', toml(line.value))}"
    return _beside(f"# {text}" if line.off else text, _mark(line.why, line.unsure))


def _mark(why: str, unsure: bool) -> str:
    return f"? {why}" if unsure and why else "?" if unsure else why


def _beside(text: str, why: str) -> list[str]:
    """A comment behind a line, or above it where there is no room."""
    why = "".join(char if char.isprintable() else " " for char in why)
    if not why:
        return [text]
    beside = f"{text}  # {why}"
    return [beside] if len(beside) <= WIDTH else [*remark(why), text]
