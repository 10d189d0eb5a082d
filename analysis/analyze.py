"""The analysis from end to end: load, check, count, decide, look for causes, write."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console

from analysis.check import check
from analysis.diagnosis import diagnose
from analysis.episodes import Episodes, clocks
from analysis.faults import costs
from analysis.findings import findings_table
from analysis.judged import Judged
from analysis.junit import junit
from analysis.load import load
from analysis.page import page
from analysis.patience import Patience
from analysis.power import power
from analysis.publish import publish
from analysis.report import render
from analysis.results import Results, results
from analysis.summary import summary
from analysis.tally import tally
from analysis.users import users_table
from analysis.verdict import decide
from goldfish.contract import load_settings
from goldfish.faults import read_faults


def analyze(directory: Path, contract_file: Path | None = None, console: Console | None = None) -> Results:
    """Judge a run directory and write the outputs to it, which ``analysis.publish`` lists.

    Args:
        directory: the run directory.
        contract_file: a settings file whose contract and budget replace those of the run.
        console: where progress is shown if the analysis takes long; None: nowhere.

    Raises:
        RecordError: the record cannot be trusted at all, or the outputs cannot be written.
        UsageError: the contract file cannot be meant.
    """
    settings = load_settings(contract_file) if contract_file else None
    with Patience(console) as patience:
        patience.now("reading op logs")
        record = load(directory)
        contract, budget = record.run.contract, record.run.budget
        if settings is not None:
            contract, budget = settings.contract, settings.budget
        faults, faults_flaw = read_faults(directory)
        episodes = Episodes(faults, clocks(directory, record.run))
        judged = Judged(record.start_ns, record.cited, episodes)
        for conversation in patience.over("judging conversations", record.conversations.values()):
            judged.add(check(conversation, contract, record.company(conversation)))
        patience.now("writing results")
        tallies = tally(judged, record.run.scenarios, budget.confidence)
        seen = power(judged.sampled.conversations(), contract)
        suffered = costs(faults, episodes, judged.exposure, record.start_ns)
        verdict = decide(
            record,
            judged,
            tallies,
            budget,
            same_contract=contract == record.run.contract,
            power=seen,
            faults=suffered,
            faults_flaw=faults_flaw,
        )
        diagnosis = diagnose(judged, contract, budget.confidence, suffered)
        judgement = results(
            record,
            contract,
            budget,
            tallies,
            verdict,
            power=seen,
            faults=suffered,
            diagnosis=diagnosis,
        )
        report = render(page(record, judged, judgement))
        told = msgspec.to_builtins(judgement)
        findings, users = findings_table(judged.found), users_table(judged.counts.scenarios)
        publish(directory, judgement, findings, users, summary(told), junit(told, record.run), report)
    return judgement
