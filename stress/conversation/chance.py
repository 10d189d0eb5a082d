"""Chance that is small: users hold one per conversation, and ``random.Random`` would be most of what an idle one holds.

A linear congruential generator of 64 bits with Knuth's MMIX constants, of which the upper 53 bits are used: good enough
to choose texts with, 0.2 KiB in place of 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b

_FACTOR, _SUMMAND, _BITS = 6364136223846793005, 1442695040888963407, (1 << 64) - 1


def chance(seed: str) -> Callable[[], float]:
    """A source of numbers from 0 to below 1; equal seeds give equal ones, in every process and version."""
    return _numbers(int.from_bytes(blake2b(seed.encode(), digest_size=8).digest())).__next__


def _numbers(state: int) -> Iterator[float]:
    while True:
        state = (state * _FACTOR + _SUMMAND) & _BITS
        yield (state >> 11) * 2.0**-53
