"""The control socket: one JSON object in, one out, a line each.

The owner of a deployment serves it in the deployment's folder; whoever may enter the folder may look at the deployment,
read what it stored, disturb it, or stop it. Commands are a table, name to function: a new one is one entry.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from goldfish.errors import DeploymentError, GoldfishError

Command = Callable[[dict[str, Any]], dict[str, Any]]


def control_socket(folder: Path) -> Path:
    """Where the owner of the deployment in this folder listens."""
    return folder / "control.sock"


def ask(folder: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Have the deployment in this folder do something (``{"do": "status"}``) and return its answer.

    Raises:
        DeploymentError: nobody answers there, or the answer is an error.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(control_socket(folder)))
            connection.sendall(json.dumps(request).encode() + b"\n")
            line = connection.makefile("rb").readline()
        except OSError as error:
            raise DeploymentError(f"no deployment answers in {folder}: {error.strerror}") from None
    if not line:
        raise DeploymentError(f"the deployment in {folder} ended before it answered")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise DeploymentError(answer["error"])
    return answer


class ControlServer:
    """Answers at the control socket, each connection in a thread of its own, until closed."""

    def __init__(self, folder: Path, commands: Mapping[str, Command]) -> None:
        self._commands = commands
        path = control_socket(folder)
        self._listener = socket.socket(socket.AF_UNIX)
        # The mode must be right before anyone can connect: after bind, before listen.
        self._listener.bind(str(path))
        os.chmod(path, 0o600)
        self._listener.listen()
        threading.Thread(target=self._accept, name="control", daemon=True).start()

    def close(self) -> None:
        """Accept no more; a connection that waits for its answer still gets it."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in accept
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="control-answer", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rwb") as lines:
            try:
                for line in lines:
                    lines.write(json.dumps(self._answer(line)).encode() + b"\n")
                    lines.flush()
            except ConnectionError:
                return

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
        except ValueError:
            return {"error": 'expected one JSON object a line, e.g. {"do": "status"}'}
        name = request.get("do") if isinstance(request, dict) else None
        command = self._commands.get(name) if isinstance(name, str) else None
        if command is None:
            return {"error": f"unknown command '{name}': known are {', '.join(self._commands)}"}
        try:
            return command(request)
        except GoldfishError as error:
            return {"error": str(error)}
