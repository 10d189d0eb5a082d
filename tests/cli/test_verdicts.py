"""The main job on real parts: a sound memory passes, a broken one is caught, and the record agrees with the store."""

from __future__ import annotations

import subprocess
import sys
import threading
import urllib.request
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet
import pytest
import redis

from stress.deployment import Deployment, Plan

from .command import LOCUSTFILES, final_counts, goldfish, live_counts, only_run, results_of, rows_of, small_contract


def swarm(deployment: Deployment, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """A run against a deployment that the test keeps, as its owner would start it."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "stress.swarm",
        "-f",
        str(LOCUSTFILES / "all_scenarios.py"),
        "--headless",
        "--only-summary",
        "--host",
        deployment.url,
        "--goldfish-deployment",
        str(deployment.folder),
        "--goldfish-contract",
        str(small_contract(folder)),
        *more,
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, object]], dict[str, float]]:
    """A run on the sound store: its directory, the store's dump, recalls by what served them."""
    folder = tmp_path_factory.mktemp("sound")
    with Deployment.start(Plan()) as deployment:
        done = swarm(deployment, folder, "-u", "24", "-r", "24", "--goldfish-turns", "900")
        assert done.returncode == 0, done.stdout + done.stderr
        return only_run(folder), deployment.dump(), recalls_served(deployment)


def recalls_served(deployment: Deployment) -> dict[str, float]:
    """Recalls by the part that served them, over all instances."""
    served: dict[str, float] = defaultdict(float)
    for part in deployment.status()["parts"]:
        if part["name"].startswith("m") and part["name"][1:].isdigit():
            with urllib.request.urlopen(f"http://{part['address'].removeprefix('http://')}/metrics") as answer:
                for line in answer.read().decode().splitlines():
                    if line.startswith("goldfish_memory_recalls_total"):
                        served[line.split('source="')[1].split('"')[0]] += float(line.rpartition(" ")[2])
    return served


def test_a_sound_memory_passes_with_equal_live_and_final_counts(sound: tuple[Path, list[object], object]) -> None:
    directory = sound[0]
    results = results_of(directory)
    assert results["verdict"] == "pass"
    assert [s["name"] for s in results["scenarios"]] == ["rapid-switch", "reconnect", "two-devices"]
    assert final_counts(directory) == live_counts(directory)
    assert all(checked > 50 and lossy == 0 for checked, lossy in final_counts(directory).values())
    assert {"run.json", "transcript", "results.json", "findings.parquet", "report.html", "summary.md"} <= {
        path.name for path in directory.iterdir()
    }


def test_everything_acknowledged_is_stored_and_everything_stored_was_recorded(
    sound: tuple[Path, list[dict[str, object]], object],
) -> None:
    directory, dump, _ = sound
    appends = [row for row in rows_of(directory) if row["kind"] == "append"]
    said = {
        (row["user"], row["session"], message["role"], message["text"][: message["text"].index("]")].strip("["))
        for row in appends
        for message in row["messages"]
    }
    acknowledged = {
        (row["user"], row["session"], message["role"], message["text"][: message["text"].index("]")].strip("["))
        for row in appends
        if row["outcome"] == "ok"
        for message in row["messages"]
    }
    stored = [(line["user"], line["session"], line["role"], line["id"]) for line in dump]
    assert len(stored) == len(set(stored))
    assert acknowledged <= set(stored)
    assert set(stored) <= said
    assert len(acknowledged) > 1000


def test_redis_serves_more_than_half_of_the_recalls(sound: tuple[Path, object, dict[str, float]]) -> None:
    served = sound[2]
    assert served["redis"] > served["postgres"] > 0


def test_users_see_every_instance(sound: tuple[Path, object, object]) -> None:
    instances = {row["instance"] for row in rows_of(sound[0]) if row["kind"] in ("append", "recall")}
    assert instances == {"m1", "m2", "m3"}


def test_losing_redis_again_and_again_loses_nothing(tmp_path: Path) -> None:
    with Deployment.start(Plan()) as deployment:
        (address,) = (part["address"] for part in deployment.status()["parts"] if part["name"] == "redis")
        client = redis.Redis(unix_socket_path=address.removeprefix("unix:"))
        done, flushed = threading.Event(), []

        def flush() -> None:
            while not done.wait(0.2):
                flushed.append(client.dbsize())
                client.flushall()

        flusher = threading.Thread(target=flush)
        flusher.start()
        try:
            ended = swarm(deployment, tmp_path, "-u", "20", "-r", "20", "--goldfish-turns", "500")
        finally:
            done.set()
            flusher.join()
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert sum(size > 0 for size in flushed) >= 5, "Redis held something when it was flushed"
        acknowledged = sum(
            len(row["messages"])
            for row in rows_of(only_run(tmp_path))
            if row["kind"] == "append" and row["outcome"] == "ok"
        )
        assert len(deployment.dump()) >= acknowledged


def findings_of(directory: Path) -> list[dict[str, object]]:
    return list(pyarrow.parquet.read_table(directory / "findings.parquet").to_pylist())


def test_two_devices_that_overwrite_each_other_lose_messages_by_name(tmp_path: Path) -> None:
    ended = goldfish(
        "run", "two-devices", "--store", "user-profile", "--defect", "lost-update", "-u", 8, "--turns", 60,
        "--contract", small_contract(tmp_path), cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 3, ended.stdout + ended.stderr
    directory = only_run(tmp_path)
    lost = [f for f in findings_of(directory) if f["anomaly"] == "missing" and str(f["fate"]).startswith("lost")]
    assert lost
    assert all(finding["device"] in ("phone", "laptop") and finding["seq"] is not None for finding in lost)
    assert final_counts(directory) == live_counts(directory)
    assert "FAIL" in ended.stdout


def test_a_cache_in_every_instance_is_seen_off_the_diagonal(tmp_path: Path) -> None:
    ended = goldfish(
        "run", "--store", "user-profile", "--defect", "instance-cache", "--balance", "round-robin", "-u", 12,
        "--turns", 200, "--contract", small_contract(tmp_path), cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 3, ended.stdout + ended.stderr
    directory = only_run(tmp_path)
    missing = [f for f in findings_of(directory) if f["anomaly"] == "missing" and f["written_by"] is not None]
    assert {"stale", "flicker"} & {finding["fate"] for finding in missing}
    off = sum(finding["written_by"] != finding["read_by"] for finding in missing)
    assert off > 0.9 * len(missing)
    assert final_counts(directory) == live_counts(directory)


def test_the_sound_twin_of_the_broken_store_passes(tmp_path: Path) -> None:
    ended = goldfish(
        "run", "--store", "user-profile", "-u", 12, "--turns", 200, "--contract", small_contract(tmp_path), cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("connection", ["session", "request"])
@pytest.mark.parametrize("balance", ["sticky", "random"])
def test_other_balances_and_connections_are_sound_too(tmp_path: Path, balance: str, connection: str) -> None:
    ended = goldfish(
        "run", "--balance", balance, "--connection", connection, "-u", 9, "--turns", 120, "--seed", 7,
        "--contract", small_contract(tmp_path), cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = [row for row in rows_of(only_run(tmp_path)) if row["kind"] in ("append", "recall")]
    if connection == "request":
        assert {row["connection"] for row in rows} == {"new"}
    if balance == "sticky":
        load = [row for row in rows if row["phase"] != "final" and row["scenario"] == "rapid-switch"]
        by_user: dict[str, set[str]] = defaultdict(set)
        for row in load:
            by_user[row["user"]].add(row["instance"])
        assert all(len(instances) == 1 for instances in by_user.values())


def test_a_defect_on_one_instance_only_is_caught(tmp_path: Path) -> None:
    ended = goldfish(
        "run", "rapid-switch", "--store", "user-profile", "--defect", "instance-cache@m2:ttl=5", "-u", 10,
        "--turns", 150, "--contract", small_contract(tmp_path), cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 3, ended.stdout + ended.stderr
    missing = [f for f in findings_of(only_run(tmp_path)) if f["anomaly"] == "missing"]
    assert {finding["read_by"] for finding in missing} == {"m2"}


def test_the_same_seed_says_the_same_things(tmp_path: Path) -> None:
    texts = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        goldfish(
            "run", "rapid-switch", "-u", 1, "--turns", 20, "--seed", 5, "--contract", small_contract(folder), cwd=folder
        )
        rows = [row for row in rows_of(only_run(folder)) if row["kind"] == "append"]
        texts.append([m["text"].partition("] ")[2] for row in rows for m in row["messages"]])
    assert texts[0] == texts[1]
