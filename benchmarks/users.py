"""How many users one load process carries: turns per second, CPU, latency and memory, from 50 users to 5,000.

Every point is a whole ``locust`` run of ``turns/steady_user.py`` with the pause that users have by default, against the
same fast local server; it must end with a pass. Latencies are those of the op log. Then the memory of users that wait,
beside bare Locust's: ``idle/``.

    python -m benchmarks.users [rounds]
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.curves import picture
from benchmarks.record import median, save

HERE = Path(__file__).parent
PICTURE = HERE.parent / "docs" / "pictures" / "users.svg"
USERS = (50, 100, 200, 500, 1_000, 2_000, 5_000)
IDLE_USERS = 5_000
LONG_TURNS = 24
"""As many as the longest story among the scenarios has."""
IDLE = {"bare": ("bare_user.py", 1), "fast_http": ("fast_http_user.py", 1), "goldfish": ("goldfish_user.py", 1)} | {
    "bare_long": ("bare_user.py", LONG_TURNS),
    "goldfish_long": ("goldfish_user.py", LONG_TURNS),
}
SATURATED = 0.9
"""Share of the time in which the process has something to do, from which it is the bottleneck."""
CONTRACT = "[contract]\nwindow = {messages = 20}\n[budget]\nmin_conversations = 50\n"
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


class Row(msgspec.Struct):
    """What is read of an op log's row."""

    kind: str
    phase: str = ""
    start_ns: int = 0
    end_ns: int = 0


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """The fast memory: its port and process id."""
    command = [sys.executable, str(HERE / "fast_memory.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip(), server.pid
        finally:
            server.kill()


def measured(locustfile: Path, users: int, port: str, folder: str, environment: dict[str, str]) -> dict[str, Any]:
    """One run of Locust in ``folder``: what its meter told."""
    options = ["-u", users, "-r", users, "-t", "120s", "--host", f"http://127.0.0.1:{port}"]
    if "goldfish" in locustfile.name or "steady" in locustfile.name:
        contract = Path(folder) / "goldfish.toml"
        contract.write_text(CONTRACT)  # the server keeps as much
        options += ["--goldfish-contract", contract]
    command = [sys.executable, "-P", "-m", "locust", "-f", locustfile, "--headless", "--only-summary", *options]
    ended = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    line = next((line for line in ended.stdout.splitlines() if line.startswith("METER ")), None)
    if line is None or ended.returncode:
        raise SystemExit(
            f"{locustfile.name} with {users} users failed:\n{ended.stdout[-4000:]}\n{ended.stderr[-4000:]}"
        )
    told: dict[str, Any] = json.loads(line.removeprefix("METER "))
    assert not told["failures"], f"{locustfile.name} with {users} users: {told['failures']} requests failed"
    return told


def under_load(users: int, port: str, server: int) -> dict[str, Any]:
    """One point of the curves."""
    with tempfile.TemporaryDirectory() as folder:
        told = measured(HERE / "turns" / "steady_user.py", users, port, folder, {"STEADY_SERVER": str(server)})
        (log,) = Path(folder).glob("runs/*/transcript/*.jsonl")
        decode = msgspec.json.Decoder(Row).decode
        with log.open("rb") as lines:
            rows = [
                row
                for row in map(decode, lines)
                if row.phase == "load" and told["start_ns"] <= row.end_ns < told["end_ns"]
            ]
    wall_s = (told["end_ns"] - told["start_ns"]) / 1e9
    latencies = {kind: sorted((row.end_ns - row.start_ns) / 1e6 for row in rows if row.kind == kind) for kind in KINDS}
    return {
        "users": users,
        "wall_s": round(wall_s, 3),
        "requests": told["requests"],
        "turns_per_s": round(len(latencies["append"]) / wall_s, 1),
        "cpu_share": round(told["cpu_s"] / wall_s, 3),
        "busy_share": round(1 - told["idle_s"] / wall_s, 3),
        "server_cpu_share": round(told["server_cpu_s"] / wall_s, 3),
        "cpu_us_per_request": round(told["cpu_s"] / told["requests"] * 1e6, 1),
        "latency_ms": percentiles(sorted(latencies["append"] + latencies["recall"])),
        "append_ms": percentiles(latencies["append"]),
        "recall_ms": percentiles(latencies["recall"]),
        "hub_late_ms": told["hub_late_ms"],
        "uss_kib_per_user": round(told["uss_kib_per_user"], 1),
    }


KINDS = ("append", "recall")


def percentiles(values: list[float]) -> dict[str, float]:
    """Of a sorted list."""
    return {name: round(values[int(share * (len(values) - 1))], 2) for name, share in SHARES.items()}


def waiting(kind: str, port: str) -> dict[str, Any]:
    """Memory per user that waits."""
    file, turns = IDLE[kind]
    with tempfile.TemporaryDirectory() as folder:
        told = measured(HERE / "idle" / file, IDLE_USERS, port, folder, {"IDLE_TURNS": str(turns)})
    return {"idle": kind} | {key: round(value, 2) for key, value in told.items()}


def knee(points: list[dict[str, Any]]) -> float | None:
    """The number of users at which the process is saturated, between two points on the logarithmic axis."""
    for below, above in pairwise(points):
        if below["busy_share"] < SATURATED <= above["busy_share"]:
            share = (SATURATED - below["busy_share"]) / (above["busy_share"] - below["busy_share"])
            return math.exp(math.log(below["users"]) + share * math.log(above["users"] / below["users"]))
    return None


def beyond_bare(idle: dict[str, float]) -> dict[str, float]:
    """What a waiting user costs more than Locust's own, and what a message costs."""
    messages = 2 * (LONG_TURNS - 1)
    short, long = idle["goldfish"] - idle["bare"], idle["goldfish_long"] - idle["bare_long"]
    return {
        "goldfish_kib_beyond_bare": round(short, 2),
        f"goldfish_kib_beyond_bare_after_{LONG_TURNS}_turns": round(long, 2),
        "fast_http_kib_beyond_bare": round(idle["fast_http"] - idle["bare"], 2),
        "kib_per_message": round((long - short) / messages, 3),
    }


def middle(rounds: list[dict[str, Any]], users: int) -> dict[str, Any]:
    """The round with the median CPU per request: its figures belong together."""
    own = sorted((row for row in rounds if row.get("users") == users), key=lambda row: float(row["cpu_us_per_request"]))
    return own[len(own) // 2]


def main(rounds: int = 1) -> None:
    """Measure, save, and draw."""
    loaded: list[dict[str, Any]] = []
    idle: list[dict[str, Any]] = []
    for number in range(rounds):
        for users in USERS:
            with serving() as (port, server):
                loaded.append({"round": number} | under_load(users, port, server))
            print(loaded[-1], flush=True)
        for kind in IDLE:
            with serving() as (port, _):
                idle.append({"round": number} | waiting(kind, port))
            print(idle[-1], flush=True)
    points = [middle(loaded, users) for users in USERS]
    memory = {kind: median([row for row in idle if row["idle"] == kind], "uss_kib_per_user") for kind in IDLE}
    saturated = knee(points)
    summary = {
        "points": points,
        "knee_users": round(saturated) if saturated else None,
        "idle_users": IDLE_USERS,
        "idle_uss_kib_per_user": memory,
    } | beyond_bare(memory)
    PICTURE.write_text(picture(points, saturated), encoding="utf-8")
    print({key: value for key, value in summary.items() if key != "points"})
    print(save("users", summary, loaded + idle))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
