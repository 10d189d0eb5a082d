"""From what a record came to, to everything that is written about it: count, decide, look for causes, tell."""

from __future__ import annotations

import msgspec

from analysis.diagnosis import diagnose
from analysis.episodes import Episodes
from analysis.faults import costs
from analysis.findings import findings_table
from analysis.judged import Judged
from analysis.junit import junit
from analysis.page import page
from analysis.power import power
from analysis.publish import Outputs
from analysis.reading import Outline
from analysis.report import render
from analysis.results import results
from analysis.summary import summary
from analysis.tally import tally
from analysis.users import users_table
from analysis.verdict import decide
from goldfish.contract import Budget, Contract
from goldfish.faults import Fault


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
        may_refuse=contract.concurrency == "reject",
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
