"""Which causes are likely, in their order.

Each cause is weighed by itself. Then what a specific pattern explains is taken from the general ones: a message that
another writer overwrote was also "never stored", but that says less. What remains is the share of the harm of its class
that a cause accounts for; between classes it counts how many conversations they harmed, and what one proven case fails
a run for comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from analysis.causes.cause import Cause
from analysis.causes.copies import own_copies, split_memory
from analysis.causes.disorder import disorderly
from analysis.causes.effective import EffectiveContract
from analysis.causes.harm import Harm
from analysis.causes.known import KNOWN
from analysis.causes.lateness import incomplete_reads, late_reads
from analysis.causes.limits import expired_early, first_page, smaller_window
from analysis.causes.loss import at_one_moment, burst, disappearing, lost_at_once, lost_update, never_stored
from analysis.causes.struck import struck
from analysis.faults import Fault
from analysis.judged import Judged
from goldfish.anomalies import ANOMALIES
from goldfish.contract import Contract
from goldfish.words import count, share

EXPLAINS_MIN = 0.1
"""A cause that accounts for less of the harm of its class is not named."""
CAUSES_MAX = 5
CRASHED = 0.6
"""What an expiry accounts for less where a crash explains the same: it comes second, and is still named."""
MARKED = {known.anomaly for known in KNOWN.values()} | {"expired early"}
"""Classes that have causes with evidence of their own; what expired early is also missing."""


def likely_causes(
    judged: Judged, contract: Contract, effective: EffectiveContract | None, faults: Sequence[Fault] = ()
) -> list[Cause]:
    """The likely causes, the likeliest first; none if nothing was harmed."""
    harm = Harm(judged)
    if not harm.harmed_by:
        return []
    found = [*_of_loss(harm, contract, effective), *disorderly(harm), *_of_class(harm)]
    by_fault = struck(harm, faults)
    if by_fault is not None:
        found.append(by_fault)
    named = [cause for cause in found if cause.explains >= EXPLAINS_MIN]
    return sorted(named, key=lambda cause: _rank(cause, harm))[:CAUSES_MAX]


def _rank(cause: Cause, harm: Harm) -> tuple[bool, float, str]:
    entry = ANOMALIES.get(cause.anomaly)
    grave = entry is not None and entry.severity == "zero-tolerance" and cause.code not in ("own-elements", "left-over")
    harmed = max(harm.harmed_by.values())
    return not grave, -cause.explains * harm.harmed_by[cause.anomaly] / harmed, cause.code


def _of_loss(harm: Harm, contract: Contract, effective: EffectiveContract | None) -> Iterator[Cause]:
    """What owed messages were missing for."""
    if not harm.missed:
        return
    copies, split = own_copies(harm), split_memory(harm)
    # Where a window and an expiry explain a run alike, neither is taken at its word.
    only = effective.window_messages if effective and effective.ttl is None else None
    window, page = smaller_window(harm, contract, only), first_page(harm)
    limited = max(_weight(window), _weight(page))
    apart = max(_weight(copies), _weight(split))
    expired = _less(expired_early(harm, effective.ttl if effective else None), (1 - limited) * (1 - apart))
    # A crash makes everybody pause at once, and looks like an expiry then: both are named, the crash first.
    crashed = at_one_moment(harm) if expired is not None else 0.0
    if expired is not None and crashed:
        told = f"{share(crashed)} of it can have disappeared at one moment, as in a crash."
        against, less = [*expired.evidence_against, told], 1 - CRASHED * crashed
        expired = msgspec.structs.replace(expired, explains=expired.explains * less, evidence_against=against)
    update = _less(lost_update(harm), 1 - limited)
    overwritten = _weight(update) * harm.missed / harm.gone if harm.gone else 0.0
    specific = (1 - max(apart, limited, _weight(expired) * (1 - crashed))) * (1 - min(1.0, overwritten))
    at_once = _less(lost_at_once(harm), specific)
    stretch = burst(harm)
    in_burst = (
        stretch.lost / (stretch.lost + stretch.rest_lost) if stretch and _weight(at_once) >= EXPLAINS_MIN else 0.0
    )
    visibility_ms = effective.visibility_ms if effective else None
    late = late_reads(harm, visibility_ms)
    for cause in (
        copies,
        split,
        window,
        page,
        expired,
        update,
        _less(late, 1 - limited),
        _less(incomplete_reads(harm, visibility_ms), 1 - max(limited, _weight(expired))),
        at_once,
        _less(never_stored(harm), specific * (1 - in_burst)),
        _less(disappearing(harm), specific),
    ):
        if cause is not None:
            yield cause


def _of_class(harm: Harm) -> Iterator[Cause]:
    """For classes whose causes leave no marks of their own: what their entry in the registry knows."""
    for name, number in harm.harmed_by.items():
        entry = ANOMALIES.get(name)
        if entry is None or name in MARKED:
            continue
        yield Cause(
            code=entry.code,
            title=_capital(" or ".join(entry.causes)),
            anomaly=name,
            explains=1.0,
            evidence_for=[f"{count(number, 'conversation')} in which {entry.meaning}."],
            evidence_against=["Nothing that was counted tells these causes apart."] if len(entry.causes) > 1 else [],
            remedy=f"{_capital('; '.join(entry.remedies))}.",
        )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _weight(cause: Cause | None) -> float:
    return cause.explains if cause is not None else 0.0


def _less(cause: Cause | None, factor: float) -> Cause | None:
    """The same cause, accounting for less."""
    return msgspec.structs.replace(cause, explains=cause.explains * factor) if cause is not None else None
