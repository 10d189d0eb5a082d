"""Fills the report: from what was judged to what the page shows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

import msgspec

from analysis.judged import Judged
from analysis.pictures import age_curve, instance_matrix, loss_over_time
from analysis.promises import promises
from analysis.record import Record
from analysis.report import model
from analysis.results import Results, Scenario
from analysis.untested import untested
from analysis.worst import worst_conversations
from goldfish.contract import in_words
from goldfish.headline import sentences
from goldfish.spec import Spec


def page(record: Record, judged: Judged, results: Results) -> model.Report:
    """The report of one run."""
    run = record.run
    start_ns = judged.start_ns
    end_ns = run.end_ns or judged.requests.last_ns
    first, *others = sentences(msgspec.to_builtins(results))
    return model.Report(
        verdict=results.verdict,
        exit_code=results.exit_code,
        headline=first,
        also=others,
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
        loss_over_time=loss_over_time(judged.over_time, [scenario.name for scenario in results.scenarios]),
        power=results.power,
        faults=results.faults,
        instance_matrix=instance_matrix(judged.instances),
        ages=age_curve(judged.symptoms.losses().pairs, [scenario.name for scenario in results.scenarios]),
        causes=results.causes,
        causes_sample=str(results.causes_sample or ""),
        promises=promises(results.contract, results.effective_contract),
        effective=results.effective_contract,
        failures=_failures(judged),
        worst_conversations=worst_conversations(judged.gravest, start_ns, record.directory),
        unverifiable=_unverifiable(judged, results.scenarios),
        untested=untested(judged, results.contract, results.scenarios),
    )


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


def _failures(judged: Judged) -> list[model.Failed]:
    """Requests that were no success, most frequent first."""
    numbers = sorted(judged.symptoms.failures.number.items(), key=lambda item: (-item[1], item[0]))
    return [
        model.Failed(
            scenario=failure.scenario,
            kind=failure.kind,
            outcome="info" if failure.outcome == "info" else "fail",
            why=failure.why,
            number=number,
        )
        for failure, number in numbers
    ]


def _unverifiable(judged: Judged, scenarios: Sequence[Scenario]) -> list[model.Unverifiable]:
    """What was recorded but could not be checked, and why."""
    unchecked = sum(scenario.messages.unchecked for scenario in scenarios)
    indeterminate = sum(scenario.messages.indeterminate for scenario in scenarios)
    doubted = sorted(judged.doubted.texts.items(), key=lambda item: (-item[1], item[0]))
    lines = [
        (unchecked, "messages", "acknowledged, but no answered recall shows them or certainly lacks them"),
        (indeterminate, "messages", "never acknowledged and never shown: nobody knows whether they were stored"),
        (judged.unproven.unanswered, "recalls", "failed or cut off, so they prove nothing"),
        (judged.unproven.owed_nothing, "recalls", "nothing was certainly owed to them"),
        *((number, "conversations", why) for why, number in doubted),
    ]
    return [model.Unverifiable(count=number, what=what, why=why) for number, what, why in lines if number]
