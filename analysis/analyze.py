"""The analysis from end to end: read, judge, decide, write."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from rich.console import Console

from analysis.crew import Alone, Crew, processes_for
from analysis.episodes import Episodes, clocks
from analysis.judging import Assignment, judge
from analysis.patience import Patience
from analysis.reading import read, sealing, size_of
from goldfish.contract import load_settings
from goldfish.faults import read_faults
from goldfish.run import read_run

if TYPE_CHECKING:
    from analysis.results import Results


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
            if number > 1:
                # pandas and its like take a second to import, in which others read.
                Thread(target=import_module, args=["analysis.outputs"], daemon=True).start()
            outline = read(directory, shares, run, contract)
            faults, faults_flaw = read_faults(directory)
            episodes = Episodes(faults, clocks(directory, run))
            patience.now("judging conversations", outline.conversations)
            judged = judge(shares, Assignment.of(outline, contract, episodes))
            patience.now("writing results")
            from analysis.outputs import outputs
            from analysis.publish import publish

            with sealing(shares, outline):
                written = outputs(outline, judged, contract, budget, faults, faults_flaw, episodes)
                publish(directory, written)
    return written.results
