"""One run from the command line: Locust as a child, its progress on the terminal, its verdict as our exit code."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from goldfish.errors import GoldfishError, UsageError
from goldfish.terminal import console, emit, no_terminal

if TYPE_CHECKING:
    from goldfish.contract import Settings
    from stress.deployment import Plan

LOG_TAIL_LINES = 15
CHILD_LOG = "locust.log"
WORKERS_WAIT_S = 60
"""How long a master waits for its workers to start."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What one run does, apart from where."""

    scenarios: tuple[str, ...] = ()
    target: str = ""
    host_given: bool = True
    """Whether the address was said; else the target's file says it."""
    contract: Path | None = None
    connection: str = "kept"
    users: int = 20
    spawn_rate: float = 20
    time_s: int | None = 60
    turns: int | None = None
    until_proven: bool = False
    processes: int = 1
    turns_per_second: float | None = None
    seed: int | None = None
    out: Path = Path("runs")


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has ended."""

    exit_code: int
    directory: Path
    target: str
    """What was tested, in words."""
    results: dict[str, Any] | None
    """``results.json``; None if nothing was judged."""

    def show(self, *, as_json: bool) -> None:
        """Print the verdict."""
        if as_json:
            emit(json.dumps(self.results, indent=2, ensure_ascii=False))
            return
        out = console()
        if self.results is None:
            out.print(
                Text(
                    f"nothing was judged; `goldfish analyze {self.directory}` does it for what was recorded; what was "
                    f"logged is in its {CHILD_LOG}"
                ),
                soft_wrap=True,
            )
            return
        from goldfish.table import render

        out.print(render(self.results))
        out.print(Text(f"target  {self.target}\nreport  {self.directory / 'report.html'}"), soft_wrap=True)


class SwarmError(GoldfishError):
    """The load process ended without a run."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def run_embedded(load: Load, plan: Plan) -> Finished:
    """Run against a deployment that lives as long as the run."""
    _check(load)
    from goldfish.cli.deployment import deployed

    load = _seeded(load)
    with deployed(plan) as deployment:
        return _run(load, deployment.url, deployment.folder, deployment.adopt, _again(load, _plan_options(load, plan)))


def run_external(load: Load, host: str, mask: Callable[[str], str] = str) -> Finished:
    """Run against a memory that is there already; ``mask`` takes secrets out of its address."""
    _check(load)
    load = _seeded(load)
    where = ["--target", load.target] if load.target else []
    if load.host_given:
        where += ["--host", mask(host)]
    return _run(load, host, None, lambda _: None, _again(load, where), mask(host))


def _check(load: Load) -> None:
    from goldfish.contract import load_settings
    from stress.scenarios.registry import scenario_named

    for name in load.scenarios:
        scenario_named(name)
    settings = load_settings(load.contract) if not load.target else _promised(load)
    if load.until_proven:
        from goldfish.sequential import design

        told = Text("\n".join(f"until proven: {line}" for line in design(settings.budget)))
        console(stderr=True).print(told, soft_wrap=True)
    try:
        load.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder '{load.out}': {error.strerror}; choose another --out") from error


def _promised(load: Load) -> Settings:
    """By the target's own file, and the contract over it."""
    from stress.targets.load import find
    from stress.targets.load import load as load_target

    return load_target(find(load.target)).settings(load.contract)


def _seeded(load: Load) -> Load:
    """The load with a seed, so that the record can say how to run it again."""
    return load if load.seed else msgspec.structs.replace(load, seed=secrets.randbelow(1_000_000) + 1)


def _again(load: Load, where: list[str]) -> list[str]:
    """The command that does the same once more."""
    options: dict[str, Any] = {
        "--contract": load.contract,
        "--connection": load.connection if load.connection != "kept" else None,
        "-u": load.users,
        "-t": load.time_s,
        "--turns": load.turns,
        "--until-proven": "" if load.until_proven else None,
        "--processes": load.processes if load.processes > 1 else None,
        "--turns-per-second": f"{load.turns_per_second:g}" if load.turns_per_second else None,
        "--seed": load.seed,
    }
    given = [text for name, value in options.items() if value is not None for text in (name, str(value)) if text]
    return ["goldfish", "run", *load.scenarios, *where, *given]


def _plan_options(load: Load, plan: Plan) -> list[str]:
    defects = [text for defect in plan.defects for text in ("--defect", str(defect))]
    what = ["--store", plan.store] if plan.library is None else ["--target", load.target]
    return [*what, "--instances", str(plan.instances), "--balance", plan.balance, *defects]


def _target(again: list[str], host: str) -> str:
    """The address, and of a deployment of ours also what it is."""
    what = "--store" if "--store" in again else "--target"
    ours = again[again.index(what) : again.index("-u")] if "--instances" in again else []
    return f"{host} (embedded: {' '.join(ours)})" if ours else host


def _run(
    load: Load,
    host: str,
    deployment: Path | None,
    adopt: Callable[[int], None],
    again: list[str],
    shown: str | None = None,
) -> Finished:
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            _command(load, host, deployment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=[writing],
            env=os.environ | {"GOLDFISH_PROGRESS_FD": str(writing), "GOLDFISH_COMMAND": json.dumps(again)},
            process_group=0,  # Ctrl-C reaches us alone, and we pass it on exactly once
        )
        os.close(writing)
        adopt(child.pid)
        with os.fdopen(reading, "rb") as events, _Signals(child) as signals:
            directory, problem = _follow(events, load)
            code = child.wait()
        if directory is None and signals.number and problem is None:
            raise SwarmError("interrupted before a run began; nothing was judged", 4)
        if directory is None:
            message, exit_code = problem or (f"the load process ended early (status {code}):\n{_tail(log)}", 4)
            raise SwarmError(message, exit_code)
        log.seek(0)
        try:
            with (directory / CHILD_LOG).open("wb") as kept:
                shutil.copyfileobj(log, kept)
        except OSError as error:  # the disk may be full
            told = f"error: cannot keep {directory / CHILD_LOG}: {error.strerror}; its end:\n{_tail(log)}"
            console(stderr=True).print(Text(told), soft_wrap=True)
    if code < 0 and -code != signal.SIGINT:
        code = _judge_remains(directory, -code)
    try:
        results = json.loads((directory / "results.json").read_bytes())
    except (OSError, ValueError):
        results = None
    return Finished(
        exit_code=code if code in range(5) else 4,
        directory=directory,
        target=_target(again, shown or host),
        results=results,
    )


def _command(load: Load, host: str, deployment: Path | None) -> list[str]:
    from stress.scenarios.registry import scenario_named

    options: dict[str, Any] = {
        "--locustfile": files("locustfiles") / "all_scenarios.py",
        "--host": host if load.host_given else None,
        "--users": load.users,
        "--spawn-rate": f"{load.spawn_rate:g}",
        "--run-time": load.time_s,
        "--goldfish-out": load.out,
        "--goldfish-target": load.target or None,
        "--goldfish-contract": load.contract,
        "--goldfish-connection": load.connection,
        "--goldfish-turns": load.turns,
        "--goldfish-turns-per-second": load.turns_per_second,
        "--goldfish-seed": load.seed,
        "--goldfish-deployment": deployment,
    }
    if load.processes > 1:
        port = _free_port()
        options |= {
            "--processes": load.processes,
            "--expect-workers-max-wait": WORKERS_WAIT_S,
            "--master-bind-host": "127.0.0.1",
            "--master-bind-port": port,
            "--master-host": "127.0.0.1",
            "--master-port": port,
        }
    given = [text for name, value in options.items() if value is not None for text in (name, str(value))]
    classes = [scenario_named(name).class_name for name in dict.fromkeys(load.scenarios)]
    given += ["--goldfish-until-proven"] * load.until_proven
    return [sys.executable, "-P", "-m", "stress.swarm", "--headless", "--only-summary", *given, *classes]


def _judge_remains(directory: Path, number: int) -> int:
    """Judge what a swarm left behind whose conductor was killed; it cannot pass."""
    message = f"error: the load process was ended by {signal.Signals(number).name}; what it had recorded is judged"
    console(stderr=True).print(Text(message), soft_wrap=True)
    command = [sys.executable, "-P", "-m", "analysis", str(directory)]
    return subprocess.call(command, stdout=subprocess.DEVNULL)


def _free_port() -> int:
    """A port for the master that no other run of this machine has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _follow(events: IO[bytes], load: Load) -> tuple[Path | None, tuple[str, int] | None]:
    """Show progress until the child closes its end; tells the run directory, or what went wrong."""
    directory: Path | None = None
    problem: tuple[str, int] | None = None
    started = time.monotonic()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[counts]}"),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=None, counts="")
        for line in events:
            event = json.loads(line)
            if event["event"] == "run":
                directory = Path(event["directory"])
                started = time.monotonic()
            elif event["event"] == "error":
                problem = event["message"], event["exit_code"]
            elif event["event"] == "problem":
                progress.console.print(Text(f"error: {event['message']}"), soft_wrap=True)
            elif event["event"] == "note":
                progress.console.print(Text(f"note: {event['message']}"), soft_wrap=True)
            elif event["event"] == "analysis":
                progress.update(task, description="judging", total=None)
            else:
                done, total = _done(event, load, time.monotonic() - started)
                counts = f"{event['checked']:,} recalls checked · {event['lossy']:,} lossy"
                progress.update(task, description=_STATES[event["state"]], total=total, completed=done, counts=counts)
    return directory, problem


_STATES = {
    "warmup": "users arrive",
    "load": "load",
    "drain": "turns end",
    "final": "settle, final recalls",
    "closed": "closed",
}


def _done(event: dict[str, Any], load: Load, elapsed_s: float) -> tuple[float, float | None]:
    if event["state"] not in ("warmup", "load"):
        return 0, None
    if load.turns:
        return event["turns"], load.turns
    return elapsed_s, load.time_s


class _Signals:
    """Passes Ctrl-C and SIGTERM on to the load process, which ends the load and judges, or stops at the second."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        self.number = 0
        """How many came."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _pass_on(self, number: int, _: object) -> None:
        self.number += 1
        if number == signal.SIGHUP:
            no_terminal()
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGINT)


def _tail(log: IO[bytes]) -> str:
    log.seek(0)
    return "\n".join(log.read().decode("utf-8", "replace").splitlines()[-LOG_TAIL_LINES:])
