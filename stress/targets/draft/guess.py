"""Which operation of a service is which step? Told by shapes first, by names second, by words last."""

from __future__ import annotations

from typing import NamedTuple

from stress.targets.draft import names
from stress.targets.draft.document import Document, Operation, Shape
from stress.targets.draft.finding import Listing, Saying, Told, listing_in, reply_in, saying_in


class Said(NamedTuple):
    """The operation that stores messages, or that answers."""

    operation: Operation
    saying: Saying
    replies: bool
    """Whether the service writes the reply."""


class Listed(NamedTuple):
    """The operation that lists messages."""

    operation: Operation
    listing: Listing
    told: bool = True
    """Whether the document says what the answer looks like."""


class Made(NamedTuple):
    """The operation that makes a user or a session."""

    operation: Operation
    part: str
    """ "user" or "session"."""
    parameter: str
    """What later paths or bodies call it."""


class Steps(NamedTuple):
    """What was found."""

    say: Said | None
    recall: Listed | None
    recall_user: Listed | None
    delete: Operation | None
    makers: list[Made]
    strangers: dict[str, str]
    """Parameters of paths that are taken for a session."""
    sessions_are_users: bool


def steps(document: Document) -> Steps:
    """Find the steps among the operations of a service."""
    usable = [operation for operation in document.operations if not operation.deprecated] or document.operations
    recall = _recall(usable)
    say = _say(usable, recall)
    paths = [op for op in (say and say.operation, recall and recall.operation) if op is not None]
    strangers: dict[str, str] = {}
    sessions_are_users = False
    if paths and not any("session" in parts_of(op) for op in paths):
        unknown = [name for op in paths for name, part in names.path_parts(op.path) if not part]
        if unknown and _listed_unknown(recall):
            strangers = dict.fromkeys(unknown, "session")
        else:
            sessions_are_users = any("user" in parts_of(op) for op in paths)
    makers = _makers(usable, paths)
    users_are_made = any(made.part == "user" for made in makers)
    return Steps(
        say,
        recall,
        None if sessions_are_users or users_are_made else _recall_user(usable, recall),
        _delete(usable, paths, strangers, sessions_are_users=sessions_are_users),
        makers,
        strangers,
        sessions_are_users,
    )


def parts_of(operation: Operation) -> set[str]:
    """What an operation is told: users, sessions."""
    found: set[str] = {part for _, part in names.path_parts(operation.path)}
    found |= {names.part_of(p.name) for p in operation.parameters if p.place != "path"}
    found |= {names.part_of(name) for name in (operation.body or Shape()).fields}
    return found - {""}


def _listed_unknown(recall: Listed | None) -> bool:
    return recall is None or any(not part for _, part in names.path_parts(recall.operation.path))


def _words(operation: Operation) -> set[str]:
    parts = [part for part in names.segments(operation.path) if not names.is_parameter(part)]
    return {names.singular(word) for part in parts for word in names.words_of(part)}


def _recall(operations: list[Operation]) -> Listed | None:
    found: list[tuple[float, Listed]] = []
    for operation in operations:
        words = _words(operation)
        asks = operation.method == "GET" or (
            operation.method == "POST" and words & {"search", "list", "query", "history", "recall", "get"}
        )
        if not asks:
            continue
        listing = listing_in(operation.answer)
        unknown = sum(not part for _, part in names.path_parts(operation.path))
        score = 2 * bool(words & names.LISTING) - 4 * bool(words & {"search", "query"}) - 2 * unknown
        score += 3 * ("session" in parts_of(operation)) + (operation.method == "GET")
        if listing is not None:
            found.append((score + listing.score, Listed(operation, listing)))
        elif operation.answer.kind == "any" and _ends_in_list(operation) and parts_of(operation):
            likely = Listing(("messages",), Shape(), Told(("content",), ("role",), None), None, None)
            found.append((score - 3, Listed(operation, likely, told=False)))
    return max(found, key=lambda each: each[0])[1] if found else None


def _ends_in_list(operation: Operation) -> bool:
    last = names.segments(operation.path)[-1:] or [""]
    words = {names.singular(word) for word in names.words_of(last[0])}
    return not names.is_parameter(last[0]) and bool(words & (names.LISTING - {"conversation", "chat"}))


def _say(operations: list[Operation], recall: Listed | None) -> Said | None:
    found: list[tuple[float, Said]] = []
    for operation in operations:
        if operation.method not in ("POST", "PUT") or operation.body is None:
            continue
        if recall is not None and operation is recall.operation:
            continue
        saying = saying_in(operation.body)
        if saying is None:
            continue
        words = _words(operation)
        reply = reply_in(operation.answer) is not None and saying.told.role is None
        replies = saying.told.role is None and (reply or bool(words & names.TALKING))
        unknown = sum(not part for _, part in names.path_parts(operation.path))
        score = saying.score - unknown - 4 * bool(words & {"search", "query", "summarize", "embed", "feedback"})
        score += 3 * bool({"session", "user"} & parts_of(operation)) + bool(words & names.LISTING)
        score += 5 * (recall is not None and operation.path == recall.operation.path)
        score -= 2 * (operation.method == "PUT" and operation.path.endswith("}"))
        found.append((score, Said(operation, saying, replies)))
    return max(found, key=lambda each: each[0])[1] if found else None


def _recall_user(operations: list[Operation], recall: Listed | None) -> Listed | None:
    """A list of everything of a user; it may be the same request without the session."""
    if recall is None or not recall.told:
        return None
    for operation in operations:
        listing = listing_in(operation.answer) if operation.method == "GET" else None
        if listing is None or listing.told.role is None or "user" not in parts_of(operation):
            continue
        if any(part != "user" for _, part in names.path_parts(operation.path)) or _words(operation) & {"search"}:
            continue
        needs = {names.part_of(p.name) for p in operation.parameters if p.required}
        if "session" not in needs:
            return Listed(operation, listing)
    return None


def _delete(
    operations: list[Operation], paths: list[Operation], strangers: dict[str, str], *, sessions_are_users: bool
) -> Operation | None:
    wanted = "user" if sessions_are_users else "session"
    found: list[tuple[int, int, Operation]] = []
    for number, operation in enumerate(operations):
        parts = names.path_parts(operation.path)
        placed: set[str] = {part or strangers.get(name, "") for name, part in parts}
        told = placed | {names.part_of(p.name) for p in operation.parameters if p.place == "query"}
        if operation.method == "DELETE" and wanted in told and "" not in placed:
            near = any(other.path.startswith(operation.path) for other in paths)
            found.append((-near, number, operation))
    return min(found)[2] if found else None


def _makers(operations: list[Operation], paths: list[Operation]) -> list[Made]:
    """What has to be made before anything is said: where a path goes below a collection that is posted to."""
    found: dict[str, Made] = {}
    asked = list(paths)
    for operation in asked:
        before: list[str] = []
        for segment in names.segments(operation.path):
            if names.is_parameter(segment):
                name = segment[1:-1]
                parent = dict(names.path_parts(operation.path)).get(name) or "session"
                made = _posted(operations, before, paths)
                if made is not None and parent not in found:
                    found[parent] = Made(made, parent, name)
                    if parent == "session":
                        asked.append(made)
            before.append(segment)
        queries = {p.name: p.shape for p in operation.parameters if p.place == "query"}
        for name, shape in (queries | (operation.body or Shape()).fields).items():
            part = names.part_of(name)
            # A user whose id is a word is ours to name; a number is made by the service.
            if part not in found and (part == "session" or (part == "user" and shape.kind == "number")):
                made = _named(operations, part, name, [*paths, *(maker.operation for maker in found.values())])
                if made is not None:
                    found[part] = Made(made, part, name)
                    if part == "session":
                        asked.append(made)
    return sorted(found.values(), key=lambda made: made.part != "user")


def _posted(operations: list[Operation], collection: list[str], paths: list[Operation]) -> Operation | None:
    def same(path: str) -> bool:
        parts = names.segments(path)
        return len(parts) == len(collection) and all(
            a == b or (names.is_parameter(a) and names.is_parameter(b)) for a, b in zip(parts, collection, strict=True)
        )

    for operation in operations:
        if operation.method == "POST" and same(operation.path) and operation not in paths:
            return operation
    return None


def _named(operations: list[Operation], part: str, name: str, paths: list[Operation]) -> Operation | None:
    """What answers with a session or user of its own, where one is asked for outside of paths."""
    for operation in operations:
        if operation.method != "POST" or operation in paths or part in parts_of(operation):
            continue
        last = names.segments(operation.path)[-1:] or [""]
        if names.part_of(names.singular(last[0])) == part or name in operation.answer.fields:
            return operation
    return None
