"""What was done to the deployment, and what did it cost? For ``results.json``, the report and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from analysis.episodes import Episodes
from analysis.reason import Reason
from analysis.sums.counts import UserCounts
from analysis.sums.exposure import Exposure
from goldfish import faults


class Recalled(msgspec.Struct, frozen=True, kw_only=True):
    """Recalls of some time, over all scenarios."""

    checked: int
    lossy: int
    rate: float | None
    """None if none was checked."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One fault: its time in seconds since the start of the run, and what it cost."""

    kind: str
    part: str
    ok: bool
    """Whether everything that was asked for happened."""
    proof: str
    """How its effect was seen."""
    requested_s: float
    effective_s: float | None
    """None: it was never seen to have an effect."""
    heal_requested_s: float | None
    healthy_s: float | None
    """None: it lasted to the end of the run."""
    before: Recalled
    """Recalls since the episode before, or the start of the run."""
    during: Recalled
    after: Recalled
    """Recalls until the next episode, or the end of the run. Of a fault that never healed there are none."""
    episode: int
    """Faults that overlap in time are one episode; the costs below are those of the episode."""
    lossy_recalls: int
    """Under way in the episode, or later but for what was lost in it."""
    harmed_conversations: int
    lost_messages: int


def costs(found: Sequence[faults.Fault], episodes: Episodes, exposure: Exposure, start_ns: int) -> list[Fault]:
    """The faults of a run in the order they were asked for.

    Args:
        found: as recorded.
        episodes: of these faults.
        exposure: what met them.
        start_ns: the conductor's stamp that times are told relative to.
    """
    during, during_lossy = _over_scenarios(exposure.during), _over_scenarios(exposure.during_lossy)
    quiet, quiet_lossy = _over_scenarios(exposure.quiet), _over_scenarios(exposure.quiet_lossy)
    told = []
    for at, (fault, episode) in enumerate(zip(found, episodes.of_fault, strict=True)):
        cost = [counts for (_, number), counts in exposure.episodes.items() if number == episode]
        told.append(
            Fault(
                kind=fault.kind,
                part=fault.part,
                ok=fault.ok,
                proof=fault.proof,
                requested_s=(fault.requested_ns - start_ns) / 1e9,
                effective_s=_seconds(fault.effective_ns, start_ns),
                heal_requested_s=_seconds(fault.heal_requested_ns, start_ns),
                healthy_s=_seconds(fault.healthy_ns, start_ns),
                before=_recalled(quiet[episode], quiet_lossy[episode]),
                during=_recalled(during[at], during_lossy[at]),
                after=_recalled(quiet[episode + 1], quiet_lossy[episode + 1]),
                episode=episode,
                lossy_recalls=_sum(cost, "lossy"),
                harmed_conversations=_sum(cost, "harmed"),
                lost_messages=_sum(cost, "lost"),
            )
        )
    return told


def _over_scenarios(counts: Counter[tuple[str, int]]) -> Counter[int]:
    total: Counter[int] = Counter()
    for (_, at), number in counts.items():
        total[at] += number
    return total


def _seconds(stamp_ns: int | None, start_ns: int) -> float | None:
    return None if stamp_ns is None else (stamp_ns - start_ns) / 1e9


def _recalled(checked: int, lossy: int) -> Recalled:
    return Recalled(checked=checked, lossy=lossy, rate=lossy / checked if checked else None)


def _sum(counts: Sequence[UserCounts], name: str) -> int:
    return sum(getattr(each, name) for each in counts)


def idle_faults(told: Sequence[Fault], flaw: str | None) -> list[Reason]:
    """Faults that prove nothing: they had no effect, or nobody looked. They bar a pass, for it would be hollow.

    Args:
        told: the faults of a run.
        flaw: what is wrong with their record.
    """
    reasons = []
    if flaw is not None:
        text = f"{flaw}. Faults that nobody knows of may have been at work, or have failed to be; run again."
        reasons.append(Reason(code="incomplete-faults", text=text))
    without = [fault for fault in told if fault.effective_s is None]
    if without:
        text = f"{_first(without)} never seen to have an effect, so surviving it proves nothing. Look why."
        reasons.append(Reason(code="fault-without-effect", text=text))
    failed = [fault for fault in told if fault.effective_s is not None and not fault.ok]
    if failed:
        text = f"{_first(failed)} not as it was asked for, so what was survived is not what was meant. Look why."
        reasons.append(Reason(code="fault-failed", text=text))
    unseen = [fault for fault in told if fault.effective_s is not None and fault.ok and not fault.during.checked]
    if unseen:
        text = (
            f"{_first(unseen)} over before any checked recall was under way. Nobody looked, so surviving it proves "
            "nothing: let it last longer, or run more users."
        )
        reasons.append(Reason(code="fault-unobserved", text=text))
    return reasons


def _first(faults: Sequence[Fault]) -> str:
    first = faults[0]
    more = f" (the first of {len(faults)})" if len(faults) > 1 else ""
    seen = f": {first.proof};" if first.proof else ""
    return f"The fault {first.kind}@{first.part} at {first.requested_s:.1f} s{more}{seen} was"
