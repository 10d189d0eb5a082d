"""Runs that end as soon as something is proven; judged by tests that allow for it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from stress.deployment import Deployment, Plan

from .command import LOCUST, goldfish, only_run, results_of

LONGEST_S = 90
"""Nothing here takes so long."""
STORY = """
from goldfish import MemoryUser


class Chat(MemoryUser):
    '''Someone who says one thing and looks back.'''

    cancels = True

    def story(self):
        phone = self.device("phone")
        chat = self.session()
        phone.say(chat)
        phone.recall(chat)
        yield
"""


def run_json(folder: Path) -> dict[str, object]:
    return dict(json.loads((only_run(folder) / "run.json").read_text()))


def test_a_sound_memory_is_proven_sound(tmp_path: Path) -> None:
    (tmp_path / "goldfish.toml").write_text(
        "[budget]\nmin_conversations = 10\ncontext_loss = 0.1\nconversations_harmed = 0.1\n"
    )
    more = ["-u", "20", "-t", LONGEST_S, "--until-proven", "--contract", "goldfish.toml"]
    ended = goldfish("run", "two-devices", "reconnect", *more, cwd=tmp_path, timeout_s=LONGEST_S + 60)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "until proven: context_loss = 10.000% is kept once users are 40 times as likely" in ended.stderr
    record = run_json(tmp_path)
    assert (record["ended"], record["proven"], record["until_proven"]) == ("proven", "every budget is kept", True)
    assert "--until-proven" in record["command"]  # type: ignore[operator]
    results = results_of(only_run(tmp_path))
    assert results["until_proven"]
    assert all(scenario["conversations"]["clusters"] >= 43 for scenario in results["scenarios"])
    users = sum(process["evidence"]["reconnect"]["users"] for process in record["counters"].values())  # type: ignore[attr-defined]
    assert users == next(s for s in results["scenarios"] if s["name"] == "reconnect")["recalls"]["clusters"]
    # What ended the run is proven by its record as well, and stays so.
    assert goldfish("analyze", only_run(tmp_path), cwd=tmp_path).returncode == 0


def test_the_first_loss_ends_a_run_that_tolerates_none(tmp_path: Path) -> None:
    ended = goldfish(
        *("run", "two-devices", "--store", "user-profile", "--defect", "lost-update", "-u", "10"),
        *("-t", LONGEST_S, "--until-proven"),
        cwd=tmp_path,
        timeout_s=LONGEST_S + 60,
    )
    assert ended.returncode == 3, ended.stdout + ended.stderr
    record = run_json(tmp_path)
    assert record["ended"] == "proven"
    assert record["proven"] == "a loss in two-devices, and none is tolerated"


@pytest.mark.parametrize("processes", [1, 2])
def test_locust_alone_ends_when_enough_is_proven(tmp_path: Path, processes: int) -> None:
    (tmp_path / "chat.py").write_text(STORY)
    more = ["--goldfish-until-proven", *(["--processes", str(processes)] if processes > 1 else [])]
    with Deployment.start(Plan()) as memory:
        ended = subprocess.run(
            [
                *(*LOCUST, "-f", "chat.py", "--headless", "-u", "20", "-t", f"{LONGEST_S}s", "--host", memory.url),
                *("--goldfish-deployment", str(memory.folder), *more),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=LONGEST_S + 60,
            check=False,
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    record = run_json(tmp_path)
    assert (record["ended"], record["proven"]) == ("proven", "no loss in 100 conversations each")
    assert record["cancelling"] == ["chat"]
    (scenario,) = results_of(only_run(tmp_path))["scenarios"]
    assert scenario["conversations"]["checked"] >= 100
