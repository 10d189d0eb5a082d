"""A Locust worker as a load process: it runs what its master planned, and ends when that says so, or is gone."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from contextlib import suppress
from typing import Any

import gevent
from locust import log as locust_log
from locust.runners import STATE_RUNNING, STATE_SPAWNING

from stress.swarm import lifecycle, progress
from stress.swarm.crew import ABORT, DRAIN, STATUS, runs
from stress.swarm.lifecycle import process_name
from stress.swarm.options import PLAN
from stress.swarm.plan import Plan
from stress.swarm.status import Status

MASTER_SILENT_S = 30.0
"""A master that sent no heartbeat for so long is lost."""
REAP_S = 5.0

log = logging.getLogger("goldfish")


def unhandled(where: str) -> str:
    """What to note when Locust caught an exception in a listener or greenlet."""
    return f"An event listener or a greenlet of {where} raised an exception; its traceback is in the log."


_taken_over = False


def die_with_master() -> None:
    """Have processes that are forked from this one end when it ends, until a ``Worker`` knows better what to do.

    A worker whose master dies before it is connected would try to reach it for minutes.
    """
    master = os.getpid()

    def watch() -> None:
        while not _taken_over:
            if os.getppid() != master:
                os._exit(4)
            gevent.sleep(0.5)

    os.register_at_fork(after_in_child=lambda: gevent.spawn(watch))


class Worker:
    """The runs of one worker."""

    def __init__(self, environment: Any) -> None:
        global _taken_over
        self.environment = environment
        self._runner = environment.runner
        self._parent = os.getppid()
        launched = "--worker" in sys.argv or "LOCUST_MODE_WORKER" in os.environ
        self._forked = bool(environment.parsed_options.processes) and not launched
        """Forked by the master, so of its process group: what it is sent by a terminal, we are sent too."""
        self._run: lifecycle.Run | None = None
        self._orphaned = False
        self._ctrl_c = 0
        environment.process_exit_code = 0
        progress.keep_silent()
        gevent.signal_handler(signal.SIGINT, self._on_ctrl_c)
        self._runner.register_message(DRAIN, self._on_drain, concurrent=True)
        self._runner.register_message(ABORT, self._on_abort, concurrent=True)
        listen = environment.events
        listen.test_start.add_listener(self.on_test_start)
        listen.spawning_complete.add_listener(self.on_spawning_complete)
        listen.test_stopping.add_listener(self.on_test_stopping)
        listen.quitting.add_listener(self.on_quitting)
        gevent.spawn(self._watch_master)
        _taken_over = True
        if self._runner.worker_state in (STATE_SPAWNING, STATE_RUNNING):
            # A master under way sends users as soon as it is connected, which may be before Locust fires ``init``.
            self.on_test_start()

    # Locust's events ---------------------------------------------------------------------------------------------

    def on_test_start(self, **_: Any) -> None:
        """Open the op log that the plan asks for."""
        if self._run:
            self._run.abort()
        self._run = None
        text = getattr(self.environment.parsed_options, PLAN, "")
        if not text:
            return  # the master found that there is nothing to run
        plan = Plan.decode(text)
        try:
            self._run = lifecycle.Run(
                plan,
                self._runner.worker_index,
                fire=self.environment.events.request.fire,
                report=self._report,
                users=lambda: self._runner.user_count,
            )
        except OSError as error:
            failure = f"{error.strerror}: {error.filename}"
            self._tell(Status(run=plan.run, process=self._process, state="absent", failure=failure))

    def on_spawning_complete(self, user_count: int, **_: Any) -> None:
        """The ramp is over, in all workers."""
        if self._run:
            self._run.all_spawned(user_count)

    def on_test_stopping(self, **_: Any) -> None:
        """The runner is told to stop: nothing must be open then."""
        if self._run:
            self._run.finish()

    def on_quitting(self, **_: Any) -> None:
        """SIGTERM, or Ctrl-C for a worker of its own: end in order, and take leave."""
        if self._run:
            self._run.finish()
        self.environment.process_exit_code = 4 if self._orphaned else 0

    # What the master says ----------------------------------------------------------------------------------------

    def _on_drain(self, msg: Any, **_: Any) -> None:
        if self._run is None or self._run.plan.run != msg.data["run"]:
            self._tell(Status(run=msg.data["run"], process=self._process, state="absent"))
            return
        self._run.finish()
        self._run.report_status()

    def _on_abort(self, msg: Any, **_: Any) -> None:
        if self._run is None or self._run.plan.run != msg.data["run"]:
            self._tell(Status(run=msg.data["run"], process=self._process, state="absent"))
            return
        self._run.abort()
        self._run.report_status()

    # What is told ------------------------------------------------------------------------------------------------

    @property
    def _process(self) -> str:
        return process_name(self._runner.worker_index)

    def _report(self, status: Status) -> None:
        if locust_log.unhandled_greenlet_exception and self._run:
            self._run.problem(unhandled(status.process))
        if status.state == "closed":
            locust_log.unhandled_greenlet_exception = False
        if status.state == "closed" and not self._orphaned:
            self._runner._send_stats()  # so that the master's statistics are whole before it hears of the end
        self._tell(status)

    def _tell(self, status: Status) -> None:
        if not self._orphaned:
            self._runner.send_message(STATUS, status.pack())

    # How it ends without being told ------------------------------------------------------------------------------

    def _on_ctrl_c(self) -> None:
        """A terminal sends Ctrl-C to the master too, which decides; a worker of its own leaves."""
        if self._forked and not self._orphaned:
            return
        self._ctrl_c += 1
        if self._ctrl_c > 1 or self._orphaned:
            if self._run:
                self._run.problem(
                    f"Load process {self._process} was interrupted twice, before its conversations closed."
                )
                self._run.abort()
        else:
            hub = gevent.get_hub()
            hub.loop.run_callback(hub.parent.throw, KeyboardInterrupt)

    def _watch_master(self) -> None:
        while not self._master_is_gone():
            gevent.sleep(0.5)
        log.error("the master is gone: the load ends, the log is closed")
        self._orphaned = True
        if self._run:
            self._run.finish()
        self.environment.process_exit_code = 4
        self._runner.quit()

    def _master_is_gone(self) -> bool:
        if self._forked:
            return os.getppid() != self._parent
        heard = self._runner.last_heartbeat_timestamp
        return heard is not None and time.time() - heard > MASTER_SILENT_S


def reap_workers(forked: set[int]) -> None:
    """At the end of a master: workers that do not end by themselves are ended. Locust would leave them behind."""
    end_s = time.monotonic() + REAP_S
    for number in (signal.SIGTERM, signal.SIGKILL):
        while any(map(runs, forked)) and time.monotonic() < end_s:
            time.sleep(0.05)
        for pid in filter(runs, forked):
            log.warning("worker process %d has not ended and gets %s", pid, number.name)
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        end_s = time.monotonic() + 2
