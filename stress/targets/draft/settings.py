"""A ``goldfish.toml`` in which every line is a comment: what may be said, and what holds if it is not."""

from __future__ import annotations

import textwrap
from typing import Any

import msgspec

from goldfish.contract import TABLES
from goldfish.keys import Key, keys_of, toml

HEAD = """\
# What the memory promises, and what a run tolerates.
#
#   goldfish run --target {mapping} --contract goldfish.toml
#
# Every key is here with its default, as a comment: take the # away to say something else. Where a key is not set by
# default, the line is an example. What stands here goes before what the target says under its own [contract].
"""
EXAMPLES: dict[str, Any] = {
    "contract.window.messages": 20,
    "contract.window.turns": 10,
    "contract.window.tokens": 4000,
    "contract.page.default": 20,
    "contract.page.max": 100,
    "contract.ttl.seconds": 3600,
    "contract.ttl.refresh": "write",
    "contract.settle_ms": 2000,
    "contract.roles": ["user", "assistant"],
    "contract.content.max_bytes": 32_768,
    "budget.conversations_harmed": 0.01,
    "budget.recall_p95_ms": 300,
    "budget.append_p95_ms": 300,
}
"""Of keys that are not set by default."""


def commented_settings(mapping: str = "memory.toml") -> str:
    """The whole file."""
    parts = [HEAD.format(mapping=mapping)]
    for name, table in TABLES.items():
        if not name:
            continue
        parts.append("\n".join(_table(name, table)) + "\n")
    return "\n".join(parts)


def _table(name: str, table: type[msgspec.Struct]) -> list[str]:
    inner = "." in name
    about = "" if not inner else next(key.meaning for key in keys_of(TABLES[_above(name)]) if key.name == _last(name))
    lines = [f"# [{name}]" if inner else f"[{name}]"]
    if about:
        lines = [*remark(about), *lines]
    for key in keys_of(table):
        if f"{name}.{key.name}" not in TABLES:
            lines += ["", *_key(name, key)]
    return lines


def _key(table: str, key: Key) -> list[str]:
    unset = key.default is None or key.default is msgspec.NODEFAULT
    value = EXAMPLES[f"{table}.{key.name}"] if unset else key.default
    must = key.default is msgspec.NODEFAULT
    return [
        *remark(key.meaning),
        f"# {key.name} = {toml(value)}" + ("  # must be set" if must else "  # an example" if unset else ""),
    ]


def remark(text: str, indent: str = "# ") -> list[str]:
    """A text as lines of comment."""
    return textwrap.wrap(text, 110, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _above(name: str) -> str:
    return name.rpartition(".")[0]


def _last(name: str) -> str:
    return name.rpartition(".")[2]
