"""How many tokens a text has: bounds, for nobody but the memory counts them."""

from __future__ import annotations

from math import ceil

from goldfish.content import utf8_bytes
from goldfish.oplog import TEXT_CHARS_MAX, Odd

_UTF8_BYTES_MAX = 4
_ESCAPE = "\\ud"
"""How the log writes a lone surrogate begins: one character as six."""


def token_bounds(text: str, size_bytes: int, chars_per_token: tuple[float, float]) -> tuple[int, int]:
    """The fewest and most tokens of a text.

    Args:
        text: its first ``TEXT_CHARS_MAX`` characters.
        size_bytes: the length of the whole text in UTF-8.
        chars_per_token: fewest and most characters of a token; for the upper bound bytes count as characters.
    """
    fewest, most = chars_per_token
    escaped = text.count(_ESCAPE) * (len(_ESCAPE) + 2)  # at most so many characters too many
    chars = len(text) - escaped + max(size_bytes - utf8_bytes(text), 0) // _UTF8_BYTES_MAX
    return int(max(chars, 0) / most), ceil(size_bytes / fewest)


def tokens_max(odd: Odd, chars_per_token: tuple[float, float]) -> int | None:
    """The most tokens a listed element has beyond those of a message that it is a copy of; None if nobody knows."""
    if odd.why == "corrupted":
        longer = odd.kind == "altered" and not odd.changes
        return None if longer else 0
    if len(odd.text) >= TEXT_CHARS_MAX:
        return None
    return ceil(utf8_bytes(odd.text) / chars_per_token[0])
