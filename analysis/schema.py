"""The JSON Schema of ``results.json``: ``python -m analysis.schema > docs/results.schema.json``.

Made from the types that are written, so it cannot promise anything else. What stands in the types as the docstring of a
field becomes the field's description.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import Any

import msgspec

from analysis.results import SCHEMA, Results


def schema() -> dict[str, Any]:
    """The schema, in the dialect of 2020-12."""
    made = msgspec.json.schema(Results)
    parts = made["$defs"]
    for kind in _structs():
        for name, meaning in _meanings(kind).items():
            if kind.__name__ in parts:
                parts[kind.__name__]["properties"][name]["description"] = meaning
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"goldfish results.json, schema {SCHEMA}",
        **made,
    }


def _structs() -> list[type[msgspec.Struct]]:
    """Every struct that ``Results`` is made of, itself included."""
    found: dict[str, type[msgspec.Struct]] = {}
    waiting: list[Any] = [msgspec.inspect.type_info(Results)]
    while waiting:
        info = waiting.pop()
        if isinstance(info, msgspec.inspect.StructType):
            if info.cls.__name__ in found:
                continue
            found[info.cls.__name__] = info.cls
            waiting += [field.type for field in info.fields]
        waiting += [
            part
            for name in ("types", "item_types", "item_type", "key_type", "value_type")
            for part in _listed(getattr(info, name, None))
        ]
    return list(found.values())


def _listed(part: Any) -> list[Any]:
    return list(part) if isinstance(part, tuple) else [part] if part is not None else []


def _meanings(kind: type[msgspec.Struct]) -> dict[str, str]:
    """The docstring of each field of a struct."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    return {
        ast.unparse(field.target): re.sub(r"\bNone\b", "null", " ".join(text.value.value.split()))
        for field, text in zip(body.body, body.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


if __name__ == "__main__":
    print(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())
