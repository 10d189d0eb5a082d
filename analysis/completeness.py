"""Is the record whole? What a run did not record it cannot be acquitted of.

Completeness is proven, not assumed: by footers, by the counters that the load processes kept while they ran, and by
conversations that do not contradict their own record.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analysis.judged import Judged
from analysis.reason import Reason
from analysis.record import Log, Record
from analysis.sums.by_process import ByProcess
from analysis.sums.doubted import Doubted
from goldfish.run import Checks, Counters
from goldfish.words import count

_CODES = {
    "incomplete": "operations of them are missing from the record",
    "clocks": "their stamps contradict each other, so the clocks of the record cannot be trusted",
    "not-promised": "the contract does not promise what they ask for",
}


def doubts(record: Record, judged: Judged, *, same_contract: bool) -> list[Reason]:
    """What is missing from the record, or disagrees with the counts taken live."""
    run = record.run
    reasons = [_lost(log, run.lost[log.process]) for log in record.logs if log.process in run.lost]
    reasons += [_flaw(log) for log in record.logs if log.flaw and log.process not in run.lost]
    reasons += [_stray(path, run.processes) for path in record.strays]
    reasons += _left_out(judged.doubted)
    if run.started is not None and run.ended is None:
        text = (
            "Nobody recorded the end of this run: whoever conducted it was killed, or it still goes on. Operations may "
            "be missing without a trace. Run again."
        )
        reasons.append(Reason(code="unfinished", text=text))
    if run.counters:
        for log in record.logs:
            if log.flaw is None and log.process not in run.lost:
                reasons += _counters(log, run.counters.get(log.process), judged.by_process, same_contract=same_contract)
    if run.statistics is not None and not run.lost and not any(log.flaw for log in record.logs):
        reasons += _statistics(record.logs, run.statistics)
    return reasons


def _stray(path: Path, processes: Sequence[str]) -> Reason:
    text = (
        f"{path.name} lies among the op logs, but run.json names only {', '.join(processes) or 'none'}. Its operations "
        "were not judged. Look where it comes from; if it is of this run, add its name to processes."
    )
    return Reason(code="unnamed-log", text=text)


def _lost(log: Log, how: str) -> Reason:
    left = (
        "Its op log is whole, but its counters are not confirmed"
        if log.flaw is None
        else f"Its op log is incomplete ({log.flaw}), so only its conversations closed before the break are judged; "
        "those of the other processes are judged as ever"
    )
    text = (
        f"Load process {log.process} was lost: {how}. {left}. Look for its end (memory, signals, the machine's log), "
        "and run again."
    )
    return Reason(code="lost-worker", text=text)


def _flaw(log: Log) -> Reason:
    text = (
        f"The op log {log.path.name} is incomplete: {log.flaw}. Only conversations closed before the break are judged; "
        "look for the end of that load process, and run again."
    )
    return Reason(code="incomplete-log", text=text)


def _left_out(doubted: Doubted) -> list[Reason]:
    """Conversations that could not be judged, per scenario and kind of doubt, with an example of each."""
    reasons = []
    for (scenario, code), first in sorted(doubted.first.items(), key=lambda item: item[1].place):
        text = (
            f"Losses of {count(doubted.number[scenario, code], 'conversation')} were not judged: {_CODES[code]}. "
            f"First: in conversation {first.conversation}, {first.doubt.text}."
        )
        reasons.append(Reason(code=code, scenario=scenario, text=text))
    return reasons


def _counters(log: Log, live: Counters | None, final: ByProcess, *, same_contract: bool) -> list[Reason]:
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
    if live.requests and _differ(live.requests, log.requests):
        text = (
            f"Process {log.process} showed Locust {live.requests} requests and its op log holds {log.requests} that "
            "were not cut off; expected the same. This is a fault of the tool: report it with the run directory."
        )
        return [Reason(code="counters", text=text)]
    if not same_contract or log.process in final.doubted:
        return []
    judged = {scenario for process, scenario in final.checked if process == log.process}
    reasons = []
    for scenario in sorted({*judged, *live.scenarios}):
        counted = live.scenarios.get(scenario, Checks())
        checked, lossy = final.checked[log.process, scenario], final.lossy[log.process, scenario]
        if (counted.checked, counted.lossy) != (checked, lossy):
            text = (
                f"Process {log.process} counted {counted.lossy:,} lossy of {counted.checked:,} checked recalls live, "
                f"and its record shows {lossy:,} of {checked:,}; expected the same. This is a fault of the "
                "tool or a damaged record: report it with the run directory."
            )
            reasons.append(Reason(code="live-counts", scenario=scenario, text=text))
    return reasons


def _statistics(logs: list[Log], statistics: dict[str, dict[str, int]]) -> list[Reason]:
    """Compare all op logs with what Locust counted: every operation that was not cut off is one of its requests."""
    recorded: dict[str, dict[str, int]] = {}
    for log in logs:
        for scenario, kinds in log.requests.items():
            total = recorded.setdefault(scenario, {})
            for kind, number in kinds.items():
                total[kind] = total.get(kind, 0) + number
    if not _differ(recorded, statistics):
        return []
    text = (
        f"Locust's statistics count {statistics} requests, the op logs hold {recorded} that were not cut off; expected "
        "the same. Requests were lost on the way to the master, or something else reports under these names."
    )
    return [Reason(code="statistics", text=text)]


def _differ(one: dict[str, dict[str, int]], other: dict[str, dict[str, int]]) -> bool:
    """Whether two counts differ in anything but what is zero in both."""
    flat = [
        {(scenario, kind): number for scenario, kinds in counts.items() for kind, number in kinds.items() if number}
        for counts in (one, other)
    ]
    return flat[0] != flat[1]
