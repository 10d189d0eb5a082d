"""The keys of a settings table, and what their attributes' docstrings say of them."""

from __future__ import annotations

import ast
import inspect
import json
import re
from typing import Any, NamedTuple

import msgspec

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Key(NamedTuple):
    """What may be set."""

    name: str
    default: Any
    """None: not set; ``msgspec.NODEFAULT``: must be set."""
    meaning: str


def keys_of(table: type[msgspec.Struct], *, inherited: bool = True) -> list[Key]:
    """The keys of a table, in their order.

    Args:
        table: the struct that it is read into.
        inherited: also those of the structs it extends, which come first.
    """
    bases = [base for base in table.__mro__[::-1] if issubclass(base, msgspec.Struct) and base is not msgspec.Struct]
    meanings: dict[str, str] = {}
    for base in bases:
        meanings |= _meanings(base)
    own = _meanings(table) if not inherited else meanings
    keys = []
    for field in msgspec.structs.fields(table):
        name = field.encode_name
        default = field.default
        if default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        if inherited or name in own:
            keys.append(Key(name, default, meanings.get(name, "")))
    return keys


def _meanings(table: type[msgspec.Struct]) -> dict[str, str]:
    """The docstring under each attribute, on one line."""
    (body,) = ast.parse(inspect.getsource(table)).body
    assert isinstance(body, ast.ClassDef)
    meanings: dict[str, str] = {}
    for field, text in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign):
            told = text.value if isinstance(text, ast.Expr) else None
            meanings[ast.unparse(field.target)] = (
                " ".join(str(told.value).split()) if isinstance(told, ast.Constant) else ""
            )
    return meanings


def toml(value: Any) -> str:
    """A value as it is written in TOML, on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        members = ", ".join(f"{toml_key(key)} = {toml(member)}" for key, member in value.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, msgspec.Struct):
        return "{}"
    raise TypeError(f"TOML has no {type(value).__name__}")


def toml_key(name: str) -> str:
    """A key as it is written in TOML."""
    return name if _BARE.fullmatch(name) else _string(name)


def _string(text: str) -> str:
    # What JSON escapes is what TOML escapes, but for DEL and for characters that JSON writes as two.
    return json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False).replace("\x7f", "\\u007f")
