"""The analysis from end to end: read, judge, count, decide, write."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console

from analysis.crew import Alone, Crew, processes_for
from analysis.findings import findings_table
from analysis.judged import Judged
from analysis.judging import Assignment
from analysis.page import page
from analysis.patience import Patience
from analysis.publish import Outputs, publish
from analysis.reading import read, size_of
from analysis.record import Record
from analysis.report import render
from analysis.results import Results, results
from analysis.summary import summary
from analysis.tally import tally
from analysis.verdict import decide
from goldfish.contract import Budget, Contract, load_settings
from goldfish.run import read_run


def analyze(
    directory: Path,
    contract_file: Path | None = None,
    console: Console | None = None,
    processes: int | None = None,
) -> Results:
    """Judge a run directory and write ``results.json``, ``findings.parquet``, ``summary.md`` and ``report.html`` to it.

    Args:
        directory: the run directory.
        contract_file: a settings file whose contract and budget replace those of the run.
        console: where progress is shown if the analysis takes long; None: nowhere.
        processes: how many share the work; None: as many as there are processors, for a record that is worth it.

    Raises:
        RecordError: the record cannot be trusted at all, or the outputs cannot be written.
        UsageError: the contract file cannot be meant.
    """
    settings = load_settings(contract_file) if contract_file else None
    run = read_run(directory)
    contract, budget = run.contract, run.budget
    if settings is not None:
        contract, budget = settings.contract, settings.budget
    number = processes or processes_for(size_of(directory, run))
    with Patience(console) as patience:
        patience.now("reading op logs")
        with Crew(number, patience.more) if number > 1 else Alone(patience.more) as shares:
            outline = read(directory, shares, run)
            patience.now("judging conversations", outline.conversations)
            assignment = Assignment(contract, outline.start_ns, outline.cited, run.processes, outline.flaws)
            judged = Judged(outline.start_ns, outline.cited)
            for share in shares.call("judge", [(assignment,)] * number):
                judged.merge(share)
        patience.now("writing results")
        written = outputs(outline.record, judged, contract, budget)
        publish(directory, written)
    return written.results


def outputs(record: Record, judged: Judged, contract: Contract, budget: Budget) -> Outputs:
    """Decide, and put into words and tables what a record came to."""
    run = record.run
    tallies = tally(judged, run.scenarios, budget.confidence)
    verdict = decide(record, judged, tallies, budget, same_contract=contract == run.contract)
    judgement = results(record, contract, budget, tallies, verdict)
    return Outputs(
        results=judgement,
        findings=findings_table(judged.found),
        summary=summary(msgspec.to_builtins(judgement)),
        report=render(page(record, judged, judgement)),
    )
