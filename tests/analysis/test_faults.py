"""Faults: what met them, what they cost, what too few of them prove, and when they prove nothing."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from analysis.analyze import analyze
from analysis.episodes import Episodes, Window, clocks
from analysis.rates import estimate
from analysis.results import Results
from goldfish.contract import Budget, Contract
from goldfish.faults import Fault, read_faults
from goldfish.run import Run, read_run
from goldfish.table import render

from .runs import MS, Process, many, reasons, sound, write

LOOSE = Budget(min_conversations=1, context_loss=0.5)


def fault(requested: int, healthy: int | None, kind: str = "kill", part: str = "m1", **more: Any) -> Fault:
    """A fault, in milliseconds, that shows its effect at once."""
    stamps: dict[str, Any] = {"requested_ns": requested * MS, "effective_ns": requested * MS}
    if healthy is not None:
        stamps |= {"heal_requested_ns": healthy * MS, "healthy_ns": healthy * MS}
    return Fault(kind=kind, part=part, **stamps | more)


def faulty(directory: Path, process: Process, *faults: Fault, budget: Budget = LOOSE, **run: Any) -> Results:
    write(directory, process, budget=budget, start_ns=0, **run)
    (directory / "faults.jsonl").write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in faults))
    return analyze(directory)


def loser(process: Process, name: str, said: int, looked: int, *, final: int = 90_000) -> Process:
    """Says one thing, looks for it in vain, and sees it in the end: one lossy of two recalls."""
    process.talk(name).append("phone", said, said + 1, 0).recall("phone", looked, looked + 1)
    return process.recall("phone", final, final + 1, ("phone", 0), final=True)


def keeper(process: Process, name: str, *looks: int) -> Process:
    """Says one thing long before, and always sees it."""
    process.talk(name).append("phone", 0, 1, 0)
    for at in looks:
        process.recall("phone", at, at + 1, ("phone", 0))
    return process.recall("phone", 99_000, 99_001, ("phone", 0), final=True)


# when ----------------------------------------------------------------------------------------------------------------


def test_faults_that_overlap_are_one_episode() -> None:
    faults = [fault(10, 20), fault(15, 30), fault(30, 31), fault(40, 50), fault(60, None), fault(70, 71)]
    episodes = Episodes(faults, {})
    assert [Window(a // MS, b // MS) for a, b in episodes.windows[:2]] == [(10, 31), (40, 50)]
    assert episodes.of_fault == [0, 0, 0, 1, 2, 2]
    for start, end, met in (
        (0, 9, None),
        (0, 10, 0),
        (31, 39, 0),
        (32, 39, None),
        (35, 45, 1),
        (5, 45, 1),
        (99, 100, 2),
    ):
        assert episodes.met("w0", start * MS, end * MS) == met
    assert [episodes.since("w0", at * MS) for at in (9, 10, 35, 40, 65)] == [0, 1, 1, 2, 3]
    assert episodes.faults_met(0, "w0", 25 * MS, 28 * MS) == [1]


def test_stamps_of_another_host_are_brought_to_the_conductors_clock(tmp_path: Path) -> None:
    hour_ns = 3_600_000_000_000
    write(tmp_path, Process("here"), Process("there"), started=1_000.0, start_ns=5_000_000_000)
    for name, wall, monotonic_ns in (("here", 1_002.000_1, 7_000_000_000), ("there", 1_003.0, hour_ns + 8_000_000_000)):
        path = tmp_path / "transcript" / f"{name}.jsonl"
        header, _, rest = path.read_bytes().partition(b"\n")
        told = msgspec.json.decode(header) | {"wall": wall, "monotonic_ns": monotonic_ns}
        path.write_bytes(msgspec.json.encode(told) + b"\n" + rest)
    ahead_ns = clocks(tmp_path, read_run(tmp_path))
    assert ahead_ns == {"here": 0, "there": hour_ns}
    episodes = Episodes([fault(10, 20)], ahead_ns)
    assert episodes.met("there", hour_ns + 15 * MS, hour_ns + 16 * MS) == 0
    assert episodes.met("there", 15 * MS, 16 * MS) is None


def test_without_a_wall_clock_all_stamps_are_the_conductors() -> None:
    assert clocks(Path("/nowhere"), Run(run="x", contract=Contract(), processes=["w0"])) == {}


# what it cost --------------------------------------------------------------------------------------------------------


def test_recalls_before_during_and_after(tmp_path: Path) -> None:
    process = Process()
    keeper(process, "a", 50, 150, 250, 350, 450)
    loser(process, "b", 120, 130)
    loser(process, "c", 410, 420)
    results = faulty(tmp_path, process, fault(100, 200), fault(300, 400, "pause", "redis", proof="no PONG for 2 s"))
    kill, pause = results.faults
    assert (kill.kind, kill.part, kill.requested_s, kill.healthy_s, kill.ok) == ("kill", "m1", 0.1, 0.2, True)
    assert (pause.kind, pause.part, pause.proof, pause.episode) == ("pause", "redis", "no PONG for 2 s", 1)
    shares = [(each.checked, each.lossy, each.rate) for each in (kill.before, kill.during, kill.after)]
    assert shares == [(1, 0, 0.0), (2, 1, 0.5), (1, 0, 0.0)]
    # After the last episode: one of a, one lossy, and three final recalls.
    shares = [(each.checked, each.lossy, each.rate) for each in (pause.before, pause.during, pause.after)]
    assert shares == [(1, 0, 0.0), (1, 0, 0.0), (5, 1, 0.2)]
    assert (kill.lossy_recalls, kill.harmed_conversations, kill.lost_messages) == (1, 1, 0)
    assert (pause.lossy_recalls, pause.harmed_conversations) == (0, 0)


def test_what_a_fault_lost_is_its_cost_however_late_somebody_looks(tmp_path: Path) -> None:
    process = Process()
    # Said and seen before the kill, gone for ever when next looked for, long after the part was well again.
    process.talk("gone").append("phone", 0, 1, 0).recall("phone", 50, 51, ("phone", 0))
    process.recall("phone", 500, 501).recall("phone", 600, 601, final=True)
    # Seen after the kill and gone later: not the kill's doing.
    process.talk("later").append("phone", 0, 1, 0).recall("phone", 250, 251, ("phone", 0))
    process.recall("phone", 700, 701).recall("phone", 800, 801, final=True)
    keeper(process, "a", 150)
    (kill,) = faulty(tmp_path, process, fault(100, 200)).faults
    assert (kill.during.lossy, kill.lossy_recalls, kill.harmed_conversations, kill.lost_messages) == (0, 2, 1, 1)


def test_a_fault_that_never_heals_lasts_to_the_end(tmp_path: Path) -> None:
    process = keeper(Process(), "a", 50, 150, 950)
    (kill,) = faulty(tmp_path, process, fault(100, None)).faults
    assert (kill.before.checked, kill.during.checked, kill.after.checked) == (1, 3, 0)
    assert (kill.heal_requested_s, kill.healthy_s, kill.after.rate) == (None, None, None)


# what it proves ------------------------------------------------------------------------------------------------------


def struck(users: int, faults: int, losing: int, at: int = 100) -> Process:
    """Users who all look once in every episode; the first few of them lack something in each."""
    process = Process()
    for user in range(users):
        process.talk(f"u{user}").append("phone", 0, 1, 0)
        for number in range(faults):
            when = 1_000 * number + at
            shown = () if user < losing else (("phone", 0),)
            process.recall("phone", when + 10, when + 11, *shown)
            process.recall("phone", when + 500, when + 501, ("phone", 0))
        process.recall("phone", 99_000, 99_001, ("phone", 0), final=True)
    return process


def kills(number: int) -> list[Fault]:
    return [fault(1_000 * at + 100, 1_000 * at + 200) for at in range(number)]


def test_a_few_faults_that_cost_something_are_incidents_without_an_interval(tmp_path: Path) -> None:
    results = faulty(tmp_path, struck(50, 4, 5), *kills(4))
    (scenario,) = results.scenarios
    assert scenario.incidents == 4
    recalls = scenario.recalls
    assert (recalls.checked, recalls.lossy, recalls.rate) == (450, 20, 20 / 450)
    assert (recalls.low, recalls.high, recalls.deff) == (0, 1, None)
    assert [each.lossy_recalls for each in results.faults] == [5, 5, 5, 5]
    assert (results.exit_code, reasons(results)) == (4, ["incidents"])
    assert "4 incidents" in results.reasons[0].text


def test_five_faults_are_five_pieces_of_evidence_and_not_two_hundred(tmp_path: Path) -> None:
    results = faulty(tmp_path, struck(50, 5, 40), *kills(5))
    (scenario,) = results.scenarios
    assert scenario.incidents == 0
    # Fifty users with six sound recalls each outside of faults, and five faults that cost 40 of 50 recalls each.
    expected = estimate([0] * 50 + [40] * 5, [6] * 50 + [50] * 5, 0.95)
    assert (scenario.recalls.low, scenario.recalls.high) == pytest.approx((expected.low, expected.high))
    assert (scenario.recalls.checked, scenario.recalls.lossy) == (550, 200)
    by_user = estimate([5] * 40 + [0] * 10, [11] * 50, 0.95)
    assert scenario.recalls.low < by_user.low < by_user.high < scenario.recalls.high


def test_a_fault_in_which_nothing_was_lost_changes_no_interval(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with_faults = faulty(tmp_path / "a", struck(50, 2, 0), *kills(2))
    assert with_faults.exit_code == 0
    assert with_faults.scenarios == analyze(write(tmp_path / "b", struck(50, 2, 0), budget=LOOSE)).scenarios


def test_losses_outside_of_faults_are_tested_all_the_same(tmp_path: Path) -> None:
    process = struck(100, 1, 2)
    for user in range(30):
        loser(process, f"x{user}", 700, 710)
    budget = Budget(min_conversations=1, context_loss=0.01)
    results = faulty(tmp_path, process, *kills(1), budget=budget)
    assert (results.verdict, reasons(results)) == ("fail", ["context-loss"])
    assert "in 1 incident, see faults" in results.reasons[0].text


def test_a_budget_of_zero_needs_no_interval(tmp_path: Path) -> None:
    results = faulty(tmp_path, struck(20, 1, 1), *kills(1), budget=Budget(min_conversations=1))
    assert (results.verdict, reasons(results)) == ("fail", ["context-loss"])


# when it proves nothing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "code", "words"),
    [
        (fault(100, None, effective_ns=None), "fault-without-effect", "kill@m1 at 0.1 s was never seen"),
        (fault(100, 200, ok=False, proof="redis was not healed"), "fault-failed", "redis was not healed; was not as"),
        (fault(40_000, 40_001), "fault-unobserved", "before any checked recall was under way"),
    ],
)
def test_a_fault_that_proves_nothing_bars_a_pass(tmp_path: Path, bad: Fault, code: str, words: str) -> None:
    good = fault(100, 300, kind="pause")
    process = keeper(many(5), "a", 150)
    results = faulty(tmp_path, process, good, bad, budget=Budget(min_conversations=1))
    assert (results.exit_code, reasons(results)) == (4, [code])
    assert words in results.reasons[0].text


def test_a_recall_that_was_owed_nothing_does_not_look(tmp_path: Path) -> None:
    process = sound(Process(), 1, start=1_000).talk("x").recall("phone", 110, 120)
    results = faulty(tmp_path, process, fault(100, 200), budget=Budget(min_conversations=1))
    assert reasons(results) == ["fault-unobserved"]


def test_a_proven_loss_outranks_a_fault_without_effect(tmp_path: Path) -> None:
    process = loser(many(5), "x", 120, 130)
    results = faulty(tmp_path, process, fault(100, None, effective_ns=None), budget=Budget(min_conversations=1))
    assert (results.exit_code, reasons(results)) == (3, ["context-loss", "fault-without-effect"])


@pytest.mark.parametrize(
    "line",
    [
        b'{"kind":"kill","part":"m1","requested_ns":1',
        b'{"kind":"kill","part":"m1","requested_ns":5,"effective_ns":4}',
        b'{"kind":"kill"}',
        b"\xff",
    ],
)
def test_a_line_that_cannot_be_read_bars_a_pass_and_hides_no_other(tmp_path: Path, line: bytes) -> None:
    write(tmp_path, keeper(many(5), "a", 150), budget=Budget(min_conversations=1), start_ns=0)
    (tmp_path / "faults.jsonl").write_bytes(msgspec.json.encode(fault(100, 200)) + b"\n" + line)
    faults, flaw = read_faults(tmp_path)
    assert len(faults) == 1
    assert flaw is not None
    assert "faults.jsonl:2" in flaw
    results = analyze(tmp_path)
    assert (results.exit_code, reasons(results)) == (4, ["incomplete-faults"])
    assert len(results.faults) == 1


# failed requests -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "exit_code"), [(150, 0), (250, 1)])
def test_requests_that_fail_in_a_fault_do_not_count(tmp_path: Path, at: int, exit_code: int) -> None:
    process = keeper(many(20), "a", 150)
    for number in range(5):
        process.talk(f"x{number}").recall("phone", at, at + 1, outcome="fail")
    results = faulty(tmp_path, process, fault(100, 200), budget=Budget(min_conversations=1))
    assert (results.exit_code, reasons(results)) == (exit_code, ["request-failures"] if exit_code else [])
    if exit_code:
        assert "5 of 147 requests outside of faults" in results.reasons[0].text


def test_the_terminal_tells_incidents_where_there_is_no_interval(tmp_path: Path) -> None:
    results = faulty(tmp_path, struck(50, 2, 5), *kills(2))
    console = Console(file=io.StringIO(), width=120, color_system=None)
    console.print(render(msgspec.to_builtins(results)))
    assert "2 incidents" in console.file.getvalue()  # type: ignore[attr-defined]
