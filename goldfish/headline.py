"""The verdict in sentences: what kind of harm, of how many, and how far a pass reaches.

A leak, a loss and a delay are not the same failure, so none of them shares a sentence with another. The gravest stands
first; every number is one of ``results.json``, and every denominator is what could have shown the same harm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from goldfish.contract import Contract
from goldfish.words import count, plain, share

Results = Mapping[str, Any]

ALL, NEARLY_ALL = 0.995, 0.9
"""Shares of the harm from which on a cause accounts for all of it, and for nearly all."""
FEW = 20
"""Up to so many are counted, not told in percent."""
TOLERATED = "Within the budget: "
"""What stands before harm that does not fail the run."""

_WHOSE = {"tenant": "another tenant's", "user": "another user's", "session": "another session's"}
_DISORDER = {
    "duplicated": "Messages were shown twice",
    "reordered": "Messages were shown in an impossible order",
    "phantom": "Something was shown that nobody stored",
    "over-retained": "Messages were shown that must have expired",
    "resurrected": "Deleted messages were shown",
    "window overrun": "More was shown than may be",
}
"""What is shown and may not be, in the order it is told."""


def headline(results: Results) -> str:
    """The verdict and what it rests on."""
    verdict: str = results["verdict"]
    return f"{verdict.upper()}: {' '.join(sentences(results))}"


def sentences(results: Results) -> list[str]:
    """The same without the verdict, one kind of harm in each sentence, the gravest first."""
    if results["verdict"] == "fail":
        return _failed(results)
    if not _sum(results, "recalls", "checked"):
        return ["Nothing could be checked."]
    found = [*_leaks(results), *_missing(results), *_disorder(results)]
    if not found:
        found = [f"Nothing was lost, late, mixed up or leaked in {_seen(results)}."]
    elif results["verdict"] == "pass":
        found = [f"{TOLERATED}{sentence}" for sentence in found]
    if results["verdict"] == "inconclusive":
        return [*found, "That is not enough to pass."]
    return [*found, _reach(results), *([] if results["exit_code"] == 0 else ["But too many requests failed."])]


def _failed(results: Results) -> list[str]:
    """What fails the run, then what was found beside it."""
    codes = {reason["code"] for reason in results["reasons"]}
    found: list[str] = list(_leaks(results))
    beside: list[str] = []
    (found if "context-loss" in codes else beside).extend(_missing(results))
    (found if results["budget"]["disorder"] == "fail" else beside).extend(_disorder(results))
    if "conversations-harmed" in codes:
        harmed, checked = (_sum(results, "conversations", part) for part in ("harmed", "checked"))
        most = share(results["budget"]["conversations_harmed"])
        found.append(f"{harmed:,} of {count(checked, 'conversation')} are harmed, more than the {most} tolerated.")
    if "latency" in codes:
        found.append("Requests took longer than tolerated.")
    found += [f"{TOLERATED}{sentence}" for sentence in beside]
    if not _sum(results, "recalls", "lossy"):
        found.append(f"No message was missing ({_seen(results)}).")
    return found


def _leaks(results: Results) -> Iterator[str]:
    """What fails a run in a single case."""
    grave = _summed(results, "zero_tolerance")
    if grave["foreign"]:
        of = _summed(results, "foreign_of")
        whose = [words for level, words in _WHOSE.items() if of[level]] or ["another conversation's"]
        yield f"{_capital(' or '.join(whose))} messages were shown{_where(results, 'foreign')}."
    if grave["corrupted"]:
        yield f"Messages were shown with another content than was sent{_where(results, 'corrupted')}."
    if grave["rejected-yet-shown"]:
        yield f"{count(grave['rejected-yet-shown'], 'time')} a message was shown that had been refused."


def _disorder(results: Results) -> Iterator[str]:
    """What is shown and may not be, class by class."""
    found, refused = _summed(results, "anomalies"), _summed(results, "zero_tolerance")["rejected-yet-shown"]
    for name, words in _DISORDER.items():
        if found[name] > (refused if name == "phantom" else 0):
            yield f"{words}{_where(results, name)}."


def _missing(results: Results) -> Iterator[str]:
    """Lost for good, late, coming and going: three failures, three sentences."""
    lossy, checked = _sum(results, "recalls", "lossy"), _sum(results, "messages", "checked")
    if not lossy:
        return
    lost, late, turns = (_sum(results, "messages", fate) for fate in ("lost", "stale", "flicker"))
    of = f"of {count(checked, 'message')}"
    if lost:
        yield f"{lost:,} {of} {_were(lost)} lost: missing to the last recall{_waited(results)}."
    if late:
        yield f"{late:,} {of} {_were(late)} late: missing when owed, shown for good later."
        yield from _how_late(results)
    if turns:
        yield f"{turns:,} {of} came and went: shown, missing, and shown again."
    if (late or turns) and not lost:
        yield "None was lost for good."
    in_all = f"{lossy:,} of {_seen(results)} lacked something"
    yield f"{in_all}." if lost or late or turns else f"{in_all}, though no single message can be named."


def _waited(results: Results) -> str:
    """How long the tool waits before it says lost."""
    if not any(scenario.get("final_recalls") for scenario in results["scenarios"]):
        return ""
    contract = _contract(results)
    return f", {contract.settle_s:g} s after the last write"


def _how_late(results: Results) -> Iterator[str]:
    """The lower bound, for the upper one says more of the swarm's habits: when it looked again."""
    most = [
        scenario["lateness"]["missing_ms"]["max"]
        for scenario in results["scenarios"]
        if scenario.get("lateness") and scenario["lateness"]["missing_ms"]
    ]
    if most:
        yield f"Recalls lacked them up to {max(most):,.0f} ms after their acknowledgement."


def _where(results: Results, name: str) -> str:
    """In how many conversations of how many a class was found."""
    rates = [scenario["classes"][name] for scenario in results["scenarios"] if name in scenario["classes"]]
    harmed, checked = (sum(rate[part] for rate in rates) for part in ("conversations", "checked"))
    return f" in {harmed:,} of {count(checked, 'conversation')}" if harmed else ""


def _reach(results: Results) -> str:
    """How far a pass reaches."""
    budget = results["budget"]
    at_stake = any(budget.get(name) for name in ("context_loss", "conversations_harmed"))
    if results.get("until_proven") and at_stake:
        # Intervals of a fixed length cannot be held against a run that ends when something is proven.
        return "Every budget is proven to be kept, by tests that may be looked at any time."
    worst = max((scenario["recalls"]["high"] for scenario in results["scenarios"]), default=1.0)
    level = budget["confidence"]
    return f"With {level:.0%} confidence every scenario's loss rate is below {share(worst)}."


def _seen(results: Results) -> str:
    recalls = count(_sum(results, "recalls", "checked"), "checked recall")
    return f"{recalls} of {count(_sum(results, 'conversations', 'checked'), 'conversation')}"


def accounts(cause: Mapping[str, Any], scenarios: Sequence[Mapping[str, Any]]) -> str:
    """How much of the harm of its class a cause accounts for; a share that was estimated is not told too exactly."""
    name, explains = cause["anomaly"], cause["explains"]
    if name == "missing":
        found = sum(scenario["messages"][fate] for scenario in scenarios for fate in ("lost", "stale", "flicker"))
        noun = "missing message"
    else:
        found = sum(scenario["anomalies"].get(name, 0) for scenario in scenarios)
        noun = f"{plain(name, 40)} finding"
    if not found:
        return "accounts for what was missing"
    if explains >= ALL:
        them = {1: f"the one {noun}", 2: f"both {noun}s"}
        return f"accounts for {them.get(found, f'all {found:,} {noun}s')}"
    if found <= FEW:
        return f"accounts for about {round(explains * found)} of {count(found, noun)}"
    part = "nearly all" if explains >= NEARLY_ALL else f"about {explains * 100:.0f} %"
    return f"accounts for {part} of {count(found, noun)}"


def _contract(results: Results) -> Contract:
    return msgspec.convert(results["contract"], Contract)


def _sum(results: Results, part: str, name: str) -> int:
    """One number of all scenarios."""
    return sum(scenario[part][name] for scenario in results["scenarios"])


def _summed(results: Results, part: str) -> Counter[str]:
    """Numbers by name, of all scenarios."""
    total: Counter[str] = Counter()
    for scenario in results["scenarios"]:
        total.update(scenario.get(part) or {})
    return total


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
