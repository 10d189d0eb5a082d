"""Finds messages in shapes: lists of them in answers, and the places for one or several in bodies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stress.targets.draft import names
from stress.targets.draft.document import Shape

Way = tuple[str, ...]
"""Names of fields, from the outside in."""
_DEEP = 3
_ONLY_IF_LISTED = {"type", "name", "source", "direction", "by", "side", "from", "kind", "actor"}
"""Names that tell who said something only if their values say so."""
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Told(NamedTuple):
    """Where a table has the parts of a message."""

    text: Way
    role: Way | None
    id: Way | None

    @property
    def score(self) -> float:
        """How sure it is that this is a message."""
        rank = _rank(self.text[-1], names.TEXTS)
        return 3 - 0.1 * (rank or 0) + 3 * (self.role is not None) + (self.id is not None)


class Listing(NamedTuple):
    """A list of messages in an answer."""

    items: Way
    element: Shape
    told: Told
    next: Way | None
    """Of the cursor of the next page."""
    more: Way | None

    @property
    def score(self) -> float:
        """How sure it is that this is a list of messages."""
        return self.told.score - 0.1 * len(self.items)


class Saying(NamedTuple):
    """The place in a body for what is said."""

    several: Way | None
    """Of the list of messages; None if there is one message only."""
    told: Told
    """From the element of that list, or else from the whole body."""
    message: Shape
    """That element, or the whole body."""

    @property
    def score(self) -> float:
        """How sure it is that this is what is said."""
        return self.told.score


def field(shape: Shape, way: Sequence[str]) -> Shape:
    """A part of a table."""
    for name in way:
        shape = shape.fields.get(name, Shape())
    return shape


def selector(way: Way | None) -> str:
    """A way as JMESPath."""
    if not way:
        return "@"
    return ".".join(name if _BARE.fullmatch(name) else json.dumps(name).replace("$", "\\u0024") for name in way)


def text_selector(element: Shape, way: Way) -> str:
    """Of the text of a message: of the parts' texts, where they are not called text."""
    key = part_key(field(element, way))
    return selector(way) if key in (None, "text") else f"{selector(way)}[].{selector((str(key),))}"


def part_key(content: Shape) -> str | None:
    """What the text is called in each part of a content that is a list; None if parts are strings or there are none."""
    if content.kind != "list" or content.element is None or content.element.kind != "table":
        return None
    fields = content.element.fields
    found = sorted((rank, name) for name in fields if (rank := _rank(name, ("text", *names.TEXTS))) is not None)
    return found[0][1] if found else None


def told_in(shape: Shape, deep: int = 1) -> Told | None:
    """Where a table has a message; None if it does not look like one."""
    if shape.kind != "table":
        return None
    texts = []
    for name, part in shape.fields.items():
        rank = _rank(name, names.TEXTS)
        if rank is not None and _is_text(part) and not _is_role(name, part):
            texts.append((rank, (name,)))
    role = _role(shape)
    if not texts and deep:
        for name, part in shape.fields.items():
            inner = told_in(part, deep - 1)
            if inner is not None and _rank(name, names.TEXTS) is not None:
                outer_role = (name, *inner.role) if inner.role else role
                return Told((name, *inner.text), outer_role, (name, *inner.id) if inner.id else _id(shape))
    return Told(min(texts)[1], role, _id(shape)) if texts else None


def listing_in(answer: Shape) -> Listing | None:
    """The likeliest list of messages in an answer."""
    found: list[Listing] = []
    for way, part in _ways(answer, _DEEP):
        if part.kind == "list" and part.element is not None:
            told = told_in(part.element)
            if told is not None:
                found.append(Listing(way, part.element, told, _named(answer, names.NEXT), _named(answer, names.MORE)))
    return max(found, key=lambda listing: listing.score, default=None)


def saying_in(body: Shape) -> Saying | None:
    """The likeliest place in a body for what is said."""
    found: list[Saying] = []
    for way, part in _ways(body, 2):
        if part.kind == "list" and part.element is not None and way:
            told = told_in(part.element)
            # A message whose content is a list of parts is one message, not several.
            if told is not None and (told.role is not None or told_in(body) is None):
                found.append(Saying(way, told, part.element))
    told = told_in(body)
    if told is not None:
        found.append(Saying(None, told, body))
    return max(found, key=lambda saying: saying.score, default=None)


def reply_in(answer: Shape) -> Way | None:
    """Where an answer has a reply."""
    return _named(answer, names.REPLIES, texts_only=False)


def id_in(answer: Shape, wanted: Sequence[str]) -> Way | None:
    """Where an answer names something that was made."""
    for way, part in _ways(answer, 2):
        for name in wanted:
            for key, value in part.fields.items():
                if names.snake(key) == name and value.kind in ("text", "number", "any"):
                    return (*way, key)
    return None


def _ways(shape: Shape, deep: int, way: Way = ()) -> Iterator[tuple[Way, Shape]]:
    """A shape and the tables and lists in it, the nearest first."""
    level: list[tuple[Way, Shape]] = [(way, shape)]
    for _ in range(deep + 1):
        yield from level
        level = [((*at, name), part) for at, table in level for name, part in table.fields.items()]


def _named(answer: Shape, known: Sequence[str], *, texts_only: bool = True) -> Way | None:
    found: list[tuple[int, int, Way]] = []
    for way, part in _ways(answer, 1):
        for name, value in part.fields.items():
            rank = _rank(name, known)
            link = value.form in ("uri", "url") or "url" in value.words.lower()
            if rank is not None and value.kind not in ("table", "list") and not (texts_only and link):
                found.append((rank, len(way), (*way, name)))
    return min(found)[2] if found else None


def _rank(name: str, known: Sequence[str]) -> int | None:
    plain = names.snake(name)
    return known.index(plain) if plain in known else None


def _is_text(part: Shape) -> bool:
    if part.kind == "list":
        element = part.element or Shape()
        return element.kind in ("text", "any") or part_key(part) is not None
    return part.kind in ("text", "any") and not part.values and part.form not in ("date-time", "uuid")


def _is_role(name: str, part: Shape) -> bool:
    return any(str(value).lower() in (*names.HUMANS, *names.MACHINES) for value in part.values) or (
        _rank(name, ("role",)) is not None
    )


def _role(shape: Shape) -> Way | None:
    found: list[tuple[int, Way]] = []
    for name, part in shape.fields.items():
        rank = _rank(name, names.ROLES)
        spoken = _is_role(name, part) or said_roles(part.words)
        if part.kind in ("text", "any") and (spoken or (rank is not None and names.snake(name) not in _ONLY_IF_LISTED)):
            if rank is not None or part.values:
                found.append((-1 if spoken else rank or 0, (name,)))
        elif part.kind == "table" and rank is not None and (inner := _role(part)):
            found.append((rank + len(names.ROLES), (name, *inner)))
    return min(found)[1] if found else None


def said_roles(words: str) -> list[str]:
    """Names of roles in what is said of a field, such as: human or ai."""
    known = {*names.HUMANS, *names.MACHINES}
    said = [word for word in re.findall(r"[a-z]+", words.lower()) if word in known]
    humans = [word for word in said if word in names.HUMANS]
    machines = [word for word in said if word in names.MACHINES]
    return [humans[0], machines[0]] if humans and machines else []


def _id(shape: Shape) -> Way | None:
    found = [
        (rank, (name,))
        for name, part in shape.fields.items()
        if (rank := _rank(name, names.IDS)) is not None and part.kind in ("text", "any")
    ]
    return min(found)[1] if found else None
