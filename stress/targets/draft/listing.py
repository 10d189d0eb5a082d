"""How a list is asked for: its limit, its pages, its order."""

from __future__ import annotations

import re
from typing import Any

from stress.targets.draft import names
from stress.targets.draft.document import Operation, Parameter
from stress.targets.draft.finding import field, selector, text_selector
from stress.targets.draft.guess import Listed
from stress.targets.draft.lines import Table

PAGE = 50
_NEWEST = re.compile(r"(newest|latest|most[- ]recent)[\w ]* first|reverse[- ]chronological|descending|newest to oldest")
_OLDEST = re.compile(r"(oldest|earliest)[\w ]* first|chronological|ascending|oldest to newest|in (the )?order")


def read_list(listed: Listed, table: Table) -> dict[str, Any]:
    """Write how a list is read; the parameters that its pages need, for the query."""
    operation, listing, told = listed
    known: dict[str, Parameter] = {
        names.part_of(p.name, query=True): p for p in operation.parameters if p.place == "query"
    }
    newest, sorting, why = _order(operation, known.get("order"))
    table.say(
        "items", selector(listing.items), "its answer" if told else "nothing is said of the answer", unsure=not told
    )
    table.say(
        "text", text_selector(listing.element, listing.told.text), "its answer" if told else "likely", unsure=not told
    )
    role = listing.told.role
    table.say(
        "role",
        selector(role or ("role",)),
        "its answer" if told and role else "nothing tells who said it",
        unsure=not (told and role),
    )
    if listing.told.id is not None:
        shape = field(listing.element, listing.told.id)
        if shape.form != "uuid":
            table.say("id", selector(listing.told.id), "its answer; other ids than ours are no harm")
    query = sorting
    newest = newest or False
    table.say(
        "order", "newest-first" if newest else "oldest-first", why, unsure=not why.startswith(("it says", "asked"))
    )
    query |= _pages(listed, known, table, newest=newest)
    if 204 in operation.answers:
        table.say("empty", [404, 204], "its statuses")
    return query


def _order(operation: Operation, sort: Parameter | None) -> tuple[bool | None, dict[str, Any], str]:
    """Whether the newest comes first, what is sent to sort, and how that is known."""
    if sort is not None:
        for value in sort.shape.values:
            if re.match(r"desc|new|latest|recent|backward|-", str(value), re.I):
                return True, {sort.name: value}, f"asked for by {sort.name}"
        if sort.shape.default is not None:
            return (
                bool(re.match(r"desc|new|-", str(sort.shape.default), re.I)),
                {},
                f"it says {sort.name} is {sort.shape.default}",
            )
    said = operation.words.lower()
    if _NEWEST.search(said):
        return True, {}, "it says so"
    if _OLDEST.search(said):
        return False, {}, "it says so"
    return None, {}, "nothing is said of the order"


def _pages(listed: Listed, known: dict[str, Parameter], table: Table, *, newest: bool) -> dict[str, Any]:
    """How the rest of a list is had. Of pages with the oldest first the last ones are wanted, so all are asked for."""
    listing = listed.listing
    query: dict[str, Any] = {}
    limit, cursor = known.get("limit"), known.get("cursor")
    counted = known.get("offset") or known.get("page")
    paging: dict[str, Any] = {}
    unsure = False
    if cursor is not None and listing.next is not None:
        query[cursor.name] = "{cursor}"
        paging["cursor"] = selector(listing.next)
    elif counted is not None:
        unsure = _counted(counted, limit, paging, query)
    elif cursor is not None:
        table.say(
            "paging",
            {"cursor": "next"},
            f"there is a parameter {cursor.name}, but nothing in the answer tells the next; put it in query = "
            f'{{ {cursor.name} = "{{cursor}}" }} if there is',
            unsure=True,
            off=True,
        )
    if limit is not None and (not paging or (newest and "cursor" in paging)):
        query[limit.name] = "{limit}"
    elif limit is not None and limit.name not in query:
        query[limit.name] = limit.shape.most or _default(limit) or PAGE
    if paging:
        if listing.more is not None:
            paging["more"] = selector(listing.more)
        first = f"the first {counted.name} is 1" if counted and "page" in query.values() else ""
        why = f"its parameter {(cursor or counted).name} and its answer"  # type: ignore[union-attr]
        table.say("paging", paging, "; ".join(filter(None, (why, first))), unsure=unsure)
    return query


def _counted(counted: Parameter, limit: Parameter | None, paging: dict[str, Any], query: dict[str, Any]) -> bool:
    """Pages by number or offset; whether their size is a guess."""
    part = names.part_of(counted.name, query=True)
    query[counted.name] = f"{{{part}}}"
    default = _default(limit)
    most = limit.shape.most if limit is not None else None
    if limit is not None:
        query[limit.name] = most or default or PAGE
    paging["offset"] = (most if limit is not None else None) or default or PAGE
    if part == "page":
        first = counted.shape.default
        paging["first_page"] = first if isinstance(first, int) and not isinstance(first, bool) else 1
    return limit is None


def _default(limit: Parameter | None) -> int | None:
    default = limit.shape.default if limit is not None else None
    return default if isinstance(default, int) and not isinstance(default, bool) and default > 0 else None
