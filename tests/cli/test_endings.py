"""However it is ended, a run leaves a readable record, the right exit code and no process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from goldfish.oplog import Footer
from stress.deployment import Deployment, Plan
from tests.oplogs import rows_of_log

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
    rows_of,
    run_directories,
    small_contract,
    started,
    until,
)


def last_row(directory: Path) -> object:
    return rows_of_log(directory / "transcript" / "w0.jsonl")[-1]


def deployment_folders() -> set[Path]:
    return set(Path(os.environ.get("TMPDIR", "/tmp")).glob("goldfish-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interrupt_ends_the_load_and_judges(tmp_path: Path, number: signal.Signals) -> None:
    contract = small_contract(tmp_path)
    with started("run", "-u", 12, "-t", 300, "--contract", contract, cwd=tmp_path) as process:
        until(lambda: recording(tmp_path), "rows of the load")
        below = descendants(process.pid)
        process.send_signal(number)
        output, _ = process.communicate(timeout=PATIENCE_S)
        until(lambda: not alive(below), f"the end of {alive(below)}")
    directory = only_run(tmp_path)
    assert isinstance(last_row(directory), Footer)
    assert json.loads((directory / "run.json").read_text())["ended"] == "interrupted"
    results = results_of(directory)
    assert process.returncode == results["exit_code"], output
    assert final_counts(directory) == live_counts(directory)
    assert sum(s["recalls"]["lossy"] for s in results["scenarios"]) == 0


def test_the_second_interrupt_closes_the_log_and_judges_nothing(tmp_path: Path) -> None:
    contract = tmp_path / "goldfish.toml"
    contract.write_text("[contract]\nsettle_ms = 60000\n")  # the first interrupt will be waiting for this
    with started("run", "-u", 6, "-t", 300, "--contract", contract, cwd=tmp_path) as process:
        until(lambda: recording(tmp_path), "rows of the load")
        below = descendants(process.pid)
        (directory,) = run_directories(tmp_path)
        process.send_signal(signal.SIGINT)
        until(lambda: not growing(directory), "the load to end")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
        until(lambda: not alive(below), f"the end of {alive(below)}")
    assert process.returncode == 4, output
    assert isinstance(last_row(directory), Footer)
    assert json.loads((directory / "run.json").read_text())["ended"] == "aborted"
    assert not (directory / "results.json").exists()
    judged = subprocess.run(
        [*GOLDFISH, "analyze", str(directory)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert judged.returncode == 4, judged.stdout + judged.stderr


@pytest.mark.parametrize("command", ["up", "run"])
def test_a_killed_command_leaves_no_process_and_no_folder(tmp_path: Path, command: str) -> None:
    before = deployment_folders()
    arguments = ["up"] if command == "up" else ["run", "-u", 6, "-t", 300]
    with started(*arguments, cwd=tmp_path) as process:
        if command == "up":
            assert process.stdout is not None
            url = next(line.split()[-1] for line in process.stdout if line.startswith("memory at"))
            assert urllib.request.urlopen(f"{url}/healthz").status == 200
        else:
            until(lambda: recording(tmp_path), "rows of the load")
        below = descendants(process.pid)
        names = " ".join(alive(below))
        assert "caddy" in names
        assert "postgres" in names
        mine = {path for path in deployment_folders() - before if str(path) in names}
        assert mine
        process.kill()
        process.wait()
        until(lambda: not alive(below), f"the end of {alive(below)}", 5)
        until(lambda: not any(path.exists() for path in mine), "the folder to go", 5)


def test_up_ends_with_ctrl_c(tmp_path: Path) -> None:
    with started("up", "--instances", 1, cwd=tmp_path) as process:
        assert process.stdout is not None
        until(lambda: "memory at" in process.stdout.readline(), "the address")
        below = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        assert not alive(below)


@pytest.fixture(scope="module")
def memory() -> Iterator[Deployment]:
    with Deployment.start(Plan()) as deployment:
        yield deployment


def locust(deployment: Deployment, folder: Path, *more: object) -> list[str]:
    return [
        *LOCUST, "-f", str(LOCUSTFILES / "all_scenarios.py"), "--host", deployment.url,
        "--goldfish-contract", str(small_contract(folder)), *map(str, more),
    ]  # fmt: skip


def test_locust_alone_does_the_same_job(memory: Deployment, tmp_path: Path) -> None:
    ended = subprocess.run(
        locust(memory, tmp_path, "--headless", "-u", 12, "-r", 12, "-t", "8s"),
        cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    directory = only_run(tmp_path)
    assert results_of(directory)["verdict"] == "pass"
    assert final_counts(directory) == live_counts(directory)
    assert "PASS" in ended.stdout


def test_a_deployment_that_is_not_ours_is_left_clean(memory: Deployment, tmp_path: Path) -> None:
    subprocess.run(
        locust(memory, tmp_path, "--headless", "-u", 6, "-r", 6, "--goldfish-turns", 60),
        cwd=tmp_path, capture_output=True, timeout=100, check=False,
    )  # fmt: skip
    directory = only_run(tmp_path)
    rows = rows_of(directory)
    users = {row["user"] for row in rows if row["kind"] == "append"}
    assert users
    assert all(user.startswith("gf-") for user in users)
    assert not [line for line in memory.dump() if line["user"] in users]
    last_recall = {row["conversation"]: row["end_ns"] for row in rows if row["kind"] == "recall"}
    assert all(row["start_ns"] > last_recall[row["conversation"]] for row in rows if row["kind"] == "delete")


def test_two_runs_in_one_web_ui(memory: Deployment, tmp_path: Path) -> None:
    with subprocess.Popen(
        locust(memory, tmp_path, "--web-port", 0),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = next(line for line in process.stdout if "Starting web interface at" in line)
            url = line.split("Starting web interface at ")[1].split(",")[0].strip()
            assert url.startswith("http://127.0.0.1")
            url = listening(process.pid)
            for number in (1, 2):
                post(url, "/swarm", user_count="9", spawn_rate="9", host=memory.url)
                until(
                    lambda number=number: len(done(tmp_path)) == number - 1 and recording_newest(tmp_path, number),
                    "a run",
                )
                with urllib.request.urlopen(
                    urllib.request.Request(f"{url}/stop", method="POST"), timeout=PATIENCE_S
                ) as answer:
                    assert answer.status == 200
                until(lambda number=number: len(done(tmp_path)) == number, "the verdict")
            process.send_signal(signal.SIGINT)
            output = process.stdout.read()
            assert process.wait(PATIENCE_S) == 0, output
        finally:
            process.kill()
    first, second = run_directories(tmp_path)
    assert {row["user"] for row in rows_of(first) if "user" in row}.isdisjoint(
        row["user"] for row in rows_of(second) if "user" in row
    )
    for directory in (first, second):
        assert results_of(directory)["verdict"] == "pass"
        assert final_counts(directory) == live_counts(directory)
        assert isinstance(last_row(directory), Footer)


def done(folder: Path) -> list[Path]:
    runs = folder / "runs"
    return list(runs.glob("*/report.html")) if runs.exists() else []


def recording_newest(folder: Path, number: int) -> bool:
    runs = run_directories(folder) if (folder / "runs").exists() else []
    if len(runs) < number:
        return False
    log = runs[-1] / "transcript" / "w0.jsonl"
    return log.exists() and log.stat().st_size > 200_000


def listening(pid: int) -> str:
    """The address that a process listens on."""
    until(lambda: [c for c in psutil.Process(pid).net_connections("tcp") if c.status == "LISTEN"], "a listening port")
    (connection,) = [c for c in psutil.Process(pid).net_connections("tcp") if c.status == "LISTEN"]
    assert connection.laddr.ip == "127.0.0.1"
    return f"http://127.0.0.1:{connection.laddr.port}"


def post(url: str, path: str, **form: str) -> None:
    body = urllib.parse.urlencode(form).encode()
    with urllib.request.urlopen(f"{url}{path}", body, timeout=PATIENCE_S) as answer:
        assert json.load(answer)["success"]


def test_a_users_own_folders_do_not_replace_ours(memory: Deployment, tmp_path: Path) -> None:
    for name in ("analysis", "stress", "goldfish"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong one')")
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "goldfish", "run", "--host", memory.url, "-u", "6", "--turns", "100",
         "--contract", str(small_contract(tmp_path))],
        cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_swarm_whose_command_is_killed_ends_its_load_and_judges(memory: Deployment, tmp_path: Path) -> None:
    contract = small_contract(tmp_path)
    arguments = ("run", "--host", memory.url, "-u", 6, "-t", 300, "--contract", contract)
    with started(*arguments, cwd=tmp_path) as process:
        until(lambda: recording(tmp_path), "rows of the load")
        (child,) = psutil.Process(process.pid).children()
        process.kill()
        process.wait()
        until(lambda: not alive([child]), "the end of the swarm")
    directory = only_run(tmp_path)
    assert json.loads((directory / "run.json").read_text())["ended"] == "orphaned"
    assert results_of(directory)["verdict"] in ("pass", "inconclusive")
    users = {row["user"] for row in rows_of(directory) if row["kind"] == "append"}
    assert not [line for line in memory.dump() if line["user"] in users]


def test_a_record_that_cannot_be_written_ends_the_run_and_says_why(memory: Deployment, tmp_path: Path) -> None:
    arguments = ["run", "--host", memory.url, "-u", "10", "-t", "300", "--contract", str(small_contract(tmp_path))]
    ended = subprocess.run(
        ["sh", "-c", 'ulimit -f 400; exec "$@"', "sh", *GOLDFISH, *arguments],
        cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert ended.returncode == 4, ended.stdout + ended.stderr
    assert "the op log cannot be written any further" in ended.stderr
    directory = only_run(tmp_path)
    assert json.loads((directory / "run.json").read_text())["ended"] == "log failed"
    results = results_of(directory)
    assert results["exit_code"] == 4
    assert sum(s["recalls"]["lossy"] for s in results["scenarios"]) == 0


def test_a_reader_that_leaves_early_does_not_change_the_exit_code(tmp_path: Path) -> None:
    ended = subprocess.run(
        [*GOLDFISH, "run", "two-devices", "--store", "user-profile", "--defect", "lost-update", "--turns", "40"],
        cwd=tmp_path, capture_output=True, timeout=100, check=False,
    )  # fmt: skip
    assert ended.returncode == 3
    for arguments in (["analyze", str(only_run(tmp_path))], ["analyze", str(only_run(tmp_path)), "--json"]):
        with subprocess.Popen(
            [*GOLDFISH, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            process.stdout.close()
            assert process.wait(PATIENCE_S) == 3


def test_an_interrupt_before_the_load_is_told(tmp_path: Path) -> None:
    with started("run", "-u", 6, "-t", 300, cwd=tmp_path) as process:
        until(lambda: any("keeper" in line for line in alive(descendants(process.pid))), "the deployment to start")
        below = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
        until(lambda: not alive(below), f"the end of {alive(below)}")
    assert process.returncode == 4
    assert "interrupted" in output or "INCONCLUSIVE" in output


def test_an_interrupt_while_the_run_ends_by_itself_still_judges(memory: Deployment, tmp_path: Path) -> None:
    contract = tmp_path / "settle.toml"
    contract.write_text("[contract]\nsettle_ms = 4000\n[budget]\nmin_conversations = 3\n")
    arguments = ("run", "two-devices", "--host", memory.url, "-u", 6, "--turns", 60, "--contract", contract)
    with started(*arguments, cwd=tmp_path) as process:
        until(lambda: recording(tmp_path), "rows of the load")
        (directory,) = run_directories(tmp_path)
        until(lambda: not growing(directory), "the load to end")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == results_of(directory)["exit_code"] == 0, output


def test_an_interrupt_of_the_judging_is_no_verdict(memory: Deployment, tmp_path: Path) -> None:
    arguments = ("run", "two-devices", "--host", memory.url, "-u", 6, "--turns", 60)
    with started(*arguments, "--contract", small_contract(tmp_path), cwd=tmp_path) as process:
        until(lambda: analyzers(process.pid), "the analyzer")
        below = descendants(process.pid)
        (analyzer,) = analyzers(process.pid)
        analyzer.suspend()
        until(lambda: process.send_signal(signal.SIGINT) or process.poll() is not None, "the end")
        assert process.stdout is not None
        output = process.stdout.read()
        until(lambda: not alive(below), f"the end of {alive(below)}")
    assert process.returncode == 4, output


def analyzers(pid: int) -> list[psutil.Process]:
    found = []
    for process in descendants(pid):
        with suppress(psutil.NoSuchProcess):
            if "analysis" in process.cmdline():
                found.append(process)
    return found


@pytest.mark.parametrize(
    ("module", "imported"), [("goldfish", "click"), ("analysis", "msgspec"), ("analysis", "numpy")]
)
def test_an_interrupt_while_a_command_is_imported_ends_it_with_a_word(
    tmp_path: Path, module: str, imported: str
) -> None:
    program = f"""
import os, runpy, signal, sys

class Interrupts:
    def find_spec(self, name, *_):
        if name == {imported!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
sys.argv = [{module!r}, "show", "nowhere"] if {module!r} == "goldfish" else [{module!r}, "nowhere"]
runpy.run_module({module!r}, run_name="__main__")
"""
    ended = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (4, "interrupted; nothing was judged\n")
