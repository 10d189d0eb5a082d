"""Runs the command as people do: as a process of its own, in a folder of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

GOLDFISH = [sys.executable, "-P", "-m", "goldfish"]
LOCUST = [sys.executable, "-P", "-m", "locust"]
LOCUSTFILES = Path(__file__).parents[2] / "locustfiles"
SMALL_BUDGET = "[budget]\nmin_conversations = 3\n"


def goldfish(*arguments: object, cwd: Path, timeout_s: float = 100) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [*GOLDFISH, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=timeout_s, check=False
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
    counters = json.loads((directory / "run.json").read_text())["counters"]
    (counts,) = counters.values()
    return {name: (check["checked"], check["lossy"]) for name, check in counts["scenarios"].items()}


def final_counts(directory: Path) -> dict[str, tuple[int, int]]:
    """Checked and lossy recalls per scenario as the analyzer found them."""
    scenarios = results_of(directory)["scenarios"]
    return {s["name"]: (s["recalls"]["checked"], s["recalls"]["lossy"]) for s in scenarios}


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
