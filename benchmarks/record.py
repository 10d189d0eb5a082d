"""Where results go: one JSON file a benchmark, with the machine, the versions and every raw round."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("goldfish", "locust", "gevent", "httptools", "msgspec", "pandas", "pyarrow", "numpy")


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    cpu = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), ""
    )
    memory_kib = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return {
        "cpu": cpu or platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory_kib / 1024**2, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def save(name: str, summary: dict[str, Any], rounds: list[dict[str, Any]]) -> Path:
    """Write ``results/<name>.json``."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {"measured": time.strftime("%Y-%m-%d"), "machine": machine(), "summary": summary, "rounds": rounds}
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


def median(rounds: list[dict[str, Any]], key: str) -> float:
    """The median of one figure over all rounds that have it."""
    return statistics.median(row[key] for row in rounds if key in row)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
