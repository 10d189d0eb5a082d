"""Where Locust's events meet the life of a run.

Facts that decide the shape: ``-t``, the web UI's Stop and ``--goldfish-turns`` stop the runner first and quit later;
Ctrl-C and SIGTERM fire ``quitting`` first, so the load is ended there. A blocking listener on ``test_stopping`` holds
the runner until every conversation is closed. Locust swallows exceptions of listeners, so each one answers for its own.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

import gevent
import msgspec
from gevent import subprocess
from gevent.event import Event
from locust import events
from locust.runners import LocalRunner

from goldfish.contract import load_settings
from goldfish.errors import GoldfishError, UsageError
from goldfish.run import Skipped
from goldfish.token import Person
from stress.swarm import lifecycle
from stress.swarm.http import Endpoint
from stress.swarm.options import CONNECTIONS, add_options
from stress.swarm.preflight import check_target
from stress.targets.reference import ReferenceTarget

EXIT_PRECEDENCE = (2, 3, 4, 1, 0)

log = logging.getLogger("goldfish")


def install() -> None:
    """Register with Locust; called once, when the first scenario is imported."""
    events.init_command_line_parser.add_listener(_add_options)
    events.init.add_listener(_on_init)


def _add_options(parser: Any) -> None:
    add_options(parser)
    # On loopback unless told otherwise; and all users at once, as `goldfish run` has them, not one a second.
    parser.set_defaults(web_host="127.0.0.1", spawn_rate=100)


def _on_init(environment: Any, runner: Any, **_: Any) -> None:
    if not isinstance(runner, LocalRunner):
        log.error("this version runs in one process: leave out --processes, --master and --worker")
        sys.exit(2)
    Stage(environment)
    gevent.sleep(0)


class Stage:
    """The runs of one Locust process: one when headless, any number behind the web UI."""

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        lifecycle.on_orphaned(self._orphaned)
        self.codes: list[int] = []
        self._classes = list(environment.user_classes)
        self._run: lifecycle.Run | None = None
        self._judged = True
        self._verdict = Event()
        self._why = "stopped"
        self._ending = False
        self._ctrl_c = 0
        # Ctrl-C would otherwise be raised in whichever greenlet runs, and once more in each that waits for that one.
        gevent.signal_handler(signal.SIGINT, self._on_ctrl_c)
        listen = environment.events
        listen.test_start.add_listener(self.on_test_start)
        listen.spawning_complete.add_listener(self.on_spawning_complete)
        listen.test_stopping.add_listener(self.on_test_stopping)
        listen.test_stop.add_listener(self.on_test_stop)
        listen.quitting.add_listener(self.on_quitting)

    def on_test_start(self, **_: Any) -> None:
        """Check everything there is to check, then open a run."""
        try:
            self._run = self._begin()
            self._judged, self._why = False, "stopped"
            self._verdict.clear()
        except GoldfishError as error:
            self._run = None
            self.codes.append(error.exit_code)
            log.error(str(error))  # noqa: TRY400 - for people: no traceback
            lifecycle.tell("error", message=str(error), exit_code=error.exit_code)
            self._leave()
        except Exception:
            self._run = None
            self.codes.append(4)
            self._leave()
            raise  # Locust logs it

    def on_spawning_complete(self, **_: Any) -> None:
        """The ramp is over."""
        if self._run:
            self._run.all_spawned()

    def on_test_stopping(self, **_: Any) -> None:
        """Hold the runner until every conversation is closed."""
        if self._run:
            self._run.finish(self._why)

    def on_test_stop(self, **_: Any) -> None:
        """Judge what was recorded."""
        run = self._run
        if run is None:
            return
        if not self._judged:
            self._judged = True
            try:
                self.codes.append(self._judge(run))
            finally:
                self._verdict.set()
        self._verdict.wait()

    def on_quitting(self, **_: Any) -> None:
        """End the load if it still goes on (Ctrl-C, SIGTERM), and set the exit code."""
        if self._run:
            if self._ending and not self._judged:  # the second SIGTERM
                self._abort()
            self._ending = True
            self._why = "interrupted"
            self.environment.runner.stop()
            self._verdict.wait()
        headless = bool(getattr(self.environment.parsed_options, "headless", False))
        codes = self.codes or ([4] if headless else [0])
        self.environment.process_exit_code = next(code for code in EXIT_PRECEDENCE if code in codes)

    def _on_ctrl_c(self) -> None:
        """The first ends the load and judges, the second closes the log at once."""
        self._ctrl_c += 1
        if self._ctrl_c == 1:
            hub = gevent.get_hub()
            hub.loop.run_callback(hub.parent.throw, KeyboardInterrupt)
        else:
            self._abort()

    def _abort(self) -> None:
        if self._run is None or self._judged:
            return
        log.warning("interrupted twice: the log is closed, nothing is judged")
        self._judged = True
        self.codes.append(4)
        self._run.abort()
        self._verdict.set()

    def _begin(self) -> lifecycle.Run:
        options, environment = self.environment.parsed_options, self.environment
        settings = load_settings(Path(options.goldfish_contract) if options.goldfish_contract else None)
        if options.goldfish_connection not in CONNECTIONS:
            raise UsageError(
                f"--goldfish-connection is '{options.goldfish_connection}'; known: {', '.join(CONNECTIONS)}"
            )
        host = environment.host or next((cls.host for cls in self._classes if cls.host), None)
        if not host:
            raise UsageError("no target: give --host, e.g. the address that `goldfish up` prints")
        scenarios, skipped = [], []
        for cls in self._classes:
            if cls.scope in settings.contract.scope:
                scenarios.append(cls)
            else:
                skipped.append(Skipped(scenario=cls.scenario(), reason=f"the contract offers no recall by {cls.scope}"))
        if not scenarios:
            raise UsageError("every scenario is skipped: " + "; ".join(f"{s.scenario}: {s.reason}" for s in skipped))
        environment.user_classes = scenarios
        endpoint, target = Endpoint(host), ReferenceTarget()
        name, tag = lifecycle.new_name()
        # Ours has this form, and if a defect empties it that is a finding, no obstacle.
        by_user = any(cls.scope == "user" for cls in scenarios) and not options.goldfish_deployment
        for problem in check_target(endpoint, target, Person(tag, 0, 0), by_user=by_user):
            log.warning(problem)
            lifecycle.tell("problem", message=problem)
        try:
            return lifecycle.Run(
                directory=Path(options.goldfish_out),
                endpoint=endpoint,
                target=target,
                settings=settings,
                connection=options.goldfish_connection,
                seed=options.goldfish_seed or int(tag, 36) % 1_000_000,
                turns_max=options.goldfish_turns,
                deployment=_deployment(options.goldfish_deployment),
                meanings={cls.scenario(): cls.meaning() for cls in sorted(scenarios, key=lambda cls: cls.scenario())},
                skipped=skipped,
                users=environment.runner.target_user_count or options.num_users,
                fire=environment.events.request.fire,
                on_turns_done=self._turns_done,
                on_log_failed=self._log_failed,
                tag=tag,
                name=name,
                command=_command(),
            )
        except OSError as error:
            raise UsageError(
                f"cannot write the run directory under '{options.goldfish_out}': {error.strerror}; choose another --out"
            ) from error

    def _orphaned(self) -> None:
        """Whoever started us is gone: end the load, tidy up, and leave a judged record."""
        self._why = "orphaned"
        self._leave()

    def _log_failed(self, error: OSError) -> None:
        """What happens from now on cannot be recorded, so it cannot be judged: end at once, and say why."""
        text = f"the op log cannot be written any further: {error.strerror}; make room, or choose another --out"
        log.error(text)
        lifecycle.tell("problem", message=text)
        self.codes.append(4)
        self._why = "log failed"
        self._leave()

    def _turns_done(self) -> None:
        self._why = "turns done"
        self._leave()

    def _leave(self) -> None:
        """Stop the runner from a greenlet of its own: it waits for the caller's."""
        runner, options = self.environment.runner, self.environment.parsed_options
        gevent.spawn(runner.quit if options.headless else runner.stop)

    def _judge(self, run: lifecycle.Run) -> int:
        """Have the run directory judged by a process of its own; pandas would stop this one for seconds."""
        lifecycle.tell("analysis", directory=str(run.directory))
        log.info("judging %s", run.directory)
        sys.stdout.flush()
        code = subprocess.call([sys.executable, "-P", "-m", "analysis", str(run.directory)])
        if not _agrees(run.directory, code):
            log.error("the analyzer failed (status %s); `goldfish analyze %s` tries again", code, run.directory)
            return 4
        log.info("report: %s", run.directory / "report.html")
        return int(code)


def _agrees(directory: Path, code: int) -> bool:
    """Whether the analyzer wrote a verdict with this exit code; a crash must not pass for one."""
    try:
        return bool(msgspec.json.decode((directory / "results.json").read_bytes())["exit_code"] == code)
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return False


def _deployment(folder: str) -> dict[str, Any]:
    """What a deployment of ours says of itself."""
    if not folder:
        return {}
    try:
        plan = msgspec.json.decode((Path(folder) / "deployment.json").read_bytes())["plan"]
    except (OSError, msgspec.DecodeError, KeyError) as error:
        raise UsageError(f"{folder} is no folder of a deployment that is up: {error}") from error
    return {key: plan[key] for key in ("store", "instances", "balance", "defects") if key in plan}


def _command() -> list[str]:
    """How to do the same again; a URL's credentials never get here, they are refused."""
    started_by = os.environ.get("GOLDFISH_COMMAND")
    return list(json.loads(started_by)) if started_by else ["locust", *sys.argv[1:]]
