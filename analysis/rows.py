"""Reads single conversations again from the op logs: the rows themselves, by where their lines start."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import closing
from io import FileIO
from pathlib import Path

import msgspec
import numpy as np

from analysis.assumptions import examine, scope_of
from analysis.batches import Conversations
from analysis.columns import Ints
from analysis.record import Conversation, Doubt, Flaw
from goldfish.errors import RecordError
from goldfish.oplog import LINE_BYTES_MAX, Row

GAP_BYTES = 16 * 1024
"""Lines no farther apart are read in one go."""
STRETCH_BYTES = 4 * 1024 * 1024
_KEPT = {"append": "appends", "recall": "recalls", "delete": "deletes", "touch": "touches"}


def read_conversations(
    which: Sequence[int],
    conversations: Conversations,
    paths: Mapping[int, Path],
    flaws: Mapping[int, Flaw],
    plain: Container[int] = (),
) -> Iterator[Conversation]:
    """Some conversations of a share with all their rows, examined.

    Args:
        which: their numbers.
        conversations: all of the share.
        paths: the op logs by number.
        flaws: of those logs that are not whole.
        plain: those of which it is proven that an examination finds nothing.

    Raises:
        RecordError: the rows of one contradict each other, or a log is no longer what it was.
    """
    places = {number: conversations.places(number) for number in which}
    of_log: dict[int, list[int]] = {}
    for number in which:
        of_log.setdefault(int(conversations.logs[number]), []).append(number)
    rows = {
        log: dict(_rows(paths[log], sorted(at for number in own for _, kept in places[number].values() for at in kept)))
        for log, own in of_log.items()
    }
    for number in which:
        log, who = int(conversations.logs[number]), conversations.who[number]
        path, row_at = paths[log], rows[log]
        conversation = Conversation(conversations.names[number], path.stem, path, who.scenario, who.tenant, who.user)
        for kind, (lines, offsets) in places[number].items():
            of_kind = [(line + 1, row_at.pop(at)) for line, at in zip(lines, offsets, strict=True)]
            setattr(conversation, _KEPT[kind], of_kind)
        if number in plain:
            conversation.scope = scope_of(conversation)
        else:
            conversation.doubt = examine(conversation)
        flaw = flaws.get(log)
        if flaw is not None and (flaw.scattered or not any(row.phase == "final" for _, row in conversation.recalls)):
            conversation.doubt = Doubt("incomplete", f"the op log {path.name} is incomplete: {flaw.text}")
        yield conversation


def _rows(path: Path, offsets: Sequence[int]) -> Iterator[tuple[int, Row]]:
    """The rows whose lines start at these offsets, which go up."""
    decoder = msgspec.json.Decoder(Row)
    try:
        with closing(FileIO(path)) as file:
            for stretch in _stretches(np.array(offsets, np.int64)):
                begin, last = int(stretch[0]), int(stretch[-1])
                block = os.pread(file.fileno(), last - begin + GAP_BYTES, begin)
                if block.find(b"\n", last - begin) < 0:
                    block += os.pread(file.fileno(), LINE_BYTES_MAX, begin + len(block))
                for offset in stretch.tolist():
                    end = block.find(b"\n", offset - begin)
                    yield offset, decoder.decode(block[offset - begin : end if end >= 0 else len(block)])
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        text = "it changed while it was read; analyze the run again when nobody writes it"
        raise RecordError(f"{path}: {text}") from error


def _stretches(offsets: Ints) -> Iterator[Ints]:
    """Offsets in groups that are read in one go."""
    first = 0
    far = np.append(np.flatnonzero(np.diff(offsets) > GAP_BYTES) + 1, len(offsets)).tolist()
    for end in far:
        while first < end:
            last = min(end, int(np.searchsorted(offsets, offsets[first] + STRETCH_BYTES)))
            yield offsets[first:last]
            first = last
