"""``sealed/``: what was read of complete op logs, as columns, so that the next analysis need not read them again.

    index.json                of which op logs these are the rows, and what they hold beside operations
    <table>-<share>.parquet   the tables of ``analysis.columns``
    voice-<share>.parquet     and what the numbers in them stand for; of a voice, also the number of its op log
    manner-…, view-…, device-…

It is an extract: texts, and whatever else is shown of a single conversation, are read from the op logs. It is believed
only while every log is the very file that was read: same device and inode, same size, and same times of the last change
of its content and of anything about it, which no copy and no edit keeps. A change within the same tick of the file
system's clock would keep them, so a log is sealed only if it had lain still for a while when it was opened. Whatever is
wrong with the extract, the op logs are read.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from analysis.columns import COLUMNS, IDS, Manner, Parcel, Voice
from analysis.record import Cited, Log
from goldfish.oplog import Sample
from goldfish.run import Run

FOLDER = "sealed"
INDEX = "index.json"
SCHEMA = 1
BYTES_MIN = 32 * 1024 * 1024
"""Smaller records are read as soon as this is."""
STILL_NS = 100_000_000


class Mark(msgspec.Struct, frozen=True):
    """Which file, as it was."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> Mark | None:
        """The file as it is; None if it cannot be looked at."""
        try:
            stat = path.stat()
        except OSError:
            return None
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


class SealedLog(msgspec.Struct, frozen=True):
    """One op log."""

    process: str
    mark: Mark
    rows: dict[str, int]
    requests: dict[str, dict[str, int]]
    samples: list[Sample]


class Sealed(msgspec.Struct, frozen=True):
    """The content of ``index.json``."""

    schema: int
    version: str
    """Of goldfish: whoever reads op logs otherwise reads them himself."""
    run: str
    shares: int
    logs: list[SealedLog]
    start_ns: int
    """The first start of all operations."""
    conversations: int
    cited: list[Cited]


def marks_of(logs: Sequence[Log]) -> list[Mark] | None:
    """The op logs as they are before they are read; None if they cannot be sealed."""
    now_ns = time.time_ns()
    marks = [mark for log in logs if (mark := Mark.of(log.path)) is not None and mark.changed_ns < now_ns - STILL_NS]
    return marks if len(marks) == len(logs) else None


def find(directory: Path, run: Run, logs: Sequence[Log]) -> Sealed | None:
    """What is sealed of a run, if it is of these very logs."""
    try:
        index = msgspec.json.decode((directory / FOLDER / INDEX).read_bytes(), type=Sealed)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    known = [(log.process, log.mark) for log in index.logs]
    if (index.schema, index.version, index.run) != (SCHEMA, version("goldfish"), run.run):
        return None
    return index if known == [(log.process, Mark.of(log.path)) for log in logs] else None


class Sealing:
    """A folder in the making: shares write to it, then it takes the place of an older one, whole or not at all."""

    def __init__(self, directory: Path) -> None:
        """Begin.

        Raises:
            OSError: the run directory cannot be written.
        """
        self._place = directory / FOLDER
        self.folder = Path(tempfile.mkdtemp(dir=directory, prefix=f".{FOLDER}-"))

    def finish(self, index: Sealed) -> None:
        """Put it in its place.

        Raises:
            OSError: it cannot be written.
        """
        (self.folder / INDEX).write_bytes(msgspec.json.encode(index))
        self.folder.chmod(0o755)
        shutil.rmtree(self._place, ignore_errors=True)
        self.folder.rename(self._place)

    def abandon(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.folder, ignore_errors=True)


def write_parcel(folder: Path, share: int, parcel: Parcel) -> None:
    """Write what a share holds.

    Raises:
        OSError: it cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for kind, columns in parcel.tables.items():
        # Neighbours differ by little.
        encodings = dict.fromkeys(columns, "DELTA_BINARY_PACKED")
        pq.write_table(
            pa.table(columns),
            folder / f"{kind}-{share}.parquet",
            use_dictionary=False,
            column_encoding=encodings,
            write_page_checksum=True,
        )
    for name, table in _names(parcel).items():
        pq.write_table(pa.table(table), folder / f"{name}-{share}.parquet", write_page_checksum=True)


def _names(parcel: Parcel) -> dict[str, dict[str, list[Any]]]:
    voices = {name: [getattr(voice, name) for voice in parcel.voices] for name in Voice._fields}
    manners = {name: [getattr(manner, name) for manner in parcel.manners] for name in Manner._fields}
    return {
        "voice": voices | {"log": [parcel.logs[voice.conversation] for voice in parcel.voices]},
        "manner": manners,
        "view": {"name": parcel.views},
        "device": {"name": parcel.devices},
    }


def read_parcel(folder: Path, share: int) -> Parcel:
    """Read what a share held.

    Raises:
        Exception: of whatever kind pyarrow raises, if anything is wrong with the files.
    """
    import pyarrow.parquet as pq

    def read(name: str) -> Any:
        return pq.read_table(folder / f"{name}-{share}.parquet", page_checksum_verification=True, use_threads=False)

    tables = {}
    for kind, columns in COLUMNS.items():
        table = read(kind)
        tables[kind] = {
            name: np.asarray(table[name].combine_chunks()).astype(dtype)
            for name, dtype in columns.items()
            if name not in IDS
        }
    voices = read("voice").to_pydict()
    logs = dict(zip(voices["conversation"], voices.pop("log"), strict=True))
    return Parcel(
        tables,
        [Voice(**row) for row in _rows(voices)],
        [Manner(**row) for row in _rows(read("manner").to_pydict())],
        read("view")["name"].to_pylist(),
        read("device")["name"].to_pylist(),
        logs,
    )


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
