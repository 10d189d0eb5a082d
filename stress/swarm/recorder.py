"""The recorder: one op log, and the counts that must agree with it in the end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from goldfish.oplog import Footer, Header, Operation, Sample
from goldfish.run import Checks

BUFFER_BYTES = 256 * 1024


class Recorder:
    """Writes one process's op log; created when a run starts, never before a fork."""

    def __init__(self, path: Path, run: str, process: str, worker: int) -> None:
        self.process = process
        self.counts: dict[str, int] = {}
        """Rows per kind."""
        self.checks: dict[str, Checks] = {}
        """Scenario → checked and lossy recalls."""
        self._encode = msgspec.json.Encoder().encode
        self._ids = 0
        self._lines = 0
        self._buffer: list[bytes] = []
        self._buffered = 0
        self.failure: OSError | None = None
        """Why the log could not be written any further."""
        self._file: BinaryIO | None = path.open("xb", buffering=0)
        self._line(Header(run=run, process=process, worker=worker, monotonic_ns=time.monotonic_ns(), wall=time.time()))

    def next_id(self) -> int:
        """The id of the next operation; ``request_id`` is what the target sees."""
        self._ids += 1
        return self._ids

    def request_id(self, number: int) -> str:
        """The value of ``X-Request-Id``."""
        return f"{self.process}-{number}"

    def write(self, row: Operation | Sample) -> None:
        """Record one row. After ``close`` it is refused: a row behind the footer would be a lie."""
        if self._file is None:
            raise ValueError("the op log is closed")
        kind: Any = row.__struct_config__.tag
        counts = self.counts
        counts[kind] = counts.get(kind, 0) + 1
        self._line(row)

    def count(self, scenario: str, *, checked: bool, lossy: bool) -> None:
        """Count one judged recall."""
        counts = self.checks.get(scenario)
        if counts is None:
            counts = self.checks[scenario] = Checks()
        counts.checked += checked
        counts.lossy += lossy

    def flush(self) -> None:
        """Hand what is buffered to the operating system.

        A log that cannot be written is given up: ``failure`` says why, later rows are dropped, and there will be no
        footer, so the analyzer knows that rows are missing.
        """
        if self._file is None or not self._buffer:
            return
        try:
            if self.failure is None:
                self._file.write(b"".join(self._buffer))
        except OSError as error:
            self.failure = error
        self._buffer.clear()
        self._buffered = 0

    def close(self) -> None:
        """Write the footer; harmless when it is written."""
        if self._file is None:
            return
        self._line(Footer(lines=self._lines + 1, counts=self.counts))
        self.flush()
        file, self._file = self._file, None
        try:
            file.close()
        except OSError as error:
            self.failure = self.failure or error

    def _line(self, row: object) -> None:
        line = self._encode(row) + b"\n"
        self._lines += 1
        self._buffer.append(line)
        self._buffered += len(line)
        if self._buffered >= BUFFER_BYTES:
            self.flush()
