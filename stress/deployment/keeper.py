"""The keeper: parent of every part of a deployment, and the one who tidies up.

``python -P -m stress.deployment.keeper FOLDER`` reads commands on standard input and answers on standard output, one
JSON object a line. When its input ends, or the process that started it does, it ends all parts with their descendants,
removes the folder, and exits. That a SIGKILL of the owner leaves nothing behind rests on two things: the system closes
a dead process's pipes, and no signal but SIGKILL ends the keeper.

Only the standard library and psutil are imported, so that the keeper is up in a moment and has little that can fail.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

GRACE_S = 1.5
"""How long parts may take to end themselves."""
KILL_S = 1.5
"""How long the system may take to end what was killed."""
POLL_S = 0.01
BACKLOG = 1024


class Keeper:
    """Starts parts, knows how they are, and ends them."""

    def __init__(self) -> None:
        self._parts: dict[str, subprocess.Popen[bytes]] = {}
        self._end_signals: dict[str, int] = {}
        self._adopted: list[psutil.Process] = []

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Obey one command; what cannot be done is an ``error``, never an exception."""
        commands: dict[str, Callable[..., dict[str, Any]]] = {
            "listen": self._listen,
            "start": self._start,
            "adopt": self._adopt,
            "look": self._look,
        }
        try:
            return commands[request.pop("do")](**request)
        except (OSError, subprocess.SubprocessError, psutil.Error) as error:
            return {"error": str(error)}

    def end(self) -> None:
        """End all parts and all that was adopted, with their descendants."""
        roots: list[tuple[psutil.Process, int]] = [(process, signal.SIGTERM) for process in self._adopted]
        for name, part in self._parts.items():
            with contextlib.suppress(psutil.NoSuchProcess):
                roots.append((psutil.Process(part.pid), self._end_signals[name]))
        # Seen now: descendants of a process that has ended can no longer be told apart from strangers.
        doomed = {process for root, _ in roots for process in _with_descendants(root)}
        for root, number in roots:
            with contextlib.suppress(psutil.Error):
                root.send_signal(number)
        survivors = _wait(doomed, GRACE_S)
        for process in {process for survivor in survivors for process in _with_descendants(survivor)}:
            with contextlib.suppress(psutil.Error):
                process.kill()
        _wait(survivors, KILL_S)
        for part in self._parts.values():
            part.poll()  # reaps it

    def _listen(self, host: str, port: int) -> dict[str, Any]:
        """Open a listening socket for a part, so that a taken port shows here, and no one takes it in between."""
        try:
            listener = socket.create_server((host, port), backlog=BACKLOG)
        except OSError as error:
            return {"error": os.strerror(error.errno or 0)}
        return {"port": listener.getsockname()[1], "fd": listener.detach()}

    def _start(
        self,
        name: str,
        argv: list[str],
        env: dict[str, str],
        log: str,
        end_signal: int,
        user: int | None,
        group: int | None,
        fds: list[int],
    ) -> dict[str, Any]:
        with Path(log).open("ab") as output:
            part = subprocess.Popen(
                argv,
                env=env,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                user=user,
                group=group,
                extra_groups=None if user is None else [],
                pass_fds=fds,
                start_new_session=True,
            )
        for fd in fds:
            os.close(fd)
        self._parts[name] = part
        self._end_signals[name] = end_signal
        return {"pid": part.pid}

    def _adopt(self, pid: int) -> dict[str, Any]:
        # psutil remembers when the process was created: a later process with the same number is left alone.
        self._adopted.append(psutil.Process(pid))
        return {"pid": pid}

    def _look(self) -> dict[str, Any]:
        return {"parts": {name: {"pid": part.pid, "ended": part.poll()} for name, part in self._parts.items()}}


def main() -> None:
    """Serve commands until there can be no more, then tidy up."""
    # Handlers that do nothing, rather than SIG_IGN: parts would inherit that.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    keeper = Keeper()
    try:
        for request in _requests():
            sys.stdout.write(json.dumps(keeper.answer(request)) + "\n")
            sys.stdout.flush()
    except BrokenPipeError:
        pass
    finally:
        keeper.end()
        _remove(Path(sys.argv[1]))


def _requests() -> Iterator[dict[str, Any]]:
    commands = sys.stdin.fileno()
    watched = [commands]
    # A second sign besides the pipe's end: a process that the owner forked may hold the pipe open after its death.
    with contextlib.suppress(AttributeError, OSError):
        watched.append(os.pidfd_open(os.getppid()))
    rest = b""
    while True:
        ready, _, _ = select.select(watched, [], [])
        received = os.read(commands, 65536) if commands in ready else b""
        if not received:
            return
        *lines, rest = (rest + received).split(b"\n")
        yield from map(json.loads, lines)


def _wait(processes: set[psutil.Process], timeout_s: float) -> set[psutil.Process]:
    """Those that still run when all have ended or time is up."""
    deadline_s = time.monotonic() + timeout_s
    while running := {process for process in processes if _runs(process)}:
        if time.monotonic() > deadline_s:
            break
        time.sleep(POLL_S)
    return running


def _runs(process: psutil.Process) -> bool:
    # What has ended but was not reaped yet is its parent's business, not ours to wait for.
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _with_descendants(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return [process, *process.children(recursive=True)]
    return []


def _remove(folder: Path) -> None:
    deadline_s = time.monotonic() + KILL_S
    while folder.exists() and time.monotonic() < deadline_s:
        # Again, should a process on its way out have written in between.
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
