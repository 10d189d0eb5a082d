"""A mapping guessed from an OpenAPI document: every guess is a line that says what it was guessed from."""

from __future__ import annotations

from typing import Any, NamedTuple

from stress.targets.draft import names
from stress.targets.draft.document import Document, Operation, Shape
from stress.targets.draft.finding import field, id_in, said_roles, selector
from stress.targets.draft.guess import Listed, Made, Said, steps
from stress.targets.draft.lines import Table
from stress.targets.draft.listing import read_list
from stress.targets.draft.promises import contract_of, ids_of
from stress.targets.draft.request import Body, Values, message_of, parameters, path, placeholder_name

HEAD = """\
# Guessed from {origin}{about}.
#
#   goldfish probe --target {name}      one user alone: shows requests and answers, and names the line that is wrong
#   goldfish run --target {name}
#
# Behind each line stands what it was guessed from; a ? is unsure and wants your eyes. docs/your-own-memory.md explains
# the steps, docs/reference.md every key.
"""
SHOWN_MAX = 60


class Draft(NamedTuple):
    """What was made of a document."""

    text: str
    chosen: dict[str, str]
    """Operation by step."""
    doubts: int
    """Lines that are unsure."""


def drafted(document: Document, origin: str, name: str = "memory.toml") -> Draft:
    """A mapping for a service.

    Args:
        document: what the service says of itself.
        origin: where that was found, for people.
        name: what the mapping's file will be called.
    """
    found = steps(document)
    values = Values(sessions_are_users=found.sessions_are_users)
    values.strangers = found.strangers
    opens = [_open(made, values) for made in found.makers]
    say, roles, dedupe = _say(found.say, found.recall, values)
    recall = _recall("recall", found.recall, values)
    tables = [
        _target(document),
        contract_of(found, roles, dedupe),
        *ids_of(found, values),
        *([roles] if roles.lines else []),
        *opens,
        say,
        recall,
        *([_recall("recall_user", found.recall_user, values)] if found.recall_user else []),
        *([_delete(found.delete, values)] if found.delete else []),
    ]
    for table in opens:
        table.several = len(opens) > 1
    if found.sessions_are_users:
        say.unsure = True
        say.why = "nothing is called a session, so each session is a user of its own"
    about = f": {document.title} {document.version}".rstrip() if document.title else ""
    text = "\n".join([_comment(HEAD.format(origin=origin, about=about, name=name)), *(t.written() for t in tables)])
    chosen = {
        **{f"open ({made.part})": str(made.operation) for made in found.makers},
        say.name: str(found.say.operation) if found.say else "",
        "recall": str(found.recall.operation) if found.recall else "",
        "recall_user": str(found.recall_user.operation) if found.recall_user else "",
        "delete": str(found.delete) if found.delete else "",
    }
    if found.say is None or found.recall is None:
        text += "\n" + _others(document)
    return Draft(text, chosen, sum(table.doubts for table in tables))


def _target(document: Document) -> Table:
    table = Table(name="target")
    about = f"{document.title} {document.version}".strip()
    table.say("about", about, "")
    told = document.told_base_url
    table.say("base_url", document.base_url, "its servers" if told else "where does it listen?", unsure=not told)
    for guard in document.guards[:1]:
        if guard.kind == "bearer":
            table.say("auth", {"bearer": "${MEMORY_TOKEN}"}, f"its security scheme {guard.name}")
        elif guard.kind == "basic":
            table.say("auth", {"basic": "${MEMORY_USER}:${MEMORY_PASSWORD}"}, f"its security scheme {guard.name}")
        elif guard.kind == "header":
            table.say("headers", {guard.name: "${MEMORY_KEY}"}, "its security scheme")
        else:
            why = f"its security scheme {guard.name}: how is it sent? if in the query, add it there in every step"
            table.say("auth", {"bearer": "${MEMORY_TOKEN}"}, why, unsure=True)
    return table


def _open(made: Made, values: Values) -> Table:
    """What makes a user or a session; afterwards it is known by what the answer tells, or by the id that we chose."""
    operation, part, parameter = made
    table = Table(name="open", why=f"makes a {part}, whose id later requests need")
    path(operation, values, table)
    parameters(operation, values, table)
    body = Body(values, part)
    if operation.body is not None:
        template = body.of(operation.body, {})
        doubts = f"which value has {' and '.join(body.doubts)}?" if body.doubts else "its body"
        table.say("body", template, doubts, unsure=bool(body.doubts))
    statuses = operation.done
    if part in body.ours or part in {p for _, p in names.path_parts(operation.path)}:
        table.say("accepted", sorted({*(statuses or [200, 201]), 409}), "409: it is there already", unsure=True)
        return table
    if statuses:
        table.say("accepted", statuses, "its statuses")
    last = names.segments(operation.path)[-1:] or [part]
    single = names.singular(names.snake(last[0]))
    wanted = [names.snake(parameter), "id", f"{single}_id", f"{part}_id", "uuid", "key", single]
    way = id_in(operation.answer, wanted)
    saved = placeholder_name(parameter, part)
    why = "its answer" if way else "nothing is said of the answer: where is the id?"
    table.say("save", {saved: selector(way or ("id",))}, why, unsure=way is None)
    values.saved[part] = f"{{{saved}}}"
    return table


def _say(said: Said | None, recall: Listed | None, values: Values) -> tuple[Table, Table, str]:
    """How something is said, the roles, and why a resend is stored again, if it is."""
    roles = Table(name="roles")
    if said is None:
        table = Table(name="append", why="nothing was found that stores messages: write it", unsure=True)
        table.say("path", "/messages", "", unsure=True)
        table.say("body", {"session": "{session}", "role": "{role}", "text": "{text}"}, "", unsure=True)
        return table, roles, ""
    operation, saying, replies = said
    table = Table(name="turn" if replies else "append")
    if replies:
        table.why, table.unsure = (
            "nothing says who speaks, so the service seems to answer; if not, call it [append]",
            True,
        )
    _name_roles(roles, said, recall)
    one_at_a_time = saying.several is None
    path(operation, values, table, message=one_at_a_time)
    parameters(operation, values, table)
    ours = next((str(line.value) for line in roles.lines if line.key == "user"), "user")
    message, doubts = message_of(saying.message, saying.told, values, ours if replies else "{role}")
    if one_at_a_time:
        _write_body(table, "body", message, doubts)
    else:
        assert operation.body is not None
        assert saying.several is not None
        body = Body(values)
        template = body.of(operation.body, {saying.several: [message] if replies else "{messages}"})
        _write_body(table, "body", template, body.doubts)
        if not replies:
            _write_body(table, "message", message, doubts)
    if operation.done:
        table.say("accepted", operation.done, "its statuses")
    if replies:
        table.say("reply", "free", 'or "echo", if the reply repeats what was said, word for word', unsure=True)
    elif saying.told.role is None:
        table.say(
            "message" if not one_at_a_time else "body", message, "where does it say who speaks?", off=True, unsure=True
        )
    named = "{id}" in str([line.value for line in table.lines])
    if named and not replies:
        _acknowledged(operation, table, one_at_a_time=one_at_a_time)
    return table, roles, "" if named else "nothing takes an id of ours, so what is sent again is stored again"


def _write_body(table: Table, key: str, template: Any, doubts: list[str]) -> None:
    why = f"which value has {' and '.join(doubts)}?" if doubts else "its body"
    table.say(key, template, why, unsure=bool(doubts))


def _acknowledged(operation: Operation, table: Table, *, one_at_a_time: bool) -> None:
    """The ids in the answer, where these can be ours."""
    answer = operation.answer
    if one_at_a_time:
        way = id_in(answer, names.IDS)
        if way is not None and field(answer, way).kind == "text":
            table.say("ids", selector(way), "its answer; delete this line if the ids there are not ours", unsure=True)
        return
    for name, part in answer.fields.items():
        element = part.element
        key = next((key for key in names.IDS if element and key in element.fields), None)
        if element is not None and key is not None and element.fields[key].kind == "text":
            ids = f"{selector((name,))}[].{selector((key,))}"
            table.say("ids", ids, "its answer; delete this line if the ids there are not ours", unsure=True)
            return


def _name_roles(roles: Table, said: Said, recall: Listed | None) -> None:
    """What the service calls the roles; ``why`` is set if there are others than ours."""
    written = field(said.saying.message, said.saying.told.role or ("",))
    read = Shape()
    if recall is not None and recall.listing.told.role is not None:
        read = field(recall.listing.element, recall.listing.told.role)
    known = [str(value) for value in written.values or read.values]
    if not known:
        known = said_roles(written.words) or said_roles(read.words)
    humans = [value for value in known if value.lower() in names.HUMANS]
    machines = [value for value in known if value.lower() in names.MACHINES]
    rest = [value for value in known if value.lower() not in (*names.HUMANS, *names.MACHINES, *names.OTHERS)]
    user = humans[0] if humans else rest.pop(0) if rest and known else ""
    assistant = machines[0] if machines else rest.pop(0) if rest and known else ""
    if user and assistant:
        if (user, assistant) != ("user", "assistant"):
            roles.say("user", user, "its roles", unsure=not humans)
            roles.say("assistant", assistant, "its roles", unsure=not machines)
    elif said.saying.told.role is not None or recall is not None:
        roles.say("user", "user", "what does it call who asks?", unsure=True)
        roles.say("assistant", "assistant", "and who answers?", unsure=True)
    others = [str(value) for value in read.values if str(value).lower() in names.OTHERS]
    new = [value for value in others if value not in map(str, written.values)]
    if new:
        roles.why = f"its lists may have the role {new[0]}, which nobody can write"


def _recall(name: str, listed: Listed | None, values: Values) -> Table:
    table = Table(name=name)
    if listed is None:
        table.why, table.unsure = "nothing was found that lists messages: write it", True
        table.say("path", "/messages", "", unsure=True)
        table.say("query", {"session": "{session}"}, "", unsure=True)
        for key, value in (("items", "messages"), ("text", "content"), ("role", "role")):
            table.say(key, value, "", unsure=True)
        return table
    operation = listed.operation
    if operation.method != "GET":
        table.say("method", operation.method, "")
    own = Values(sessions_are_users=values.sessions_are_users) if name == "recall_user" else values
    path(operation, own, table)
    reading = Table(name=name)
    query = read_list(listed, reading)
    asked = operation
    if name == "recall_user":
        asked = Operation(
            method=operation.method,
            path=operation.path,
            parameters=[p for p in operation.parameters if names.part_of(p.name) != "session"],
            body=None,
            answers={},
            words="",
        )
    parameters(asked, own, table, query)
    if operation.method != "GET" and operation.body is not None:
        body = Body(values)
        _write_body(table, "body", body.of(operation.body, {}), body.doubts)
    table.lines += reading.lines
    return table


def _delete(operation: Operation, values: Values) -> Table:
    table = Table(name="delete")
    path(operation, values, table)
    parameters(operation, values, table)
    if operation.done:
        table.say("accepted", operation.done, "its statuses")
    return table


def _others(document: Document) -> str:
    """All operations, where the right one was not found."""
    shown = [f"#   {operation}" for operation in document.operations[:SHOWN_MAX]]
    more = len(document.operations) - len(shown)
    shown += [f"#   … and {more} more"] if more > 0 else []
    return _comment("\n".join(["# What the service knows:", "#", *shown, ""]))


def _comment(text: str) -> str:
    return "\n".join("".join(c if c.isprintable() else " " for c in line) for line in text.split("\n"))
