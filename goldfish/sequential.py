"""Stopping as soon as it is proven: Wald's sequential probability ratio test, one to each side of a budget.

A fixed-size test must not be looked at under way: whoever stops when it happens to look good is right far less often
than its level says. These tests may be looked at after every user, and stopped at any time.

The users of a run come one after another; each has a share y of harmed conversations, or of lossy recalls. Two wagers
run against the claim that the true share is exactly the budget B, both starting at 1:

* **within** multiplies by the likelihood ratio of a memory that is ``BETTER`` times as good:
  (1 - y) · (1 - g)/(1 - B) + y · g/B with g = B/``BETTER``. If the true share is B or more, it does not grow in the
  mean, so it reaches 1/level in at most ``level`` of all runs, ever (Ville's inequality): that proves the budget kept.
* **over** multiplies by that of a memory that is ``WORSE`` times as bad, and proves that the budget is exceeded.

With one conversation a user, y is 0 or 1, and these are Wald's likelihood ratios (Sequential Analysis, 1947). Being
linear in y they hold for any shares between 0 and 1, however the losses of one user come together (Waudby-Smith and
Ramdas, JRSS B 86, 2024). What they do not prove, near the budget, they do not prove in any time: a run has an end by
time as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from goldfish.contract import Budget

BETTER = 5.0
WORSE = 3.0


class Wager(NamedTuple):
    """The two wagers on one budget, as logarithms."""

    within: float = 0.0
    over: float = 0.0

    def plus(self, other: Wager) -> Wager:
        """Both together: of other users, or of another load process."""
        return Wager(self.within + other.within, self.over + other.over)

    def times(self, number: float) -> Wager:
        """Of so many users alike."""
        return Wager(self.within * number, self.over * number)


def wager(share: float, budget: float) -> Wager:
    """What one user adds.

    Args:
        share: of what was looked at in this user's story, how much was bad: 0 to 1.
        budget: above 0 and below 1.
    """
    good, bad = budget / BETTER, min(WORSE * budget, (1 + budget) / 2)

    def ratio(other: float) -> float:
        return math.log((1 - share) * (1 - other) / (1 - budget) + share * other / budget)

    return Wager(ratio(good), ratio(bad))


class Evidence(msgspec.Struct, kw_only=True):
    """What the users of one scenario whose stories are closed add up to."""

    users: int = 0
    """Of whom something was checked."""
    conversations: int = 0
    """With a checked recall, or with a finding."""
    harmed: int = 0
    lossy: int = 0
    """Recalls."""
    wrong: int = 0
    """Conversations with a finding that is no loss."""
    wagers: dict[str, tuple[float, float]] = {}
    """Budget → its wagers, within and over."""

    def add(self, other: Evidence) -> None:
        """Take in what other users add up to."""
        self.users += other.users
        self.conversations += other.conversations
        self.harmed += other.harmed
        self.lossy += other.lossy
        self.wrong += other.wrong
        for name, theirs in other.wagers.items():
            both = Wager(*self.wagers.get(name, (0, 0))).plus(Wager(*theirs))
            self.wagers[name] = both.within, both.over


def budgets_at_stake(budget: Budget) -> dict[str, float]:
    """The loss budgets above 0, by name; one of 0 needs no wager."""
    both = {"context_loss": budget.context_loss, "conversations_harmed": budget.conversations_harmed}
    return {name: most for name, most in both.items() if most is not None and 0 < most < 1}


def of_user(budget: Budget, *, checked: int, lossy: int, conversations: int, harmed: int, wrong: int = 0) -> Evidence:
    """What one user adds, of whom so many recalls and conversations were checked."""
    evidence = Evidence(conversations=conversations, harmed=harmed, lossy=lossy, wrong=wrong, wagers={})
    evidence.users = int(conversations > 0)
    shares = {"context_loss": (lossy, checked), "conversations_harmed": (harmed, conversations)}
    for name, most in budgets_at_stake(budget).items():
        bad, number = shares[name]
        if number:
            placed = wager(bad / number, most)
            evidence.wagers[name] = placed.within, placed.over
    return evidence


def pass_level(budget: Budget) -> float:
    """How often a budget that is exceeded may be taken for kept: what the upper end of an interval allows, too."""
    return (1 - budget.confidence) / 2


def fail_level(budget: Budget, claims: int) -> float:
    """How often one of so many claims may be taken for wrong that is right."""
    return (1 - budget.confidence) / max(claims, 1)


def proven(budget: Budget, evidence: Mapping[str, Evidence]) -> str | None:
    """What is proven by now, in words; None: go on.

    Args:
        budget: what is tolerated.
        evidence: by scenario, of all scenarios that take part.
    """
    at_stake = budgets_at_stake(budget)
    fails_at = -math.log(fail_level(budget, len(at_stake) * len(evidence)))
    passes_at = -math.log(pass_level(budget))
    for scenario, seen in evidence.items():
        if seen.lossy and budget.context_loss == 0:
            return f"a loss in {scenario}, and none is tolerated"
        if (seen.harmed and budget.conversations_harmed == 0) or (seen.wrong and budget.disorder == "fail"):
            return f"a harmed conversation in {scenario}, and none is tolerated"
        for name in at_stake:
            if seen.wagers.get(name, (0, 0))[1] >= fails_at:
                return f"{scenario} exceeds {name}"
    if evidence and all(
        seen.conversations >= budget.min_conversations
        and all(seen.wagers.get(name, (0, 0))[0] >= passes_at for name in at_stake)
        for seen in evidence.values()
    ):
        return "every budget is kept" if at_stake else f"no loss in {budget.min_conversations:,} conversations each"
    return None


def design(budget: Budget) -> list[str]:
    """The design in words: what ends a run, and how many users that takes about."""
    lines = []
    if budget.context_loss == 0:
        lines.append("ends at the first loss, for none is tolerated")
    lines.append(f"ends at {budget.min_conversations:,} checked conversations in every scenario, if all is proven then")
    for name, most in budgets_at_stake(budget).items():
        good, bad = wager(0, most), wager(1, most)
        passes_at, fails_at = 1 / pass_level(budget), 1 / fail_level(budget, 1)
        sound = math.ceil(math.log(passes_at) / good.within)
        more = math.ceil(-bad.within / good.within)
        lines.append(
            f"{name} = {most:.3%} is kept once users are {passes_at:.0f} times as likely with {most / BETTER:.3%}: "
            f"after {sound:,} users without a loss, {more:,} more for each who loses everything"
        )
        lines.append(
            f"{name} = {most:.3%} is exceeded once users are {fails_at:.0f} times as likely with {WORSE * most:.3%} "
            "(more with several scenarios, which share one level)"
        )
    return lines
