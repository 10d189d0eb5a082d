"""The demonstration: the same swarm on a sound memory and on a broken one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.rule import Rule
from rich.text import Text

from goldfish.cli.deployment import plan_of
from goldfish.cli.swarm import Finished, Load, run_embedded
from goldfish.terminal import console

USERS = 60
TIME_S = 12


def run_demo(out: Path) -> int:
    """Run both, show both tables, say what they mean.

    Returns 0 if the sound memory lost nothing and the broken one was caught; else what went wrong decides.
    """
    screen = console()
    load = Load(users=USERS, spawn_rate=USERS, time_s=TIME_S, out=out)

    screen.print(Rule(Text("1 of 2 · a sound memory: journal, 3 instances, round-robin")))
    sound = run_embedded(load, plan_of("journal", 3, "round-robin", [], 0))
    sound.show(as_json=False)

    broken_defects = ["lost-update", "instance-cache"]
    screen.print()
    screen.print(Rule(Text("2 of 2 · a broken memory: user-profile, lost-update, instance-cache")))
    broken = run_embedded(load, plan_of("user-profile", 3, "round-robin", broken_defects, 0))
    broken.show(as_json=False)

    screen.print()
    screen.print(Rule())
    if sound.exit_code != 0:
        screen.print(Text("The sound memory did not pass; see above. The demonstration is void.", "bold"))
        return sound.exit_code
    if broken.exit_code != 3:
        screen.print(Text("The broken memory was not caught; see above. The demonstration is void.", "bold"))
        return 4
    screen.print(Text(_meaning(sound, broken)))
    screen.print(Text(f"\nsound   {sound.directory / 'report.html'}\nbroken  {broken.directory / 'report.html'}"))
    return 0


def _meaning(sound: Finished, broken: Finished) -> str:
    checked = sum(_recalls(sound, "checked").values())
    lossy = _recalls(broken, "lossy")
    total = sum(_recalls(broken, "checked").values())
    worst = max(lossy, key=lambda name: lossy[name])
    return (
        f"What it means: the same {USERS} users talked to both. The sound memory gave back everything in {checked:,} "
        f"checked recalls. The broken one lacked something it had acknowledged in {sum(lossy.values()):,} of {total:,} "
        f"recalls, most in {worst}: two devices that write at once overwrite each other, and each instance answers "
        "from a copy of its own."
    )


def _recalls(run: Finished, key: str) -> dict[str, int]:
    scenarios: list[dict[str, Any]] = run.results["scenarios"] if run.results else []
    return {scenario["name"]: scenario["recalls"][key] for scenario in scenarios}
