"""Pass, fail or inconclusive: one row for each thing that decides it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.analyze import analyze
from analysis.results import Results
from goldfish.contract import Budget, Contract
from goldfish.errors import RecordError
from goldfish.oplog import Owner
from goldfish.run import Skipped

from .runs import UNMARKED, Process, corrupted, foreign, many, reasons, sound, write

BUDGET = Budget(min_conversations=10)
PHONE = [("phone", seq) for seq in range(10)]


def verdict(directory: Path, process: Process, budget: Budget = BUDGET, **run: Any) -> Results:
    return analyze(write(directory, process, budget=budget, **run))


def bad(process: Process, *shown: Any, outcome: str = "ok") -> Process:
    """One more conversation, of two messages; the recalls list what is given."""
    process.talk("bad").append("phone", 0, 1, 0, outcome=outcome).append("phone", 2, 3, 1)
    return process.recall("phone", 4, 5, *shown).recall("phone", 9, 10, *shown, final=True)


def test_a_sound_run_passes_without_a_reason(tmp_path: Path) -> None:
    results = verdict(tmp_path, many(10))
    assert (results.verdict, results.exit_code, results.reasons) == ("pass", 0, [])


SOMEBODY = Owner(tenant=None, user="ben", session="s", conversation="other")


@pytest.mark.parametrize(
    ("code", "shown", "outcome"),
    [
        ("context-loss", [PHONE[1]], "ok"),
        ("foreign", [*PHONE[:2], foreign(SOMEBODY)], "ok"),
        ("corrupted", [PHONE[0], corrupted("phone", 1)], "ok"),
        ("rejected-yet-shown", PHONE[:2], "fail"),
    ],
)
def test_one_proven_case_fails_the_run(tmp_path: Path, code: str, shown: Any, outcome: str) -> None:
    results = verdict(tmp_path, bad(many(20), *shown, outcome=outcome))
    assert (results.verdict, results.exit_code) == ("fail", 3)
    assert reasons(results) == [code]
    assert results.reasons[0].scenario == "rapid-switch"
    assert f"goldfish show {tmp_path} bad" in results.reasons[0].text


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("duplicated", [*PHONE[:2], PHONE[0]]),
        ("reordered", [PHONE[1], PHONE[0]]),
        ("phantom", [*PHONE[:2], UNMARKED]),
    ],
)
def test_disorder_fails_the_run_unless_the_budget_only_reports_it(tmp_path: Path, code: str, shown: Any) -> None:
    for name, disorder, expected in (("a", "fail", ("fail", 3)), ("b", "report", ("pass", 0))):
        (tmp_path / name).mkdir()
        budget = Budget(min_conversations=10, disorder=disorder)
        results = verdict(tmp_path / name, bad(many(10), *shown), budget)
        assert (results.verdict, results.exit_code) == expected
        assert reasons(results) == [code]
        assert "2 findings in 1 conversation" in results.reasons[0].text
        assert results.scenarios[0].conversations.harmed == 1
        assert "goldfish show" in results.reasons[0].text


def test_elements_of_the_memorys_own_are_allowed_by_the_contract(tmp_path: Path) -> None:
    process = bad(many(10), *PHONE[:2], UNMARKED)
    results = verdict(tmp_path, process, contract=Contract(unmarked="allow"))
    assert (results.verdict, results.exit_code, results.reasons) == ("pass", 0, [])
    assert results.scenarios[0].conversations.harmed == 0


# not enough ----------------------------------------------------------------------------------------------------------


def test_too_few_conversations_say_how_many_more(tmp_path: Path) -> None:
    results = verdict(tmp_path, many(7))
    assert (results.verdict, results.exit_code, reasons(results)) == ("inconclusive", 4, ["few-conversations"])
    assert "3 more needed" in results.reasons[0].text


def test_a_scenario_without_an_operation_bars_a_pass(tmp_path: Path) -> None:
    results = verdict(tmp_path, many(10), scenarios=["rapid-switch", "two-devices"])
    assert (results.exit_code, reasons(results)) == (4, ["no-operations"])
    assert results.reasons[0].scenario == "two-devices"


def test_a_skipped_scenario_does_not_bar_a_pass(tmp_path: Path) -> None:
    skipped = [Skipped(scenario="reconnect", reason="the contract offers no recall by user")]
    results = verdict(tmp_path, many(10), skipped=skipped)
    assert results.exit_code == 0
    assert results.skipped == skipped


def test_recalls_that_were_owed_nothing_are_not_checked(tmp_path: Path) -> None:
    process = Process()
    for number in range(12):
        process.talk(f"0.{number}.s0").recall("phone", 0, 1, final=True).append("phone", 2, 3, 0)
        process.recall("phone", 4, 5, limit=0).recall("phone", 6, 7, outcome="fail", final=True)
    results = verdict(tmp_path, process)
    assert results.exit_code == 4
    assert "nothing-checked" in reasons(results)


@pytest.mark.parametrize("processes", [[Process()], []])
def test_a_run_of_nothing_never_passes(tmp_path: Path, processes: list[Process]) -> None:
    results = analyze(write(tmp_path, *processes, budget=BUDGET))
    assert (results.verdict, results.exit_code, reasons(results)) == ("inconclusive", 4, ["nothing-checked"])


def test_a_log_that_nobody_named_bars_a_pass(tmp_path: Path) -> None:
    results = analyze(write(tmp_path, many(10), Process("stray"), budget=BUDGET, processes=["0"]))
    assert (results.exit_code, reasons(results)) == (4, ["unnamed-log"])


def test_a_run_without_final_recalls_is_inconclusive(tmp_path: Path) -> None:
    process = many(10)
    for operation in process.operations:
        operation.phase = "load"
    results = verdict(tmp_path, process)
    assert (results.exit_code, reasons(results)) == (4, ["no-final-recall"])


def test_an_aborted_run_is_inconclusive_and_an_interrupted_one_is_judged(tmp_path: Path) -> None:
    assert reasons(verdict(tmp_path, many(10), ended="aborted")) == ["aborted"]
    assert verdict(tmp_path, many(10), ended="interrupted").exit_code == 0


@pytest.mark.parametrize(("extra", "exit_code"), [(1, 0), (2, 4)])
def test_at_most_one_message_in_twenty_may_be_unsettled(tmp_path: Path, extra: int, exit_code: int) -> None:
    process = many(12)  # 36 messages; 2 of 38 are over 5 %
    for number in range(extra):
        process.talk(f"late {number}").append("phone", 0, 9, 0).recall("phone", 9, 10, ("phone", 0), final=True)
    results = verdict(tmp_path, process)
    assert results.exit_code == exit_code
    assert reasons(results) == (["unsettled"] if exit_code else [])


def test_indeterminate_messages_are_unsettled_and_rejected_ones_are_not(tmp_path: Path) -> None:
    def run(outcome: str) -> list[str]:
        process = many(10)
        for number in range(5):
            process.talk(f"x{number}").append("phone", 0, 1, 0, outcome=outcome).append("phone", 2, 3, 1)
            process.recall("phone", 4, 5, ("phone", 1), final=True)
        return reasons(verdict(tmp_path, process, Budget(min_conversations=10, request_failures=1.0)))

    assert run("info") == ["unsettled"]
    assert run("fail") == []


# the record ----------------------------------------------------------------------------------------------------------


def cut(directory: Path) -> None:
    path = directory / "transcript" / "0.jsonl"
    path.write_bytes(path.read_bytes()[:-10])


def test_an_unfinished_log_bars_a_pass(tmp_path: Path) -> None:
    write(tmp_path, many(10), budget=BUDGET)
    cut(tmp_path)
    results = analyze(tmp_path)
    assert (results.exit_code, reasons(results)) == (4, ["incomplete-log"])


def test_a_loss_proven_before_the_break_fails_all_the_same(tmp_path: Path) -> None:
    write(tmp_path, bad(many(10), PHONE[1]), budget=BUDGET)
    cut(tmp_path)
    results = analyze(tmp_path)
    assert (results.exit_code, reasons(results)) == (3, ["context-loss", "incomplete-log"])


def test_a_loss_in_a_conversation_still_open_at_the_break_is_not_proven(tmp_path: Path) -> None:
    process = many(10).talk("open").append("phone", 0, 1, 0).recall("phone", 2, 3)
    write(tmp_path, process, budget=BUDGET)
    cut(tmp_path)
    results = analyze(tmp_path)
    assert (results.exit_code, reasons(results)) == (4, ["incomplete-log", "incomplete"])


def test_clocks_that_cannot_be_trusted_bar_a_pass(tmp_path: Path) -> None:
    process = many(10).talk("x").recall("phone", 2, 3, ("phone", 0), final=True).append("phone", 4, 5, 0)
    assert reasons(verdict(tmp_path, process)) == ["clocks"]


def counters(process: Process, **change: Any) -> dict[str, Any]:
    """What the process would have counted, with something changed."""
    rows = {"append": 0, "recall": 0} | {"header": 1}
    for operation in process.operations:
        rows[type(operation).__name__.lower()] += 1
    scenarios = {"rapid-switch": {"checked": 40, "lossy": 0}}
    return {"0": {"rows": rows, "scenarios": scenarios} | change}


def test_equal_counts_pass(tmp_path: Path) -> None:
    process = many(10)
    assert verdict(tmp_path, process, counters=counters(process)).exit_code == 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda live: live["0"]["rows"].update(append=31), "counters"),
        (lambda live: live["0"]["rows"].update(delete=1), "counters"),
        (lambda live: live.update({"1": live.pop("0")}), "counters"),
        (lambda live: live["0"]["scenarios"]["rapid-switch"].update(lossy=1), "live-counts"),
        (lambda live: live["0"]["scenarios"]["rapid-switch"].update(checked=41), "live-counts"),
        (lambda live: live["0"]["scenarios"].update({"another": {"checked": 1, "lossy": 0}}), "live-counts"),
        (lambda live: live["0"]["scenarios"].clear(), "live-counts"),
    ],
)
def test_counts_that_differ_bar_a_pass(tmp_path: Path, change: Callable[[Any], object], code: str) -> None:
    process = many(10)
    live = counters(process)
    change(live)
    results = verdict(tmp_path, process, counters=live)
    assert (results.exit_code, reasons(results)) == (4, [code])


def test_a_lost_load_process_is_named_and_bars_a_pass(tmp_path: Path) -> None:
    results = verdict(tmp_path, many(10), lost={"0": "it ended without closing its log"})
    assert (results.exit_code, reasons(results)) == (4, ["lost-worker"])
    assert "Load process 0 was lost: it ended without closing its log" in results.reasons[0].text


def test_a_loss_proven_elsewhere_fails_a_run_that_lost_a_load_process(tmp_path: Path) -> None:
    other = sound(Process("1"), 0)
    write(tmp_path, bad(many(10), PHONE[1]), other, budget=BUDGET, lost={"1": "it fell silent"})
    (tmp_path / "transcript" / "1.jsonl").unlink()
    results = analyze(tmp_path)
    assert results.exit_code == 3
    assert "lost-worker" in reasons(results)


def test_a_run_whose_end_nobody_recorded_is_no_pass(tmp_path: Path) -> None:
    assert reasons(verdict(tmp_path, many(10), started=1.0)) == ["unfinished"]
    assert verdict(tmp_path, many(10), started=1.0, ended="stopped").exit_code == 0


@pytest.mark.parametrize(
    ("statistics", "codes"),
    [
        ({"rapid-switch": {"append": 30, "recall": 40, "delete": 0}}, []),
        ({"rapid-switch": {"append": 30, "recall": 39}}, ["statistics"]),
        ({"rapid-switch": {"append": 30, "recall": 40}, "reconnect": {"append": 1}}, ["statistics"]),
        ({}, ["statistics"]),
        (None, []),
    ],
)
def test_locusts_statistics_must_count_every_request_that_was_not_cut_off(
    tmp_path: Path, statistics: Any, codes: list[str]
) -> None:
    process = many(10)
    process.append("phone", 60, 61, 3, outcome="info", reason="killed")  # Locust never hears of this one
    assert reasons(verdict(tmp_path, process, statistics=statistics)) == codes


def test_a_process_must_have_shown_locust_what_its_log_holds(tmp_path: Path) -> None:
    process = many(10)
    live = counters(process, requests={"rapid-switch": {"append": 30, "recall": 40}})
    assert verdict(tmp_path, process, counters=live).exit_code == 0
    live["0"]["requests"]["rapid-switch"]["recall"] = 41
    assert reasons(verdict(tmp_path, process, counters=live)) == ["counters"]


def test_counters_of_another_shape_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="counters"):
        verdict(tmp_path, many(1), counters={"0": {"rows": "many"}})


def test_under_another_contract_live_counts_may_differ(tmp_path: Path) -> None:
    process = many(10)
    live = counters(process, scenarios={"rapid-switch": {"checked": 7, "lossy": 3}})
    write(tmp_path, process, budget=BUDGET, counters=live)
    other = tmp_path / "other.toml"
    other.write_text("[contract.window]\nmessages = 5\n[budget]\nmin_conversations = 10\n")
    assert analyze(tmp_path, other).exit_code == 0
    assert analyze(tmp_path).exit_code == 4


# budgets -------------------------------------------------------------------------------------------------------------


def lossy(users: int, losses: int) -> Process:
    """Users with one conversation of four checked recalls; so many of them lose one message in one recall."""
    process = Process()
    for number in range(users):
        if number < losses:
            process.talk(f"lossy {number}").append("phone", 0, 1, 0).recall("phone", 2, 3)
            for at in (10, 20):
                process.recall("phone", at, at + 1, PHONE[0])
            process.recall("phone", 30, 31, PHONE[0], final=True)
        else:
            sound(process, number)
    return process


@pytest.mark.parametrize(
    ("losses", "budget", "outcome", "codes"),
    [
        (60, 0.01, "fail", ["context-loss"]),
        (10, 0.5, "pass", []),
        (0, 0.5, "pass", []),
        (10, 0.02, "inconclusive", ["rate-unproven"]),
        (3, 0.01, "inconclusive", ["rate-unproven"]),
        (0, 0.001, "inconclusive", ["rate-unproven"]),
    ],
)
def test_a_budget_above_zero_is_tested(
    tmp_path: Path, losses: int, budget: float, outcome: str, codes: list[str]
) -> None:
    results = verdict(tmp_path, lossy(100, losses), Budget(context_loss=budget, min_conversations=10))
    assert (results.verdict, reasons(results)) == (outcome, codes)
    if outcome == "inconclusive":
        assert "more" in results.reasons[0].text


def test_scenarios_share_one_level(tmp_path: Path) -> None:
    # Alone, 7 losses of 400 recalls are over 1 % at 15 % significance; as one of two scenarios they are not.
    budget = Budget(context_loss=0.01, min_conversations=10, confidence=0.85)
    process = lossy(100, 7)
    assert verdict(tmp_path, process, budget).verdict == "fail"
    for number in range(200, 300):
        sound(process, number, scenario="two-devices")
    assert verdict(tmp_path, process, budget).verdict == "inconclusive"


@pytest.mark.parametrize(("failed", "exit_code"), [(0, 0), (1, 0), (2, 1)])
def test_failed_requests_over_budget_exit_with_1(tmp_path: Path, failed: int, exit_code: int) -> None:
    process = many(14).talk("x")  # 98 requests, and two more
    for number in range(2):
        outcome = "fail" if number < failed else "ok"
        process.recall("phone", number, number + 1, outcome=outcome, final=True)
    results = verdict(tmp_path, process)
    assert (results.verdict, results.exit_code) == ("pass", exit_code)
    assert reasons(results) == (["request-failures"] if exit_code else [])


def test_requests_cut_off_by_the_end_are_no_failures(tmp_path: Path) -> None:
    process = many(10)
    for number in range(5):
        process.talk(f"x{number}").recall("phone", 0, 1, outcome="info", reason="killed")
    assert verdict(tmp_path, process).exit_code == 0


def test_inconclusive_outranks_failed_requests_and_a_loss_outranks_both(tmp_path: Path) -> None:
    process = many(5)
    for number in range(5):
        process.talk(f"x{number}").recall("phone", 0, 1, outcome="fail")
    results = verdict(tmp_path, process)
    assert (results.exit_code, reasons(results)) == (4, ["request-failures", "few-conversations"])
    assert "they failed of: " in results.reasons[0].text
    assert "Run longer" in results.reasons[1].text
    interrupted = verdict(tmp_path, process, ended="interrupted")
    assert "The run was interrupted; let it end by itself." in interrupted.reasons[1].text
    results = verdict(tmp_path, bad(process, PHONE[1]))
    assert (results.exit_code, reasons(results)) == (3, ["context-loss", "request-failures"])


def test_a_foreign_message_in_an_unchecked_conversation_harms_it(tmp_path: Path) -> None:
    process = many(10).talk("x").recall("phone", 0, 1, foreign(SOMEBODY), final=True)
    results = verdict(tmp_path, process)
    assert results.exit_code == 3
    assert results.scenarios[0].conversations.harmed == 1
    assert results.scenarios[0].conversations.checked == 11
