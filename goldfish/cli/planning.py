"""``goldfish plan``: how much a claim takes, in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from goldfish.contract import Budget
from goldfish.errors import RecordError
from goldfish.sequential import design
from goldfish.terminal import console, emit
from goldfish.words import NOTHING, share

if TYPE_CHECKING:
    from analysis.planning import Design, Need, Pace

DEFAULT_PACE = {
    "source": "goldfish run -u 20, scenario rapid-switch, on 2 cores",
    "users_per_minute": 150.0,
    "conversations_per_user": 4.0,
    "recalls_per_user": 26.0,
}
"""As measured; where a memory is slow, or users are many, it is another: see ``--like``."""


def plan_claim(max_loss: float, confidence: float, burst: float, like: Path | None, *, as_json: bool) -> int:
    """Print what a claim takes."""
    from analysis.planning import plan  # numpy and scipy: only for this command

    made = plan(max_loss, confidence, burst, _pace(like))
    if as_json:
        emit(msgspec.json.format(msgspec.json.encode(made), indent=2).decode())
    else:
        console().print(render(made))
    return 0


def _pace(like: Path | None) -> Pace:
    from analysis.planning import Pace, pace_of
    from goldfish.run import read_run

    if like is None:
        return msgspec.convert(DEFAULT_PACE, Pace)
    run = read_run(like)
    try:
        results = msgspec.json.decode((like / "results.json").read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{like} is not judged yet; say: goldfish analyze {like}") from error
    if run.start_ns is None or run.end_ns is None or run.end_ns <= run.start_ns:
        raise RecordError(f"{like / 'run.json'} does not tell how long the run took; plan like another run")
    pace = pace_of(results, (run.end_ns - run.start_ns) / 1e9)
    if pace is None:
        raise RecordError(f"nothing was checked in {like}; plan like another run")
    return pace


def render(made: Design) -> RenderableType:
    """What a person sees of a plan."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("if the memory loses", no_wrap=True)
    table.add_column("it is proven", no_wrap=True)
    for heading in ("with users", "conversations", "recalls", "minutes"):
        table.add_column(heading, justify="right", no_wrap=True)
    for need in made.needs:
        table.add_row(*_cells(need))
    pace = made.pace
    claim = f"At most {share(made.max_loss)} of recalls lossy, with {made.confidence:.0%} confidence, in each scenario:"
    assumed = (
        f"Users are counted in every scenario, and four of five runs of this size prove it. {made.burst:.0%} of losses "
        "are taken to come in bursts that take everything of one user (--burst). Minutes are those of the pace of "
        f"{pace.source}: {pace.users_per_minute:,.0f} users a minute, with {pace.conversations_per_user:.1f} "
        f"conversations and {pace.recalls_per_user:.0f} checked recalls each (--like RUN takes that of another run)."
    )
    budget = Budget(context_loss=made.max_loss, confidence=made.confidence)
    lines = [Text(f"- {line}") for line in design(budget)[1:]]
    early = Text("Or let the run end by itself, with goldfish run --until-proven and this budget:")
    return Group(Text(claim, style="bold"), Text(), table, Text(assumed, style="dim"), Text(), early, *lines)


def _cells(need: Need) -> list[str]:
    def told(number: int | None) -> str:
        return NOTHING if number is None else f"{number:,}"

    true = "nothing" if not need.true_rate else share(need.true_rate)
    minutes = NOTHING if need.minutes is None else f"{need.minutes:,.1f}"
    return [true, need.proves, told(need.users), told(need.conversations), told(need.recalls), minutes]
