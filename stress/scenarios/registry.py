"""Which scenarios there are, read from their files without importing Locust.

A scenario is one file in this folder with one ``MemoryUser`` class; its docstring says who the user is and what must
hold. Adding one touches nothing else.
"""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import msgspec

from goldfish.errors import UsageError


class ScenarioInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What the file of a scenario declares."""

    name: str
    users_do: str
    """First sentence of the class docstring."""
    must_hold: str
    """The rest of it."""
    scope: str
    class_name: str


@cache
def scenarios() -> dict[str, ScenarioInfo]:
    """All scenarios by name, sorted."""
    found = [info for path in sorted(Path(__file__).parent.glob("*.py")) for info in _declared(path)]
    return {info.name: info for info in sorted(found, key=lambda info: info.name)}


def scenario_named(name: str) -> ScenarioInfo:
    """The scenario of this name.

    Raises:
        UsageError: there is none.
    """
    known = scenarios()
    if name not in known:
        raise UsageError(f"unknown scenario '{name}': known are {', '.join(known)}")
    return known[name]


def name_of(class_name: str) -> str:
    """The scenario's name: its class's, in lower case with dashes."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", class_name).lower()


def first_sentence(docstring: str) -> str:
    """What stands before the first blank line, on one line."""
    return " ".join(inspect.cleandoc(docstring).partition("\n\n")[0].split())


def _declared(path: Path) -> list[ScenarioInfo]:
    infos = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "MemoryUser" for base in node.bases):
            docstring = ast.get_docstring(node) or ""
            infos.append(
                ScenarioInfo(
                    name=name_of(node.name),
                    users_do=first_sentence(docstring),
                    must_hold=" ".join(docstring.partition("\n\n")[2].split()),
                    scope=_constant(node, "scope", "session"),
                    class_name=node.name,
                )
            )
    return infos


def _constant(node: ast.ClassDef, name: str, default: str) -> str:
    for statement in node.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            return str(ast.literal_eval(statement.value))
    return default
