"""One share of a record: the operations that one process reads, and the conversations it then judges.

A share reads some byte ranges of the op logs. Most conversations are brief, so most lie in one share whole; of those
that reach into several, each is then given to one of them. From there on shares have nothing in common, and what they
come to is added up.

The steps are taken by all shares together, each when the step before is done everywhere:

    read      ranges → what they hold beside operations, and how they end
    settle    what of it stands, and at which line of its log → which conversations there are
    ids       …of one log between two bounds, where two shares may hold the same one
    give      conversations that another share shall judge → parcels
    take      parcels of other shares

What a share holds then may be sealed (``analysis.sealed``), and be opened instead of reading the op logs again.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analysis.columns import IDS, OPERATIONS, Ints, Names, Parcel, Tables, columns_of, select, stack
from analysis.content import Content, Range, backwards, citations, out_of_range, take_apart
from analysis.lines import Block, read_lines
from analysis.record import Cited
from analysis.sealed import read_parcel, write_parcel
from goldfish.contract import Contract
from goldfish.errors import RecordError
from goldfish.rule import NEVER

Together = Literal["conversation", "user"]
"""What is never divided among shares."""


@dataclass(slots=True)
class Settled:
    """What a share holds, for the others to know."""

    ids: dict[int, tuple[int, int]]
    """Op log → smallest and largest id."""
    conversations: NDArray[np.uint32]
    """A number for each conversation, the same wherever the conversation turns up; two may have the same one."""
    start_ns: int
    """The first start of all; NEVER if there is none."""
    cited: set[Cited]


class Share:
    """Lives in a process of its own, or in the only one."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        """Hold nothing yet.

        Args:
            progress: called with what was just done: bytes read, then conversations judged.
        """
        self.progress = progress
        self.names = Names()
        self.tables: Tables = stack([], IDS)
        self.logs: dict[str, int] = {}
        """Conversation → op log."""
        self.paths: dict[int, Path] = {}
        self._read: list[tuple[int, Tables, set[Cited]]] = []
        self._ids: dict[int, tuple[Ints, Ints]] = {}
        """By log: ids in their order, and their lines; dropped when they are no longer needed."""

    # reading ---------------------------------------------------------------------------------------------------------

    def read(self, ranges: Sequence[Range]) -> list[Content]:
        """Read some ranges; their operations are kept.

        Raises:
            RecordError: a file cannot be read.
        """
        return [self._range(wanted) for wanted in ranges]

    def _range(self, wanted: Range) -> Content:
        content = Content()
        parts: list[Tables] = []
        cited: set[Cited] = set()
        for block in read_lines(wanted.path, wanted.begin, wanted.end):
            if not isinstance(block, Block):
                content.unreadable = block.why
                break
            rows, which = take_apart(block, content, first_of_file=wanted.begin == 0)
            self.progress(int(block.offsets[-1] - block.offsets[0]) if len(block.offsets) else 0)
            lines = block.first + which
            content.lines = block.first + len(block.rows)
            try:
                tables = columns_of(rows, block.offsets[which], lines, self.names)
            except OverflowError:
                content.mistake = out_of_range(rows, lines)
                break
            content.mistake = backwards(tables, rows, lines) or content.mistake
            if content.mistake is not None:
                break
            parts.append(tables)
            cited.update(citations(rows))
        tables = stack(parts)
        self.paths[wanted.log] = wanted.path
        self._read.append((wanted.log, tables, cited))
        self._count(tables, content)
        return content

    def _count(self, tables: Tables, content: Content) -> None:
        voices = self.names.spoken
        killed = np.array([manner.reason == "killed" for manner in self.names.met], bool)
        for kind in OPERATIONS:
            table = tables[kind]
            if len(table["voice"]):
                content.rows[kind] = len(table["voice"])
            number = np.bincount(table["voice"][~killed[table["manner"]]], minlength=len(voices))
            for voice in np.flatnonzero(number):
                content.requests.setdefault(voices[voice].scenario, Counter())[kind] += int(number[voice])

    # settling --------------------------------------------------------------------------------------------------------

    def settle(self, firsts: Sequence[int | None]) -> Settled:
        """Keep what stands.

        Args:
            firsts: for each range that was read, the lines of its log before it; None: it does not count.

        Raises:
            RecordError: an id stands twice, or a conversation in two logs.
        """
        kept: list[Tables] = []
        cited: set[Cited] = set()
        for (log, tables, its_cited), first in zip(self._read, firsts, strict=True):
            if first is not None:
                for kind in OPERATIONS:
                    tables[kind]["line"] += first
                self._own(log, tables)
                kept.append(tables)
                cited |= its_cited
        read, self._read = self._read, []
        logs = [log for (log, _, _), first in zip(read, firsts, strict=True) if first is not None]
        self._ids = {log: _ids([tables for its, tables in zip(logs, kept, strict=True) if its == log]) for log in logs}
        for log, (ids, lines) in self._ids.items():
            refuse_twice(self.paths[log], ids, lines)
        del read
        self.tables = stack(kept, IDS)
        starts = [int(self.tables[kind]["start"].min()) for kind in OPERATIONS if len(self.tables[kind]["start"])]
        return Settled(
            ids={log: (int(ids[0]), int(ids[-1])) for log, (ids, _) in self._ids.items() if len(ids)},
            conversations=np.unique(np.array([_number(name) for name in self.logs], np.uint32)),
            start_ns=min(starts, default=NEVER),
            cited=cited,
        )

    def _own(self, log: int, tables: Tables) -> None:
        """Note in which log the conversations of a range are."""
        voices = self.names.spoken
        used = np.zeros(len(voices), bool)
        for kind in OPERATIONS:
            used[tables[kind]["voice"]] = True
        for voice in np.flatnonzero(used):
            name = voices[voice].conversation
            if self.logs.setdefault(name, log) != log:
                line = min(
                    int(tables[kind]["line"][np.isin(tables[kind]["voice"], voice)].min(initial=NEVER - 1))
                    for kind in OPERATIONS
                )
                raise two_logs(self.paths[log], line, name, self.paths[self.logs[name]])

    def ids(self, log: int, low: int, high: int) -> tuple[Ints, Ints]:
        """Ids of one op log between two bounds, and their lines."""
        if log not in self._ids:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        ids, lines = self._ids[log]
        within = slice(int(np.searchsorted(ids, low)), int(np.searchsorted(ids, high, side="right")))
        return ids[within], lines[within]

    # giving and taking -----------------------------------------------------------------------------------------------

    def users(self) -> NDArray[np.uint32]:
        """A number for each user, as for each conversation."""
        voices = self.names.spoken
        heard = np.flatnonzero(self._heard(len(voices)))
        return np.unique(np.array([_number(voices[at].user) for at in heard], np.uint32))

    def _heard(self, voices: int) -> NDArray[np.bool_]:
        """Which voices are still heard here."""
        heard = np.zeros(voices, bool)
        for kind in OPERATIONS:
            heard[self.tables[kind]["voice"]] = True
        return heard

    def give(self, wanted: Mapping[int, NDArray[np.uint32]], what: Together) -> dict[int, Parcel]:
        """Parcels for other shares: whoever wants them → the numbers of the conversations, or of the users."""
        self._ids = {}
        voices = self.names.spoken
        numbers = np.array([_number(getattr(voice, what)) for voice in voices], np.uint32)
        heard = self._heard(len(voices))
        gone = np.zeros(len(voices), bool)
        parcels = {}
        for taker, conversations in wanted.items():
            theirs = np.isin(numbers, conversations) & heard
            parcels[taker] = self._parcel(theirs)
            gone |= theirs
        if gone.any():
            self.tables = select(self.tables, {kind: ~gone[self.tables[kind]["voice"]] for kind in OPERATIONS})
        return parcels

    def _parcel(self, which: NDArray[np.bool_]) -> Parcel:
        """What some voices did."""
        tables = select(self.tables, {kind: which[self.tables[kind]["voice"]] for kind in OPERATIONS})
        for kind in OPERATIONS:
            tables[kind]["voice"] = (np.cumsum(which) - 1).astype(np.int32)[tables[kind]["voice"]]
        voices = [voice for voice, its in zip(self.names.spoken, which, strict=True) if its]
        return Parcel(
            tables,
            voices,
            self.names.met,
            list(self.names.views),
            list(self.names.devices),
            {voice.conversation: self.logs[voice.conversation] for voice in voices},
        )

    def take(self, parcels: Iterable[Parcel], paths: Mapping[int, Path]) -> None:
        """Add what others gave.

        Raises:
            RecordError: a conversation is in two logs.
        """
        self.paths |= paths
        tables = [self.tables]
        for parcel in parcels:
            translated = parcel.tables
            for column, things, codes in (
                ("voice", parcel.voices, self.names.voices),
                ("manner", parcel.manners, self.names.manners),
            ):
                for kind in OPERATIONS:
                    translated[kind][column] = _translated(translated[kind][column], things, codes)
            recalls, runs = translated["recall"], translated["run"]
            recalls["view"] = _translated(recalls["view"], parcel.views, self.names.views)
            runs["device"] = _translated(runs["device"], parcel.devices, self.names.devices)
            for name, log in parcel.logs.items():
                if self.logs.setdefault(name, log) != log:
                    voice = next(code for its, code in self.names.voices.items() if its[0] == name)
                    lines = [translated[kind]["line"][translated[kind]["voice"] == voice] for kind in OPERATIONS]
                    line = int(np.concatenate(lines).min(initial=0))
                    raise two_logs(self.paths[log], line, name, self.paths[self.logs[name]])
            tables.append(translated)
        self.tables = stack(tables, IDS)

    # sealing ---------------------------------------------------------------------------------------------------------

    def seal(self, folder: Path, number: int) -> None:
        """Write everything that is held here.

        Raises:
            OSError: it cannot be written.
        """
        write_parcel(folder, number, self._parcel(self._heard(len(self.names.voices))))

    def open(self, folder: Path, numbers: Sequence[int], paths: Mapping[int, Path]) -> bool:
        """Hold what some shares sealed; whether that could be read. If not, nothing is held."""
        try:
            parcels = [read_parcel(folder, number) for number in numbers]
        except Exception:  # noqa: BLE001 - whatever is wrong with an extract, there are the op logs
            return False
        self.take(parcels, paths)
        return True

    def forget(self) -> None:
        """Hold nothing."""
        self.__init__(self.progress)  # type: ignore[misc]


def together(contract: Contract) -> Together:
    """What has to be judged in one share: all of a user where a user's memory expires as a whole."""
    return "user" if contract.ttl is not None and contract.ttl.unit == "user" else "conversation"


def refuse_twice(path: Path, ids: Ints, lines: Ints) -> None:
    """Refuse an id that stands twice in one log.

    Raises:
        RecordError: naming the line where it stands for the second time.
    """
    again = np.flatnonzero(ids[1:] == ids[:-1]) + 1
    if len(again):
        at = again[np.argmin(lines[again])]
        raise RecordError(f"{path}:{lines[at] + 1}: operation {ids[at]} stands twice in this log")


def two_logs(path: Path, line: int, conversation: str, other: Path) -> RecordError:
    """A conversation in two processes."""
    return RecordError(
        f"{path}:{line + 1}: conversation {conversation!r} is also in process {other.stem!r}; "
        "stamps of two processes are not compared, so a conversation lives in one"
    )


def _ids(tables: Iterable[Tables]) -> tuple[Ints, Ints]:
    """All ids in their order, those alike in the order of their lines, and the lines."""
    some = list(tables)
    ids = np.concatenate([part[kind]["id"] for part in some for kind in OPERATIONS])
    lines = np.concatenate([part[kind]["line"] for part in some for kind in OPERATIONS])
    order = np.lexsort((lines, ids))
    return ids[order], lines[order]


def _number(name: str) -> int:
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))


def _translated(column: NDArray[np.int32], things: Sequence[object], codes: Mapping[object, int]) -> NDArray[np.int32]:
    """A column whose numbers stand for what they stand for elsewhere; only what is used is taken over."""
    used = np.unique(column)
    translation = np.zeros(len(things), np.int32)
    translation[used] = [codes[things[at]] for at in used]
    return translation[column]
