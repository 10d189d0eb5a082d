"""The reference page, made from the registries: ``python -m goldfish.reference > docs/reference.md``."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import jinja2
import msgspec

from goldfish.anomalies import ANOMALIES, FLAGS, POSITIONS
from goldfish.contract import TABLES

TEMPLATE = Path(__file__).with_name("reference.md.jinja")


def reference() -> str:
    """The whole page in Markdown."""
    from stress.memory.registry import DEFECTS, STORES
    from stress.scenarios.registry import scenarios

    page = jinja2.Environment(autoescape=False, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return page.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        scenarios=scenarios().values(),
        stores=STORES.values(),
        defects=DEFECTS.values(),
        anomalies=ANOMALIES.values(),
        flags=FLAGS.values(),
        positions=POSITIONS,
        tables={name: _keys(settings) for name, settings in TABLES.items() if name},
    )


def _keys(settings: type[Any]) -> list[tuple[str, str, str]]:
    """Key, default as TOML, and meaning (the attribute's docstring) of each key of a table."""
    (body,) = ast.parse(inspect.getsource(settings)).body
    assert isinstance(body, ast.ClassDef)
    meanings: dict[str, str] = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            meanings[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    return [(f.name, _toml(f.default), meanings.get(f.name, "")) for f in msgspec.structs.fields(settings)]


def _toml(value: object) -> str:
    if value is None:
        return "not set"
    if value is msgspec.NODEFAULT:
        return "must be set"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:g}" if isinstance(value, float) else str(value) if isinstance(value, int) else "{}"


if __name__ == "__main__":
    print(reference(), end="")
