"""The life of a run in one load process, as one state machine.

    idle ─► warmup ─► load ─► drain ─► settle+final ─► closed
              └──────────┴───────────────────────────► closed   (aborted: second interrupt)

warmup  users are being spawned; their operations are recorded with this phase
load    all users are there
drain   no new turn begins, turns in flight end (at most ``DRAIN_S``), what hangs is killed and recorded as such
final   conversations that are still open are closed: settle, final recall
closed  the op log has its footer, ``run.json`` its end

However a run ends (time, turns, the web UI's Stop, Ctrl-C, SIGTERM), it ends through ``Run.finish``, which may be
called from several greenlets: the first does the work, the others wait for it.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import gevent
from gevent.event import Event

from goldfish.contract import Settings
from goldfish.oplog import Phase
from goldfish.run import FILE as RUN_FILE
from goldfish.run import TRANSCRIPT, Skipped, write_run
from goldfish.run import Run as Record
from goldfish.token import Person
from stress.swarm.closing import Closing
from stress.swarm.device import ConnectionPolicy, Conversation
from stress.swarm.http import TIMEOUT_S, Endpoint
from stress.swarm.recorder import Recorder
from stress.targets.reference import ReferenceTarget

State = Literal["warmup", "load", "drain", "final", "closed"]

DRAIN_S = TIMEOUT_S + 2
FINAL_S = 60.0
"""Longest time for all final recalls of a run; what is not closed by then stays unsettled, and the verdict says so."""

PROBLEMS_MAX = 20

log = logging.getLogger("goldfish")

_current: Run | None = None


def current() -> Run | None:
    """The run under way in this process; None between runs."""
    return _current


class Run:
    """One run: what all users and devices share."""

    def __init__(
        self,
        *,
        directory: Path,
        endpoint: Endpoint,
        target: ReferenceTarget,
        settings: Settings,
        connection: ConnectionPolicy,
        seed: int,
        turns_max: int,
        deployment: dict[str, Any],
        meanings: dict[str, str],
        skipped: list[Skipped],
        users: int | None,
        fire: Callable[..., None],
        on_turns_done: Callable[[], None],
        on_log_failed: Callable[[OSError], None],
        tag: str,
        name: str,
        command: list[str],
    ) -> None:
        global _current
        self.endpoint = endpoint
        self.target = target
        self.settings = settings
        self.connection: ConnectionPolicy = connection
        self.seed = seed
        self.owned = bool(deployment)
        """The deployment is ours: nothing needs to be deleted, a store dump may follow."""
        self.state: State = "warmup"
        self.turns = 0
        self.requests: dict[str, dict[str, int]] = {}
        self.directory = directory / name
        (self.directory / TRANSCRIPT).mkdir(parents=True)
        self._tag = tag
        self._persons = 0
        self._fire = fire
        self._turns_max = turns_max
        self._on_turns_done = on_turns_done
        self._on_log_failed = on_log_failed
        self._turning: set[gevent.Greenlet] = set()
        self._still = Event()
        self._still.set()
        self._open: dict[str, Conversation] = {}
        self._finishing = False
        self._closed = Event()
        self.record = Record(
            run=name,
            contract=settings.contract,
            budget=settings.budget,
            processes=["w0"],
            started=time.time(),
            start_ns=time.monotonic_ns(),
            target={"host": str(endpoint), **deployment},
            seed=seed,
            users=users,
            connection=connection,
            scenarios=list(meanings),
            meanings=meanings,
            skipped=skipped,
            versions=_versions(),
            command=command,
            git_commit=_git_commit(),
        )
        write_run(self.directory, self.record)
        self.recorder = Recorder(self.directory / TRANSCRIPT / "w0.jsonl", name, "w0", 0)
        self.closing = Closing(self, settings.contract.settle_s)
        self._ticker = gevent.spawn(self._tick)
        _current = self
        tell("run", directory=str(self.directory))

    # What users do -----------------------------------------------------------------------------------------------

    @property
    def accepts_turns(self) -> bool:
        """Whether a new turn may begin."""
        return self.state in ("warmup", "load")

    @property
    def phase(self) -> Phase:
        """The phase that operations of users are recorded with."""
        return "warmup" if self.state == "warmup" else "load"

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Count a turn in flight: the drain waits for it."""
        me = gevent.getcurrent()
        self._turning.add(me)
        self._still.clear()
        try:
            yield
        finally:
            self._turning.discard(me)
            if not self._turning:
                self._still.set()
        self.turns += 1
        if self.turns == self._turns_max:
            self._on_turns_done()

    def next_person(self) -> Person:
        """Somebody nobody has been before."""
        self._persons += 1
        return Person(self._tag, 0, self._persons)

    def problem(self, text: str) -> bool:
        """Note once what went wrong in the swarm itself; tells whether it was new."""
        if text in self.record.problems or len(self.record.problems) >= PROBLEMS_MAX:
            return False
        self.record.problems.append(text)
        return True

    def opened(self, conversation: Conversation) -> None:
        """A conversation has begun."""
        self._open[conversation.ledger.name] = conversation

    def ended(self, conversation: Conversation) -> None:
        """A conversation's story has ended: it will be closed."""
        if self._open.pop(conversation.ledger.name, None):
            self.closing.add(conversation)

    def report(self, kind: str, scenario: str, start_ns: int, end_ns: int, error: Exception | None) -> None:
        """Show one request in Locust's statistics; a loss is a failed request there."""
        counts = self.requests.setdefault(kind, {"requests": 0, "failures": 0})
        counts["requests"] += 1
        counts["failures"] += error is not None
        self._fire(
            request_type=kind,
            name=scenario,
            response_time=(end_ns - start_ns) / 1e6,
            response_length=0,
            exception=error,
            context={},
        )

    # How it ends -------------------------------------------------------------------------------------------------

    def all_spawned(self) -> None:
        """The ramp is over."""
        if self.state == "warmup":
            self.state = "load"

    def finish(self, why: str) -> None:
        """End the load, close every conversation, close the log. Returns when all this is done."""
        if self._finishing:
            self._closed.wait()
            return
        self._finishing = True
        self.record.ended = why
        self._enter("drain")
        if not self._still.wait(DRAIN_S):
            log.warning("%d turns did not end in %g s and are cut off", len(self._turning), DRAIN_S)
            gevent.killall(list(self._turning), timeout=5)
        if self.state == "closed":
            return
        self._enter("final")
        for conversation in list(self._open.values()):
            self.ended(conversation)
        if not self.closing.wait(self.settings.contract.settle_s + FINAL_S):
            log.warning("%d conversations could not be closed in time", len(self.closing))
        self._close()

    def abort(self) -> None:
        """Close the log at once; turns in flight are cut off and recorded as killed. Nothing is judged."""
        if self.state == "closed":
            return
        self._finishing = True
        self.state = "drain"  # no user begins another turn while those in flight are cut off
        self.record.ended = "aborted"
        gevent.killall(list(self._turning), timeout=2)
        self._close()

    def _close(self) -> None:
        global _current
        if self.state == "closed":
            return
        self.closing.stop()
        self._ticker.kill()
        self.recorder.close()
        self.record.end_ns = time.monotonic_ns()
        self.record.counters = {
            self.recorder.process: {"rows": self.recorder.counts, "scenarios": self.recorder.checks}
        }
        try:
            write_run(self.directory, self.record)
        except OSError as error:
            log.error("cannot complete %s: %s", self.directory / RUN_FILE, error.strerror)  # noqa: TRY400
        finally:
            self._enter("closed")
            if _current is self:
                _current = None
            self._closed.set()

    def _enter(self, state: State) -> None:
        self.state = state
        log.debug("run %s: %s", self.record.run, state)
        self._progress()

    # What is told while it goes on ---------------------------------------------------------------------------------

    def _tick(self) -> None:
        while True:
            gevent.sleep(0.5)
            self.recorder.flush()
            if self.recorder.failure is not None:
                self._on_log_failed(self.recorder.failure)
                return
            self._progress()

    def _progress(self) -> None:
        checks = self.recorder.checks.values()
        tell(
            "progress",
            state=self.state,
            turns=self.turns,
            appends=self.requests.get("append", {}).get("requests", 0),
            recalls=self.requests.get("recall", {}).get("requests", 0),
            checked=sum(check["checked"] for check in checks),
            lossy=sum(check["lossy"] for check in checks),
            closing=len(self.closing) + len(self._open),
        )


_orphaned: list[Callable[[], None]] = []


def on_orphaned(act: Callable[[], None]) -> None:
    """Call ``act`` once when the command that started us has gone."""
    _orphaned.append(act)


def tell(event: str, **values: Any) -> None:
    """Write one progress line to the file descriptor in ``GOLDFISH_PROGRESS_FD``, if it is set."""
    descriptor = os.environ.get("GOLDFISH_PROGRESS_FD")
    if descriptor:
        try:
            os.write(int(descriptor), json.dumps({"event": event, **values}).encode() + b"\n")
        except OSError:
            os.environ.pop("GOLDFISH_PROGRESS_FD", None)
            while _orphaned:
                _orphaned.pop()()


def new_name() -> tuple[str, str]:
    """A run's id and the tag that its users and tokens carry."""
    tag = "".join(secrets.choice("0123456789abcdefghijklmnopqrstuvwxyz") for _ in range(6))
    return time.strftime("%Y%m%d-%H%M%S-") + tag, tag


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in ("goldfish", "locust", "gevent")}}


def _git_commit() -> str | None:
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
