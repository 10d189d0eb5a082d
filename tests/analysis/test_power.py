"""Power and the positive control: what would have been seen, and whether the checker sees what leaves no excuse."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from analysis import judging
from analysis.analyze import analyze
from analysis.check import check
from analysis.load import load
from analysis.power import Power, power
from analysis.sums.sampled import KEPT_MAX, Sampled
from goldfish.contract import Budget, Contract, Page, Ttl, Window
from tests.evidence.faults import compound
from tests.evidence.histories import History
from tests.evidence.product import company_of, contract_of, conversation_of
from tests.evidence.simulator import simulate

from .runs import Process, corrupted, many, reasons, window, write

ALL = Contract()


def tried(directory: Path, process: Process, contract: Contract = ALL) -> Power:
    record = load(write(directory, process, contract=contract))
    sample = Sampled()
    for conversation in record.conversations.values():
        sample.add(check(conversation, contract))
    return power(sample.conversations(), contract)


def turns(process: Process, name: str, number: int, keep: int | None = None, **recall: Any) -> Process:
    """One message and one look back a turn, at the newest few if a window keeps no more."""
    process.talk(name)
    for turn in range(number):
        process.append("phone", 10 * turn, 10 * turn + 2, turn)
        first = 0 if keep is None else max(0, turn + 1 - keep)
        process.recall("phone", 10 * turn + 4, 10 * turn + 6, *(("phone", s) for s in range(first, turn + 1)), **recall)
    return process


def test_where_nothing_bounds_a_list_every_absence_is_seen(tmp_path: Path) -> None:
    told = tried(tmp_path, turns(Process(), "a", 6))
    assert told.share == 1.0
    assert (told.sampled, told.conversations) == (6, 1)
    assert (told.control.planted, told.control.found) == (6, 6)


def test_a_list_that_is_one_short_of_its_window_lacks_a_message(tmp_path: Path) -> None:
    told = tried(tmp_path, turns(Process(), "a", 8, keep=4), window(4))
    assert told.share == 1.0
    # Only beside an older message there is no excuse that needs a second thought.
    assert 0 < told.control.found == told.control.planted < told.sampled


def test_two_who_write_at_once_hide_each_others_losses(tmp_path: Path) -> None:
    process = Process().talk("a").append("phone", 0, 90, 0).append("laptop", 1, 91, 0)
    process.recall("phone", 100, 101, ("phone", 0), limit=1)
    told = tried(tmp_path, process)
    # Without the one shown, either may have been pushed out by the other: nobody can be named.
    assert (told.share, told.sampled, told.control.planted) == (0.0, 1, 0)


def test_what_was_never_acknowledged_has_no_power(tmp_path: Path) -> None:
    process = Process().talk("a").append("phone", 0, 1, 0).append("phone", 2, 3, 1, outcome="info")
    process.recall("phone", 9, 10, ("phone", 1))
    told = tried(tmp_path, process)
    assert (told.share, told.sampled) == (0.0, 0)


def test_recalls_that_show_more_weigh_more(tmp_path: Path) -> None:
    process = turns(Process(), "a", 3)
    process.talk("b").append("phone", 0, 1, 0, outcome="info").recall("phone", 9, 10, ("phone", 0))
    assert tried(tmp_path, process).share == pytest.approx(6 / 7)


def test_nothing_shown_nothing_known(tmp_path: Path) -> None:
    process = Process().talk("a").append("phone", 0, 1, 0).recall("phone", 0, 1)
    told = tried(tmp_path, process)
    assert (told.share, told.sampled, told.conversations) == (None, 0, 1)
    assert power([], ALL).share is None


@pytest.mark.parametrize(
    ("contract", "planted"),
    [
        (ALL, True),
        (Contract(visibility_ms=1), True),
        (Contract(visibility_ms=500), False),
        (Contract(ttl=Ttl(seconds=100)), True),
        (Contract(ttl=Ttl(seconds=0.04)), True),
        (Contract(ttl=Ttl(seconds=0.001)), False),
        (Contract(ttl=Ttl(seconds=100, unit="user")), False),
        (Contract(ttl=Ttl(seconds=100, unit="message")), True),
        (Contract(window=Window(turns=20)), False),
        (Contract(window=Window(tokens=2_000)), True),
        (Contract(roles=("assistant",)), False),
        (Contract(order="unspecified"), True),
        (Contract(order="unspecified", window=Window(messages=20)), False),
        (Contract(window=Window(messages=20)), True),
        (Contract(window=Window(messages=20, pinned=1)), False),
        (Contract(page=Page(max=20)), True),
        (Contract(window=Window(messages=20), order_slack_ms=300), False),
    ],
)
def test_the_control_plants_only_what_the_contract_cannot_excuse(
    tmp_path: Path, contract: Contract, planted: bool
) -> None:
    told = tried(tmp_path, turns(Process(), "a", 6), contract)
    assert (told.control.planted > 0) == planted
    assert told.control.found == told.control.planted


def test_deletes_and_retries_excuse_too_much_for_a_control(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    deleted = turns(Process().talk("a").delete("laptop", 0, 1), "a", 4)
    assert tried(tmp_path / "a", deleted).control.planted == 0
    retried = turns(Process(), "a", 4).append("phone", 90, 91, 9, attempt=2)
    assert tried(tmp_path / "b", retried).control.planted == 0


def test_a_delete_at_the_end_excuses_nothing_before(tmp_path: Path) -> None:
    assert tried(tmp_path, turns(Process(), "a", 4).delete("phone", 90, 91)).control.planted == 4


def test_a_run_with_losses_and_odd_elements_keeps_its_control(tmp_path: Path) -> None:
    rng = Random(4)
    process = Process()
    for number in range(30):
        process.talk(f"c{number}")
        for turn in range(6):
            process.append("phone", 10 * turn, 10 * turn + 2, turn)
            shown: list[Any] = [("phone", seq) for seq in range(turn + 1) if rng.random() < 0.8]
            if rng.random() < 0.3:
                shown[rng.randrange(len(shown) + 1) :] = [corrupted("phone", turn)]
            shown += shown[:1] if rng.random() < 0.2 else []
            process.recall("phone", 10 * turn + 4, 10 * turn + 6, *shown)
    told = tried(tmp_path, process)
    assert told.control.planted > 50
    assert told.control.found == told.control.planted


@pytest.mark.parametrize("made", [lambda seed: simulate(seed).history, compound], ids=["sound", "faulty"])
def test_a_sound_checker_finds_every_control_in_simulated_histories(made: Callable[[int], History]) -> None:
    planted, shares = 0, []
    for seed in range(300):
        history = made(seed)
        judged, contract = Sampled(), contract_of(history.contract)
        judged.add(check(conversation_of(history), contract, company_of(history)))
        told = power(judged.conversations(), contract)
        assert told.control.found == told.control.planted, seed
        planted += told.control.planted
        shares += [] if told.share is None else [told.share]
    assert planted > 40
    assert 0.2 < sum(shares) / len(shares) < 0.95


def test_the_sample_is_bounded_and_does_not_depend_on_the_order(tmp_path: Path) -> None:
    record = load(write(tmp_path, many(3 * KEPT_MAX)))
    judged = [check(conversation, ALL) for conversation in record.conversations.values()]
    shares = [Sampled() for _ in range(3)]
    Random(1).shuffle(judged)
    for at, checked in enumerate(judged):
        shares[at % 3].add(checked)
    for share in shares[1:]:
        shares[0].merge(share)
    whole = Sampled()
    for checked in judged:
        if whole.wants(checked.conversation.name):
            whole.add(checked)
    assert shares[0].conversations() == whole.conversations()
    assert len(whole.conversations()) == KEPT_MAX


def test_conversations_that_were_not_judged_are_not_sampled(tmp_path: Path) -> None:
    process = many(2).talk("doubtful").append("phone", 90, 91, 0).recall("phone", 1, 2, ("phone", 0))
    process.talk("unanswered").append("phone", 0, 1, 0).recall("phone", 2, 3, outcome="fail")
    results = analyze(write(tmp_path, process))
    assert results.power.conversations == 2


def test_a_checker_that_misses_a_planted_loss_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(*arguments: Any, **more: Any) -> Any:
        checked = check(*arguments, **more)
        checked.findings = [finding for finding in checked.findings if finding.seq != 1]
        return checked

    assert analyze(write(tmp_path, many(20), budget=Budget(min_conversations=1))).exit_code == 0
    monkeypatch.setattr(judging, "check", blind)
    results = analyze(tmp_path)
    assert (results.exit_code, reasons(results)) == (4, ["positive-control"])
    control = results.power.control
    assert control.found < control.planted == 80
    assert f"Of 80 losses planted into a copy of this run the checker found {control.found}" in results.reasons[0].text


def test_a_proof_that_looks_away_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(*arguments: Any) -> Any:
        proof = judging_prove(*arguments)
        proof.suspect[:] = False
        return proof

    judging_prove = judging.prove
    write(tmp_path, many(20), budget=Budget(min_conversations=1))
    monkeypatch.setattr(judging, "prove", careless)
    results = analyze(tmp_path)
    assert (results.exit_code, reasons(results)) == (4, ["positive-control"])
    assert results.power.control.found == 0


def test_a_control_that_cannot_be_written_bars_a_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("analysis.power.write_run", full)
    results = analyze(write(tmp_path, many(20), budget=Budget(min_conversations=1)))
    assert (results.exit_code, reasons(results)) == (4, ["positive-control"])
    assert "No space left on device" in results.reasons[0].text
