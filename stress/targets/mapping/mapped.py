"""A target made of a mapping."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from goldfish.token import PREFIX, parse
from stress.swarm.answer import Answer, AttemptError
from stress.targets.mapping import template
from stress.targets.mapping.file import Append, Ids, Open, RecallStep, Step, TargetFile, Turn
from stress.targets.mapping.mistakes import Where, advise, misread, misread_pages
from stress.targets.mapping.select import Select, decode, plain_path, selector
from stress.targets.outcome import Item, Result, accepted, partial, refused, unanswered, unreadable
from stress.targets.target import Advice, Ask, Place, Request, Target

PAGES_MAX = 1_000
"""Pages of one list: one that turns in a circle has no end."""
ITEMS_MAX = 100_000

_encode = msgspec.json.Encoder().encode
_NAMESPACE = uuid.UUID("3e1f6d0e-2b6a-5f0b-9c55-6f1f3b6d8a11")


class _Compiled:
    """A step, ready to be asked."""

    def __init__(self, step: Step, method: str) -> None:
        self.step = step
        self.method = step.method or method
        self._path = template.path(step.path)
        self._query = template.query(step.query)
        self._headers = template.headers(step.headers)
        self._body = template.compiled(step.body) if step.body is not None else None
        self._accepted = frozenset(step.accepted) if step.accepted is not None else None
        self.rejected = frozenset(step.rejected)

    def request(self, values: Mapping[str, Any]) -> Request:
        return Request(
            self.method,
            self._path(values) + self._query(values),
            _encode(self._body(values)) if self._body is not None else b"",
            self._headers(values),
        )

    def accepts(self, answer: Answer) -> bool:
        if self._accepted is not None:
            return answer.status in self._accepted
        return 200 <= answer.status < 300


class _Lists(_Compiled):
    """A step that lists messages."""

    def __init__(self, step: RecallStep, ours: Mapping[str, str], *, echo: bool) -> None:
        super().__init__(step, "GET")
        self.paging = step.paging
        self.newest_first = step.order == "newest-first"
        self.limited = "limit" in template.placeholders([step.path, step.query, step.headers, step.body])
        self.empty = frozenset(step.empty)
        self._items = selector(step.items)
        self._text, self._role = selector(step.text), selector(step.role)
        self._id = selector(step.id) if step.id is not None else None
        self._ours = ours
        self._echo = echo
        self._cursor = selector(step.paging.cursor) if step.paging and step.paging.cursor else None
        self._more = selector(step.paging.more) if step.paging and step.paging.more else None
        self._typed = _typed(step) if step.paging is None and not echo else None

    def elements(self, data: Any) -> list[Any] | None:
        """The list in an answer; None if there is none."""
        found = self._items(data)
        return found if isinstance(found, list) else None

    def read_plain(self, body: bytes) -> list[Item] | None:
        """The messages of a whole answer, if they stand in it in a plain way; None: look closer."""
        if self._typed is None:
            return None
        decoder, get_elements = self._typed
        try:
            elements = get_elements(decoder.decode(body))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        ours = self._ours
        if ours or (elements and type(elements[0]) is not Item):
            items = [Item(found.id, ours.get(found.role, found.role), found.content) for found in elements]
        else:
            items = elements
        # One service makes all of its ids in one way.
        return items if not items or items[0].id.startswith(PREFIX) else None

    def read(self, elements: Iterable[Any]) -> list[Item]:
        """The elements as messages."""
        text, role, ours, name = self._text, self._role, self._ours, self._name
        items = []
        for element in elements:
            content = text(element)
            if type(content) is not str:
                content = joined(content)
            its_role = role(element)
            if type(its_role) is not str:
                its_role = "" if its_role is None else str(its_role)
            its_role = ours.get(its_role, its_role)
            items.append(Item(name(element, content, its_role), its_role, content))
        return items

    def _name(self, element: Any, content: str, role: str) -> str:
        """The token of an element, by its id or else by the start of its text."""
        found = self._id(element) if self._id is not None else None
        if not isinstance(found, str) or not found.startswith(PREFIX):
            end = content.find("]")
            found = content[1:end] if end > 0 and content.startswith("[" + PREFIX) else ""
        if self._echo and role == "assistant" and (token := parse(found)) is not None:
            return str(token._replace(seq=token.seq + 1))  # the reply is the message behind the one it repeats
        return found

    def id_of(self, element: Any) -> Any:
        """What an element tells as its id."""
        return self._id(element) if self._id is not None else None

    def next(self, data: Any, page: int, received: int, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """The values for the next page; None if there is none."""
        paging = self.paging
        if paging is None or (self._more is not None and not self._more(data)):
            return None
        if self._cursor is not None:
            cursor = self._cursor(data)
            if cursor is None or cursor in ("", values.get("cursor")):
                return None
            return {**values, "cursor": cursor}
        if paging.offset is None or (self._more is None and received < paging.offset):
            return None
        return {**values, "offset": values["offset"] + received, "page": paging.first_page + page + 1}

    def first(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values for the first page."""
        if self.paging is None or self.paging.offset is None:
            return values
        return {**values, "offset": 0, "page": self.paging.first_page}


class MappedTarget(Target):
    """Speaks HTTP as a mapping says. Make it with ``stress.targets.load``."""

    def __init__(self, file: TargetFile, where: Where) -> None:
        """Compile a mapping that was found to be complete.

        Args:
            file: the mapping.
            where: to name its lines.
        """
        self._file, self._where = file, where
        echo = file.turn is not None and file.turn.reply == "echo"
        ours = {theirs: role for role, theirs in file.roles.items()}
        self._theirs = file.roles
        self._opens = [(_Compiled(step, "POST"), _saves(step)) for step in opens(file)]
        say: Append | Turn | None = file.append or file.turn
        assert say is not None
        assert file.recall is not None
        self._say = _Compiled(say, "POST")
        self._message = template.compiled(say.message) if isinstance(say, Append) and say.message is not None else None
        self._ids = selector(say.ids) if isinstance(say, Append) and say.ids is not None else None
        self._recall = _Lists(file.recall, ours, echo=echo)
        self._recall_default = _Lists(file.recall_default, ours, echo=echo) if file.recall_default else self._recall
        self._recall_user = _Lists(file.recall_user, ours, echo=echo) if file.recall_user else None
        self._delete = _Compiled(file.delete, "DELETE") if file.delete else None
        self._user_id, self._session_id, self._message_id = _id_makers(file.ids)
        self.opens = bool(self._opens)
        self.batches = self._message is not None
        self.replies = file.turn.reply if file.turn is not None else "ours"
        self.by_user = self._recall_user is not None
        self.tells_ids = file.recall.id is not None
        self.deletes = self._delete is not None

    def place(self, user: str, session: str) -> Place:
        """Where a person's session is."""
        place = Place(self._user_id(user), self._session_id(session), is_open=not self.opens)
        place.values = {"user": place.user, "session": place.session}
        return place

    def asked(self, limit: int | None, *, by_user: bool) -> int | None:
        """The limit, if there is a {limit} in the request."""
        step = self._recall_user if by_user else self._recall
        return limit if step is not None and step.limited else None

    def open(self, ask: Ask, place: Place) -> Result:
        """Make a session ready."""
        values = {**place.values, "device": place.device}
        result: Result | None = None
        for step, saves in self._opens:
            try:
                answer = ask(step.request(values))
            except AttemptError as error:
                return unanswered(error, write=True)
            if not step.accepts(answer):
                return refused(answer, write=True, rejected=step.rejected)
            result = accepted(answer)
            if not saves:
                continue
            try:
                data = decode(answer.body)
            except ValueError:
                return unreadable(answer, write=True)
            for name, select in saves:
                value = select(data)
                if not isinstance(value, str | int) or any(ord(char) < 32 for char in str(value)):
                    return unreadable(answer, write=True)
                values[name] = place.values[name] = value
        assert result is not None
        return result

    def append(self, ask: Ask, place: Place, messages: Sequence[Item]) -> Result:
        """Store messages: all in one request, or the only one (with its reply, where the service writes that)."""
        first = messages[0]
        values = {**place.values, "device": place.device, **self._fields(first)}
        sent = messages if self._message is not None else messages[:1]
        if self._message is not None:
            said = dict(values)
            values["messages"] = made = []
            for message in messages:
                said |= self._fields(message)
                made.append(self._message(said))
        try:
            answer = ask(self._say.request(values))
        except AttemptError as error:
            return unanswered(error, write=True)
        if not self._say.accepts(answer):
            return refused(answer, write=True, rejected=self._say.rejected)
        if self._ids is None:
            return accepted(answer)
        try:
            found = self._ids(decode(answer.body))
        except ValueError:
            return unreadable(answer, write=True)
        if found is None:
            return unreadable(answer, write=True)
        found = found if isinstance(found, list) else [found]
        return accepted(answer) if found == [self._message_id(message.id) for message in sent] else partial(answer)

    def recall(self, ask: Ask, place: Place, limit: int | None, *, by_user: bool) -> Result:
        """List a session or all of a user's, page after page."""
        step = self._recall if limit is not None else self._recall_default
        if by_user:
            assert self._recall_user is not None
            step = self._recall_user
        values: Mapping[str, Any] = {**place.values, "device": place.device}
        if limit is not None:
            values = {**values, "limit": limit}
        asked: Mapping[str, Any] | None = step.first(values)
        items: list[Item] = []
        before: list[Any] | None = None
        for page in range(PAGES_MAX):
            assert asked is not None
            try:
                answer = ask(step.request(asked))
            except AttemptError as error:
                return unanswered(error, write=False)
            if answer.status in step.empty and page == 0:
                return accepted(answer, [])
            if not step.accepts(answer):
                return refused(answer, write=False)
            if (plain := step.read_plain(answer.body)) is not None:
                items = plain
                break
            try:
                data = decode(answer.body)
            except ValueError:
                return unreadable(answer, write=False)
            elements = step.elements(data)
            if elements is None:
                return unreadable(answer, write=False)
            if step.paging is None:
                items = step.read(elements)
                break
            if elements and elements == before:
                return unreadable(answer, write=False)  # the page before it once more: not what was asked for
            before = elements
            read_now = step.read(elements)
            if step.paging.offset is not None and step.newest_first:
                # What is written meanwhile moves the list below the offset: a page begins with the end of the last.
                again = next((at for at, item in enumerate(read_now) if item not in items), len(read_now))
                read_now = read_now[again:]
            items += read_now
            asked = step.next(data, page, len(elements), asked)
            enough = limit is not None and step.newest_first and len(items) >= limit
            if asked is None or enough or len(items) > ITEMS_MAX:
                break
        else:
            return unreadable(answer, write=False)
        if step.newest_first:
            items.reverse()
        if limit is not None and page:  # the last page may bring more than was asked for; the first may not
            items = items[max(len(items) - limit, 0) :]
        return accepted(answer, items)

    def delete(self, ask: Ask, place: Place) -> Result:
        """Forget a session."""
        step = self._delete
        assert step is not None
        try:
            answer = ask(step.request({**place.values, "device": place.device}))
        except AttemptError as error:
            return unanswered(error, write=True)
        if step.accepts(answer) or answer.status == 404:
            return accepted(answer)
        return refused(answer, write=True, rejected=step.rejected)

    def advise(self, step: str, answer: Answer | None, requests: int) -> Advice:
        """What to tell people about a step that failed, and which line says so."""
        return advise(self._file, self._where, step, answer, requests)

    def tells_id(self, message: Item, answer: Answer) -> bool:
        """Whether an answer lists a message under the id that it was sent with."""
        step = self._recall_default
        try:
            elements = step.elements(decode(answer.body)) or []
        except ValueError:
            return False
        return self._message_id(message.id) in map(step.id_of, elements)

    def misread(self, messages: Sequence[Item], items: Sequence[Item], answer: Answer) -> Advice | None:
        """Which line makes a list be misread."""
        return misread(self._file, self._where, messages, items, answer)

    def misread_pages(self, said: int, listed: int, requests: int) -> Advice | None:
        """Which line makes pages be left out."""
        return misread_pages(self._file, self._where, said, listed, requests)

    def _fields(self, message: Item) -> dict[str, Any]:
        role = message.role
        return {
            "id": self._message_id(message.id),
            "role": self._theirs.get(role, role),
            "text": message.content,
        }


def _typed(step: RecallStep) -> tuple[msgspec.json.Decoder[Any], Callable[[Any], list[Any]]] | None:
    """A decoder for answers in which list, text, role and id stand under plain keys, and the way to the list.

    It reads what almost all services answer in a third of the time, and refuses everything else.
    """
    way, keys = (
        plain_path(step.items),
        [plain_path(part or "") if part else None for part in (step.id, step.role, step.text)],
    )
    if way is None or any(key is None or len(key) != 1 for key in keys):
        return None
    names = [key[0] for key in keys if key is not None]
    if len(set(names)) < len(names):
        return None
    element: Any = Item
    if names != ["id", "role", "content"]:
        element = msgspec.defstruct(
            "Element",
            [("id", str), ("role", str), ("content", str)],
            rename=dict(zip(("id", "role", "content"), names, strict=True)),
            gc=False,
        )
    form: Any = list[element]
    for key in reversed(way):
        form = msgspec.defstruct("Answer", [("part", form)], rename={"part": key}, gc=False)

    def elements(answer: Any) -> list[Any]:
        for _ in way:
            answer = answer.part
        found: list[Any] = answer
        return found

    return msgspec.json.Decoder(form), elements


def opens(file: TargetFile) -> tuple[Open, ...]:
    """What makes a session ready, in order."""
    return file.open if isinstance(file.open, tuple) else (file.open,)


def joined(content: Any) -> str:
    """The text of a message that is no string: of a list, all its parts."""
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return "".join(text for text in texts if isinstance(text, str))
    return "" if content is None else json.dumps(content, ensure_ascii=False)


def _saves(step: Open) -> list[tuple[str, Select]]:
    return [(name, selector(expression)) for name, expression in step.save.items()]


_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def _id_makers(ids: Ids) -> tuple[Callable[[str], str], ...]:
    def maker(form: str) -> Callable[[str], str]:
        length_max = ids.length_max
        if form == "plain" and length_max is None:
            return str

        @lru_cache(maxsize=16384)
        def make(plain: str) -> str:
            made = plain
            if form == "uuid5":
                made = str(uuid.uuid5(_NAMESPACE, plain))
            elif form == "safe":
                made = _UNSAFE.sub("_", plain)
            if length_max is not None and len(made) > length_max:
                digest = hashlib.sha256(plain.encode()).hexdigest()[:12]
                made = made[: length_max - len(digest)] + digest
            return made

        return make

    return maker(ids.user), maker(ids.session), maker(ids.message)
