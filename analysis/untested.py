"""What a run could not have found: classes, and parts of them, that its contract or its swarm left no occasion for.

Only what is certain is told: what is not listed here was looked for, which does not say that there was much occasion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.judged import Judged
from analysis.report.model import Untested
from analysis.results import Scenario
from goldfish.contract import Contract


def untested(judged: Judged, contract: Contract, scenarios: Sequence[Scenario]) -> list[Untested]:
    """What was not put to the test, and why; nothing that was found."""
    found = {name for scenario in scenarios for name, number in scenario.anomalies.items() if number}
    return [entry for entry in _without_occasion(judged, contract, scenarios) if entry.class_ not in found]


def _without_occasion(judged: Judged, contract: Contract, scenarios: Sequence[Scenario]) -> Iterator[Untested]:
    if contract.ttl is None:
        for name in ("over-retained", "expired early"):
            yield Untested(class_=name, why="the contract declares no ttl")
    if contract.order == "unspecified":
        yield Untested(class_="reordered", why="the contract promises no order")
    if not any(scenario.requests["delete"].ok for scenario in scenarios if "delete" in scenario.requests):
        yield Untested(class_="resurrected", why="no delete was acknowledged")
    users = {user for counts in judged.counts.scenarios.values() for user in counts.users}
    if len(users) == 1:
        yield Untested(class_="foreign", part="of another user", why="there was only one")
    elif users and len({tenant for tenant, _ in users}) == 1:
        yield Untested(class_="foreign", part="of another tenant", why="there was only one")
