"""The shares of a record: one in this process, or several in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Any

from analysis.worker import Worker, receive, send

BYTES_EACH_MIN = 16 * 1024 * 1024
"""With less to read, a process of its own costs more than it spares."""


def processes_for(size_bytes: int) -> int:
    """How many processes to share a record of this size among."""
    try:
        processors = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        processors = os.cpu_count() or 1
    return max(1, min(processors, size_bytes // BYTES_EACH_MIN))


class Alone:
    """One share, in this process."""

    number = 1

    def __init__(self, progress: Callable[[int], None]) -> None:
        self.share = Worker(progress)

    def __enter__(self) -> Alone:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, step: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Take a step."""
        return [getattr(self.share, step)(*own) for own in arguments]

    def begin(self, step: str, arguments: Sequence[tuple[Any, ...]]) -> Callable[[], list[Any]]:
        """Take a step, once the answer is called for."""
        return lambda: self.call(step, arguments)


class Crew:
    """Shares in processes; to be used as a context, which ends them."""

    def __init__(self, number: int, progress: Callable[[int], None]) -> None:
        self.number = number
        self._progress = progress
        command = [sys.executable, "-P", "-m", "analysis.worker"]
        # No worker inherits an end of another one's pipes: each one's input ends with this process.
        self._workers = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(number)
        ]
        self._listeners = ThreadPoolExecutor(number, "listener")

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.kill()
        self._listeners.shutdown()
        for worker in self._workers:
            for pipe in (worker.stdin, worker.stdout):
                assert pipe is not None
                with suppress(OSError):  # what was not read is of no use
                    pipe.close()
            worker.wait()

    def call(self, step: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Have every share take a step, each with its arguments; what each answers.

        Raises:
            GoldfishError: as the share raised it.
            RuntimeError: a share failed, or its process is gone.
        """
        return self.begin(step, arguments)()

    def begin(self, step: str, arguments: Sequence[tuple[Any, ...]]) -> Callable[[], list[Any]]:
        """Have every share begin a step; the answers are to be called for."""
        for worker, own in zip(self._workers, arguments, strict=True):
            assert worker.stdin is not None
            with suppress(OSError):  # it is gone, which is told where it should answer
                send(worker.stdin, (step, own))
        # All are listened to at once, for one whose progress is not taken stands still.
        answers = self._listeners.map(self._answer, self._workers)
        return lambda: list(answers)

    def _answer(self, worker: subprocess.Popen[bytes]) -> Any:
        assert worker.stdout is not None
        while True:
            try:
                what, content = receive(worker.stdout)
            except EOFError:
                code = worker.wait()
                how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
                raise RuntimeError(f"a process that judged a share of the record {how}") from None
            if what == "error":
                raise content
            if what == "answer":
                return content
            self._progress(content)
