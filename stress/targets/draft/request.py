"""Fills an operation in: which placeholder goes where."""

from __future__ import annotations

import re
from typing import Any

from goldfish.keys import toml
from stress.targets.draft import names
from stress.targets.draft.document import Operation, Shape
from stress.targets.draft.finding import Told, Way, field, part_key
from stress.targets.draft.lines import Table

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DEEP = 4


class Values:
    """What stands for users and sessions: our own ids, or what the service told when they were made."""

    def __init__(self, *, sessions_are_users: bool = False) -> None:
        self.saved: dict[str, str] = {}
        """Placeholder by part."""
        self.sessions_are_users = sessions_are_users
        """The service knows no sessions: each of ours is a user of its own."""
        self.strangers: dict[str, str] = {}
        """Parameters of paths that are taken for a session although their name does not say so."""

    def of(self, part: str) -> str | None:
        """The placeholder for a part."""
        if part in self.saved:
            return self.saved[part]
        if part == "user" and self.sessions_are_users:
            return "{session}"
        return f"{{{part}}}" if part in ("user", "session", "device") else None


def path(operation: Operation, values: Values, table: Table, *, message: bool = False) -> str:
    """The path of a step; what cannot be told is written as an example, and said in the table's comment."""
    parts = dict(names.path_parts(operation.path))
    doubts = []
    template, at = "", 0
    for match in re.finditer(r"\{([^{}]*)\}", operation.path):
        name = match[1]
        placeholder = values.of(parts.get(name, "")) or values.of(values.strangers.get(name, ""))
        if placeholder is None and message:
            placeholder = "{id}"
        if placeholder is None:
            shape = next((p.shape for p in operation.parameters if p.name == name and p.place == "path"), Shape())
            placeholder = _segment(str(example_of(shape))) or "example"
            doubts.append(name)
        template += _segment(operation.path[at : match.start()], keep="/") + placeholder
        at = match.end()
    template += _segment(operation.path[at:], keep="/")
    why = str(operation)
    if doubts:
        why += f"; what is {' and '.join(doubts)}? write it"
    table.say("path", template, why, unsure=bool(doubts))
    return template


def _segment(text: str, keep: str = "") -> str:
    return re.sub(rf"[^\w{keep}.~:@!*',;=+-]", "", text)


def parameters(operation: Operation, values: Values, table: Table, list_query: dict[str, Any] | None = None) -> None:
    """Query and headers of a step.

    Args:
        operation: what is asked for.
        values: what stands for users and sessions.
        table: where they are written.
        list_query: of a list, what was found out about its limit and pages, by the name of the parameter.
    """
    query: dict[str, Any] = {}
    headers: dict[str, Any] = {}
    doubts: list[str] = []
    for parameter in operation.parameters:
        if parameter.place == "path":
            continue
        where = query if parameter.place == "query" else headers
        part = names.part_of(parameter.name)
        plain = values.of(part)
        if list_query is not None and parameter.name in list_query:
            query[parameter.name] = list_query[parameter.name]
        elif plain is not None:
            where[parameter.name] = plain
        elif part == "request" and table.name in ("append", "turn"):
            where[parameter.name] = "{id}"
        elif parameter.required and parameter.name.lower() not in _SENT_ANYWAY:
            value = example_of(parameter.shape)
            where[parameter.name] = (
                str(value) if where is headers or not isinstance(value, str | int | float) else value
            )
            doubts.append(parameter.name)
    told = f"which value has {' and '.join(doubts)}?" if doubts else "its parameters"
    if query:
        table.say("query", _braced(query), told, unsure=any(name in query for name in doubts))
    if headers:
        table.say("headers", _braced(headers), told, unsure=any(name in headers for name in doubts))


_SENT_ANYWAY = ("authorization", "content-type", "accept", "cookie", "x-request-id", "host", "user-agent")


def _braced(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value if _ours(value) else _plain(value) for name, value in values.items()}


def _ours(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\{[A-Za-z_][A-Za-z0-9_]*\}", value) is not None


def _plain(value: Any) -> Any:
    """An example, as a template that stands for itself."""
    if isinstance(value, str):
        return value.replace("{", "{{").replace("}", "}}")
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    return value


class Body:
    """Makes the template of a body from its shape."""

    def __init__(self, values: Values, part: str = "") -> None:
        self._values = values
        self._part = part
        """What this request makes: "session" or "user"; then the field ``id`` is that."""
        self.doubts: list[str] = []
        """Fields that were filled with examples."""
        self.ours: set[str] = set()
        """Placeholders of our own that it has."""

    def of(self, shape: Shape, fixed: dict[Way, Any], way: Way = ()) -> Any:
        """A template.

        Args:
            shape: of the body, or a part of it.
            fixed: templates of parts that are known, by their way.
            way: of this part.
        """
        if way in fixed:
            return fixed[way]
        if shape.kind != "table" or len(way) > _DEEP:
            return _plain(example_of(shape))
        made: dict[str, Any] = {}
        for name, part in shape.fields.items():
            here = (*way, name)
            if any(known[: len(here)] == here for known in fixed):
                made[name] = self.of(part, fixed, here)
                continue
            stands_for = names.part_of(name)
            if names.snake(name) == "id" and self._part:
                stands_for = "session" if self._part == "session" else "user"
            placeholder = self._values.of(stands_for)
            if placeholder is not None and (part.kind in ("text", "any") or stands_for in self._values.saved):
                made[name] = placeholder
                self.ours.add(stands_for)
            elif stands_for == "request" and way == ():
                made[name] = "{id}"
            elif name in shape.required and part.default is None:
                made[name] = self._required(name, part, fixed, here)
        return made

    def _required(self, name: str, part: Shape, fixed: dict[Way, Any], way: Way) -> Any:
        if part.kind == "table":
            return self.of(part, fixed, way)
        if self._part and part.kind in ("text", "any") and not part.values:
            ours = "{session}"  # also of a user: one who is made for each session is never there already
            if "mail" in names.snake(name):
                return f"{ours}@example.com"
            if names.snake(name) in ("name", "title", "subject", "label", "display_name", "first_name"):
                return ours
        if len(part.values) != 1:
            self.doubts.append(name)
        return _plain(example_of(part))


def message_of(shape: Shape, told: Told, values: Values, role: str = "{role}") -> tuple[Any, list[str]]:
    """The template of a message, and which of its fields were filled with examples."""
    fixed: dict[Way, Any] = {told.text: text_of(field(shape, told.text))}
    if told.role is not None:
        fixed[told.role] = role
    if told.id is not None:
        fixed[told.id] = "{id}"
    body = Body(values)
    return body.of(shape, fixed), body.doubts


def text_of(content: Shape) -> Any:
    """The template of what is said: a string, or a list with one part."""
    if content.kind != "list":
        return "{text}"
    key = part_key(content)
    if key is None or content.element is None:
        return ["{text}"]
    part: dict[str, Any] = {}
    for name, shape in content.element.fields.items():
        if name == key:
            part[name] = "{text}"
        elif shape.values or name in content.element.required:
            part[name] = _plain("text" if "text" in shape.values else example_of(shape))
    return [part]


def example_of(shape: Shape, deep: int = 3) -> Any:
    """A value that a schema allows, as far as one can tell."""
    for value in (*shape.values[:1], shape.default, shape.example):
        if value is not None and _writable(value):
            return value
    if shape.kind == "table":
        if deep == 0:
            return {}
        return {name: example_of(part, deep - 1) for name, part in shape.fields.items() if name in shape.required}
    return {"list": [], "number": 1, "truth": False}.get(shape.kind, "example")


def _writable(value: Any) -> bool:
    try:
        toml(value)
    except (TypeError, ValueError):
        return False
    return True


def placeholder_name(name: str, part: str) -> str:
    """What a value that the service tells is called in the mapping."""
    taken = {"user", "session", "device", "id", "role", "text", "messages", "limit", "cursor", "offset", "page"}
    return name if _NAME.fullmatch(name) and name not in taken else f"made_{part}"
