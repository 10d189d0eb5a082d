"""Which line of a mapping is wrong? Told from what a memory answered to one user alone."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any, NamedTuple

from goldfish.mistakes import line_of
from goldfish.token import PREFIX, read
from goldfish.words import visible
from stress.swarm.answer import Answer
from stress.targets.mapping.file import RecallStep, TargetFile
from stress.targets.mapping.select import decode, paths_to, selector
from stress.targets.outcome import Item
from stress.targets.target import Advice

ELEMENTS_MAX = 50
"""So many of a list are searched."""

TABLE_OF = {
    "open": "open",
    "append": "append",
    "recall": "recall",
    "recall by default": "recall_default",
    "recall by user": "recall_user",
    "delete": "delete",
}


class Where(NamedTuple):
    """A file, to name its lines."""

    name: str
    text: str
    opening: int = 0
    """Which of several [[open]] is meant."""

    def at(self, *keys: str) -> str:
        """Name, number and words of the line that sets the last of some keys, or of the table above it."""
        if keys and keys[0] not in tomllib.loads(self.text):
            return f"{self.name}: there is no [{keys[0]}] yet"
        number = line_of(self.text, list(keys), self.opening if keys[:1] == ("open",) else 0)
        lines = self.text.splitlines()
        words = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        return f"{self.name}:{number}: {words}"


def advise(file: TargetFile, where: Where, step: str, answer: Answer | None, requests: int) -> Advice:
    """What to tell about a step that failed.

    Args:
        file: the mapping.
        where: to name its lines.
        step: open, append, recall, recall by user or delete.
        answer: the last one; None if there was none.
        requests: how many the step made.
    """
    table = TABLE_OF[step]
    if table == "append" and file.turn is not None:
        table = "turn"
    if table == "recall" and file.recall_default is not None:
        table = "recall_default"
    setting: Any = getattr(file, table)
    if isinstance(setting, tuple):  # each of them makes one request
        where = where._replace(opening=min(requests, len(setting)) - 1)
        setting = setting[where.opening]
    codes = " or ".join(map(str, setting.accepted)) if setting.accepted else "2xx"
    if answer is None:
        return Advice(expected=codes, at=where.at("target", "base_url") if file.target.base_url else "")
    accepted = answer.status in setting.accepted if setting.accepted else 200 <= answer.status < 300
    if not accepted and isinstance(setting, RecallStep) and setting.paging is not None and requests > 1:
        return Advice(
            expected=codes,
            found="the first page was listed, and the next one refused",
            at=where.at(table, "paging"),
            attempt="is this what the answer tells as the next cursor, and does the request send it where it belongs?",
        )
    if not accepted:
        return _refused(file, where, table, setting, answer, codes)
    if table == "open":
        return _unsaved(where, answer, setting.save, codes)
    if table in ("append", "turn"):
        return _unacknowledged(where, table, answer, setting.ids, codes)
    if isinstance(setting, RecallStep):
        return _no_list(where, table, answer, setting, codes)
    return Advice(expected=codes, at=where.at(table, "path"))


def _refused(file: TargetFile, where: Where, table: str, step: Any, answer: Answer, codes: str) -> Advice:
    """The status says no."""
    status = answer.status
    if status in (401, 403):
        key = "auth" if file.target.auth else "headers" if file.target.headers else ""
        at = where.at("target", key) if key else where.at("target")
        return Advice(
            expected=codes,
            at=at,
            attempt='is the token right, and sent where it is expected? [target] auth = {bearer = "${TOKEN}"}',
        )
    if status == 405:
        return Advice(
            expected=codes,
            at=where.at(table, "method" if step.method else "path"),
            attempt="the path is known, but not with this method: see which one the service documents",
        )
    if status in (301, 302, 307, 308, 404, 410):
        attempt = "is the path right, with its prefix? a redirect is not followed: write the address that it leads to"
        if status in (404, 410):
            attempt = "is the path right, with its prefix and the ids in it? must the session be made first ([open])?"
        return Advice(expected=codes, at=where.at(table, "path"), attempt=attempt)
    if status in (400, 415, 422):
        if word := _role_refused(file, answer):
            return Advice(
                expected=codes,
                at=where.at("roles", next((role for role, its in file.roles.items() if its == word), word)),
                attempt=f"the answer speaks of {word!r}: [roles] says what the service calls user and assistant; see "
                "in the answer which words it takes",
            )
        if told := _located(where, table, step, answer, codes):
            return told
        key = "body" if step.body is not None else "query" if step.query else "path"
        if getattr(step, "message", None) is not None:
            key = "message"
        return Advice(
            expected=codes,
            at=where.at(table, key),
            attempt="the service does not take what was sent: compare it with its documentation, and read its answer. "
            "[roles] says what it calls user and assistant, [ids] makes ids of another form",
        )
    if 200 <= status < 300:
        return Advice(
            expected=codes,
            at=where.at(table, "accepted"),
            attempt=f"if {status} means that it was done, add it to accepted",
        )
    if 400 <= status < 500:
        return Advice(
            expected=codes,
            at=where.at(table, "headers" if step.headers else "path"),
            attempt="the service does not take what was sent: does its answer ask for a header? headers = {…}",
        )
    return Advice(expected=codes, at=where.at(table, "path"), attempt="what does the service's own log say?")


def _located(where: Where, table: str, step: Any, answer: Answer, codes: str) -> Advice | None:
    """Where an answer says itself what it does not take, as FastAPI does: ``"loc": ["path", "number"]``."""
    data = _json(answer)
    found = paths_to(data, lambda value: isinstance(value, list) and value[:1] in (["path"], ["body"]))
    if not found:
        return None
    place = selector(found[0])(data)
    named = visible(".".join(map(str, place)))
    if place[0] == "path":
        return Advice(
            expected=codes,
            found=f"the service does not take {named}",
            at=where.at(table, "path"),
            attempt="is that the id that the service made? [open] saves it, and the path has it: {…}",
        )
    if place[0] == "body" and step.body is None:
        return Advice(
            expected=codes,
            found=f"the service misses {named}",
            at=where.at(table),
            attempt="it wants a body: body = { … }",
        )
    if place[0] == "body" and len(place) == 2:  # a key of the body itself, not of a message in it
        return Advice(
            expected=codes,
            found=f"the service does not take {named}, or misses it",
            at=where.at(table, "body"),
            attempt="is this key called so, and does it hold what the service expects?",
        )
    return None


def _role_refused(file: TargetFile, answer: Answer) -> str:
    """The word for a role that an answer complains of; one that repeats all that was sent does not tell."""
    told = answer.body.decode("utf-8", "replace")
    words = [file.roles.get(role, role) for role in ("assistant", "user")]
    return (
        next((word for word in words if f'"{word}"' in told or f"'{word}'" in told), "") if PREFIX not in told else ""
    )


def _unsaved(where: Where, answer: Answer, saves: dict[str, str], codes: str) -> Advice:
    data = _json(answer)
    for name, expression in saves.items():
        if not isinstance(selector(expression)(data), str | int):
            scalars = ", ".join(paths_to(data, lambda value: isinstance(value, str | int))) or "nothing"
            return Advice(
                expected=f"{codes} with a text or number at {expression}",
                found=f"nothing at {expression}; the answer has {scalars}",
                at=where.at("open", name),
                attempt="select the id that the answer tells",
            )
    return Advice(expected=f"{codes} with JSON", at=where.at("open"))


def _unacknowledged(where: Where, table: str, answer: Answer, ids: str | None, codes: str) -> Advice:
    data = _json(answer)
    ours = paths_to(data, lambda value: isinstance(value, str) and value.startswith(PREFIX))
    found = selector(ids)(data) if ids is not None and data is not None else None
    attempt = "leave ids out if the service does not tell the ids that it was given"
    if ours:
        attempt = f"our ids stand at {', '.join(ours)}: select them, e.g. with […] instead of [0]"
    return Advice(
        expected=f"{codes} with the ids of what was sent at {ids}",
        found=f"{found!r} at {ids}",
        at=where.at(table, "ids"),
        attempt=attempt,
    )


def _no_list(where: Where, table: str, answer: Answer, step: RecallStep, codes: str) -> Advice:
    """There is no list in an answer, or the same one as in the answer before."""
    data = _json(answer)
    if step.paging is not None and isinstance(selector(step.items)(data), list):
        return Advice(
            expected=f"{codes} with another page",
            found="the page before it once more",
            at=where.at(table, "query") if step.query else where.at(table, "path"),
            attempt="does the service know what asks for the next page? its answer may tell a cursor instead",
        )
    lists = paths_to(data, lambda value: isinstance(value, list))
    attempt = "is this the request that lists the messages?"
    if lists:
        attempt = f"the answer has lists at {', '.join(lists)}: select the one with the messages"
    return Advice(
        expected=f"{codes} with a list at {step.items}",
        found=f"no list at {step.items}" if data is not None else "no JSON",
        at=where.at(table, "items") if step.items != "@" else where.at(table),
        attempt=attempt,
    )


def misread(
    file: TargetFile, where: Where, messages: Sequence[Item], items: Sequence[Item], answer: Answer
) -> Advice | None:
    """Which line makes a list be misread, if one does.

    Args:
        file: the mapping.
        where: to name its lines.
        messages: what one user alone has said.
        items: the list as it was read.
        answer: where it was read from.
    """
    table = "recall_default" if file.recall_default is not None else "recall"
    step: RecallStep = getattr(file, table)
    data = _json(answer)
    elements = selector(step.items)(data)
    sent = {message.id: message for message in messages}
    read_ids = [str(token) if (token := read(item.id, item.content)) else None for item in items]
    shown = {name: item for name, item in zip(read_ids, items, strict=True) if name in sent}
    if not shown:
        return _nothing(where, table, step, messages, answer, elements)
    roles_of = {name: {item.role for n, item in zip(read_ids, items, strict=True) if n == name} for name in shown}
    if file.turn is not None and file.turn.reply == "free" and any(len(roles) > 1 for roles in roles_of.values()):
        return Advice(
            expected="a reply of the service's own words",
            found="a reply that repeats what was said",
            at=where.at("turn", "reply"),
            attempt='reply = "echo"',
        )
    if not any(item.content == sent[name].content for name, item in shown.items() if name):
        return _nothing(where, table, step, messages, answer, elements)
    wrong = [(sent[name].role, item.role) for name, item in shown.items() if name and item.role != sent[name].role]
    if wrong:
        return _role(file, where, table, step, wrong, elements)
    placed = [name for name in read_ids if name in sent]
    order = [message.id for message in messages if message.id in shown]
    ordered = file.contract.get("order") != "unspecified"
    if ordered and len(order) > 1 and placed == order[::-1]:
        return Advice(
            expected="the oldest message first",
            found="the newest first",
            at=where.at(table, "order"),
            attempt=('order = "newest-first"' if step.order == "oldest-first" else 'order = "oldest-first"')
            + (", or are user and assistant swapped under [roles]?" if file.turn is not None else ""),
        )
    return None


def _role(
    file: TargetFile, where: Where, table: str, step: RecallStep, wrong: Sequence[tuple[str, str]], elements: Any
) -> Advice:
    """Messages come back in another role; one that the service has a word of its own for tells most."""
    role, found = next((pair for pair in wrong if pair[1] not in ("", "user", "assistant")), wrong[0])
    if role == "user" and file.turn is not None:
        role = "assistant"  # a reply that repeats what was said is taken for that
    is_word = re.fullmatch(r"[A-Za-z_-]{1,30}", found) is not None
    return Advice(
        expected=f"the role {role!r}",
        found=f"{found!r} at {step.role}",
        at=where.at("roles", role) if file.roles and is_word else where.at(table, "role"),
        attempt=f'[roles] {role} = "{found}", if that is what the service calls it' if is_word else _roles(elements),
    )


def misread_pages(file: TargetFile, where: Where, said: int, listed: int, requests: int) -> Advice | None:
    """Which line makes pages be left out, if there is paging.

    Args:
        file: the mapping.
        where: to name its lines.
        said: messages that were said.
        listed: how many of them are listed.
        requests: how many it took.
    """
    table = "recall_default" if file.recall_default is not None else "recall"
    step: RecallStep = getattr(file, table)
    if step.paging is None:
        return None
    what = f"the next cursor at {step.paging.cursor}" if step.paging.cursor else f"{step.paging.offset} on a full page"
    attempt = "does each request ask for the page after the one before it?"
    if requests == 1 and step.paging.more is not None:
        attempt = (
            f"see in the first answer what tells that there is more (more = {step.paging.more!r}), and select that"
        )
    elif requests == 1 and step.paging.cursor is not None:
        attempt = "see in the first answer where it tells how to go on, and select that"
    elif requests == 1:
        attempt = f"a full page has other than {step.paging.offset} elements: see how many the first answer lists"
    return Advice(
        expected=f"{said} messages over several pages ({what})",
        found=f"{listed} messages in {requests} {'request' if requests == 1 else 'requests'}",
        at=where.at(table, "paging"),
        attempt=attempt,
    )


def _nothing(
    where: Where, table: str, step: RecallStep, messages: Sequence[Item], answer: Answer, elements: Any
) -> Advice:
    """No message of ours was found in a list."""
    data = _json(answer)
    token = messages[0].id
    expected = f"a list at {step.items} with what was said: a text that starts with [{token}]"
    if not elements:
        elsewhere = [
            path.rpartition("[")[0] or "@"
            for path in paths_to(data, lambda value: isinstance(value, list) and _holds(value, token))
        ]
        lists = paths_to(data, lambda value: isinstance(value, list) and _holds(value, token)) or elsewhere
        attempt = "is this the same session? does it take a moment to show up (visibility_ms)? are the ids right?"
        if lists:
            attempt = f"what was said is in the list at {', '.join(lists)}: select that"
        elif answer.status in step.empty:
            attempt = f"{answer.status} counts as an empty list (empty = {list(step.empty)}): is the path right?"
        return Advice(
            expected=expected,
            found=f"an empty list at {step.items}" if elements is not None else f"nothing at {step.items}",
            at=where.at(table, "items") if lists and step.items != "@" else where.at(table, "path"),
            attempt=attempt,
        )
    tokens = [message.id for message in messages]
    whole = [message.content for message in messages]
    texts: list[str] = []
    for element in elements[:ELEMENTS_MAX]:
        texts = texts or paths_to(element, lambda value: value in whole)
    for element in elements[:ELEMENTS_MAX]:
        texts = texts or paths_to(element, lambda value: isinstance(value, str) and any(t in value for t in tokens))
    texts = [re.sub(r"\[0\](\.text)?$", "", text) or text for text in texts]  # a list of parts is read whole
    if texts:
        return Advice(
            expected=expected,
            found=f"another text at {step.text}",
            at=where.at(table, "text"),
            attempt=f'what was said stands at {", ".join(texts)} of an element: text = "{texts[0]}"',
        )
    return Advice(
        expected=expected,
        found=f"{len(elements)} elements, none of which holds it",
        at=where.at(table, "path"),
        attempt="is this the session that was written to? does the service keep texts as they are?",
    )


def _roles(elements: Any) -> str:
    words = ("user", "human", "assistant", "ai", "system")
    element = elements[-1] if isinstance(elements, list) and elements else None
    places = paths_to(element, lambda value: isinstance(value, str) and value.lower() in words)
    return f"the role stands at {', '.join(places)}" if places else "select what tells who said it"


def _holds(value: Any, token: str) -> bool:
    return any(paths_to(part, lambda text: isinstance(text, str) and token in text) for part in value[-3:])


def _json(answer: Answer) -> Any:
    try:
        return decode(answer.body)
    except ValueError:
        return None
