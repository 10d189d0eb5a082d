"""Writes the outputs of an analysis into the run directory, each by rename, so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.results import Results
from analysis.users import FILE as USERS
from goldfish.errors import RecordError

RESULTS = "results.json"
FINDINGS = "findings.parquet"
SUMMARY = "summary.md"
JUNIT = "junit.xml"
REPORT = "report.html"


class Outputs(NamedTuple):
    """Everything that is written about a run."""

    results: Results
    findings: pa.Table
    users: pa.Table
    summary: str
    junit: bytes
    report: str


def publish(directory: Path, outputs: Outputs) -> None:
    """Write everything; ``results.json`` last, so that whoever finds it finds the rest.

    Raises:
        RecordError: the run directory cannot be written.
    """
    try:
        _replace(directory / FINDINGS, lambda path: pq.write_table(outputs.findings, path))
        _replace(directory / USERS, lambda path: pq.write_table(outputs.users, path))
        _replace(
            directory / REPORT,
            lambda path: path.write_text(outputs.report, encoding="utf-8", errors="backslashreplace"),
        )
        _replace(
            directory / SUMMARY,
            lambda path: path.write_text(outputs.summary, encoding="utf-8", errors="backslashreplace"),
        )
        _replace(directory / JUNIT, lambda path: path.write_bytes(outputs.junit))
        payload = msgspec.json.format(msgspec.json.encode(outputs.results), indent=2) + b"\n"
        _replace(directory / RESULTS, lambda path: path.write_bytes(payload))
    except OSError as error:
        raise RecordError(f"cannot write the results into {directory}: {error.strerror}") from error


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    written = Path(name)
    try:
        write(written)
        written.chmod(0o644)
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)
