"""The life of a run, as one state machine: in every load process, and over all of them.

    idle ─► warmup ─► load ─► drain ─► settle+final ─► closed
              └──────────┴───────────────────────────► closed   (aborted: second interrupt)

warmup  users are being spawned; their operations are recorded with this phase
load    all users are there
drain   no new turn begins, turns in flight end (at most ``drain_s``), what hangs is killed and recorded as such
final   conversations that are still open are closed: settle, final recall
closed  the op log has its footer

``Run`` is the life of one load process. ``Swarm`` is what the conductor sees: the local process, or the master of any
number of workers. However a run ends (time, turns, the web UI's Stop, Ctrl-C, SIGTERM, the last worker's death), it
ends through ``Swarm.finish``, which asks every load process for its ``Run.finish`` and waits until each has told that
its log is closed, is lost, or time is up. Both may be called from several greenlets: the first does the work, the
others wait for it, and should it be killed, the next takes it up. Nothing is taken for granted: a process that does
not tell its end is lost, and the record says so.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import gevent
from gevent.event import Event
from gevent.lock import BoundedSemaphore

from goldfish.oplog import Phase, Sample
from goldfish.run import FILE as RUN_FILE
from goldfish.run import TRANSCRIPT, Counters, write_run
from goldfish.run import Run as Record
from goldfish.sequential import Evidence, proven
from goldfish.token import Person
from stress.swarm.answer import name_instances_by
from stress.swarm.closing import Closing
from stress.swarm.device import Conversation
from stress.swarm.http import Endpoint
from stress.swarm.pacing import Pacer
from stress.swarm.plan import Plan
from stress.swarm.progress import tell
from stress.swarm.proving import Stories
from stress.swarm.recorder import Recorder
from stress.swarm.status import State, Status
from stress.targets.load import load

DRAIN_S = 2.0
"""How long turns may go on, beyond what one answer may take."""
FINAL_S = 60.0
"""Longest time for all final recalls of a run; what is not closed by then stays unsettled, and the verdict says so."""
KILL_S = 5.0
SILENT_S = 10.0
"""A load process that was not heard of for so long is lost, unless it speaks up again."""
GONE_S = 3.0
"""So long after its last message a process that has ended may still have messages under way to us."""
ASK_S = 1.0
"""How often a load process that has not told its end is asked again; a message may be lost."""
ABORT_S = 5.0
TICK_S = 0.1
FLUSH_S = 0.5
SAMPLE_S = 1.0
PROBLEMS_MAX = 20

log = logging.getLogger("goldfish")

_current: Run | None = None


def current() -> Run | None:
    """The run under way in this process; None between runs."""
    return _current


class Run:
    """One run in one load process: what all its users and devices share."""

    def __init__(
        self,
        plan: Plan,
        worker: int,
        *,
        fire: Callable[..., None],
        report: Callable[[Status], None],
        users: Callable[[], int],
    ) -> None:
        """Open the op log; from now on users may act.

        Args:
            plan: what all load processes have in common.
            worker: the index of this process.
            fire: Locust's request event.
            report: takes the status, once a second and at every change of state.
            users: how many users this process has just now.

        Raises:
            OSError: the op log cannot be written.
        """
        global _current
        self.plan = plan
        loaded = load(plan.target)
        self.endpoint = Endpoint(plan.host, loaded.manner)
        self.target = loaded.target
        name_instances_by(loaded.about.instance_header)
        self.settings = plan.settings
        self.connection = plan.connection
        self.seed = plan.seed
        self.owned = plan.owned
        self.state: State = "warmup"
        self.turns = 0
        self.requests: dict[str, dict[str, int]] = {}
        self.problems: list[str] = []
        self._worker = worker
        self._persons = 0
        self._fire = fire
        self._report = report
        self._users = users
        self._turning: set[gevent.Greenlet] = set()
        self._still = Event()
        self._still.set()
        self._open: dict[str, Conversation] = {}
        self._ending = BoundedSemaphore()
        transcript = Path(plan.directory) / TRANSCRIPT
        transcript.mkdir(parents=True, exist_ok=True)
        process = process_name(worker)
        self.recorder = Recorder(transcript / f"{process}.jsonl", plan.run, process, worker)
        self.stories = Stories(plan.settings.budget) if plan.until_proven else None
        self.closing = Closing(self, plan.settings.contract.settle_s)
        self._all_users = plan.users
        self.pacer = Pacer(self._share()) if plan.turns_per_second else None
        self._ticker = gevent.spawn(self._tick)
        _current = self
        self.report_status()

    # What users do -----------------------------------------------------------------------------------------------

    @property
    def accepts_turns(self) -> bool:
        """Whether a new turn may begin."""
        return self.state in ("warmup", "load")

    def is_over(self) -> bool:
        """Whether the run has ended, and nothing more will come of it."""
        return self.state == "closed"

    @property
    def phase(self) -> Phase:
        """The phase that operations of users are recorded with."""
        return "warmup" if self.state == "warmup" else "load"

    def turn_begins(self) -> None:
        """Count a turn in flight: the drain waits for it."""
        self._turning.add(gevent.getcurrent())
        self._still.clear()

    def turn_ended(self) -> None:
        """The turn of this greenlet is over, whole or not."""
        self._turning.discard(gevent.getcurrent())
        if not self._turning:
            self._still.set()
        self.turns += 1
        if self.turns == self.plan.turns:
            self.report_status()

    def next_person(self) -> Person:
        """Somebody nobody has been before."""
        self._persons += 1
        return Person(self.plan.tag, self._worker, self._persons)

    def problem(self, text: str) -> bool:
        """Note once what went wrong in the swarm itself; tells whether it was new."""
        if text in self.problems or len(self.problems) >= PROBLEMS_MAX:
            return False
        self.problems.append(text)
        return True

    def opened(self, conversation: Conversation) -> None:
        """A conversation has begun."""
        self._open[conversation.ledger.name] = conversation
        if self.stories:
            self.stories.opened(conversation)

    def ended(self, conversation: Conversation) -> None:
        """A conversation's story has ended: it will be closed."""
        if self._open.pop(conversation.ledger.name, None):
            self.closing.add(conversation)

    def closed(self, conversation: Conversation) -> None:
        """The final recalls of a conversation are answered, or there was nothing to look back at."""
        if self.stories:
            self.stories.closed(conversation)

    def report(self, kind: str, scenario: str, start_ns: int, end_ns: int, error: Exception | None) -> None:
        """Show one request in Locust's statistics; a loss is a failed request there."""
        counts = self.requests.setdefault(scenario, {})
        counts[kind] = counts.get(kind, 0) + 1
        self._fire(
            request_type=kind,
            name=scenario,
            response_time=(end_ns - start_ns) / 1e6,
            response_length=0,
            exception=error,
            context={},
        )

    # How it ends -------------------------------------------------------------------------------------------------

    def all_spawned(self, users: int) -> None:
        """The ramp is over; ``users`` counts those of all load processes."""
        self._all_users = users or self._all_users
        if self.pacer:
            self.pacer.set_rate(self._share())
        if self.state == "warmup":
            self.state = "load"

    def finish(self) -> None:
        """End the load, close every conversation, close the log. Returns when all this is done."""
        with self._ending:
            if self.is_over():
                return
            self._enter("drain")
            if self.pacer:
                self.pacer.stop()
            drain_s = self.endpoint.timeout_s + DRAIN_S
            if not self._still.wait(drain_s):
                log.warning("%d turns did not end in %g s and are cut off", len(self._turning), drain_s)
                gevent.killall(list(self._turning), timeout=KILL_S)
            if self.is_over():
                return
            self._enter("final")
            for conversation in list(self._open.values()):
                self.ended(conversation)
            if not self.closing.wait(self.settings.contract.settle_s + FINAL_S):
                log.warning("%d conversations could not be closed in time", len(self.closing))
            self._close()

    def abort(self) -> None:
        """Close the log at once; turns in flight are cut off and recorded as killed."""
        if self.is_over():
            return
        self.state = "drain"  # no user begins another turn while those in flight are cut off
        if self.pacer:
            self.pacer.stop()
        gevent.killall(list(self._turning), timeout=2)
        self._close()

    def _close(self) -> None:
        global _current
        if self.is_over():
            return
        self.closing.stop()
        self._ticker.kill()
        self.recorder.close()
        self._enter("closed")
        if _current is self:
            _current = None

    def _enter(self, state: State) -> None:
        self.state = state
        log.debug("run %s: %s", self.plan.run, state)
        self.report_status()

    # What is told while it goes on ---------------------------------------------------------------------------------

    def report_status(self) -> None:
        """Tell the conductor how this process stands."""
        failure = self.recorder.failure
        self._report(
            Status(
                run=self.plan.run,
                process=self.recorder.process,
                state=self.state,
                turns=self.turns,
                open=len(self.closing) + len(self._open),
                counters=Counters(
                    rows=self.recorder.counts,
                    scenarios=self.recorder.checks,
                    requests=self.requests,
                    lateness=self.pacer.lateness() if self.pacer else None,
                    evidence=self.stories.evidence if self.stories else {},
                ),
                problems=self.problems,
                failure=(failure.strerror or str(failure)) if failure else None,
            )
        )

    def _share(self) -> float:
        """Turns a second that fall to this process, by its share of all users."""
        return self.plan.turns_per_second * self._users() / max(self._all_users, 1)

    def _tick(self) -> None:
        """Flush the log, sample the process and report, the latter two once a second."""
        lag_s = 0.0
        cpu_s, wall_s = time.process_time(), time.monotonic()
        flushed_s = wall_s
        while True:
            before_s = time.monotonic()
            gevent.sleep(TICK_S)
            now_s = time.monotonic()
            lag_s = max(lag_s, now_s - before_s - TICK_S)
            if self.pacer and self.accepts_turns:
                self.pacer.set_rate(self._share())  # users come and go, and nobody tells in time
            # By the clock, not by ticks: in a busy process each of them may take a second.
            if now_s - flushed_s >= FLUSH_S:
                flushed_s = now_s
                self.recorder.flush()
                if self.recorder.failure is not None:
                    self.report_status()
                    return
            if now_s - wall_s >= SAMPLE_S:
                spent_s, passed_s = time.process_time() - cpu_s, now_s - wall_s
                cpu_s, wall_s = cpu_s + spent_s, wall_s + passed_s
                self.recorder.write(
                    Sample(
                        at_ns=time.monotonic_ns(),
                        users=self._users(),
                        in_flight=len(self._turning) + self.closing.busy,
                        cpu_pct=round(100 * spent_s / passed_s, 1),
                        lag_ms=round(lag_s * 1e3, 3),
                    )
                )
                lag_s = 0.0
                self.report_status()


def process_name(worker: int) -> str:
    """The name of a load process and its op log."""
    return f"w{worker}"


class Member:
    """One load process as the conductor knows it."""

    def __init__(self, process: str) -> None:
        self.process = process
        self.status: Status | None = None
        self.heard_s = time.monotonic()
        self.lost: str | None = None
        """How it was lost."""

    @property
    def state(self) -> State:
        """What it told last; one that has not said anything yet warms up."""
        return self.status.state if self.status else "warmup"

    @property
    def done(self) -> bool:
        """Whether nothing more is expected of it."""
        return self.lost is not None or self.state in ("closed", "absent")


class Crew(Protocol):
    """How a conductor reaches the load processes."""

    def drain(self, members: list[Member]) -> None:
        """Have their runs finished; asked again and again until all are done."""

    def abort(self, members: list[Member]) -> None:
        """Have their logs closed at once."""

    def missing(self, member: Member) -> str | None:
        """What is known of the end of a process that was not heard of for a while; None: it may well live."""


class Swarm:
    """One run over all load processes; keeps ``run.json``."""

    def __init__(
        self,
        plan: Plan,
        record: Record,
        directory: Path,
        crew: Crew,
        *,
        on_end: Callable[[str], None],
        on_lost: Callable[[Member], None],
        audit: Callable[[Record], None],
    ) -> None:
        """Open the run directory.

        Args:
            plan: what the load processes are told.
            record: the beginnings of ``run.json``; its ``processes`` are those expected to take part.
            directory: the run directory, which must not exist.
            crew: the load processes.
            on_end: called, with the reason, when the run has to end by itself.
            on_lost: called once for every process that is lost.
            audit: completes the record when all load processes are done.

        Raises:
            OSError: the run directory cannot be written.
        """
        self.plan = plan
        self.record = record
        self.directory = directory
        self.state: State = "warmup"
        self._crew = crew
        self._on_end = on_end
        self._on_lost = on_lost
        self._audit = audit
        self._finishing = False
        self._ending = BoundedSemaphore()
        self.members = {process: Member(process) for process in record.processes}
        (directory / TRANSCRIPT).mkdir(parents=True)
        write_run(directory, record)
        self._watch = gevent.spawn(self._look)
        tell("run", directory=str(directory))

    def is_over(self) -> bool:
        """Whether the run has ended, and nothing more will come of it."""
        return self.state == "closed"

    def join(self, process: str) -> None:
        """A load process will take part."""
        if process not in self.members and not self.is_over():
            self.members[process] = Member(process)
            self.record.processes.append(process)
            self._write()

    def hear(self, status: Status) -> None:
        """A load process told how it stands."""
        self.join(status.process)
        member = self.members.get(status.process)
        if member is None or self.is_over():
            return
        if member.lost:
            tell("problem", message=f"load process {member.process} is back, and not lost")
            log.warning("load process %s is back", member.process)
        member.heard_s, member.lost = time.monotonic(), None
        member.status = status
        for problem in status.problems:
            if problem not in self.record.problems and len(self.record.problems) < PROBLEMS_MAX:
                self.record.problems.append(problem)
        self._progress()
        if self._finishing:
            return
        if status.failure:
            self._on_end(f"log failed: {status.failure}")
        elif self.plan.turns and sum(self._statuses("turns")) >= self.plan.turns:
            self._on_end("turns done")
        elif self.plan.until_proven and (what := proven(self.plan.settings.budget, self._evidence())):
            self.record.proven = what
            self._on_end("proven")

    def all_spawned(self) -> None:
        """The ramp is over."""
        if self.state == "warmup":
            self.state = "load"

    def finish(self, why: str) -> None:
        """End the run everywhere. Returns when every load process is done and ``run.json`` tells the end."""
        with self._ending:
            if self.is_over():
                return
            if not self._finishing:
                self._finishing = True
                nobody = why == "stopped" and self.members and not self._waiting()
                self.record.ended = "all load processes left" if nobody else why
            self.state = "drain"
            self._progress()
            patience_s = (
                self.plan.timeout_s + DRAIN_S + KILL_S + self.plan.settings.contract.settle_s + FINAL_S + SILENT_S
            )
            end_s = time.monotonic() + patience_s
            asked_s = 0.0
            while waiting := self._waiting():
                if time.monotonic() - asked_s >= ASK_S:
                    self._crew.drain(waiting)
                    asked_s = time.monotonic()
                if time.monotonic() > end_s:
                    for member in self._waiting():
                        self._lose(member, f"it did not close its log within {patience_s:g} s")
                if all(member.state == "final" for member in self._waiting()):
                    self.state = "final"
                gevent.sleep(0.02)
                if self.is_over():
                    return  # aborted meanwhile
            self._close()

    def abort(self) -> None:
        """Have all logs closed at once. Nothing will be judged."""
        if self.is_over():
            return
        self._finishing = True
        self.record.ended = "aborted"
        end_s = time.monotonic() + ABORT_S
        self._crew.abort(self._waiting())
        while self._waiting() and time.monotonic() < end_s:
            gevent.sleep(0.02)
        for member in self._waiting():
            self._lose(member, f"it did not close its log within {ABORT_S:g} s after the abort")
        self._close()

    def _waiting(self) -> list[Member]:
        return [member for member in self.members.values() if not member.done]

    def _statuses(self, field: str) -> list[int]:
        return [getattr(member.status, field) for member in self.members.values() if member.status]

    def _evidence(self) -> dict[str, Evidence]:
        """What the users of each scenario add up to, over all load processes."""
        total = {scenario: Evidence(wagers={}) for scenario in self.plan.scenarios}
        for member in self.members.values():
            for scenario, evidence in (member.status.counters.evidence if member.status else {}).items():
                total[scenario].add(evidence)
        return total

    def _look(self) -> None:
        """Once a second: is everybody still there?"""
        while True:
            gevent.sleep(1)
            for member in self._waiting():
                if time.monotonic() - member.heard_s > GONE_S and (how := self._crew.missing(member)):
                    self._lose(member, how)
            if not self._finishing and self.members and all(member.lost for member in self.members.values()):
                self._on_end("all load processes were lost")

    def _lose(self, member: Member, how: str) -> None:
        if member.lost is None:
            who = f" (process {member.status.pid} on {member.status.machine})" if member.status else ""
            member.lost = f"{how}{who}"
            self._on_lost(member)

    def _close(self) -> None:
        if self.is_over():
            return
        self._watch.kill()
        for member in self.members.values():
            if member.status and member.state != "absent":
                self.record.counters[member.process] = member.status.counters
            if member.lost:
                self.record.lost[member.process] = member.lost
            if member.state == "absent":
                self.record.processes.remove(member.process)
        self.record.end_ns = time.monotonic_ns()
        self._audit(self.record)
        self._write()
        self.state = "closed"
        self._progress()

    def _write(self) -> None:
        try:
            write_run(self.directory, self.record)
        except OSError as error:
            log.error("cannot write %s: %s", self.directory / RUN_FILE, error.strerror)  # noqa: TRY400

    def _progress(self) -> None:
        counters = [member.status.counters for member in self.members.values() if member.status]
        checks = [checks for each in counters for checks in each.scenarios.values()]
        tell(
            "progress",
            state=self.state,
            turns=sum(self._statuses("turns")),
            checked=sum(check.checked for check in checks),
            lossy=sum(check.lossy for check in checks),
            closing=sum(self._statuses("open")),
        )
