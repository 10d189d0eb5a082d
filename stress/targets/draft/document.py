"""What an OpenAPI document says of a service, reduced to what a mapping is made of: operations and shapes.

Versions 3.x are read, and 2.0 (Swagger), as far as shapes go. References into other files are not followed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import urljoin, urlsplit

import msgspec

from goldfish.errors import UsageError

METHODS = ("get", "post", "put", "patch", "delete")
DEPTH_MAX = 8
SHAPES_MAX = 50_000
"""A document is somebody else's: one that refers to itself again and again has an end here."""

_HEADER = re.compile(r"[A-Za-z0-9!#%&'*+.^_|~-]+")

Kind = Literal["table", "list", "text", "number", "truth", "any"]


class Shape(msgspec.Struct, kw_only=True):
    """A JSON value, as a schema or an example describes it."""

    kind: Kind = "any"
    fields: dict[str, Shape] = {}
    required: frozenset[str] = frozenset()
    element: Shape | None = None
    values: tuple[Any, ...] = ()
    """All that it may be, if that is listed."""
    words: str = ""
    default: Any = None
    example: Any = None
    most: int | None = None
    """The highest number."""
    chars_max: int | None = None
    form: str = ""
    """A format, such as uuid."""
    pattern: str = ""


class Parameter(NamedTuple):
    """A value outside of the body."""

    name: str
    place: str
    """path, query or header."""
    required: bool
    shape: Shape


class Operation(msgspec.Struct, kw_only=True):
    """A request that the service knows."""

    method: str
    path: str
    parameters: list[Parameter]
    body: Shape | None
    answers: dict[int, Shape | None]
    """By status; without a shape where the document has none."""
    words: str
    """What is said of it."""
    deprecated: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def done(self) -> list[int]:
        """Statuses that accept."""
        return sorted(status for status in self.answers if 200 <= status < 300)

    @property
    def answer(self) -> Shape:
        """Of the first status that accepts and has a body."""
        return next((shape for status in self.done if (shape := self.answers[status]) is not None), Shape())


class Guard(NamedTuple):
    """What lets a request in."""

    kind: Literal["bearer", "basic", "header", "other"]
    name: str
    """Of the header; of the scheme for others."""


class Document(NamedTuple):
    """A service."""

    title: str
    version: str
    base_url: str
    told_base_url: bool
    """Whether the document says where it listens."""
    guards: list[Guard]
    operations: list[Operation]


def understood(data: Any, origin: str) -> Document:
    """Read a document.

    Args:
        data: as JSON or YAML has it.
        origin: its address, if it was fetched; else its file.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(data, dict) or not isinstance(data.get("paths"), dict):
        found = f"a table with {', '.join(map(str, list(data)[:5]))}" if isinstance(data, dict) else "no table"
        raise UsageError(f"{origin} is no OpenAPI document: expected a table with 'openapi' and 'paths', found {found}")
    reader = _Reader(data)
    operations = []
    for path, item in data["paths"].items():
        item = reader.resolved(item)
        if not isinstance(path, str) or not path.startswith("/") or not isinstance(item, dict):
            continue
        for method in METHODS:
            if isinstance(item.get(method), dict):
                operations.append(reader.operation(method, path, item, item[method]))
    if not operations:
        raise UsageError(f"{origin} has no operations: its 'paths' are empty")
    info = _table(data.get("info"))
    base_url, told = _base_url(data, origin)
    return Document(_line(info.get("title")), _line(info.get("version")), base_url, told, reader.guards(), operations)


class _Reader:
    """Follows references, within bounds."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data
        self._left = SHAPES_MAX

    def resolved(self, value: Any) -> Any:
        """What a reference leads to."""
        for _ in range(DEPTH_MAX):
            reference = value.get("$ref") if isinstance(value, dict) else None
            if not isinstance(reference, str):
                return value
            if not reference.startswith("#/"):
                return {}
            value = self._data
            for part in reference[2:].split("/"):
                part = part.replace("~1", "/").replace("~0", "~")
                value = value.get(part, {}) if isinstance(value, dict) else {}
        return {}

    def operation(self, method: str, path: str, item: Mapping[str, Any], told: Mapping[str, Any]) -> Operation:
        parameters: dict[tuple[str, str], Parameter] = {}
        body: Shape | None = None
        for raw in [*_list(item.get("parameters")), *_list(told.get("parameters"))]:
            raw = self.resolved(raw)
            if not isinstance(raw, dict):
                continue
            name, place = _line(raw.get("name")), raw.get("in")
            if place == "body":  # Swagger
                body = self.shape(raw.get("schema"))
            elif name and (place in ("path", "query") or (place == "header" and _HEADER.fullmatch(name))):
                schema = raw["schema"] if isinstance(raw.get("schema"), dict) else raw
                shape = self.shape(schema)
                shape.words = " ".join(filter(None, (_line(raw.get("description")), shape.words)))
                shape.example = raw.get("example", shape.example)
                parameters[place, name] = Parameter(name, place, bool(raw.get("required")) or place == "path", shape)
        content = _table(self.resolved(told.get("requestBody"))).get("content")
        if content is not None:
            body = self._content(content)
        answers: dict[int, Shape | None] = {}
        for status, answer in _table(told.get("responses")).items():
            answer = _table(self.resolved(answer))
            if str(status).upper() == "2XX":
                status = "200"
            if str(status).isdigit():
                answers[int(status)] = (
                    self._content(answer["content"])
                    if "content" in answer
                    else self.shape(answer["schema"])
                    if "schema" in answer
                    else None
                )
        words = [told.get("summary"), told.get("description"), told.get("operationId"), item.get("summary")]
        return Operation(
            method=method.upper(),
            path=path,
            parameters=list(parameters.values()),
            body=body,
            answers=answers,
            words=". ".join(filter(None, map(_line, words))),
            deprecated=told.get("deprecated") is True,
        )

    def guards(self) -> list[Guard]:
        components = _table(self._data.get("components"))
        schemes = _table(components.get("securitySchemes")) or _table(self._data.get("securityDefinitions"))
        found: list[Guard] = []
        for name, scheme in schemes.items():
            scheme = _table(self.resolved(scheme))
            kind, how = scheme.get("type"), str(scheme.get("scheme", "")).lower()
            if kind == "basic" or (kind == "http" and how == "basic"):
                found.append(Guard("basic", str(name)))
            elif kind == "http" and how == "bearer":
                found.append(Guard("bearer", str(name)))
            elif kind == "apiKey" and scheme.get("in") == "header" and _HEADER.fullmatch(_line(scheme.get("name"))):
                found.append(Guard("header", _line(scheme.get("name"))))
            else:
                found.append(Guard("other", str(name)))
        return found

    def _content(self, content: Any) -> Shape | None:
        kinds = _table(content)
        best = next((kind for kind in kinds if "json" in str(kind)), None)
        if best is None:
            return None
        media = _table(kinds[best])
        shape = self.shape(media.get("schema"))
        if shape.kind == "any" or (shape.kind == "table" and not shape.fields):
            shown = [media.get("example")]
            shown += [_table(self.resolved(each)).get("value") for each in _table(media.get("examples")).values()]
            shape = next((self._shown(each) for each in shown if each is not None), shape)
        return shape

    def shape(self, schema: Any, depth: int = 0) -> Shape:
        """What a schema describes."""
        self._left -= 1
        schema = self.resolved(schema)
        if not isinstance(schema, dict) or depth > DEPTH_MAX or self._left < 0:
            return Shape()
        parts = [self.shape(part, depth + 1) for part in _list(schema.get("allOf"))]
        choices = [self.shape(part, depth + 1) for key in ("anyOf", "oneOf") for part in _list(schema.get(key))]
        # Of several forms of a value the simplest is sent: a text rather than a list of parts.
        choices = [choice for choice in choices if choice.kind != "any" or choice.values]
        choices.sort(key=lambda choice: _SIMPLEST.index(choice.kind))
        parts += choices[:1]
        own = self._own(schema, depth)
        for part in parts:
            _merge(own, part)
        return own

    def _own(self, schema: dict[str, Any], depth: int) -> Shape:
        kinds = [kind for kind in _list(schema.get("type")) or [schema.get("type")] if kind != "null"]
        kind = _KINDS.get(str(kinds[0]) if kinds else "", "any")
        fields = {str(name): self.shape(part, depth + 1) for name, part in _table(schema.get("properties")).items()}
        if fields and kind == "any":
            kind = "table"
        values = tuple(schema["enum"]) if isinstance(schema.get("enum"), list) else ()
        if "const" in schema:
            values = (schema["const"],)
        element = self.shape(schema["items"], depth + 1) if "items" in schema else None
        examples = _list(schema.get("examples"))
        shape = Shape(
            kind="list" if element is not None else kind,
            fields=fields,
            required=frozenset(name for name in _list(schema.get("required")) if isinstance(name, str)),
            element=element,
            values=tuple(value for value in values if isinstance(value, str | int | float)),
            words=_line(schema.get("description")),
            default=schema.get("default"),
            example=schema.get("example", examples[0] if examples else None),
            most=_whole(schema.get("maximum")),
            chars_max=_whole(schema.get("maxLength")),
            form=_line(schema.get("format")),
            pattern=_line(schema.get("pattern")),
        )
        if shape.values and shape.kind == "any":
            shape.kind = "text" if isinstance(shape.values[0], str) else "number"
        if not fields and shape.kind == "table" and isinstance(shape.example, dict):
            _merge(shape, self._shown(shape.example, depth))
        return shape

    def _shown(self, value: Any, depth: int = 0) -> Shape:
        """What an example shows."""
        self._left -= 1
        if depth > DEPTH_MAX or self._left < 0:
            return Shape()
        if isinstance(value, dict):
            fields = {str(name): self._shown(part, depth + 1) for name, part in value.items()}
            return Shape(kind="table", fields=fields, required=frozenset(fields))
        if isinstance(value, list):
            return Shape(kind="list", element=self._shown(value[0], depth + 1) if value else Shape())
        if isinstance(value, bool):
            return Shape(kind="truth", example=value)
        if isinstance(value, int | float):
            return Shape(kind="number", example=value)
        return Shape(kind="text", example=value) if isinstance(value, str) else Shape()


_KINDS: dict[str, Kind] = {
    "object": "table",
    "array": "list",
    "string": "text",
    "integer": "number",
    "number": "number",
    "boolean": "truth",
}
_SIMPLEST = ("text", "list", "table", "number", "truth", "any")


def _merge(shape: Shape, part: Shape) -> None:
    """Add to a shape what another says of the same value."""
    if shape.kind == "any":
        shape.kind = part.kind
    shape.fields = {**part.fields, **shape.fields}
    shape.required |= part.required
    for name in ("element", "default", "example", "most", "chars_max"):
        if getattr(shape, name) is None:
            setattr(shape, name, getattr(part, name))
    for name in ("values", "words", "form", "pattern"):
        if not getattr(shape, name):
            setattr(shape, name, getattr(part, name))


def _base_url(data: Mapping[str, Any], origin: str) -> tuple[str, bool]:
    """Where the service listens, and whether the document says so."""
    fetched = origin if origin.startswith(("http://", "https://")) else ""
    home = "{0.scheme}://{0.netloc}".format(urlsplit(fetched)) if fetched else "http://127.0.0.1:8000"
    servers = _list(data.get("servers"))
    url = ""
    if servers:
        server = _table(servers[0])
        url = _line(server.get("url"))
        for name, variable in _table(server.get("variables")).items():
            url = url.replace(f"{{{name}}}", str(_table(variable).get("default", "")))
    elif "swagger" in data:
        scheme = next(iter(_list(data.get("schemes"))), urlsplit(home).scheme)
        host = _line(data.get("host")) or urlsplit(home).netloc
        url = f"{scheme}://{host}{_line(data.get('basePath'))}"
        if not data.get("host") and not fetched:
            return url.rstrip("/"), False
    full = urljoin(fetched or home + "/", url) if url else home
    if any(char in full for char in "{}\"'\\ $"):
        return home, bool(fetched)
    return full.rstrip("/"), bool(urlsplit(url).netloc) or bool(fetched)


def _table(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _line(value: Any) -> str:
    return (
        " ".join(value.split()) if isinstance(value, str) else "" if value is None else json.dumps(value, default=str)
    )


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
