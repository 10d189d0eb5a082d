"""Whatever happens to the owner, or to the keeper itself, no process and no folder stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from goldfish.errors import DeploymentError
from stress.deployment import Deployment, Plan

from .observing import processes_of, running, until

GONE_S = 5.0

OWNER = """
import json, os, subprocess, sys
from stress.deployment import Deployment, Plan
deployment = Deployment.start(Plan(instances=2))
# A load process with a worker of its own; neither listens to SIGTERM.
child = subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000"], stdout=subprocess.PIPE)
worker = int(child.stdout.readline())
deployment.adopt(child.pid)
{extra}
status = deployment.status()
print(json.dumps(status | {{"adopted": [child.pid, worker]}}), flush=True)
sys.stdin.read()
"""


class Owner:
    """A process that owns a deployment, and what it told about it."""

    def __init__(self, extra: str = "") -> None:
        code = OWNER.format(extra=extra)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        assert self.process.stdout is not None
        self.status: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.folder = Path(self.status["folder"])
        parts = [psutil.Process(part["pid"]) for part in self.status["parts"]]
        backends = [child.pid for part in parts for child in part.children(recursive=True)]
        self.pids = [self.status["keeper"], *(part.pid for part in parts), *backends, *self.status["adopted"]]

    def kill(self) -> float:
        """SIGKILL; returns when nothing is left, and after how many seconds that was."""
        assert len(running(self.pids)) == len(self.pids)
        started_s = time.monotonic()
        self.process.kill()
        until(lambda: not running(self.pids) and not self.folder.exists(), GONE_S)
        return time.monotonic() - started_s


@pytest.fixture
def owner() -> Iterator[Owner]:
    owner = Owner()
    yield owner
    _end(owner)


def _end(owner: Owner) -> None:
    assert owner.process.stdin is not None
    assert owner.process.stdout is not None
    owner.process.kill()
    owner.process.wait()
    owner.process.stdin.close()
    owner.process.stdout.close()


def test_a_killed_owner_leaves_no_process_and_no_folder(owner: Owner) -> None:
    assert owner.kill() < GONE_S
    assert processes_of(owner.folder) == []


def test_parts_at_a_standstill_are_ended_too(owner: Owner) -> None:
    for part in owner.status["parts"]:
        os.kill(part["pid"], signal.SIGSTOP)
    assert owner.kill() < GONE_S


def test_an_owner_that_left_a_fork_of_itself_behind_counts_as_gone() -> None:
    fork = "import time\nif os.fork() == 0:  # holds the pipe to the keeper open\n    time.sleep(30); os._exit(0)"
    owner = Owner(extra=fork)
    try:
        forked = [child for child in psutil.Process(owner.process.pid).children() if child.pid not in owner.pids]
        assert owner.kill() < GONE_S
        assert all(child.is_running() for child in forked)
    finally:
        for child in forked:
            child.kill()
        _end(owner)


def test_an_owner_that_ends_without_a_word_leaves_nothing(owner: Owner) -> None:
    assert owner.process.stdin is not None
    owner.process.stdin.close()
    until(lambda: not running(owner.pids) and not owner.folder.exists(), GONE_S)


def test_signals_from_a_terminal_do_not_end_the_keeper_or_its_parts(deployment: Deployment) -> None:
    before = deployment.status()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(before["keeper"], number)
    assert deployment.status() == before
    assert len(running([before["keeper"], *(part["pid"] for part in before["parts"])])) == 7


def test_with_the_keeper_killed_stop_still_ends_everything() -> None:
    deployment = Deployment.start(Plan(instances=1))
    status = deployment.status()
    pids = [part["pid"] for part in status["parts"]]
    os.kill(status["keeper"], signal.SIGKILL)
    with pytest.raises(DeploymentError, match=r"the keeper of .* has ended"):
        deployment.status()
    deployment.stop()
    assert running(pids) == []
    assert not deployment.folder.exists()


def test_parts_inherit_no_pipe_between_owner_and_keeper(deployment: Deployment) -> None:
    status = deployment.status()
    pipes = {os.readlink(f"/proc/{status['keeper']}/fd/{number}") for number in (0, 1)}
    for part in status["parts"]:
        held = {os.readlink(path) for path in Path(f"/proc/{part['pid']}/fd").iterdir()}
        assert not pipes & held, part["name"]


def test_an_adopted_process_ends_with_the_deployment_and_one_that_has_ended_cannot_be_adopted() -> None:
    with subprocess.Popen(["sleep", "1000"]) as child, subprocess.Popen(["true"]) as ended:
        ended.wait()
        with Deployment.start(Plan(instances=1)) as deployment:
            deployment.adopt(child.pid)
            with pytest.raises(DeploymentError, match=f"{ended.pid}"):
                deployment.adopt(ended.pid)
            assert child.poll() is None
        assert child.wait(1) == -signal.SIGTERM
