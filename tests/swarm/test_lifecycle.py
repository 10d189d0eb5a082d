"""The conductor's half of the state machine, with load processes that do what a test says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gevent
import pytest

from goldfish.contract import Contract, Settings
from goldfish.run import Counters, read_run
from goldfish.run import Run as Record
from stress.swarm import lifecycle
from stress.swarm.crew import Workers
from stress.swarm.lifecycle import Member, Swarm
from stress.swarm.plan import Plan
from stress.swarm.status import Status
from stress.targets.load import find

PLAN = Plan(
    run="a-run", tag="aaaaaa", directory="", host="http://127.0.0.1:1", target=find(""), timeout_s=10,
    connection="kept", seed=1, owned=True, users=4,
    settings=Settings(contract=Contract(settle_ms=0)), scenarios=("rapid-switch",), turns=100,
)  # fmt: skip


class Crew:
    """Load processes on strings."""

    def __init__(self, **answers: Callable[[Crew], None]) -> None:
        self.swarm: Swarm
        self.answers = answers
        """What a process does when it is asked to drain; nothing if it is not here."""
        self.drained: list[str] = []
        self.aborted: list[str] = []
        self.ends: list[str] = []
        self.gone: dict[str, str] = {}

    def drain(self, members: list[Member]) -> None:
        for member in members:
            self.drained.append(member.process)
            self.answers.get(member.process, lambda _: None)(self)

    def abort(self, members: list[Member]) -> None:
        for member in members:
            self.aborted.append(member.process)
            if member.process in self.answers:
                self.tell(member.process, "closed")

    def missing(self, member: Member) -> str | None:
        silent = time.monotonic() - member.heard_s > lifecycle.SILENT_S
        return self.gone.get(member.process) or ("nothing was heard of it" if silent else None)

    def tell(self, process: str, state: Any, **more: Any) -> None:
        self.swarm.hear(Status(run="a-run", process=process, state=state, **more))


def closes(process: str) -> Callable[[Crew], None]:
    return lambda crew: crew.tell(process, "closed", counters=Counters(rows={"append": 3}))


def swarm(folder: Path, crew: Crew, *processes: str, plan: Plan = PLAN) -> Swarm:
    record = Record(run=plan.run, contract=plan.settings.contract, processes=list(processes))
    crew.swarm = Swarm(
        plan, record, folder / plan.run, crew, on_end=crew.ends.append, on_lost=lambda _: None, audit=lambda _: None
    )
    return crew.swarm


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DRAIN_S", "KILL_S", "FINAL_S", "GONE_S", "ABORT_S"):
        monkeypatch.setattr(lifecycle, name, 0.1)
    monkeypatch.setattr(lifecycle, "SILENT_S", 1.6)


def test_a_run_ends_when_every_process_has_told_its_end(tmp_path: Path) -> None:
    crew = Crew(w0=closes("w0"), w1=closes("w1"))
    run = swarm(tmp_path, crew, "w0", "w1")
    run.finish("stopped")
    record = read_run(tmp_path / "a-run")
    assert run.state == "closed"
    assert (record.ended, record.lost) == ("stopped", {})
    assert {name: counters.rows for name, counters in record.counters.items()} == {
        "w0": {"append": 3},
        "w1": {"append": 3},
    }


def test_a_process_that_never_answers_is_asked_again_and_then_lost(tmp_path: Path) -> None:
    crew = Crew(w0=closes("w0"))
    run = swarm(tmp_path, crew, "w0", "w1")
    run.finish("stopped")
    record = read_run(tmp_path / "a-run")
    assert crew.drained.count("w0") == 1
    assert crew.drained.count("w1") > 1
    assert list(record.lost) == ["w1"]
    assert "w1" not in record.counters
    assert record.processes == ["w0", "w1"]


def test_a_process_that_goes_on_telling_is_lost_at_the_deadline(tmp_path: Path) -> None:
    crew = Crew(w0=lambda crew: crew.tell("w0", "final"))
    run = swarm(tmp_path, crew, "w0")
    run.finish("stopped")
    assert "did not close its log within" in read_run(tmp_path / "a-run").lost["w0"]


def test_a_lost_process_that_speaks_up_again_is_not_lost(tmp_path: Path) -> None:
    crew = Crew(w0=closes("w0"))
    run = swarm(tmp_path, crew, "w0")
    while not run.members["w0"].lost:
        gevent.sleep(0.05)
    assert crew.ends == ["all load processes were lost"]
    crew.tell("w0", "load")
    run.finish("stopped")
    assert read_run(tmp_path / "a-run").lost == {}


def test_a_process_that_has_ended_is_lost_with_the_reason(tmp_path: Path) -> None:
    crew = Crew(w0=closes("w0"))
    run = swarm(tmp_path, crew, "w0", "w1")
    crew.tell("w1", "load")
    crew.gone["w1"] = "it ended without closing its log"
    run.finish("stopped")
    lost = read_run(tmp_path / "a-run").lost["w1"]
    assert lost.startswith("it ended without closing its log (process ")
    assert read_run(tmp_path / "a-run").counters["w1"].rows == {}


def test_one_that_comes_later_belongs_to_the_run_and_one_that_takes_no_part_does_not(tmp_path: Path) -> None:
    crew = Crew(w0=closes("w0"), w1=closes("w1"), w2=lambda crew: crew.tell("w2", "absent"))
    run = swarm(tmp_path, crew, "w0")
    crew.tell("w1", "warmup")
    run.join("w2")
    assert json.loads((tmp_path / "a-run" / "run.json").read_text())["processes"] == ["w0", "w1", "w2"]
    run.finish("stopped")
    record = read_run(tmp_path / "a-run")
    assert record.processes == ["w0", "w1"]
    assert record.lost == {}


def test_one_that_comes_while_the_others_drain_is_drained_too(tmp_path: Path) -> None:
    def both(crew: Crew) -> None:
        crew.tell("w1", "warmup")
        crew.tell("w0", "closed")

    crew = Crew(w0=both, w1=closes("w1"))
    swarm(tmp_path, crew, "w0").finish("stopped")
    assert crew.drained == ["w0", "w1"]


def test_turns_are_counted_over_all_processes(tmp_path: Path) -> None:
    crew = Crew(w0=closes("w0"), w1=closes("w1"))
    run = swarm(tmp_path, crew, "w0", "w1")
    crew.tell("w0", "load", turns=60)
    crew.tell("w1", "load", turns=39)
    assert crew.ends == []
    crew.tell("w1", "load", turns=40)
    assert crew.ends == ["turns done"]
    run.finish("turns done")


def test_a_log_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    crew = Crew(w0=closes("w0"))
    run = swarm(tmp_path, crew, "w0")
    crew.tell("w0", "load", failure="No space left on device")
    assert crew.ends == ["log failed: No space left on device"]
    run.finish("log failed")


def test_an_abort_ends_a_finish_that_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "FINAL_S", 600)
    monkeypatch.setattr(lifecycle, "SILENT_S", 600)
    crew = Crew(w0=lambda crew: crew.tell("w0", "final"))
    run = swarm(tmp_path, crew, "w0", "w1")
    waiting = gevent.spawn(run.finish, "interrupted")
    gevent.sleep(0.05)
    assert run.state == "drain"
    run.abort()
    waiting.join(5)
    assert waiting.successful()
    record = read_run(tmp_path / "a-run")
    assert record.ended == "aborted"
    assert set(record.lost) == {"w1"}


def test_both_may_be_called_by_anybody_at_any_time(tmp_path: Path) -> None:
    crew = Crew(w0=closes("w0"))
    run = swarm(tmp_path, crew, "w0")
    crews = [gevent.spawn(run.finish, str(number)) for number in range(5)]
    gevent.joinall(crews, timeout=5, raise_error=True)
    run.abort()
    run.finish("late")
    assert read_run(tmp_path / "a-run").ended == "0"
    assert crew.aborted == []


def test_a_finish_that_is_killed_is_taken_up_by_the_next(tmp_path: Path) -> None:
    crew = Crew()
    run = swarm(tmp_path, crew, "w0")
    first = gevent.spawn(run.finish, "turns done")
    second = gevent.spawn(run.finish, "stopped")
    gevent.sleep(0)
    first.kill()
    crew.answers["w0"] = closes("w0")
    second.join(5)
    assert second.successful()
    record = read_run(tmp_path / "a-run")
    assert (run.state, record.ended, record.lost) == ("closed", "turns done", {})


def test_a_worker_that_leaves_before_it_says_anything_is_lost_at_once() -> None:
    runner = SimpleNamespace(clients={}, register_message=lambda *_: None)
    workers = Workers(runner, set(), lambda _: None)
    assert workers.missing(Member("w0")) == "it left before it began"


def test_problems_of_all_processes_are_kept_once(tmp_path: Path) -> None:
    crew = Crew(w0=closes("w0"), w1=closes("w1"))
    run = swarm(tmp_path, crew, "w0", "w1")
    for process in ("w0", "w1"):
        crew.tell(process, "load", problems=["a story ended", f"only in {process}"])
    run.finish("stopped")
    assert read_run(tmp_path / "a-run").problems == ["a story ended", "only in w0", "only in w1"]


def test_a_status_survives_the_message() -> None:
    told = Status(
        run="a-run", process="w1", state="final", turns=3, open=2, problems=["p"],
        counters=Counters(rows={"append": 1}, requests={"rapid-switch": {"append": 1}}),
    )  # fmt: skip
    assert Status.unpack(told.pack()) == told


def test_a_plan_survives_the_journey() -> None:
    assert Plan.decode(PLAN.encode()) == PLAN
