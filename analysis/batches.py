"""Conversations by their rows: who talks in each, and the columns of some hundred of them at a time.

What is done with a batch fits into the caches of a processor, and is over soon enough to show progress.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.columns import ELEMENTS, OPERATIONS, Codes, Ints, Tables, Voice, spread
from analysis.share import Share
from goldfish.errors import RecordError

BATCH_ROWS = 100_000
BATCH_CONVERSATIONS = 4_096
NONE = -1
"""Number of what is not there: a session, an instance."""


class Who(NamedTuple):
    """What all rows of a conversation agree on."""

    scenario: str
    tenant: str | None
    user: str


@dataclass(slots=True)
class Batch:
    """Some conversations, and their rows in the order of conversation and line."""

    first: int
    """Number of the first conversation; in the columns it is 0."""
    size: int
    tables: Tables
    """As in ``analysis.columns``; operations have a column ``conversation`` beside."""


class Conversations:
    """The conversations of a share, numbered in the order of their first rows."""

    def __init__(self, share: Share) -> None:
        """Order the rows of a share.

        Raises:
            RecordError: rows of a conversation disagree on scenario, user or tenant.
        """
        self.names: list[str] = []
        self.who: list[Who] = []
        self.manners = share.names.met
        self.views: list[str] = list(share.names.views)
        self.devices: list[str]
        self.voice_conversation, self.voice_device, self.voice_session = self._voices(share)
        self.devices = list(share.names.devices)
        self.logs = np.array([share.logs[name] for name in self.names], np.int64)
        self._tables = share.tables
        self._order: dict[str, Ints] = {}
        self._bounds: dict[str, Ints] = {}
        self._elements: dict[str, Ints] = {}
        for kind in OPERATIONS:
            table = share.tables[kind]
            conversation = self.voice_conversation[table["voice"]].astype(np.int64)
            self._order[kind] = np.lexsort((table["line"], conversation))
            self._bounds[kind] = np.searchsorted(conversation[self._order[kind]], np.arange(len(self) + 1))
            if kind in ELEMENTS:
                counts = table[ELEMENTS[kind][0]]
                self._elements[kind] = np.cumsum(counts, dtype=np.int64) - counts

    def __len__(self) -> int:
        return len(self.names)

    def batches(self) -> Iterator[Batch]:
        """All conversations, some at a time."""
        rows = np.sum(list(self._bounds.values()), axis=0)
        first = 0
        while first < len(self):
            last = int(np.searchsorted(rows, rows[first] + BATCH_ROWS, side="right")) - 1
            last = min(max(last, first + 1), first + BATCH_CONVERSATIONS, len(self))
            yield self._batch(first, last)
            first = last

    def places(self, conversation: int) -> dict[str, tuple[list[int], list[int]]]:
        """By kind: lines and offsets of the rows of a conversation, in their order."""
        places = {}
        for kind, order in self._order.items():
            bounds, table = self._bounds[kind], self._tables[kind]
            own = order[bounds[conversation] : bounds[conversation + 1]]
            places[kind] = table["line"][own].tolist(), table["offset"][own].tolist()
        return places

    def _batch(self, first: int, last: int) -> Batch:
        tables: Tables = {}
        for kind, order in self._order.items():
            rows = order[self._bounds[kind][first] : self._bounds[kind][last]]
            tables[kind] = {name: column[rows] for name, column in self._tables[kind].items()}
            tables[kind]["conversation"] = self.voice_conversation[tables[kind]["voice"]].astype(np.int64) - first
            if kind in ELEMENTS:
                count, elements = ELEMENTS[kind]
                places = spread(self._elements[kind][rows], tables[kind][count])
                tables[elements] = {name: column[places] for name, column in self._tables[elements].items()}
        return Batch(first, last - first, tables)

    def _voices(self, share: Share) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Conversation, device and session of every voice that is still heard here."""
        voices = share.names.spoken
        first_line = np.full(len(voices), np.iinfo(np.int64).max)
        for kind in OPERATIONS:
            np.minimum.at(first_line, share.tables[kind]["voice"], share.tables[kind]["line"])
        heard = np.flatnonzero(first_line < np.iinfo(np.int64).max)
        conversations, sessions = Codes(), Codes()
        conversation, device, session = (np.full(len(voices), NONE, np.int32) for _ in range(3))
        for at in heard[np.argsort(first_line[heard], kind="stable")]:
            voice = voices[at]
            who = Who(voice.scenario, voice.tenant, voice.user)
            number = conversation[at] = conversations[voice.conversation]
            if number == len(self.who):
                self.who.append(who)
            elif self.who[number] != who:
                raise _disagreement(share, voice, int(first_line[at]), who, self.who[number])
            device[at] = share.names.devices[voice.device]
            if voice.session is not None:
                session[at] = sessions[voice.session]
        self.names = list(conversations)
        return conversation, device, session


def _disagreement(share: Share, voice: Voice, line: int, here: Who, above: Who) -> RecordError:
    path = share.paths[share.logs[voice.conversation]]
    what = next(name for name in ("user", "tenant", "scenario") if getattr(here, name) != getattr(above, name))
    return RecordError(
        f"{path}:{line + 1}: conversation {voice.conversation!r} has {what} {getattr(here, what)!r} here and "
        f"{getattr(above, what)!r} above"
    )
