"""The picture of ``benchmarks.users``: three curves over the number of users, as one SVG that needs nothing.

Its colours follow the reader's theme, differ for every kind of colour vision, and never tell anything alone: every
line has its mark and its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

WIDTH, LEFT, RIGHT = 760, 64, 176
TOP, PANEL, GAP, BOTTOM = 94, 150, 46, 52
STYLE = """
  svg { --surface: #fcfcfb; --text: #20201e; --quiet: #66655f; --grid: #e3e2dc;
        --a: #0068a8; --b: #c24e00; --c: #007a57;
        font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; }
  @media (prefers-color-scheme: dark) {
    svg { --surface: #1b1b19; --text: #f1f0ea; --quiet: #aaa89f; --grid: #3b3a36;
          --a: #62b5f0; --b: #f0994a; --c: #3fcf9f; }
  }
  .surface { fill: var(--surface); }
  text { fill: var(--text); }
  .quiet { fill: var(--quiet); font-size: 12px; }
  .title { font-size: 17px; font-weight: 600; }
  .panel { font-weight: 600; }
  .grid { stroke: var(--grid); }
  .knee { stroke: var(--text); stroke-dasharray: 2 4; }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
  .a { stroke: var(--a); } .b { stroke: var(--b); } .c { stroke: var(--c); } .d { stroke: var(--quiet); }
  .fill-a { fill: var(--a); } .fill-b { fill: var(--b); } .fill-c { fill: var(--c); } .fill-d { fill: var(--quiet); }
  .d { stroke-dasharray: 5 4; }
"""


class Line(NamedTuple):
    """One curve: its name at the right end, its colour and mark, and its values."""

    name: str
    colour: str
    values: Sequence[float]


class Panel(NamedTuple):
    """Curves that share an axis."""

    title: str
    ticks: Sequence[float]
    logarithmic: bool
    lines: Sequence[Line]
    suffix: str = ""


def picture(points: Sequence[dict[str, Any]], knee: float | None) -> str:
    """The SVG of these points; ``knee`` is the number of users that saturates the process."""
    users = [point["users"] for point in points]
    panels = [
        Panel(
            "Turns per second",
            _round_ticks(max(point["turns_per_s"] for point in points)),
            False,
            [Line("turns/s", "a", [point["turns_per_s"] for point in points])],
        ),
        Panel(
            "Load process: share of the time",
            (0, 50, 90, 100),
            False,
            [
                Line("it has work to do", "b", [100 * point["busy_share"] for point in points]),
                Line("it has a core (CPU)", "a", [100 * point["cpu_share"] for point in points]),
                Line("CPU of the memory", "d", [100 * point["server_cpu_share"] for point in points]),
            ],
            " %",
        ),
        Panel(
            "Latency as recorded, milliseconds",
            _decades([point["latency_ms"][name] for point in points for name in ("p50", "p99")]),
            True,
            [Line(name, colour, [point["latency_ms"][name] for point in points]) for name, colour in PERCENTILES]
            + [Line("waiting a turn, p50", "d", [point["hub_late_ms"]["p50"] for point in points])],
        ),
    ]
    height = TOP + len(panels) * (PANEL + GAP) - GAP + BOTTOM
    x = _scale(users[0], users[-1], LEFT, WIDTH - RIGHT, logarithmic=True)
    told = _told(knee)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="t d">',
        '<title id="t">Users in one load process</title>',
        f'<desc id="d">{escape(_described(points, told))}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="surface" width="{WIDTH}" height="{height}" rx="6"/>',
        f'<text class="title" x="{LEFT}" y="30">Users in one load process</text>',
        f'<text class="quiet" x="{LEFT}" y="50">{escape(told)}</text>',
    ]
    for number, panel in enumerate(panels):
        top = TOP + number * (PANEL + GAP)
        parts += _panel(panel, users, x, top)
    if knee:
        bottom = height - BOTTOM
        parts.append(f'<line class="knee" x1="{x(knee):.1f}" x2="{x(knee):.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
        parts.append(
            f'<text class="quiet" x="{x(knee) + 6:.1f}" y="{TOP + PANEL - 8}">knee: about {_short(knee)} users</text>'
        )
    for value in users:
        parts.append(
            f'<text class="quiet" x="{x(value):.1f}" y="{height - BOTTOM + 18}" text-anchor="middle">{value:,}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="quiet" x="{middle}" y="{height - 14}" text-anchor="middle">users</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


PERCENTILES = (("p50", "a"), ("p95", "b"), ("p99", "c"))


def _told(knee: float | None) -> str:
    if knee is None:
        return "The process was not saturated at any point."
    return f"Beyond {_short(knee)} users it has no time left: what latency rises by there is its own, not the memory's."


def _described(points: Sequence[dict[str, Any]], told: str) -> str:
    rows = [
        f"{point['users']:,} users: {point['turns_per_s']:,.0f} turns per second, {point['cpu_share']:.0%} CPU, "
        f"latency p50 {point['latency_ms']['p50']:g} ms, p99 {point['latency_ms']['p99']:g} ms"
        for point in points
    ]
    return " ".join([told, *(f"{row}." for row in rows)])


def _panel(panel: Panel, users: Sequence[int], x: Callable[[float], float], top: int) -> list[str]:
    y = _scale(panel.ticks[0], panel.ticks[-1], top + PANEL, top, logarithmic=panel.logarithmic)
    parts = [f'<text class="panel" x="{LEFT}" y="{top - 12}">{panel.title}</text>']
    for tick in panel.ticks:
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(
            f'<text class="quiet" x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:,g}{panel.suffix}</text>'
        )
    ends = []
    for line in panel.lines:
        spots = [(x(at), y(max(value, panel.ticks[0]))) for at, value in zip(users, line.values, strict=True)]
        parts.append(
            f'<polyline class="line {line.colour}" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in spots)}"/>'
        )
        parts += [_mark(line.colour, *spot) for spot in spots]
        ends.append((spots[-1][1], line))
    for at, line in _apart(ends):
        parts.append(_mark(line.colour, WIDTH - RIGHT + 18, at))
        parts.append(f'<text class="quiet" x="{WIDTH - RIGHT + 28}" y="{at + 4:.1f}">{line.name}</text>')
    return parts


def _mark(colour: str, x: float, y: float) -> str:
    if colour == "b":
        return f'<rect class="fill-b" x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7"/>'
    if colour == "c":
        return f'<path class="fill-c" d="M{x:.1f},{y - 5:.1f}l5,8.5h-10z"/>'
    return f'<circle class="fill-{colour}" cx="{x:.1f}" cy="{y:.1f}" r="{3 if colour == "d" else 4}"/>'


def _apart(ends: list[tuple[float, Line]], least: float = 16) -> list[tuple[float, Line]]:
    """Names at the ends of their lines, moved apart where they would overlap."""
    placed: list[tuple[float, Line]] = []
    for at, line in sorted(ends, key=lambda end: -end[0]):
        placed.append((min(at, placed[-1][0] - least) if placed else at, line))
    return placed


def _scale(low: float, high: float, start: float, end: float, *, logarithmic: bool) -> Callable[[float], float]:
    if logarithmic:
        return lambda value: start + (end - start) * math.log(value / low) / math.log(high / low)
    return lambda value: start + (end - start) * (value - low) / (high - low)


def _round_ticks(high: float) -> list[float]:
    step = next(s * 10**power for power in range(9) for s in (1, 2, 2.5, 5) if 5 * s * 10**power >= high)
    return [step * number for number in range(math.ceil(high / step) + 1)]


def _decades(values: Sequence[float]) -> list[float]:
    low, high = math.floor(math.log10(max(min(values), 0.01))), math.ceil(math.log10(max(values)))
    return [10.0**power for power in range(low, high + 1)]


def _short(users: float) -> str:
    """Two digits: the knee is no sharper."""
    digits = 10 ** max(int(math.log10(users)) - 1, 0)
    return f"{round(users / digits) * digits:,}"
