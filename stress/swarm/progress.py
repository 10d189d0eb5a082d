"""What the load process tells the command that started it, while it goes on: one JSON object a line, through a pipe."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

DESCRIPTOR = "GOLDFISH_PROGRESS_FD"

_orphaned: list[Callable[[], None]] = []


def on_orphaned(act: Callable[[], None]) -> None:
    """Call ``act`` once when the command that started us has gone."""
    _orphaned.append(act)


def keep_silent() -> None:
    """Leave the telling to the conductor. The pipe stays open: it ends when the last load process has ended."""
    os.environ.pop(DESCRIPTOR, None)
    _orphaned.clear()


def tell(event: str, **values: Any) -> None:
    """Write one line to the file descriptor in ``GOLDFISH_PROGRESS_FD``, if it is set."""
    descriptor = os.environ.get(DESCRIPTOR)
    if descriptor:
        try:
            os.write(int(descriptor), json.dumps({"event": event, **values}).encode() + b"\n")
        except OSError:
            os.environ.pop(DESCRIPTOR, None)
            while _orphaned:
                _orphaned.pop()()
