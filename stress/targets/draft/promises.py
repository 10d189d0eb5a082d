"""What a document says of promises: the contract, and how ids have to look."""

from __future__ import annotations

import re

from goldfish.token import PREFIX
from stress.targets.draft import names
from stress.targets.draft.document import Shape
from stress.targets.draft.finding import field
from stress.targets.draft.guess import Listed, Steps
from stress.targets.draft.lines import Table
from stress.targets.draft.request import Values

PLAIN = f"{PREFIX}k3v9x2-0.17-s3"
"""A plain id."""


def contract_of(found: Steps, roles: Table, dedupe: str) -> Table:
    """What is promised, as far as the document says it.

    Args:
        found: the steps.
        roles: their table; its comment tells of roles that are not ours.
        dedupe: why a message that is sent again is stored again, if it is.
    """
    table = Table(name="contract", why="what it promises; the defaults promise everything at once and for ever")
    if found.recall_user is None:
        table.say("scope", ["session"], "no request was found that lists everything of a user")
    if dedupe:
        table.say("dedupe", "none", dedupe)
    if found.say is not None and found.say.replies:
        table.say("unmarked", "allow", "the service writes the replies")
    elif roles.why:
        table.say("unmarked", "allow", roles.why, unsure=True)
        roles.why = ""
    if found.say is not None:
        content = field(found.say.saying.message, found.say.saying.told.text)
        if content.chars_max:
            table.say("content", {"max_bytes": content.chars_max}, "the longest text it takes")
        if 202 in found.say.operation.done:
            table.say("visibility_ms", 500, "202: accepted, and seen later? how much later?", unsure=True, off=True)
    if found.recall is not None:
        _pages_of(found.recall, table)
    return table


def _pages_of(recall: Listed, table: Table) -> None:
    """A list that cannot be read page after page is as long as a page."""
    known = {names.part_of(p.name, query=True): p for p in recall.operation.parameters if p.place == "query"}
    if recall.listing.next is not None or known.keys() & {"offset", "page"} or "limit" not in known:
        return
    limit = known["limit"].shape
    default = limit.default if isinstance(limit.default, int) and not isinstance(limit.default, bool) else None
    bounds = {"default": default, "max": limit.most}
    page = {name: value for name, value in bounds.items() if value is not None and value > 0}
    if page and page.get("default", 0) <= page.get("max", page.get("default", 0)):
        table.say("page", page, f"its parameter {known['limit'].name}")


def ids_of(found: Steps, values: Values) -> list[Table]:
    """How ids have to look; no table, if as they are."""
    table = Table(name="ids")
    shapes: dict[str, list[Shape]] = {"user": [], "session": [], "message": []}
    for operation in (found.say and found.say.operation, found.recall and found.recall.operation):
        if operation is None:
            continue
        parts = {name: part or values.strangers.get(name, "") for name, part in names.path_parts(operation.path)}
        for parameter in operation.parameters:
            part = parts.get(parameter.name) or names.part_of(parameter.name)
            if part in ("user", "session") and part not in values.saved:
                shapes["session" if values.sessions_are_users else part].append(parameter.shape)
        for name, shape in (operation.body or Shape()).fields.items():
            part = names.part_of(name)
            if part in ("user", "session") and part not in values.saved:
                shapes[part].append(shape)
    if found.say is not None and found.say.saying.told.id is not None:
        shapes["message"].append(field(found.say.saying.message, found.say.saying.told.id))
    lengths: list[int] = []
    for part, group in shapes.items():
        form, why = next(((form, why) for form, why in map(_form, group) if form), ("", ""))
        if form:
            table.say(part, form, why, unsure=form == "plain")
        lengths += [shape.chars_max for shape in group if shape.chars_max]
    if lengths and min(lengths) < 128:
        table.say("length_max", max(16, min(lengths)), "the longest id it takes")
    return [table] if table.lines else []


def _form(shape: Shape) -> tuple[str, str]:
    """How an id has to look, and why."""
    if shape.kind == "number":
        return "plain", "a number is wanted, which we do not make: does the service make it? then it needs [open]"
    if shape.form in ("uuid", "uuid4", "guid") or "uuid" in shape.words.lower():
        return "uuid5", "a UUID is wanted"
    if shape.pattern:
        try:
            if re.search(shape.pattern, PLAIN):
                return "", ""
            fits = re.search(shape.pattern, PLAIN.replace(".", "_"))
        except (re.error, RecursionError):
            return "", ""
        return ("safe", f"its pattern {shape.pattern}") if fits else ("uuid5", f"its pattern {shape.pattern}")
    return "", ""
