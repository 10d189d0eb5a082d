"""Has a run directory judged, by a process of its own: pandas would stop this one for seconds."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import msgspec
from gevent import subprocess

from stress.swarm.progress import tell

log = logging.getLogger("goldfish")


def judge(directory: Path) -> int:
    """The verdict's exit code; 4 if the analyzer failed."""
    tell("analysis", directory=str(directory))
    log.info("judging %s", directory)
    sys.stdout.flush()
    code = subprocess.call([sys.executable, "-P", "-m", "analysis", str(directory)])
    if not _agrees(directory, code):
        log.error("the analyzer failed (status %s); `goldfish analyze %s` tries again", code, directory)
        return 4
    log.info("report: %s", directory / "report.html")
    return int(code)


def _agrees(directory: Path, code: int) -> bool:
    """Whether the analyzer wrote a verdict with this exit code; a crash must not pass for one."""
    try:
        return bool(msgspec.json.decode((directory / "results.json").read_bytes())["exit_code"] == code)
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return False
