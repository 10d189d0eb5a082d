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


def console(**options: Any) -> Console:
    """A console on standard output, or on standard error with ``stderr=True``."""
    return _Console(**options)
