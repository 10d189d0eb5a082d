"""Looking at a deployment from outside."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil


def answering_instance(url: str, headers: dict[str, str] | None = None) -> tuple[str | None, str | None]:
    """Which instance answers a request through the balancer (None: none did), and the cookie it came with."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        connection.request("GET", "/healthz", headers=headers or {})
        response = connection.getresponse()
        response.read()
        return response.headers["X-Memory-Instance"], response.headers["Set-Cookie"]
    finally:
        connection.close()


def until(condition: Callable[[], bool], timeout_s: float = 10.0) -> None:
    """Return as soon as the condition holds."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, "it did not happen in time"
        time.sleep(0.01)


def running(pids: Iterable[int]) -> list[int]:
    """Those of the processes that still run."""
    found = []
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
        except psutil.NoSuchProcess:
            continue
    return found


def processes_of(folder: Path) -> list[int]:
    """Every running process whose command line or working folder lies in a deployment's folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(str(folder) in argument for argument in process.info["cmdline"] or []):
            found.append(process.pid)
    return running(found)
