"""Ctrl-C while a command is still being imported: nothing is at stake yet, so it ends with a word and no traceback."""

from __future__ import annotations

import os
import signal
from types import FrameType


def leave_at_once() -> None:
    """Until ``take_interrupts`` is called, an interrupt ends this process with 4; one that is ignored stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def take_interrupts() -> None:
    """From now on an interrupt raises ``KeyboardInterrupt``, as ever."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the form of a handler
    os.write(2, b"interrupted; nothing was judged\n")
    os._exit(4)
