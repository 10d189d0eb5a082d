"""The load processes as their conductor reaches them: this very process, or Locust's workers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import msgspec
import psutil

from stress.swarm import lifecycle
from stress.swarm.lifecycle import Member, process_name
from stress.swarm.status import Status

DRAIN = "goldfish_drain"
ABORT = "goldfish_abort"
STATUS = "goldfish_status"

log = logging.getLogger("goldfish")


class Alone:
    """One process is everything: conductor and load process."""

    def drain(self, members: list[Member]) -> None:  # noqa: ARG002 - there is but one
        """End the run here; returns when its log is closed."""
        if run := lifecycle.current():
            run.finish()

    def abort(self, members: list[Member]) -> None:  # noqa: ARG002
        """Close the log at once."""
        if run := lifecycle.current():
            run.abort()

    def missing(self, member: Member) -> str | None:  # noqa: ARG002
        """Never: whoever asks is there."""
        return None


class Workers:
    """Locust's workers, by messages. They may be processes of this machine or of others."""

    def __init__(self, runner: Any, forked: set[int], hear: Callable[[Status], None]) -> None:
        """Listen to what they tell.

        Args:
            runner: Locust's master runner.
            forked: ids of the processes that are workers of this machine.
            hear: takes what a worker tells.
        """
        self.run = ""
        """The run that messages are about."""
        self._runner = runner
        self._forked = forked
        self._hear = hear
        runner.register_message(STATUS, self._on_status)

    def here(self) -> list[str]:
        """The processes of the workers that are connected."""
        indexes = sorted(self._runner.get_worker_index(client_id) for client_id in self._runner.clients)
        return [process_name(index) for index in indexes]

    def process_of(self, client_id: str) -> str:
        """The process of one worker."""
        return process_name(self._runner.get_worker_index(client_id))

    def drain(self, members: list[Member]) -> None:
        """Ask these to end their run."""
        self._send(DRAIN, members)

    def abort(self, members: list[Member]) -> None:
        """Ask these to close their logs at once."""
        self._send(ABORT, members)

    def dismiss(self, status: Status) -> None:
        """Have a log closed that belongs to no run any more."""
        for client_id in list(self._runner.clients):
            if self.process_of(client_id) == status.process:
                self._runner.send_message(ABORT, {"run": status.run}, client_id)

    def missing(self, member: Member) -> str | None:
        """Whether the worker has left, its process, if it is one of this machine, has ended, or it is silent."""
        status = member.status
        if status and status.pid in self._forked and not runs(status.pid):
            return "it ended without closing its log: killed, or crashed"
        if member.process not in self.here():
            return "it left without closing its log" if status else "it left before it began"
        if time.monotonic() - member.heard_s > lifecycle.SILENT_S:
            return f"nothing was heard of it for {lifecycle.SILENT_S:g} s"
        return None

    def _send(self, message: str, members: list[Member]) -> None:
        wanted = {member.process for member in members}
        for client_id in list(self._runner.clients):
            if self.process_of(client_id) in wanted:
                self._runner.send_message(message, {"run": self.run}, client_id)

    def _on_status(self, msg: Any, **_: Any) -> None:
        try:
            status = Status.unpack(msg.data)
        except msgspec.ValidationError as error:
            log.error("worker %s speaks another version of goldfish: %s", msg.node_id, error)  # noqa: TRY400
            return
        self._hear(status)


def runs(pid: int) -> bool:
    """Whether a process has not ended."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
