"""A long run as a user would start it, and the memory of every process of it: does anything grow without end?

    python -m benchmarks.soak [minutes] [--users N] [--processes P]

The embedded sound deployment is loaded by ``goldfish run``. Every few seconds the memory of each process is read; after
the warm-up a line is fitted to it (Theil–Sen: the median of the slopes of all pairs, which no single jump can bend).
The soak fails if the run does, or if a process of ours grows by a MiB a minute or more, in RSS and in USS: what is held
anew counts in both. USS alone grows where forked processes cease to share a page, RSS alone where they begin to.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks.record import save

EVERY_S = 5.0
WARM_UP_MIN = 5.0
"""Caches fill and users arrive; of a shorter run a third."""
SLOPE_MAX = 1.0
"""MiB a minute."""
SAMPLES_KEPT = 120
OURS = re.compile(r"command|keeper|load|m\d+")
ROLES = {
    r"stress\.deployment\.keeper": "keeper",
    r"stress\.memory .*/(m\d+)\.json": "",
    r"stress\.swarm": "load",
    r"redis-server|valkey-server": "redis",
    r"postgres": "postgres",
    r"caddy": "balancer",
    r"-m analysis": "analyzer",
}
"""What a command line tells of a process's part; the memory instances are called by their names."""

Sample = tuple[float, float, float]
"""Minutes since the start, RSS and USS in MiB."""


class Watch:
    """The memory of a process and all below it, by the part each of them plays."""

    def __init__(self, command: psutil.Popen) -> None:
        self.samples: dict[str, list[Sample]] = defaultdict(list)
        self._command = command
        self._names: dict[int, str] = {}

    def look(self, minute: float) -> None:
        """Take one sample of each; parts of several processes, such as PostgreSQL, are summed."""
        sums: dict[str, tuple[float, float]] = {}
        for process in [self._command, *self._command.children(recursive=True)]:
            try:
                name = self._name(process)
                memory = process.memory_full_info()
            except psutil.NoSuchProcess:
                continue
            rss, uss = sums.get(name, (0.0, 0.0))
            sums[name] = rss + memory.rss / 2**20, uss + memory.uss / 2**20
        for name, (rss, uss) in sums.items():
            self.samples[name].append((minute, rss, uss))

    def _name(self, process: psutil.Process) -> str:
        """Load processes are numbered in the order they are seen: the first is Locust's master, if there are workers.

        A child may still be what its parent is, just before it becomes something else: so names are looked at anew
        until they are known.
        """
        if process.pid == self._command.pid:
            return "command"
        known = self._names.get(process.pid)
        if known is not None:
            return known
        name = _role(" ".join(process.cmdline()))
        if name == "load":
            name = f"load-{sum(other.startswith('load') for other in self._names.values())}"
        if name != "other":
            self._names[process.pid] = name
        return name


def _role(command_line: str) -> str:
    for pattern, role in ROLES.items():
        found = re.search(pattern, command_line)
        if found:
            return role or found[1]
    return "other"


def slope(samples: list[Sample], column: int, from_minute: float, to_minute: float) -> float | None:
    """MiB a minute by Theil–Sen; None of fewer than three samples."""
    points = [(sample[0], sample[column]) for sample in samples if from_minute <= sample[0] <= to_minute]
    if len(points) < 3:
        return None
    return median((b - a) / (late - soon) for (soon, a), (late, b) in combinations(points, 2))


def soak(minutes: float, users: int, processes: int, folder: Path) -> tuple[Watch, dict[str, Any]]:
    """Run and watch; also tells what the run was."""
    command = ["-m", "goldfish", "run", "-u", users, "-t", round(minutes * 60), "--out", folder / "runs", "--json"]
    command += ["--processes", processes] if processes > 1 else []
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        child = psutil.Popen([sys.executable, "-P", *map(str, command)], stdout=out, stderr=err)
        watch = Watch(child)
        start = time.monotonic()
        try:
            while child.poll() is None:
                watch.look((time.monotonic() - start) / 60)
                try:
                    child.wait(EVERY_S)
                except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
                    continue
        finally:
            if child.poll() is None:
                child.terminate()  # it judges what it has, and leaves nothing behind
                child.wait()
    if child.returncode:
        print((folder / "err").read_text()[-4000:], (folder / "out").read_text()[-4000:], sep="\n")
    return watch, {"exit_code": child.returncode} | _told(folder)


def _told(folder: Path) -> dict[str, Any]:
    try:
        results = json.loads((folder / "out").read_bytes())
    except ValueError:
        return {"recalls_checked": 0}
    logs = list(folder.glob("runs/*/transcript/*.jsonl"))
    return {
        "verdict": results["verdict"],
        "recalls_checked": sum(scenario["recalls"]["checked"] for scenario in results["scenarios"]),
        "op_log_bytes": sum(log.stat().st_size for log in logs),
        "op_log_rows": sum(len(log.read_bytes().splitlines()) for log in logs),
    }


def thinned(samples: list[Sample]) -> list[list[float]]:
    """At most ``SAMPLES_KEPT``, evenly."""
    every = -(-len(samples) // SAMPLES_KEPT)
    return [[round(value, 2) for value in sample] for sample in samples[::every]]


def main() -> None:
    """Soak, save, and fail if something grows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=30.0)
    parser.add_argument("-u", "--users", type=int, default=20)
    parser.add_argument("--processes", type=int, default=1, help="load processes")
    given = parser.parse_args()
    warm_up = min(WARM_UP_MIN, given.minutes / 3)
    with tempfile.TemporaryDirectory() as folder:
        watch, told = soak(given.minutes, given.users, given.processes, Path(folder))
    slopes = {
        name: {
            "uss_mib_per_min": round(uss, 3),
            "rss_mib_per_min": round(slope(samples, 1, warm_up, given.minutes) or 0.0, 3),
            "uss_mib_last": round(next(s[2] for s in reversed(samples) if s[0] <= given.minutes), 1),
        }
        for name, samples in watch.samples.items()
        if (uss := slope(samples, 2, warm_up, given.minutes)) is not None
    }
    growing = [
        name
        for name, own in slopes.items()
        if OURS.match(name) and min(own["uss_mib_per_min"], own["rss_mib_per_min"]) >= SLOPE_MAX
    ]
    summary = {"minutes": given.minutes, "users": given.users, "processes": given.processes, "warm_up_min": warm_up}
    summary |= told | {"slopes": slopes, "growing": growing}
    print(json.dumps(summary, indent=1))
    raw = [{"process": name, "minute_rss_uss": thinned(samples)} for name, samples in watch.samples.items()]
    print(save("soak", summary, raw))
    if told["exit_code"] or growing or not slopes:
        sys.exit(1)


if __name__ == "__main__":
    main()
