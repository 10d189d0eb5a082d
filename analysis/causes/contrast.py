"""How much of the harm goes with a circumstance, and could that be chance?

The share that a circumstance accounts for is the *population attributable fraction*: of all that went wrong, the part
that would not have gone wrong if the exposed had fared like the rest (Levin, Acta Unio Int. Cancr. 9, 1953). Whether it
may be chance is asked of as many cases as there are harmed conversations, for what is lost in one conversation was
mostly lost together.
"""

from __future__ import annotations

from typing import NamedTuple

from scipy.special import bdtrc


class Contrast(NamedTuple):
    """How the exposed fared beside the rest."""

    exposed_bad: int
    exposed: int
    rest_bad: int
    rest: int
    attributable: float
    """Share of all bad ones that the circumstance accounts for, from 0 to 1."""
    certainty: float
    """One minus the probability that chance puts so many of the bad ones among the exposed."""

    @property
    def weight(self) -> float:
        """The share it accounts for, less if that may be chance."""
        return self.attributable * self.certainty


def contrast(exposed_bad: int, exposed: int, rest_bad: int, rest: int, independent: int) -> Contrast:
    """Compare the exposed with the rest.

    Args:
        exposed_bad: bad ones among the exposed.
        exposed: the exposed.
        rest_bad: bad ones among the rest.
        rest: the rest.
        independent: number of cases that are independent at most.
    """
    bad = exposed_bad + rest_bad
    if not bad or not exposed or not rest:
        # Without a comparison nothing can be said to make the difference.
        return Contrast(exposed_bad, exposed, rest_bad, rest, 0.0, 0.0)
    expected = exposed * rest_bad / rest
    attributable = max(0.0, (exposed_bad - expected) / bad)
    return Contrast(
        exposed_bad, exposed, rest_bad, rest, attributable, certainty(exposed_bad, bad, exposed, rest, independent)
    )


def certainty(exposed_bad: int, bad: int, exposed: int, rest: int, independent: int) -> float:
    """One minus the probability of at least so many exposed among the bad ones, if exposure made no difference."""
    cases = min(bad, max(independent, 1))
    hits = round(exposed_bad * cases / bad)
    chance = exposed / (exposed + rest)
    return 1.0 - (float(bdtrc(hits - 1, cases, chance)) if hits else 1.0)
