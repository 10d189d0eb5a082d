"""A deployment of plain processes on this machine."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn

from goldfish.errors import DeploymentError
from stress.deployment.control import ControlServer, control_socket
from stress.deployment.keeper_link import KeeperLink, Part
from stress.deployment.parts import (
    HOST,
    Postgres,
    balancer,
    instance,
    ready_file,
    redis_server,
    redis_socket,
    shared_folder,
)
from stress.deployment.plan import Plan
from stress.deployment.surroundings import clean_environment, make_folder
from stress.memory.registry import store_named

START_S = 30.0
"""A step that takes longer has failed; usually all of them take two seconds together."""
LIBRARY_START_S = 120.0
"""The instances import a library all at once; the larger ones take ten seconds for that."""
DUMP_S = 120.0
POLL_S = 0.01
LOG_LINES = 15
_PSQL_CANNOT_CONNECT = 2


class Deployment:
    """A running deployment; a context manager that ends with nothing left of it.

    ``url`` is the balancer's address, ``folder`` holds logs, sockets and ``deployment.json`` while it runs.
    """

    def __init__(self, plan: Plan) -> None:
        """Use ``Deployment.start``."""
        self.plan = plan
        self.folder = make_folder()
        self.url = ""
        self._keeper = KeeperLink(self.folder)
        self._postgres: Postgres | None = None
        self._control: ControlServer | None = None
        self._addresses: dict[str, str] = {}
        self._stopping = threading.Lock()
        self._stopped = threading.Event()

    @classmethod
    def start(cls, plan: Plan, on_step: Callable[[str], None] = lambda _step: None) -> Deployment:
        """Start all parts and return when the balancer serves.

        Raises:
            DeploymentError: a part is not installed, did not start, or ended; nothing is left behind.
        """
        deployment = cls(plan)
        try:
            deployment._bring_up(on_step)
        except BaseException:
            deployment.stop()
            raise
        return deployment

    def __enter__(self) -> Deployment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def status(self) -> dict[str, Any]:
        """How it is now: url, folder, plan, keeper (its pid), parts (each name, pid, address, alive)."""
        seen = self._keeper.look()
        return {
            "url": self.url,
            "folder": str(self.folder),
            "plan": self.plan.told(),
            "keeper": self._keeper.pid,
            "parts": [
                {"name": name, "pid": seen[name]["pid"], "address": address, "alive": seen[name]["ended"] is None}
                for name, address in self._addresses.items()
            ],
        }

    def dump(self) -> list[dict[str, Any]]:
        """Every stored message, from PostgreSQL: tenant, user, session, id, role, content, seq."""
        if self.plan.library is not None:
            raise DeploymentError("what a hosted library has stored, only the library can read: there is no dump")
        query = f"select row_to_json(message) from ({store_named(self.plan.store).dump}) as message"
        done = self._psql("-c", query)
        if done.returncode != 0:
            raise DeploymentError(f"the dump failed: {done.stderr.decode(errors='replace').strip()}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def adopt(self, pid: int) -> None:
        """Have this process, and its descendants, ended with the deployment, even when we are killed."""
        self._keeper.adopt(pid)

    def stop(self) -> None:
        """End all parts and remove the folder; once is enough, more does no harm."""
        with self._stopping:
            if self._stopped.is_set():
                return
            if self._control is not None:
                self._control.close()
            self._keeper.end()
            self._stopped.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until somebody stops the deployment, here or over the control socket; False if time is up."""
        return self._stopped.wait(timeout_s)

    def _bring_up(self, on_step: Callable[[str], None]) -> None:
        # First, so that a taken port is known before anything is started.
        listener, port = self._listen()
        self.url = f"http://{HOST}:{port}"
        self._start_servers(on_step)
        on_step(f"starting {self.plan.instances} instance(s) with {self.plan.what}")
        shared_folder(self.folder).mkdir(mode=0o700)
        for name in self.plan.names:
            self._start(instance(self.folder, self.plan, name), "")
        for name in self.plan.names:
            start_s = START_S if self.plan.library is None else LIBRARY_START_S
            self._await(name, ready_file(self.folder, name).exists, start_s)
            ready = json.loads(ready_file(self.folder, name).read_bytes())
            self._addresses[name] = ready["address"]

        on_step("starting the balancer")
        addresses = [self._addresses[name] for name in self.plan.names]
        self._start(balancer(self.folder, self.plan, listener, addresses), f"{HOST}:{port}")
        self._await("balancer", lambda: self._balancer_answers(port))
        self._publish()
        on_step(f"ready at {self.url}")

    def _start_servers(self, on_step: Callable[[str], None]) -> None:
        """Start the servers that the instances need, and return when they serve."""
        redis, postgres = "redis" in self.plan.needs, "postgres" in self.plan.needs
        if redis or postgres:
            on_step(f"starting {' and '.join(['PostgreSQL'] * postgres + ['Redis'] * redis)}")
        if redis:
            self._start(redis_server(self.folder, self.plan), str(redis_socket(self.folder)))
        if postgres:
            self._postgres = Postgres(self.folder, self.plan)
            self._initialise(self._postgres)
            self._start(self._postgres.server(), str(self._postgres.folder))
            self._await("postgres", self._create_schema)
        if redis:
            self._await("redis", self._redis_answers)

    def _listen(self) -> tuple[int, int]:
        try:
            return self._keeper.listen(HOST, self.plan.port)
        except DeploymentError as error:
            raise DeploymentError(
                f"cannot listen on port {self.plan.port}: {error}; choose another port, or 0 for any that is free"
            ) from None

    def _start(self, part: Part, address: str) -> None:
        try:
            self._keeper.start(part)
        except DeploymentError as error:
            raise DeploymentError(f"{part.name} did not start: {error}") from None
        self._addresses[part.name] = address

    def _initialise(self, postgres: Postgres) -> None:
        self._keeper.start(postgres.initdb())
        deadline_s = time.monotonic() + START_S
        while (ended := self._keeper.look()["initdb"]["ended"]) is None:
            if time.monotonic() > deadline_s:
                self._fail("initdb", f"took more than {START_S:.0f} s")
            time.sleep(POLL_S)
        if ended != 0:
            self._fail("initdb", f"ended with exit code {ended}")

    def _await(self, name: str, condition: Callable[[], bool], start_s: float = START_S) -> None:
        deadline_s = time.monotonic() + start_s
        while not condition():
            ended = self._keeper.look()[name]["ended"]
            if ended is not None:
                self._fail(name, f"ended with exit code {ended} while starting")
            if time.monotonic() > deadline_s:
                self._fail(name, f"was not ready within {start_s:.0f} s")
            time.sleep(POLL_S)

    def _fail(self, name: str, what: str) -> NoReturn:
        log = self._keeper.log_of(name)
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
        tail = "\n".join(f"  {line}" for line in lines[-LOG_LINES:]) or "  (its log is empty)"
        raise DeploymentError(f"{name} {what}; its log ends with\n{tail}")

    def _psql(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        if self._postgres is None or self._stopped.is_set():
            raise DeploymentError("the deployment is not running")
        try:
            return subprocess.run(
                self._postgres.psql(*arguments),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=DUMP_S,
                check=False,
                env=clean_environment() | {"PGCONNECT_TIMEOUT": "5"},
            )
        except subprocess.TimeoutExpired:
            raise DeploymentError(f"PostgreSQL took more than {DUMP_S:.0f} s") from None

    def _create_schema(self) -> bool:
        if not (self.folder / "postgres" / ".s.PGSQL.5432").exists():
            return False
        schema = store_named(self.plan.store).schema if self.plan.library is None else "select 1"
        done = self._psql("-1", "-c", schema)
        if done.returncode == _PSQL_CANNOT_CONNECT:
            return False
        if done.returncode != 0:
            raise DeploymentError(f"the tables were not created: {done.stderr.decode(errors='replace').strip()}")
        return True

    def _redis_answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            try:
                connection.connect(str(redis_socket(self.folder)))
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
            except OSError:
                return False

    @staticmethod
    def _balancer_answers(port: int) -> bool:
        connection = http.client.HTTPConnection(HOST, port, timeout=1.0)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _publish(self) -> None:
        self._control = ControlServer(
            self.folder,
            {
                "status": lambda _request: self.status(),
                "dump": lambda _request: {"messages": self.dump()},
                "stop": lambda _request: self._stop_for_control(),
            },
        )
        told = {
            "plan": self.plan.told(),
            "url": self.url,
            "control": str(control_socket(self.folder)),
        }
        draft = self.folder / "deployment.draft"
        draft.write_text(json.dumps(told), encoding="utf-8")
        os.chmod(draft, 0o600)
        draft.replace(self.folder / "deployment.json")

    def _stop_for_control(self) -> dict[str, Any]:
        self.stop()
        return {"stopped": True}
