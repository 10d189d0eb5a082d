"""CPU of the load process per request: a whole goldfish turn beside bare FastHttpUser and HttpUser.

The turn is measured twice: with the built-in target, and with the same interface described by a mapping. All four run
against the same fast local server, interleaved, so that a noisy machine is noisy for each of them alike. Quoted is the
median of the ratios of rounds.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.record import median, save

HERE = Path(__file__).parent
KINDS = {
    "goldfish": "goldfish_user.py",
    "mapping": "goldfish_user.py",
    "fast": "fast_http_user.py",
    "http": "http_user.py",
}
RATIOS = (
    ("ratio_to_fast", "goldfish", "fast"),
    ("ratio_to_http", "goldfish", "http"),
    ("ratio_of_mapping_to_builtin", "mapping", "goldfish"),
)
ROUNDS = 7
USERS = 20
SECONDS = 6


def one(kind: str, port: str, folder: str) -> dict[str, float]:
    """One run of one kind: what the load process spent per request."""
    contract = Path(folder) / "goldfish.toml"
    contract.write_text("[contract]\nwindow = {messages = 20}\n")  # as much as the server keeps
    locustfile = HERE / "turns" / KINDS[kind]
    options = ["-u", USERS, "-r", USERS, "-t", f"{SECONDS}s", "--host", f"http://127.0.0.1:{port}"]
    if KINDS[kind] == "goldfish_user.py":
        options += ["--goldfish-contract", contract]
    if kind == "mapping":
        options += ["--goldfish-target", HERE / "turns" / "mapping.toml"]
    command = [sys.executable, "-P", "-m", "locust", "-f", locustfile, "--headless", "--only-summary", *options]
    ended = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    line = next((line for line in ended.stdout.splitlines() if line.startswith("METER ")), None)
    if line is None:
        raise SystemExit(f"{kind}: no measurement\n{ended.stdout}\n{ended.stderr}")
    spent: dict[str, float] = json.loads(line.removeprefix("METER "))
    assert not spent["failures"], f"{kind}: {spent['failures']} requests failed"
    return spent | {"cpu_us_per_request": spent["cpu_s"] / spent["requests"] * 1e6}


def bytes_per_operation(folder: str) -> float:
    """Op-log bytes per operation, over all runs made."""
    logs = list(Path(folder).glob("runs/*/transcript/*.jsonl"))
    return sum(path.stat().st_size for path in logs) / sum(len(path.read_bytes().splitlines()) - 2 for path in logs)


def main(rounds: int = ROUNDS) -> None:
    """Measure and save."""
    rows: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([sys.executable, str(HERE / "fast_memory.py")], stdout=subprocess.PIPE, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            for number in range(rounds):
                for kind in KINDS:
                    rows.append({"round": number, "kind": kind} | one(kind, port, folder))
                    print(rows[-1], flush=True)
            logged = bytes_per_operation(folder)
        finally:
            server.kill()
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
    summary = {f"{kind}_cpu_us_per_request": round(median(by_kind[kind], "cpu_us_per_request"), 1) for kind in KINDS}
    for name, ours, theirs in RATIOS:
        ratios = [
            one["cpu_us_per_request"] / other["cpu_us_per_request"]
            for one, other in zip(by_kind[ours], by_kind[theirs], strict=True)
        ]
        summary[name] = round(statistics.median(ratios), 3)
    summary["op_log_bytes_per_operation"] = round(logged)
    print(summary)
    print(save("turn_cost", summary, rows))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
