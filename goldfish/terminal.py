"""The terminal: consoles that outlive their reader.

``goldfish … | head`` closes the pipe early. The exit code is the verdict's all the same: Python's own for a broken
pipe, 1, would read as a pass.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Print the rest to nobody."""
        self.quiet = True
        _silence()


def emit(text: str) -> None:
    """Print text for programs on standard output."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()


def _silence() -> None:
    # What is still buffered would be flushed at the end of the process, and fail again.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def no_terminal() -> None:
    """Print to nobody from now on: the terminal has gone."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def mend_streams() -> None:
    """Open what was closed for us (``2>&-``): printing to it would end the process with 1, which is a pass here."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the whole process


def console(**options: Any) -> Console:
    """A console on standard output, or on standard error with ``stderr=True``."""
    return _Console(**options)
