"""The owner's end of the pipe to the keeper."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec

from goldfish.errors import DeploymentError
from stress.deployment.surroundings import clean_environment

END_S = 10.0


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One process of a deployment and how to start and end it."""

    name: str
    argv: list[str]
    env: dict[str, str] = {}
    end_signal: int = signal.SIGTERM
    user: int | None = None
    """Another user to run it as; None: the owner's own."""
    group: int | None = None
    fds: list[int] = []
    """Listening sockets of the keeper that the part inherits, under the same numbers."""


class KeeperLink:
    """Sends commands to the keeper of one folder; closing it ends the deployment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._parts: list[int] = []
        self._process = self._launch()

    @property
    def pid(self) -> int:
        """The keeper's process."""
        return self._process.pid

    def log_of(self, name: str) -> Path:
        """Where a part's output goes."""
        return self._folder / f"{name}.log"

    def listen(self, host: str, port: int) -> tuple[int, int]:
        """Open a listening socket for a part; returns its file descriptor in the keeper, and its port."""
        answer = self._ask(do="listen", host=host, port=port)
        return answer["fd"], answer["port"]

    def start(self, part: Part) -> int:
        """Start a part; returns its process id."""
        answer = self._ask(do="start", log=str(self.log_of(part.name)), **msgspec.to_builtins(part))
        self._parts.append(answer["pid"])
        return int(answer["pid"])

    def adopt(self, pid: int) -> None:
        """Have the keeper end this process, and its descendants, with the deployment."""
        self._ask(do="adopt", pid=pid)
        self._parts.append(pid)

    def look(self) -> dict[str, dict[str, Any]]:
        """Each part's ``pid`` and, once it has ended, exit code (``ended``)."""
        parts: dict[str, dict[str, Any]] = self._ask(do="look")["parts"]
        return parts

    def end(self) -> None:
        """Close the pipe and wait until the keeper has ended all parts and removed the folder."""
        with self._lock:
            self._close()
            if self._process.returncode != 0 and self._folder.exists():
                # The keeper was killed. A second one takes over what the first left, and ends it.
                self._process = self._launch()
                for pid in self._parts:
                    self._exchange({"do": "adopt", "pid": pid})
                self._close()

    def _close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            raise DeploymentError(
                f"the keeper (process {self.pid}) did not end the deployment in {self._folder} within {END_S:.0f} s"
            ) from None
        self._process.stdout.close()

    def _launch(self) -> subprocess.Popen[bytes]:
        with (self._folder / "keeper.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "stress.deployment.keeper", str(self._folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=clean_environment(),
                # Not in the terminal's foreground group: Ctrl-C is the owner's business.
                start_new_session=True,
            )

    def _ask(self, **request: Any) -> dict[str, Any]:
        with self._lock:
            answer = self._exchange(request)
        if "error" in answer:
            raise DeploymentError(answer["error"])
        return answer

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (OSError, ValueError):
            line = b""
        if not line:
            raise DeploymentError(f"the keeper of {self._folder} (process {self.pid}) has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer
