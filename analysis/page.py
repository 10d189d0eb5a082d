"""Fills the report: from what was judged to what the page shows."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from analysis.check import Checked
from analysis.pictures import instance_matrix, loss_over_time
from analysis.record import Record
from analysis.report import model
from analysis.results import Results, Scenario
from analysis.worst import worst_conversations
from goldfish.contract import in_words
from goldfish.oplog import Operation
from goldfish.spec import Spec
from goldfish.table import headline


def page(record: Record, judged: Mapping[str, Checked], results: Results) -> model.Report:
    """The report of one run."""
    run = record.run
    start_ns = run_start_ns(record)
    end_ns = run.end_ns or max((row.end_ns for row in _rows(record)), default=start_ns)
    return model.Report(
        verdict=results.verdict,
        exit_code=results.exit_code,
        headline=headline(msgspec.to_builtins(results)).partition(": ")[2],  # the page has a badge for the verdict
        run=run.run,
        target=_target(run.target),
        reasons=results.reasons,
        started=run.started,
        duration_s=(end_ns - start_ns) / 1e9 if end_ns > start_ns else None,
        users=run.users,
        seed=run.seed,
        versions=run.versions,
        command=shlex.join(run.command),
        owed=in_words(results.contract, results.budget),
        confidence=results.budget.confidence,
        scenarios=results.scenarios,
        meanings=run.meanings,
        skipped=results.skipped,
        load_processes=results.load_processes,
        latency_reliable=results.latency_reliable,
        arrivals=results.arrivals,
        loss_over_time=loss_over_time(judged.values(), [scenario.name for scenario in results.scenarios], start_ns),
        instance_matrix=instance_matrix(judged.values()),
        worst_conversations=worst_conversations(judged.values(), start_ns),
        unverifiable=_unverifiable(judged, results.scenarios),
    )


def run_start_ns(record: Record) -> int:
    """The stamp all times of the run are told relative to."""
    if record.run.start_ns is not None:
        return record.run.start_ns
    return min((row.start_ns for row in _rows(record)), default=0)


def _rows(record: Record) -> Iterator[Operation]:
    for conversation in record.conversations.values():
        for rows in (conversation.appends, conversation.recalls, conversation.deletes):
            yield from (row for _, row in rows)


def _target(target: Mapping[str, object]) -> model.Target:
    """run.json's target; what has another shape is left out."""
    defects = target.get("defects")
    instances = target.get("instances")
    return model.Target(
        host=str(target.get("host") or "unknown"),
        store=str(target["store"]) if target.get("store") else None,
        defects=[_spec(defect) for defect in defects] if isinstance(defects, list) else [],
        instances=instances if isinstance(instances, int) else len(instances) if isinstance(instances, list) else None,
        balance=str(target["balance"]) if target.get("balance") else None,
    )


def _spec(defect: object) -> str:
    """A defect as it is named on the command line."""
    try:
        return str(msgspec.convert(defect, Spec))
    except msgspec.ValidationError:
        return str(defect)


def _unverifiable(judged: Mapping[str, Checked], scenarios: Sequence[Scenario]) -> list[model.Unverifiable]:
    """What was recorded but could not be checked, and why."""
    unanswered = sum(row.outcome != "ok" for checked in judged.values() for _, row in checked.conversation.recalls)
    owed_nothing = sum(
        not entry.judgement.checked for checked in judged.values() if not checked.doubt for entry in checked.listed
    )
    doubted = Counter(checked.doubt.text for checked in judged.values() if checked.doubt)
    unchecked = sum(scenario.messages.unchecked for scenario in scenarios)
    indeterminate = sum(scenario.messages.indeterminate for scenario in scenarios)
    lines = [
        (unchecked, "messages", "acknowledged, but no answered recall shows them or certainly lacks them"),
        (indeterminate, "messages", "never acknowledged and never shown: nobody knows whether they were stored"),
        (unanswered, "recalls", "failed or cut off, so they prove nothing"),
        (owed_nothing, "recalls", "nothing was certainly owed to them"),
        *((number, "conversations", why) for why, number in doubted.most_common()),
    ]
    return [model.Unverifiable(count=number, what=what, why=why) for number, what, why in lines if number]
