"""Has a run directory judged, by a process of its own: pandas would stop this one for seconds."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import msgspec
from gevent import subprocess

from stress.swarm.progress import tell

log = logging.getLogger("goldfish")


class Judging:
    """One judgement under way."""

    def __init__(self, directory: Path) -> None:
        """Start the analyzer."""
        tell("analysis", directory=str(directory))
        log.info("judging %s", directory)
        sys.stdout.flush()
        self._directory = directory
        self._cancelled = False
        self._analyzer = subprocess.Popen([sys.executable, "-P", "-m", "analysis", str(directory)])

    def wait(self) -> int:
        """The verdict's exit code; 4 if there is none."""
        code = self._analyzer.wait()
        if self._cancelled:
            return 4
        if not _agrees(self._directory, code):
            log.error("the analyzer failed (status %s); `goldfish analyze %s` tries again", code, self._directory)
            return 4
        log.info("report: %s", self._directory / "report.html")
        return int(code)

    def cancel(self) -> None:
        """Nobody wants to know any more."""
        self._cancelled = True
        self._analyzer.kill()


def _agrees(directory: Path, code: int) -> bool:
    """Whether the analyzer wrote a verdict with this exit code; a crash must not pass for one."""
    try:
        return bool(msgspec.json.decode((directory / "results.json").read_bytes())["exit_code"] == code)
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return False
