"""Where Locust's events meet the life of a run.

Three roles: one process alone is conductor and load process, a master is conductor only, a worker is load process only.

Facts that decide the shape: ``-t``, the web UI's Stop and ``--goldfish-turns`` stop the runner first and quit later;
Ctrl-C and SIGTERM fire ``quitting`` first, so the load is ended there. A blocking listener on ``test_stopping`` holds
the runner until every conversation is closed. Locust swallows exceptions of listeners, so each one answers for its own.
A master fires ``test_start`` before it sends the first spawn message, which carries its options: so the plan of a run
travels as an option.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import gevent
import psutil
from gevent.event import Event
from locust import events
from locust import log as locust_log
from locust.runners import MasterRunner, WorkerRunner

from goldfish.errors import GoldfishError, UsageError
from goldfish.run import Run as Record
from stress.swarm import lifecycle, progress
from stress.swarm.crew import Alone, Workers
from stress.swarm.judging import Judging
from stress.swarm.lifecycle import Member, Swarm, process_name
from stress.swarm.opening import is_scenario, open_plan
from stress.swarm.options import PLAN, add_options
from stress.swarm.plan import Plan
from stress.swarm.status import Status
from stress.swarm.worker import Worker, die_with_master, reap_workers, unhandled

EXIT_PRECEDENCE = (2, 3, 4, 1, 0)
KINDS = ("append", "recall", "delete", "touch")

log = logging.getLogger("goldfish")


def install() -> None:
    """Register with Locust; called once, when the first scenario is imported."""
    events.init_command_line_parser.add_listener(_add_options)
    events.init.add_listener(_on_init)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with suppress(ValueError):  # not the main thread, so not Locust's own process
            signal.signal(signal.SIGINT, _on_early_ctrl_c)
    die_with_master()


_early_ctrl_c = False


def _on_early_ctrl_c(*_: Any) -> NoReturn:
    """As Python does it, but remembered: raised in a hook of ``fork`` or in Locust's listener it is swallowed."""
    global _early_ctrl_c
    _early_ctrl_c = True
    raise KeyboardInterrupt


_master_port = 0


def _add_options(parser: Any) -> None:
    add_options(parser)
    if "--processes" in sys.argv or "LOCUST_PROCESSES" in os.environ:
        # Workers that are forked would otherwise meet the master of whoever else runs a swarm on this machine.
        global _master_port
        _master_port = _master_port or _free_port()
        parser.set_defaults(master_port=_master_port, master_bind_port=_master_port)
    # On loopback unless told otherwise; and all users at once, as `goldfish run` has them, not one a second.
    parser.set_defaults(web_host="127.0.0.1", master_bind_host="127.0.0.1", spawn_rate=100)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


_initialised = False


def initialised() -> bool:
    """Whether Locust has fired ``init``; a worker may be sent users before."""
    return _initialised


def _on_init(environment: Any, runner: Any, **_: Any) -> None:
    global _initialised
    if isinstance(runner, WorkerRunner):
        Worker(environment)
    else:
        Conductor(environment)
    _initialised = True
    gevent.sleep(0)


class Round:
    """One run of a conductor, from its beginning to its verdict."""

    def __init__(self, swarm: Swarm) -> None:
        self.swarm = swarm
        self.why = ""
        """Why it ends; by time or by hand if nobody says."""
        self.leaving = False
        self.interrupted = False
        self.judged = False
        """Whether somebody judges, has judged, or nobody will."""
        self.judging: Judging | None = None
        self.verdict = Event()


class Conductor:
    """The runs of one Locust process: one when headless, any number behind the web UI."""

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        self.codes: list[int] = []
        self._classes = list(environment.user_classes)
        self._round: Round | None = None
        self._begun = False
        self._starting: gevent.Greenlet | None = None
        """Who checks whether a run may begin."""
        self._decided = False
        """Whether the exit code is what the run deserves."""
        self._ctrl_c = 0
        self._stats_reset = False
        self._workers: Workers | None = None
        self._forked: set[int] = set()
        runner = environment.runner
        if isinstance(runner, MasterRunner):
            if environment.parsed_options.processes:
                self._forked = {child.pid for child in psutil.Process().children()}
            self._workers = Workers(runner, self._forked, self._hear)
            atexit.register(reap_workers, self._forked)
            environment.events.worker_connect.add_listener(self.on_worker_connect)
        atexit.register(self._at_exit)
        progress.on_orphaned(lambda: self._end("orphaned"))
        # Ctrl-C would otherwise be raised in whichever greenlet runs, and once more in each that waits for that one.
        gevent.signal_handler(signal.SIGINT, self._on_ctrl_c)
        if _early_ctrl_c:
            self._on_ctrl_c()
        listen = environment.events
        listen.test_start.add_listener(self.on_test_start)
        listen.spawning_complete.add_listener(self.on_spawning_complete)
        listen.test_stopping.add_listener(self.on_test_stopping)
        listen.test_stop.add_listener(self.on_test_stop)
        listen.reset_stats.add_listener(self.on_reset_stats)
        listen.quitting.add_listener(self.on_quitting)

    # Locust's events ---------------------------------------------------------------------------------------------

    def on_test_start(self, **_: Any) -> None:
        """Check everything there is to check, then open a run."""
        self._round, self._begun, self._starting = None, True, gevent.getcurrent()
        vars(self.environment.parsed_options)[PLAN] = ""
        try:
            self._begin()
        except GoldfishError as error:
            self.codes.append(error.exit_code)
            log.error(str(error))  # noqa: TRY400 - for people: no traceback
            progress.tell("error", message=str(error), exit_code=error.exit_code)
            self._leave()
        except Exception:
            self.codes.append(4)
            self._leave()
            raise  # Locust logs it
        finally:
            self._starting = None

    def on_worker_connect(self, client_id: str, **_: Any) -> None:
        """A worker that comes while a run is under way will be sent users."""
        if self._round and self._workers and self._round.swarm.state in ("warmup", "load"):
            self._round.swarm.join(self._workers.process_of(client_id))

    def on_spawning_complete(self, user_count: int, **_: Any) -> None:
        """The ramp is over."""
        if self._round:
            if self._round.swarm.state not in ("warmup", "load"):
                log.warning(
                    "the run before is still being closed: these users do nothing; start again when it is judged"
                )
            self._round.swarm.all_spawned()
        if run := lifecycle.current():
            run.all_spawned(user_count)

    def on_reset_stats(self, **_: Any) -> None:
        """Locust forgets what it counted, so there is nothing left to compare with."""
        self._stats_reset = True

    def on_test_stopping(self, **_: Any) -> None:
        """Hold the runner until every conversation is closed."""
        if self._round is None:
            return
        if self._workers:
            # Or Locust would give the users of a worker that leaves to the others, and not listen meanwhile.
            self.environment.runner._users_dispatcher = None
        self._round.swarm.finish(self._round.why or "stopped")

    def on_test_stop(self, **_: Any) -> None:
        """Judge what was recorded."""
        this = self._round
        if this is None:
            return
        if not this.judged:
            this.judged = True
            try:
                this.judging = Judging(this.swarm.directory)
                self.codes.append(this.judging.wait())
            finally:
                this.judging = None
                this.verdict.set()
                locust_log.unhandled_greenlet_exception = False
        this.verdict.wait()

    def on_quitting(self, **_: Any) -> None:
        """End the load if it still goes on (Ctrl-C, SIGTERM), and set the exit code."""
        if isinstance(self._starting, gevent.Greenlet) and self._starting is not gevent.getcurrent():
            self._starting.kill()  # or its run begins when nobody is there to end it
        if this := self._round:
            if this.interrupted:  # the second SIGTERM
                self._abort()
            this.interrupted = True
            this.why = this.why or "interrupted"
            if self._workers:
                self.environment.runner.stop(send_stop_to_client=False)
            else:
                self.environment.runner.stop()
            # An interrupt may meet the start of a run: then it was begun, and its runner knows of nothing to stop.
            self.on_test_stopping()
            self.on_test_stop()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done; an impatient one more must not change the code
        codes = self.codes or ([4] if self._headless else [0])
        self.environment.process_exit_code = next(code for code in EXIT_PRECEDENCE if code in codes)
        self._decided = True

    def _at_exit(self) -> None:
        """Whatever ended this process without a verdict, such as ``sys.exit`` in a listener, must not look like one."""
        if self._decided or not (self._headless or self._begun):
            return
        with suppress(Exception):
            log.error("the load process was left without a verdict: something called sys.exit, or an error escaped")
            if self._round and not self._round.judged:
                self._round.swarm.abort()
            reap_workers(self._forked)
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(4)

    # How a run begins and ends -----------------------------------------------------------------------------------

    def _begin(self) -> None:
        options, environment = self.environment.parsed_options, self.environment
        host = environment.host or next((cls.host for cls in self._classes if cls.host), None)
        users = environment.runner.target_user_count or options.num_users or 1
        plan, record = open_plan(options, host, self._classes, users)
        self._skip(plan)
        self._stats_reset = bool(environment.reset_stats)
        if self._workers:
            self._workers.run = plan.run
        record.processes = self._workers.here() if self._workers else [process_name(0)]
        try:
            self._round = Round(
                Swarm(
                    plan,
                    record,
                    Path(options.goldfish_out) / plan.run,
                    self._workers or Alone(),
                    on_end=self._end,
                    on_lost=self._lost,
                    audit=self._audit,
                )
            )
            if self._workers:
                vars(options)[PLAN] = plan.encode()
            else:
                lifecycle.Run(
                    plan,
                    0,
                    fire=environment.events.request.fire,
                    report=self._hear,
                    users=lambda: environment.runner.user_count,
                )
        except OSError as error:
            if self._round:
                self._round.swarm.abort()
                self._round = None
            raise UsageError(
                f"cannot write the run directory under '{options.goldfish_out}': {error.strerror}; choose another --out"
            ) from error

    def _skip(self, plan: Plan) -> None:
        """Leave out the users of scenarios that the contract does not allow."""
        environment = self.environment
        environment.user_classes = [
            cls for cls in self._classes if not is_scenario(cls) or cls.scenario() in plan.scenarios
        ]
        if self._workers and len(environment.user_classes) < len(self._classes):
            # A master has made up its mind before it fires test_start.
            environment.runner._users_dispatcher = environment.dispatcher_class(
                worker_nodes=list(environment.runner.clients.values()), user_classes=environment.user_classes
            )

    def _hear(self, status: Status) -> None:
        """A load process told how it stands."""
        swarm = self._round.swarm if self._round else None
        if swarm and status.run == swarm.plan.run and not swarm.is_over():
            swarm.hear(status)
        elif self._workers and status.state not in ("closed", "absent"):
            self._workers.dismiss(status)

    def _end(self, why: str) -> None:
        """End the run under way: time or turns do not, but the reason ``why`` does."""
        this = self._round
        if this is None or this.leaving:
            return
        this.why = this.why or why
        if why.startswith("log failed"):
            # What happens from now on cannot be recorded, so it cannot be judged.
            _, _, reason = why.partition(": ")
            text = f"the op log cannot be written any further: {reason}; make room, or choose another --out"
            log.error(text)
            progress.tell("problem", message=text)
            this.why = "log failed"
            self.codes.append(4)
        this.leaving = True
        self._leave()

    def _lost(self, member: Member) -> None:
        text = f"load process {member.process} is lost: {member.lost}"
        log.error(text)
        progress.tell("problem", message=text)

    def _audit(self, record: Record) -> None:
        """What Locust itself counted, and whether something raised where nobody looked."""
        if locust_log.unhandled_greenlet_exception:
            where = "the master" if self._workers else process_name(0)
            record.problems.append(unhandled(where))
        if not self._stats_reset:
            entries = self.environment.stats.entries
            record.statistics = {
                scenario: {kind: entries[scenario, kind].num_requests for kind in KINDS if (scenario, kind) in entries}
                for scenario in record.scenarios
            }

    def _leave(self) -> None:
        """Stop the runner from a greenlet of its own: it waits for the caller's."""
        runner = self.environment.runner
        gevent.spawn(runner.quit if self._headless else runner.stop)

    @property
    def _headless(self) -> bool:
        return bool(getattr(self.environment.parsed_options, "headless", False))

    def _on_ctrl_c(self) -> None:
        """The first ends the load and judges, the second closes the logs at once."""
        self._ctrl_c += 1
        if self._ctrl_c > 1:
            self._abort()
            return
        hub = gevent.get_hub()
        if self._workers and self._headless and not self._begun:
            # The master waits for its workers, outside of what Locust would tidy up.
            for pid in self._forked:
                os.kill(pid, signal.SIGTERM)
            self._decided = True
            hub.loop.run_callback(hub.parent.throw, SystemExit(4))
        else:
            hub.loop.run_callback(hub.parent.throw, KeyboardInterrupt)

    def _abort(self) -> None:
        this = self._round
        if this is None:
            return
        if this.judging:
            log.warning("interrupted twice: nothing is judged")
            this.judging.cancel()
        if this.judged:
            return
        log.warning("interrupted twice: the logs are closed, nothing is judged")
        this.judged = True
        self.codes.append(4)
        this.swarm.abort()
        this.verdict.set()
