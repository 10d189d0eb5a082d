"""How numbers are written for people: enough digits to compare, never so many that they claim too much."""

from __future__ import annotations

from datetime import UTC, datetime

NOTHING = "–"
_SPACE = "\u00a0"


def count(number: int | None) -> str:
    """12345 → 12,345."""
    return NOTHING if number is None else f"{number:,}"


def share(value: float | None) -> str:
    """A fraction of 1 in percent, small ones with two significant digits: 0.1234 → 12.3 %, 0.00069 → 0.069 %."""
    return NOTHING if value is None else f"{_percent(value, _digits(value))}{_SPACE}%"


def interval(low: float, high: float) -> str:
    """Two shares with the same number of digits: 0.31 – 0.64 %."""
    digits = _digits(low or high)
    return f"{_percent(low, digits)}{_SPACE}–{_SPACE}{_percent(high, digits)}{_SPACE}%"


def milliseconds(value: float | None) -> str:
    """3.4, 128, 1,530: the unit stands in the table's head."""
    if value is None:
        return NOTHING
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    """A point of time in a run: 41.2 → 41.20 s."""
    return NOTHING if value is None else f"{value:,.2f}{_SPACE}s"


def duration(value: float | None) -> str:
    """How long a run took: 61.4 → 1 min 1 s."""
    if value is None:
        return NOTHING
    if value < 60:
        return f"{value:.1f}{_SPACE}s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours}{_SPACE}h"] if hours else []
    parts += [f"{minutes}{_SPACE}min"]
    return " ".join(parts if hours else [*parts, f"{rest}{_SPACE}s"])


def instant(value: float | None) -> str:
    """Seconds since the epoch → 2025-03-14 09:26:53 UTC."""
    return NOTHING if value is None else datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _digits(value: float) -> int:
    percent = abs(value) * 100
    if percent in (0, 100):
        return 0
    for digits, least in enumerate((1, 0.1, 0.01, 0.001), start=1):
        if percent >= least:
            return digits
    return 6


def _percent(value: float, digits: int) -> str:
    return "0" if value == 0 else f"{value * 100:.{digits}f}"
