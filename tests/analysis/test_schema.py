"""The published schema of ``results.json`` is the one of the types, and results obey it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.analyze import analyze
from analysis.publish import RESULTS
from analysis.results import Results
from analysis.schema import schema
from goldfish.contract import Budget
from goldfish.run import Skipped

from .runs import Process, many, write
from .test_outputs import hostile_run

PUBLISHED = Path(__file__).parents[2] / "docs" / "results.schema.json"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {
    "$ref", "$defs", "$schema", "title", "description", "default", "type", "enum", "const", "anyOf", "properties",
    "required", "items", "prefixItems", "additionalProperties", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "minItems", "maxItems", "propertyNames",
}  # fmt: skip


def violations(value: Any, rule: Any, root: dict[str, Any], path: str = "$") -> list[str]:
    """What of a JSON value breaks a schema: as much of the standard as our schema uses, and no keyword overlooked."""
    if isinstance(rule, bool):
        return [] if rule else [f"{path}: not allowed"]
    assert set(rule) <= KNOWN, set(rule) - KNOWN
    if "$ref" in rule:
        return violations(value, root["$defs"][rule["$ref"].removeprefix("#/$defs/")], root, path)
    if "anyOf" in rule:
        tried = [violations(value, other, root, path) for other in rule["anyOf"]]
        return [] if not all(tried) else [f"{path}: none of {len(tried)} forms: {tried}"]
    kind = rule.get("type")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind in TYPES and not isinstance(value, TYPES[kind]):
        return [f"{path}: {value!r} is no {kind}"]
    if (kind == "number" and not number) or (kind == "integer" and not (number and value == int(value))):
        return [f"{path}: {value!r} is no {kind}"]
    if "enum" in rule and value not in rule["enum"]:
        return [f"{path}: {value!r} is not in {rule['enum']}"]
    bad = [
        f"{path}: {value!r} {limit} {rule[limit]}"
        for limit, broken in (
            ("minimum", number and value < rule.get("minimum", value)),
            ("maximum", number and value > rule.get("maximum", value)),
            ("exclusiveMinimum", number and "exclusiveMinimum" in rule and value <= rule["exclusiveMinimum"]),
            ("exclusiveMaximum", number and "exclusiveMaximum" in rule and value >= rule["exclusiveMaximum"]),
        )
        if broken
    ]
    if isinstance(value, dict):
        properties = rule.get("properties", {})
        bad += [f"{path}: {name} is missing" for name in rule.get("required", []) if name not in value]
        for name, part in value.items():
            part_rule = properties.get(name, rule.get("additionalProperties", True))
            bad += violations(part, part_rule, root, f"{path}.{name}")
    if isinstance(value, list):
        first = rule.get("prefixItems", [])
        for at, part in enumerate(value):
            part_rule = first[at] if at < len(first) else rule.get("items", True)
            bad += violations(part, part_rule, root, f"{path}[{at}]")
        bad += [f"{path}: too short"] if len(value) < rule.get("minItems", 0) else []
        bad += [f"{path}: too long"] if len(value) > rule.get("maxItems", len(value)) else []
    return bad


def judged(directory: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((directory / RESULTS).read_text(encoding="utf-8"))
    return results


def test_the_published_schema_is_that_of_the_types() -> None:
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == json.loads(msgspec.json.encode(schema())), (
        "say: python -m analysis.schema > docs/results.schema.json"
    )


def test_every_field_of_the_results_is_in_the_schema() -> None:
    assert set(schema()["$defs"]["Results"]["properties"]) == set(Results.__struct_fields__)


def sound_run(directory: Path) -> None:
    analyze(write(directory, many(10), budget=Budget(min_conversations=10)))


def lossy_run(directory: Path) -> None:
    process = many(10).talk("x").append("phone", 0, 1, 0).append("laptop", 2, 3, 0)
    process.recall("phone", 4, 5, ("laptop", 0)).recall("phone", 6, 7, ("phone", 0), ("laptop", 0), final=True)
    analyze(write(directory, process, budget=Budget(context_loss=0.01), skipped=[Skipped(scenario="y", reason="z")]))


def empty_run(directory: Path) -> None:
    analyze(write(directory, Process(), scenarios=["never"]))


def odd_run(directory: Path) -> None:
    hostile_run(directory, "<b>\u202e")


@pytest.mark.parametrize("run", [sound_run, lossy_run, empty_run, odd_run])
def test_results_obey_the_published_schema_and_the_types(tmp_path: Path, run: Any) -> None:
    run(tmp_path)
    rule = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert violations(judged(tmp_path), rule, rule) == []
    msgspec.convert(judged(tmp_path), Results, strict=True)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"verdict": "fine"}, "$.verdict"),
        ({"exit_code": "0"}, "$.exit_code"),
        ({"scenarios": {}}, "$.scenarios"),
        ({"budget": {"confidence": 1.5}}, "$.budget.confidence"),
        ({"reasons": [{"code": "x"}]}, "$.reasons[0]"),
    ],
)
def test_what_breaks_the_schema_is_told(tmp_path: Path, change: dict[str, Any], path: str) -> None:
    sound_run(tmp_path)
    rule = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    (told,) = violations(judged(tmp_path) | change, rule, rule)
    assert told.startswith(f"{path}:")
