"""Progress for the person at the terminal, once it has taken long enough to wonder."""

from __future__ import annotations

from threading import Timer
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

PATIENCE_S = 1.0
"""How long a person waits before progress is shown."""


class Patience:
    """Shows what is done now, if it goes on for longer than ``PATIENCE_S`` and somebody watches."""

    def __init__(self, console: Console | None) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)
        watched = console is not None and console.is_terminal
        self._timer = Timer(PATIENCE_S, self._bar.start) if watched else None

    def __enter__(self) -> Patience:
        if self._timer:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer.join()
            if self._bar.live.is_started:
                self._bar.stop()

    def now(self, what: str, total: int | None = None) -> None:
        """Begin something else, of known length or not."""
        self._bar.update(self._task, description=what, completed=0, total=total)

    def more(self, items: int) -> None:
        """Some more of what is done now is done."""
        self._bar.update(self._task, advance=items)
