"""The analysis from end to end: read, judge, count, decide, look for causes, write."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console

from analysis.crew import Alone, Crew, processes_for
from analysis.diagnosis import diagnose
from analysis.episodes import Episodes, clocks
from analysis.faults import costs
from analysis.findings import findings_table
from analysis.judged import Judged
from analysis.judging import Assignment, judge
from analysis.junit import junit
from analysis.page import page
from analysis.patience import Patience
from analysis.power import power
from analysis.publish import Outputs, publish
from analysis.reading import Outline, read, size_of
from analysis.report import render
from analysis.results import Results, results
from analysis.summary import summary
from analysis.tally import tally
from analysis.users import users_table
from analysis.verdict import decide
from goldfish.contract import Budget, Contract, load_settings
from goldfish.faults import Fault, read_faults
from goldfish.run import read_run


def analyze(
    directory: Path,
    contract_file: Path | None = None,
    console: Console | None = None,
    processes: int | None = None,
) -> Results:
    """Judge a run directory and write the outputs to it, which ``analysis.publish`` lists.

    Args:
        directory: the run directory.
        contract_file: a settings file whose contract and budget replace those of the run.
        console: where progress is shown if the analysis takes long; None: nowhere.
        processes: how many share the work; None: as many as there are processors, if the record is worth it.

    Raises:
        RecordError: the record cannot be trusted at all, or the outputs cannot be written.
        UsageError: the contract file cannot be meant.
    """
    settings = load_settings(contract_file) if contract_file else None
    run = read_run(directory)
    contract, budget = run.contract, run.budget
    if settings is not None:
        contract, budget = settings.contract, settings.budget
    size_bytes = size_of(directory, run)
    number = processes or processes_for(size_bytes)
    with Patience(console) as patience:
        patience.now("reading op logs", size_bytes)
        with Crew(number, patience.more) if number > 1 else Alone(patience.more) as shares:
            outline = read(directory, shares, run, contract)
            faults, faults_flaw = read_faults(directory)
            episodes = Episodes(faults, clocks(directory, run))
            patience.now("judging conversations", outline.conversations)
            judged = judge(shares, Assignment.of(outline, contract, episodes))
        patience.now("writing results")
        written = outputs(outline, judged, contract, budget, faults, faults_flaw, episodes)
        publish(directory, written)
    return written.results


def outputs(
    outline: Outline,
    judged: Judged,
    contract: Contract,
    budget: Budget,
    faults: list[Fault],
    faults_flaw: str | None,
    episodes: Episodes,
) -> Outputs:
    """Decide, and put into words and tables, what a record came to.

    Args:
        outline: the record as read.
        judged: what its conversations came to.
        contract: what they were judged by.
        budget: what is tolerated.
        faults: what was done to the deployment.
        faults_flaw: what is wrong with the record of that.
        episodes: of these faults.
    """
    record, run = outline.record, outline.record.run
    tallies = tally(judged, run.scenarios, budget.confidence)
    seen = power(judged.sampled.conversations(), contract)
    suffered = costs(faults, episodes, judged.exposure, outline.start_ns)
    verdict = decide(
        record,
        judged,
        tallies,
        budget,
        same_contract=contract == run.contract,
        power=seen,
        faults=suffered,
        faults_flaw=faults_flaw,
    )
    diagnosis = diagnose(judged, contract, budget.confidence, suffered, record.directory)
    judgement = results(record, contract, budget, tallies, verdict, power=seen, faults=suffered, diagnosis=diagnosis)
    told = msgspec.to_builtins(judgement)
    return Outputs(
        results=judgement,
        findings=findings_table(judged.found),
        users=users_table(judged.counts.scenarios),
        summary=summary(told),
        junit=junit(told, run),
        report=render(page(record, judged, judgement)),
    )
