"""The token: the name of one message, wherever it turns up.

A message is its token. It is the message's id, and it stands at the start of the text as well, so that a text that was
cut keeps its name. A token tells run, user, session, conversation, device and sequence number, which is all that is
needed to say whose message was shown to whom. Three check characters keep a damaged token from being read as the name
of somebody else's message: a false accusation of a leak would be the worst of all.

    gfk3v9x2-0-17-s3-phone-4-1qz
      │      │ │  │  │     │ └ check
      │      │ │  │  │     └ seq, counted by the device in this conversation from 0
      │      │ │  │  └ device
      │      │ │  └ session 3, in a conversation that spans one session (s) or all of the user's (u)
      │      │ └ user 17 of
      │      └ load process 0
      └ run tag
"""

from __future__ import annotations

import re
from typing import NamedTuple
from zlib import crc32

from goldfish.contract import Scope

PREFIX = "gf"
"""Starts every user, session and message id that this tool makes."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]
_CHECKS = 36**3
_FORM = re.compile(
    r"gf(?P<tag>[0-9a-z]{6})-(?P<process>\d{1,6})-(?P<user>\d{1,9})-(?P<scope>[su])(?P<session>\d{1,6})"
    r"-(?P<device>[a-z][a-z0-9]{0,15})-(?P<seq>\d{1,9})-(?P<check>[0-9a-z]{3})"
)
_MARKED = re.compile(r"\[(" + _FORM.pattern.replace("?P<", "?P<t_") + r")\] ?")


class Person(NamedTuple):
    """A test user: unique in all runs by the run's tag."""

    tag: str
    process: int
    number: int

    @property
    def id(self) -> str:
        """The user id the memory sees; it needs no escaping in a path."""
        return f"{PREFIX}-{self.tag}-{self.process}.{self.number}"

    def session(self, number: int) -> str:
        """The session id the memory sees; it needs no escaping in a path."""
        return f"{PREFIX}-{self.tag}-{self.process}.{self.number}-s{number}"

    def conversation(self, scope: Scope, session: int) -> str:
        """The conversation's name in the op log: one session, or all sessions of this person."""
        return f"{self.process}.{self.number}.{f's{session}' if scope == 'session' else 'u'}"


class Token(NamedTuple):
    """One message's name."""

    person: Person
    scope: Scope
    session: int
    device: str
    seq: int

    def __str__(self) -> str:
        return Series(self.person, self.scope, self.session, self.device).token(self.seq)

    @property
    def conversation(self) -> str:
        """The conversation it was said in, as the op log names it."""
        return self.person.conversation(self.scope, self.session)


class Series:
    """The tokens of one device in one session of a conversation, cheaper than one by one."""

    __slots__ = ("_crc", "_start")

    def __init__(self, person: Person, scope: Scope, session: int, device: str) -> None:
        self._start = _start(person, scope, session, device)
        self._crc = crc32(self._start.encode())

    def token(self, seq: int) -> str:
        """The text of one token."""
        number = str(seq)
        check = crc32(number.encode(), self._crc) % _CHECKS
        return f"{self._start}{number}-{_PAIRS[check // 36]}{_DIGITS[check % 36]}"


def mark(token: str, text: str) -> str:
    """The text as it is sent: token first."""
    return f"[{token}] {text}"


def read(message_id: object, text: str) -> Token | None:
    """The token of a recalled message: by its id, else by the start of its text; None if it carries none."""
    found = parse(message_id) if isinstance(message_id, str) else None
    if found is None:
        marked = _MARKED.match(text)
        found = parse(marked[1]) if marked else None
    return found


def parse(text: str) -> Token | None:
    """The token that ``text`` is, or None if it is none or is damaged."""
    form = _FORM.fullmatch(text)
    if form is None or _check(text[: form.start("check") - 1]) != form["check"]:
        return None
    person = Person(form["tag"], int(form["process"]), int(form["user"]))
    scope: Scope = "session" if form["scope"] == "s" else "user"
    return Token(person, scope, int(form["session"]), form["device"], int(form["seq"]))


def _start(person: Person, scope: Scope, session: int, device: str) -> str:
    tag, process, user = person
    return f"{PREFIX}{tag}-{process}-{user}-{scope[0]}{session}-{device}-"


def _check(body: str) -> str:
    check = crc32(body.encode()) % _CHECKS
    return _PAIRS[check // 36] + _DIGITS[check % 36]
