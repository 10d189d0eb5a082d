"""The analysis from end to end: load, check, count, decide, write."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from analysis.check import Checked, check
from analysis.findings import findings_table
from analysis.load import load
from analysis.page import page
from analysis.publish import publish
from analysis.record import Record
from analysis.report import render
from analysis.results import Results, results
from analysis.summary import summary
from analysis.tally import tally
from analysis.verdict import decide
from goldfish.contract import Contract, load_settings

PATIENCE_S = 2.0
"""How long a person waits before progress is shown."""


def analyze(directory: Path, contract_file: Path | None = None, console: Console | None = None) -> Results:
    """Judge a run directory and write ``results.json``, ``findings.parquet``, ``summary.md`` and ``report.html`` to it.

    Args:
        directory: the run directory.
        contract_file: a settings file whose contract and budget replace those of the run.
        console: where progress is shown if the analysis takes long; None: nowhere.

    Raises:
        RecordError: the record cannot be trusted at all, or the outputs cannot be written.
        UsageError: the contract file cannot be meant.
    """
    settings = load_settings(contract_file) if contract_file else None
    record = load(directory)
    contract, budget = record.run.contract, record.run.budget
    if settings is not None:
        contract, budget = settings.contract, settings.budget
    judged = _check(record, contract, console)
    tallies = tally(judged, record.run.scenarios, budget.confidence)
    verdict = decide(record, judged, tallies, budget, same_contract=contract == record.run.contract)
    judgement = results(record.run, contract, budget, tallies, verdict)
    html = render(page(record, judged, judgement))
    publish(directory, judgement, findings_table(judged), summary(msgspec.to_builtins(judgement)), html)
    return judgement


def _check(record: Record, contract: Contract, console: Console | None) -> dict[str, Checked]:
    with _progress(console, len(record.conversations)) as advance:
        judged = {}
        for name, conversation in record.conversations.items():
            judged[name] = check(conversation, contract)
            next(advance)
    return judged


@contextmanager
def _progress(console: Console | None, total: int) -> Iterator[Iterator[None]]:
    """An iterator to step once per conversation; it shows a bar once that has taken ``PATIENCE_S``."""
    bar = Progress(
        TextColumn("judging conversations"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=console is None,
    )
    task = bar.add_task("judging", total=total)
    since = time.monotonic()

    def steps() -> Iterator[None]:
        done = 0
        while True:
            done += 1
            if done % 64 == 0 and time.monotonic() - since > PATIENCE_S:
                bar.start()
                bar.update(task, completed=done)
            yield

    try:
        yield steps()
    finally:
        bar.stop()
