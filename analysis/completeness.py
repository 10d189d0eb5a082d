"""Is the record whole? What a run did not record it cannot be acquitted of.

Completeness is proven, not assumed: by footers, by the counters that the load processes kept while they ran, and by
conversations that do not contradict their own record.
"""

from __future__ import annotations

import msgspec

from analysis.check import Checked
from analysis.reason import Reason
from analysis.record import Doubt, Log, Record
from goldfish.errors import RecordError
from goldfish.run import FILE
from goldfish.table import count

_CODES = {
    "incomplete": "operations of them are missing from the record",
    "clocks": "their stamps contradict each other, so the clocks of the record cannot be trusted",
    "not-promised": "the contract does not promise what they ask for",
}


class LiveScenario(msgspec.Struct, frozen=True):
    """Recalls of one scenario as a load process judged them while it ran."""

    checked: int = 0
    lossy: int = 0


class LiveCounts(msgspec.Struct, frozen=True):
    """What one load process counted while it ran."""

    rows: dict[str, int] = {}
    scenarios: dict[str, LiveScenario] = {}


def doubts(record: Record, judged: dict[str, Checked], *, same_contract: bool) -> list[Reason]:
    """What is missing from the record, or disagrees with the counts taken live.

    Raises:
        RecordError: the counters in ``run.json`` have another shape.
    """
    reasons = [_flaw(log) for log in record.logs if log.flaw]
    reasons += _left_out(judged)
    if record.run.counters:
        live = _live(record)
        for log in record.logs:
            if log.flaw is None:
                reasons += _counters(log, live.get(log.process), judged, same_contract=same_contract)
    return reasons


def _flaw(log: Log) -> Reason:
    text = (
        f"The op log {log.path.name} is incomplete: {log.flaw}. Only conversations closed before the break are judged; "
        "look for the end of that load process, and run again."
    )
    return Reason(code="incomplete-log", text=text)


def _left_out(judged: dict[str, Checked]) -> list[Reason]:
    """Conversations that could not be judged, per scenario and kind of doubt, with an example of each."""
    groups: dict[tuple[str, str], list[tuple[str, Doubt]]] = {}
    for name, checked in judged.items():
        if checked.doubt is not None:
            groups.setdefault((checked.conversation.scenario, checked.doubt.code), []).append((name, checked.doubt))
    reasons = []
    for (scenario, code), members in groups.items():
        name, doubt = members[0]
        text = (
            f"Losses of {count(len(members), 'conversation')} were not judged: {_CODES[code]}. "
            f"First: in conversation {name}, {doubt.text}."
        )
        reasons.append(Reason(code=code, scenario=scenario, text=text))
    return reasons


def _live(record: Record) -> dict[str, LiveCounts]:
    try:
        return msgspec.convert(record.run.counters, dict[str, LiveCounts])
    except msgspec.ValidationError as error:
        raise RecordError(f"{record.directory / FILE}: counters: {error}") from error


def _counters(log: Log, live: LiveCounts | None, judged: dict[str, Checked], *, same_contract: bool) -> list[Reason]:
    """Compare one finished log with what its process counted."""
    if live is None:
        text = f"Process {log.process} never reported its counters, so its op log cannot be confirmed. Run again."
        return [Reason(code="counters", text=text)]
    rows = {kind: number for kind, number in live.rows.items() if number and kind not in ("header", "footer")}
    if rows != log.rows:
        text = (
            f"Process {log.process} counted {rows} operations and its op log holds {log.rows}; expected the same. "
            "Operations were lost on the way to the log, or counted twice: run again, and report it."
        )
        return [Reason(code="counters", text=text)]
    own = [checked for checked in judged.values() if checked.conversation.process == log.process]
    if not same_contract or any(checked.doubt for checked in own):
        return []
    final: dict[str, tuple[int, int]] = {}
    for checked in own:
        before = final.get(checked.conversation.scenario, (0, 0))
        final[checked.conversation.scenario] = (
            before[0] + checked.recalls_checked,
            before[1] + checked.recalls_lossy,
        )
    reasons = []
    for scenario in sorted({*final, *live.scenarios}):
        counted = live.scenarios.get(scenario, LiveScenario())
        checked_recalls, lossy = final.get(scenario, (0, 0))
        if (counted.checked, counted.lossy) != (checked_recalls, lossy):
            text = (
                f"Process {log.process} counted {counted.lossy:,} lossy of {counted.checked:,} checked recalls live, "
                f"and its record shows {lossy:,} of {checked_recalls:,}; expected the same. This is a fault of the "
                "tool or a damaged record: report it with the run directory."
            )
            reasons.append(Reason(code="live-counts", scenario=scenario, text=text))
    return reasons
