"""How names and numbers are written for people, in the terminal and wherever else plain text is shown."""

from __future__ import annotations

import re

NOTHING = "–"
# Control characters drive the terminal; bidirectional controls turn a line around.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def plain(text: str, chars_max: int = 2_000) -> str:
    """Text of unknown origin on one line of a terminal: invisible characters named, the rest cut off."""
    shown = _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text[:chars_max])
    return shown if len(text) <= chars_max else f"{shown}…"


def visible(text: str) -> str:
    """A message of several lines for a terminal: what a name of unknown origin in it hides is shown."""
    return "\n".join(plain(line) for line in text.split("\n"))


def count(number: int, noun: str, plural: str | None = None) -> str:
    """1234, "recall" → 1,234 recalls."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def share(value: float | None) -> str:
    """A fraction of 1 in percent, small ones with three significant digits: 0.1234 → 12.3 %, 0.00069 → 0.069 %."""
    return NOTHING if value is None else f"{_percent(value, _digits(value))} %"


def span(low: float, high: float) -> str:
    """Two fractions of 1 with the digits of the upper one: 0.04–1.18 %."""
    digits = _digits(high) if high < 1 else 1
    return f"{_percent(low, digits)}–{_percent(high, digits)} %"


def _digits(value: float) -> int:
    percent = value * 100
    return next((digits for digits, least in enumerate((10, 1, 0.1, 0.01), start=1) if percent >= least), 5)


def _percent(value: float, digits: int) -> str:
    return f"{value * 100:.{0 if value in (0, 1) else digits}f}"
