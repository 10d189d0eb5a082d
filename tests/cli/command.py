"""Runs the command as people do: as a process of its own, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

GOLDFISH = [sys.executable, "-P", "-m", "goldfish"]
LOCUST = [sys.executable, "-P", "-m", "locust"]
LOCUSTFILES = Path(__file__).parents[2] / "locustfiles"
PATIENCE_S = 60
SMALL_BUDGET = "[budget]\nmin_conversations = 1\n"


def goldfish(
    *arguments: object, cwd: Path, timeout_s: float = 100, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [*GOLDFISH, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def small_contract(folder: Path) -> Path:
    """A contract whose budget a short run can meet."""
    path = folder / "goldfish.toml"
    path.write_text(SMALL_BUDGET)
    return path


def run_directories(folder: Path) -> list[Path]:
    """The run directories in ``folder``, oldest first."""
    return sorted(path for path in (folder / "runs").iterdir() if path.is_dir())


def only_run(folder: Path) -> Path:
    """The one run directory in ``folder``."""
    (directory,) = run_directories(folder)
    return directory


def results_of(directory: Path) -> dict[str, Any]:
    """The verdict of a run."""
    return dict(json.loads((directory / "results.json").read_text()))


def rows_of(directory: Path) -> list[dict[str, Any]]:
    """All rows of a run's op logs."""
    return [json.loads(line) for path in sorted((directory / "transcript").glob("*.jsonl")) for line in path.open()]


def live_counts(directory: Path) -> dict[str, tuple[int, int]]:
    """Checked and lossy recalls per scenario as the swarm counted them."""
    total: dict[str, tuple[int, int]] = {}
    for counts in json.loads((directory / "run.json").read_text())["counters"].values():
        for name, check in counts["scenarios"].items():
            checked, lossy = total.get(name, (0, 0))
            total[name] = (checked + check["checked"], lossy + check["lossy"])
    return total


def final_counts(directory: Path) -> dict[str, tuple[int, int]]:
    """Checked and lossy recalls per scenario as the analyzer found them."""
    scenarios = results_of(directory)["scenarios"]
    return {s["name"]: (s["recalls"]["checked"], s["recalls"]["lossy"]) for s in scenarios}


def until(holds: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for something that must come."""
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end, f"waited {patience_s:g} s for {what}"
        time.sleep(0.02)


@contextmanager
def started(
    *arguments: object, cwd: Path, command: list[str] = GOLDFISH, group: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """The command as a child; killed with all its descendants at the end of the block, whatever happens."""
    process = subprocess.Popen(
        [*command, *map(str, arguments)],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=group,
    )
    below = descendants(process.pid)
    try:
        yield process
    finally:
        below += descendants(process.pid)
        for other in [*below, process]:
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                other.kill()
        process.communicate()


def recording(folder: Path, processes: int = 1) -> bool:
    """Whether a run in ``folder`` has written rows beyond its header, in every load process."""
    runs = folder / "runs"
    logs = list(runs.glob("*/transcript/*.jsonl")) if runs.exists() else []
    return sum(path.stat().st_size > 20_000 for path in logs) >= processes


def growing(directory: Path) -> bool:
    """Whether users still say things."""

    def appends() -> int:
        return sum(log.read_bytes().count(b'"kind":"append"') for log in (directory / "transcript").glob("*.jsonl"))

    before = appends()
    time.sleep(1.2)
    return appends() > before


def descendants(pid: int) -> list[psutil.Process]:
    """Every process below ``pid``."""
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def alive(processes: list[psutil.Process]) -> list[str]:
    """Those that still run, in words."""
    found = []
    for process in processes:
        try:
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {' '.join(process.cmdline())[:400]}")
        except psutil.NoSuchProcess:
            continue
    return found
