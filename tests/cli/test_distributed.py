"""Many load processes: whatever happens to one of them, the record says so, and the others are judged."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from goldfish.oplog import Footer
from stress.deployment import Deployment, Plan
from tests.oplogs import rows_of_log
from tests.swarm.standin import read_request, standing_in

from .command import (
    GOLDFISH,
    LOCUST,
    LOCUSTFILES,
    PATIENCE_S,
    alive,
    descendants,
    final_counts,
    growing,
    live_counts,
    only_run,
    recording,
    results_of,
    run_directories,
    small_contract,
    started,
    until,
)

LONG = ("-u", 12, "-t", 600)


@pytest.fixture(scope="module")
def memory() -> Iterator[Deployment]:
    with Deployment.start(Plan()) as deployment:
        yield deployment


def swarm(command: int) -> tuple[psutil.Process, list[psutil.Process]]:
    """The master and the workers below a `goldfish run`."""
    (master,) = psutil.Process(command).children()
    return master, master.children()


def logs(directory: Path) -> dict[str, bool]:
    """Load process → whether its log has a footer."""
    return {
        path.stem: isinstance(rows_of_log(path)[-1], Footer)
        for path in sorted((directory / "transcript").glob("*.jsonl"))
    }


def run_json(directory: Path) -> dict[str, Any]:
    return dict(json.loads((directory / "run.json").read_text()))


def codes(results: dict[str, Any]) -> list[str]:
    """The reasons, but for what depends on how busy this machine is."""
    return [reason["code"] for reason in results["reasons"] if reason["code"] != "load-saturated"]


def lossy(results: dict[str, Any]) -> int:
    return sum(scenario["recalls"]["lossy"] for scenario in results["scenarios"])


def test_three_workers_share_one_run(memory: Deployment, tmp_path: Path) -> None:
    arguments = ("run", "--host", memory.url, "-u", 12, "--turns", 300, "--processes", 3)
    with started(*arguments, "--contract", small_contract(tmp_path), cwd=tmp_path) as process:
        output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, output
    directory = only_run(tmp_path)
    assert logs(directory) == {"w0": True, "w1": True, "w2": True}
    record, results = run_json(directory), results_of(directory)
    assert record["ended"] == "turns done"
    assert record["lost"] == {}
    assert final_counts(directory) == live_counts(directory)
    users = [set(), set(), set()]  # type: list[set[str]]
    turns = 0
    for number, path in enumerate(sorted((directory / "transcript").glob("*.jsonl"))):
        rows = [json.loads(line) for line in path.open()]
        users[number] = {row["user"] for row in rows if row["kind"] == "append"}
        turns += sum(row["kind"] == "append" for row in rows)
        assert all(user.split("-")[2].split(".")[0] == str(number) for user in users[number])
    assert all(users)
    assert turns >= 300
    requests = {s["name"]: {k: sum(v.values()) for k, v in s["requests"].items()} for s in results["scenarios"]}
    assert record["statistics"] == requests
    assert [process["process"] for process in results["load_processes"]] == ["w0", "w1", "w2"]


def test_a_killed_worker_is_named_and_the_others_are_judged(memory: Deployment, tmp_path: Path) -> None:
    arguments = ("run", "--host", memory.url, *LONG, "--processes", 3, "--contract", small_contract(tmp_path))
    with started(*arguments, cwd=tmp_path) as process:
        until(lambda: recording(tmp_path, 3), "rows of three workers")
        below = descendants(process.pid)
        _, workers = swarm(process.pid)
        victim = workers[1]
        victim.kill()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
        until(lambda: not alive(below), f"the end of {alive(below)}")
    assert process.returncode == 4, output
    directory = only_run(tmp_path)
    (lost,) = [name for name, whole in logs(directory).items() if not whole]
    assert len(logs(directory)) == 3
    results = results_of(directory)
    (reason,) = [reason for reason in results["reasons"] if reason["code"] == "lost-worker"]
    assert f"Load process {lost} was lost: it ended without closing its log" in reason["text"]
    assert f"process {victim.pid}" in reason["text"]
    assert f"load process {lost} is lost" in output
    assert lossy(results) == 0
    counters = run_json(directory)["counters"]
    others = sum(s["checked"] for name in counters if name != lost for s in counters[name]["scenarios"].values())
    assert others
    assert sum(s["recalls"]["checked"] for s in results["scenarios"]) >= others


def test_workers_whose_master_is_killed_close_their_logs(memory: Deployment, tmp_path: Path) -> None:
    arguments = ("run", "--host", memory.url, *LONG, "--processes", 2, "--contract", small_contract(tmp_path))
    with started(*arguments, cwd=tmp_path) as process:
        until(lambda: recording(tmp_path, 2), "rows of two workers")
        below = descendants(process.pid)
        master, _ = swarm(process.pid)
        master.kill()
        output, _ = process.communicate(timeout=PATIENCE_S)
        until(lambda: not alive(below), f"the end of {alive(below)}")
    assert process.returncode == 4, output
    assert "SIGKILL" in output
    directory = only_run(tmp_path)
    assert logs(directory) == {"w0": True, "w1": True}
    results = results_of(directory)
    assert codes(results) == ["unfinished"]
    assert lossy(results) == 0
    assert all(scenario["conversations"]["checked"] for scenario in results["scenarios"])


def test_a_worker_that_hangs_is_given_up_and_ended(memory: Deployment, tmp_path: Path) -> None:
    arguments = ("run", "--host", memory.url, *LONG, "--processes", 2, "--contract", small_contract(tmp_path))
    with started(*arguments, cwd=tmp_path) as process:
        until(lambda: recording(tmp_path, 2), "rows of two workers")
        below = descendants(process.pid)
        _, workers = swarm(process.pid)
        workers[0].suspend()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
        until(lambda: not alive(below), f"the end of {alive(below)}")
    assert process.returncode == 4, output
    results = results_of(only_run(tmp_path))
    assert "lost-worker" in codes(results)
    assert "nothing was heard of it" in next(r["text"] for r in results["reasons"] if r["code"] == "lost-worker")
    assert lossy(results) == 0
    assert sorted(logs(only_run(tmp_path)).values()) == [False, True]


def test_a_run_without_any_worker_left_ends(memory: Deployment, tmp_path: Path) -> None:
    arguments = ("run", "--host", memory.url, *LONG, "--processes", 2, "--contract", small_contract(tmp_path))
    with started(*arguments, cwd=tmp_path) as process:
        until(lambda: recording(tmp_path, 2), "rows of two workers")
        below = descendants(process.pid)
        for worker in swarm(process.pid)[1]:
            worker.kill()
        output, _ = process.communicate(timeout=PATIENCE_S)
        until(lambda: not alive(below), f"the end of {alive(below)}")
    assert process.returncode == 4, output
    assert run_json(only_run(tmp_path))["ended"] == "all load processes were lost"
    assert codes(results_of(only_run(tmp_path))).count("lost-worker") == 2


def test_a_worker_that_takes_leave_loses_nothing(memory: Deployment, tmp_path: Path) -> None:
    arguments = ("run", "--host", memory.url, *LONG, "--processes", 2, "--contract", small_contract(tmp_path))
    with started(*arguments, cwd=tmp_path) as process:
        until(lambda: recording(tmp_path, 2), "rows of two workers")
        below = descendants(process.pid)
        (worker, *_) = swarm(process.pid)[1]
        worker.terminate()
        until(lambda: not alive([worker]), "the worker to leave")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
        until(lambda: not alive(below), f"the end of {alive(below)}")
    directory = only_run(tmp_path)
    assert logs(directory) == {"w0": True, "w1": True}
    assert process.returncode == 0, output
    assert final_counts(directory) == live_counts(directory)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_every_process_at_once_ends_the_load_and_judges(
    memory: Deployment, tmp_path: Path, number: signal.Signals
) -> None:
    """As a terminal's Ctrl-C, and as whatever stops a container, reach them."""
    with started(*locust(memory, tmp_path, 3), "--headless", *LONG, cwd=tmp_path, command=LOCUST, group=0) as process:
        until(lambda: recording(tmp_path, 3), "rows of three workers")
        below = descendants(process.pid)
        os.killpg(process.pid, number)
        output, _ = process.communicate(timeout=PATIENCE_S)
        until(lambda: not alive(below), f"the end of {alive(below)}")
    assert process.returncode == 0, output
    directory = only_run(tmp_path)
    assert logs(directory) == {"w0": True, "w1": True, "w2": True}
    assert run_json(directory)["ended"] == "interrupted"
    assert final_counts(directory) == live_counts(directory)


def test_the_second_interrupt_closes_all_logs_and_judges_nothing(memory: Deployment, tmp_path: Path) -> None:
    contract = tmp_path / "goldfish.toml"
    contract.write_text("[contract]\nsettle_ms = 60000\n")  # the first interrupt will be waiting for this
    arguments = ("run", "--host", memory.url, *LONG, "--processes", 2, "--contract", contract)
    with started(*arguments, cwd=tmp_path) as process:
        until(lambda: recording(tmp_path, 2), "rows of two workers")
        below = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        until(lambda: not growing(only_run(tmp_path)), "the load to end")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
        until(lambda: not alive(below), f"the end of {alive(below)}")
    assert process.returncode == 4, output
    directory = only_run(tmp_path)
    assert logs(directory) == {"w0": True, "w1": True}
    assert run_json(directory)["ended"] == "aborted"
    assert not (directory / "results.json").exists()


@pytest.mark.parametrize("moment", range(3))
def test_an_interrupt_before_the_workers_are_there_is_told(memory: Deployment, tmp_path: Path, moment: int) -> None:
    with started("run", "--host", memory.url, *LONG, "--processes", 2, cwd=tmp_path) as process:
        until(lambda: psutil.Process(process.pid).children(), "the master")
        until(lambda: len(swarm_if_any(process.pid)) >= moment, f"{moment} workers to be forked")
        below = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
        until(lambda: not alive(below), f"the end of {alive(below)}")
    assert process.returncode == 4, output


def test_an_interrupt_while_a_run_is_being_checked_begins_none(memory: Deployment, tmp_path: Path) -> None:
    interrupted = threading.Event()

    def answer(connection: socket.socket, request: bytes) -> bool:
        assert interrupted.wait(PATIENCE_S)
        with socket.create_connection(("127.0.0.1", urllib.parse.urlsplit(memory.url).port or 0)) as behind:
            behind.sendall(request)
            connection.sendall(read_request(behind))
        return True

    with standing_in(answer) as door, started(
        "run", "--host", door.url, *LONG, "--processes", 2, cwd=tmp_path
    ) as process:  # fmt: skip
        until(lambda: door.requests, "the first request of the preflight")
        below = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        until(lambda: len(alive(below)) < len(below), "a worker to leave")
        interrupted.set()
        output, _ = process.communicate(timeout=PATIENCE_S)
        until(lambda: not alive(below), f"the end of {alive(below)}")
    assert process.returncode == 4, output
    assert "interrupted before a run began" in output
    assert not run_directories(tmp_path)


def swarm_if_any(command: int) -> list[psutil.Process]:
    children = psutil.Process(command).children()
    return children[0].children() if children else []


def test_a_log_that_cannot_be_written_ends_the_run_in_every_process(memory: Deployment, tmp_path: Path) -> None:
    arguments = ["run", "--host", memory.url, "-u", "10", "-t", "300", "--processes", "2"]
    arguments += ["--contract", str(small_contract(tmp_path))]
    ended = subprocess.run(
        ["sh", "-c", 'ulimit -f 400; exec "$@"', "sh", *GOLDFISH, *arguments],
        cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert ended.returncode == 4, ended.stdout + ended.stderr
    assert "the op log cannot be written any further" in ended.stderr
    results = results_of(only_run(tmp_path))
    assert run_json(only_run(tmp_path))["ended"] == "log failed"
    assert lossy(results) == 0


@pytest.mark.parametrize("processes", [1, 2])
def test_a_memory_that_dies_under_way_is_no_pass(tmp_path: Path, processes: int) -> None:
    with Deployment.start(Plan(instances=1)) as memory:
        arguments = ("run", "--host", memory.url, *LONG, "--processes", processes)
        with started(*arguments, "--contract", small_contract(tmp_path), cwd=tmp_path) as process:
            until(lambda: recording(tmp_path, processes), "rows of all load processes")
            below = descendants(process.pid)
            memory.stop()
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=PATIENCE_S)
            until(lambda: not alive(below), f"the end of {alive(below)}")
    assert process.returncode == 4, output
    results = results_of(only_run(tmp_path))
    assert lossy(results) == 0
    assert codes(results) == ["request-failures", "no-final-recall"]
    assert all(logs(only_run(tmp_path)).values())


RAISES = """
from locust import events

from goldfish import MemoryUser
from stress.scenarios.rapid_switch import RapidSwitch


@events.request.add_listener
def broken(**_):
    raise ValueError("a listener of somebody's own")
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_a_listener_that_raises_bars_a_pass_and_loses_no_row(
    memory: Deployment, tmp_path: Path, processes: int
) -> None:
    (tmp_path / "locustfile.py").write_text(RAISES)
    arguments = [*locust(memory, tmp_path, processes), "--headless", "-u", "6", "--goldfish-turns", "60"]
    arguments[1] = str(tmp_path / "locustfile.py")
    ended = subprocess.run(
        [*LOCUST, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ended.returncode == 4, ended.stdout + ended.stderr
    directory = only_run(tmp_path)
    results = results_of(directory)
    assert set(codes(results)) == {"swarm-problem"}
    assert "raised an exception" in results["reasons"][0]["text"]
    assert all(logs(directory).values())
    assert final_counts(directory) == live_counts(directory)


def test_workers_of_their_own_join_a_master_in_the_web_ui(memory: Deployment, tmp_path: Path) -> None:
    """Two runs of one master; its workers were started by hand, one of them comes while the first run is under way."""
    master_port, web_port = free_port(), free_port()
    base = locust(memory, tmp_path, 1)[:2]
    at_master = ["--master-port", master_port]
    master = [
        *locust(memory, tmp_path, 1), "--master", "--master-bind-port", master_port, "--web-port", web_port,
    ]  # fmt: skip
    url = f"http://127.0.0.1:{web_port}"
    with (
        started(*master, cwd=tmp_path, command=LOCUST) as process,
        started(*base, "--worker", *at_master, cwd=tmp_path, command=LOCUST) as first,
    ):
        until(lambda: workers_at(url) == 1, "the first worker")
        post(f"{url}/swarm", user_count="6", spawn_rate="6", host=memory.url)
        until(lambda: recording(tmp_path, 1), "rows of the first worker")
        with started(*base, "--worker", *at_master, cwd=tmp_path, command=LOCUST) as second:
            until(lambda: workers_at(url) == 2, "the second worker")
            # Shared out anew: Locust gives no users to one that comes in the second after a ramp.
            post(f"{url}/swarm", user_count="8", spawn_rate="8", host=memory.url)
            until(lambda: len(list((tmp_path / "runs").glob("*/transcript/w1.jsonl"))) == 1, "the second worker's log")
            post(f"{url}/stop")
            until(lambda: list((tmp_path / "runs").glob("*/report.html")), "the first verdict")
            until(lambda: workers_at(url) == 2, "both workers to be ready")
            post(f"{url}/swarm", user_count="6", spawn_rate="6", host=memory.url)
            until(lambda: len(run_directories(tmp_path)) == 2, "the second run")
            until(lambda: recording_in(run_directories(tmp_path)[1], 2), "rows of both workers")
            post(f"{url}/stop")
            until(lambda: len(list((tmp_path / "runs").glob("*/report.html"))) == 2, "the second verdict")
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, output
            assert first.wait(PATIENCE_S) == 0
            assert second.wait(PATIENCE_S) == 0
    for directory in run_directories(tmp_path):
        assert logs(directory) == {"w0": True, "w1": True}
        results = results_of(directory)
        assert results["verdict"] == "pass", results["reasons"]
        assert final_counts(directory) == live_counts(directory)


def locust(memory: Deployment, folder: Path, processes: int) -> list[str]:
    more = ["--processes", str(processes), "--master-port", str(port := free_port())] if processes > 1 else []
    more += ["--master-bind-port", str(port)] if processes > 1 else []
    return [
        "-f", str(LOCUSTFILES / "all_scenarios.py"), "--host", memory.url,
        "--goldfish-contract", str(small_contract(folder)), *more,
    ]  # fmt: skip


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def recording_in(directory: Path, processes: int) -> bool:
    sizes = [path.stat().st_size for path in (directory / "transcript").glob("*.jsonl")]
    return sum(size > 20_000 for size in sizes) >= processes


def workers_at(url: str) -> int:
    try:
        with urllib.request.urlopen(f"{url}/stats/requests", timeout=PATIENCE_S) as answer:
            return sum(worker["state"] in ("ready", "running") for worker in json.load(answer).get("workers", []))
    except OSError:
        return 0


def post(url: str, **form: str) -> None:
    body = urllib.parse.urlencode(form).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body, method="POST"), timeout=PATIENCE_S) as answer:
        assert json.load(answer)["success"]


def test_turns_arrive_at_a_rate_over_all_workers(memory: Deployment, tmp_path: Path) -> None:
    arguments = ("run", "--host", memory.url, "-u", 12, "--turns", 60, "--processes", 2, "--turns-per-second", 20)
    with started(*arguments, "--contract", small_contract(tmp_path), cwd=tmp_path) as process:
        output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, output
    results, record = results_of(only_run(tmp_path)), run_json(only_run(tmp_path))
    arrivals = results["arrivals"]
    assert arrivals["turns_per_second"] == 20
    begun = {name: counters["lateness"]["begun"] for name, counters in record["counters"].items()}
    assert arrivals["begun"] == sum(begun.values()) >= 60
    assert min(begun.values()) > 0
    lasted_s = (record["end_ns"] - record["start_ns"]) / 1e9
    assert arrivals["begun"] <= 20 * lasted_s


OWN = """
import sys

from locust import HttpUser, events, task

from goldfish import MemoryUser
from stress.scenarios.rapid_switch import RapidSwitch


class Plain(HttpUser):
    fixed_count = 1

    @task
    def look(self):
        self.client.get("/healthz")


class Leaves(MemoryUser):
    '''Someone who leaves by the wrong door.'''

    def story(self):
        phone, chat = self.device("phone"), self.session()
        phone.say(chat)
        yield
        sys.exit(0)


@events.{event}.add_listener
def broken(**_):
    {action}
"""


def own_locustfile(
    memory: Deployment, folder: Path, event: str, action: str, *classes: str
) -> subprocess.CompletedProcess[str]:
    (folder / "locustfile.py").write_text(OWN.replace("{event}", event).replace("{action}", action))
    arguments = [*locust(memory, folder, 1), "--headless", "-u", "6", "--goldfish-turns", "60", *classes]
    arguments[1] = str(folder / "locustfile.py")
    return subprocess.run(
        [*LOCUST, *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def test_plain_locust_users_may_stand_beside_scenarios(memory: Deployment, tmp_path: Path) -> None:
    ended = own_locustfile(memory, tmp_path, "test_start", "pass", "RapidSwitch", "Plain")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [s["name"] for s in results_of(only_run(tmp_path))["scenarios"]] == ["rapid-switch"]


def test_a_story_that_calls_sys_exit_bars_a_pass(memory: Deployment, tmp_path: Path) -> None:
    ended = own_locustfile(memory, tmp_path, "test_start", "pass", "RapidSwitch", "Leaves")
    assert ended.returncode == 4, ended.stdout + ended.stderr
    results = results_of(only_run(tmp_path))
    assert "swarm-problem" in codes(results)
    assert "SystemExit" in next(r["text"] for r in results["reasons"] if r["code"] == "swarm-problem")


@pytest.mark.parametrize("event", ["test_start", "test_stop", "spawning_complete"])
def test_a_listener_that_calls_sys_exit_is_no_pass(memory: Deployment, tmp_path: Path, event: str) -> None:
    ended = own_locustfile(memory, tmp_path, event, "sys.exit(0)", "RapidSwitch")
    assert ended.returncode == 4, ended.stdout + ended.stderr


def test_a_listener_that_raises_at_the_start_bars_a_pass(memory: Deployment, tmp_path: Path) -> None:
    ended = own_locustfile(memory, tmp_path, "test_start", "raise ValueError", "RapidSwitch")
    assert ended.returncode == 4, ended.stdout + ended.stderr
    assert "swarm-problem" in codes(results_of(only_run(tmp_path)))


def test_a_terminal_that_closes_does_not_change_the_verdict(memory: Deployment, tmp_path: Path) -> None:
    arguments = ("run", "--host", memory.url, *LONG, "--contract", small_contract(tmp_path))
    with started(*arguments, cwd=tmp_path) as process:
        until(lambda: recording(tmp_path), "rows of the load")
        process.stdout.close()  # type: ignore[union-attr]
        process.send_signal(signal.SIGHUP)
        code = process.wait(PATIENCE_S)
        process.stdout = None
    assert code == 0
    assert (only_run(tmp_path) / "locust.log").stat().st_size


def test_a_closed_standard_error_does_not_change_the_exit_code(memory: Deployment, tmp_path: Path) -> None:
    command = [*GOLDFISH, "run", "--host", memory.url, "-u", "6", "--turns", "60"]
    command += ["--contract", str(small_contract(tmp_path))]
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *command],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout


LATE = """
import gevent
from locust import events
from locust.runners import WorkerRunner


@events.init.add_listener
def late(runner, **_):
    if isinstance(runner, WorkerRunner):
        gevent.sleep(3)


from goldfish import MemoryUser
from stress.scenarios.rapid_switch import RapidSwitch
"""


def test_workers_that_are_sent_users_before_they_are_initialised_run_them(memory: Deployment, tmp_path: Path) -> None:
    (tmp_path / "locustfile.py").write_text(LATE)
    arguments = [*locust(memory, tmp_path, 2), "--headless", "-u", "6", "--goldfish-turns", "60"]
    arguments[1] = str(tmp_path / "locustfile.py")
    ended = subprocess.run(
        [*LOCUST, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert logs(only_run(tmp_path)) == {"w0": True, "w1": True}


SWALLOWED = """
import os
import signal

from stress.scenarios.rapid_switch import RapidSwitch

os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
"""


def test_an_interrupt_that_was_swallowed_while_the_workers_were_forked_counts(
    memory: Deployment, tmp_path: Path
) -> None:
    (tmp_path / "locustfile.py").write_text(SWALLOWED)
    arguments = [*locust(memory, tmp_path, 2), "--headless", "-u", "6", "-t", "600"]
    arguments[1] = str(tmp_path / "locustfile.py")
    ended = subprocess.run(
        [*LOCUST, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert "Exception ignored" in ended.stderr
    assert ended.returncode == 4, ended.stdout + ended.stderr
