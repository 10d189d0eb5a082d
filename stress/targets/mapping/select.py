"""Selectors: JMESPath expressions that find something in a JSON answer.

Plain paths (``data.items``, ``content[0].text``) are what almost everybody writes; these are walked directly, which is
many times as fast as interpreting the expression.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jmespath
import msgspec
from jmespath.exceptions import JMESPathError

Select = Callable[[Any], Any]


_decode = msgspec.json.Decoder().decode


def decode(body: bytes) -> Any:
    """The JSON of an answer.

    Raises:
        ValueError: it is none.
    """
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:  # lone surrogates are legal JSON escapes that the fast decoder refuses
            return json.loads(body)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


class SelectorError(Exception):
    """An expression that is no JMESPath."""


def selector(expression: str) -> Select:
    """A function that finds what an expression means; None if there is nothing.

    Raises:
        SelectorError: it is no JMESPath.
    """
    try:
        found = jmespath.compile(expression)
    except JMESPathError as error:
        raise SelectorError(" ".join(str(error).split())) from error
    steps = _steps(found.parsed)
    each = _each(found.parsed)
    if each is not None:
        to_list, to_value = each
        return lambda data: _of_each(_walk(data, to_list), to_value)
    if steps is None:

        def interpret(data: Any) -> Any:
            try:
                return found.search(data)
            except (JMESPathError, TypeError, ValueError):
                return None

        return interpret
    if len(steps) == 1 and isinstance(steps[0], str):
        name = steps[0]
        return lambda data: data.get(name) if type(data) is dict else None
    return lambda data: _walk(data, steps)


def _walk(data: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(step, str):
            if type(data) is not dict:
                return None
            data = data.get(step)
        elif type(data) is list and -len(data) <= step < len(data):
            data = data[step]
        else:
            return None
    return data


def _each(node: dict[str, Any]) -> tuple[list[str | int], list[str | int]] | None:
    """The paths to a list and to a value in each of its elements, for ``list[].value``; None if it is not that."""
    if node["type"] != "projection" or node["children"][0]["type"] != "flatten":
        return None
    to_list, to_value = _steps(node["children"][0]["children"][0]), _steps(node["children"][1])
    return (to_list, to_value) if to_list is not None and to_value else None


def _of_each(elements: Any, steps: list[str | int]) -> list[Any] | None:
    if type(elements) is not list:
        return None
    flat: list[Any] = []
    for element in elements:
        flat += element if type(element) is list else [element]
    return [value for element in flat if (value := _walk(element, steps)) is not None]


def plain_path(expression: str) -> list[str] | None:
    """The keys of a path that is nothing but keys; None if it is more."""
    steps = _steps(jmespath.compile(expression).parsed)
    if steps is None or not all(isinstance(step, str) for step in steps):
        return None
    return [str(step) for step in steps]


def _steps(node: dict[str, Any]) -> list[str | int] | None:
    """Names and numbers of a plain path; None if it is more than that."""
    kind, children = node["type"], node["children"]
    if kind in ("field", "index"):
        return [node["value"]]
    if kind == "current":
        return []
    if kind in ("subexpression", "index_expression"):
        steps: list[str | int] = []
        for child in children:
            part = _steps(child)
            if part is None:
                return None
            steps += part
        return steps
    return None


def paths_to(data: Any, wanted: Callable[[Any], bool], depth: int = 6) -> list[str]:
    """Where in an answer there is something that is wanted, as selectors; at most a few."""
    found: list[str] = []

    def look(value: Any, way: str, left: int) -> None:
        if len(found) >= 5 or left < 0:
            return
        if wanted(value):
            found.append(way or "@")
            return
        if isinstance(value, dict):
            for key, part in value.items():
                name = key if key.replace("_", "a").isalnum() and not key[:1].isdigit() else f'"{key}"'
                look(part, f"{way}.{name}" if way else name, left - 1)
        elif isinstance(value, list):
            for at, part in enumerate(value[:3]):
                look(part, f"{way}[{at}]", left - 1)

    look(data, "", depth)
    return found
