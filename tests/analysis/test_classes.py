"""Classes that depend on deletes, windows, searches and what a contract declares: each planted, and a near miss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.results import Results
from goldfish.anomalies import ANOMALIES, FLAGS
from goldfish.contract import Budget, Content, Contract, Page, Ttl, Window
from goldfish.oplog import Odd, Owner

from .runs import (
    LAPTOP,
    PHONE,
    Process,
    classes,
    corrupted,
    foreign,
    found,
    judge,
    many,
    reasons,
    window,
    write,
)

# resurrected ---------------------------------------------------------------------------------------------------------


def deleted() -> Process:
    return Process().append("phone", 0, 1, 0).delete("phone", 3, 4).append("phone", 5, 6, 1)


def test_what_was_deleted_and_is_listed_is_resurrected(tmp_path: Path) -> None:
    checked = judge(tmp_path, deleted().recall("phone", 7, 8, *PHONE[:2]))
    assert found(checked) == {(3, "resurrected", "phone", 0)}


def test_what_a_delete_overlapped_is_not(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 3, 0).delete("laptop", 3, 4).recall("phone", 7, 8, PHONE[0])
    assert not found(judge(tmp_path, process))


# window overrun ------------------------------------------------------------------------------------------------------


def three() -> Process:
    return Process().append("phone", 0, 1, 0).append("phone", 2, 3, 1).append("phone", 4, 5, 2)


@pytest.mark.parametrize(
    ("contract", "limit"),
    [
        (window(2), None),
        (Contract(), 2),
        (Contract(page=Page(default=2)), None),
        (Contract(page=Page(max=2)), 9),
        (Contract(window=Window(turns=2)), None),
    ],
)
def test_a_list_longer_than_it_may_be_is_an_overrun(tmp_path: Path, contract: Contract, limit: int | None) -> None:
    checked = judge(tmp_path, three().recall("phone", 6, 7, *PHONE[:3], limit=limit), contract)
    assert found(checked) == {(3, "window overrun", None, None)}


@pytest.mark.parametrize(
    ("contract", "limit"),
    [(window(3), None), (Contract(), 3), (Contract(page=Page(default=2)), 3), (Contract(window=Window(turns=3)), None)],
)
def test_a_full_list_is_none(tmp_path: Path, contract: Contract, limit: int | None) -> None:
    assert not found(judge(tmp_path, three().recall("phone", 6, 7, *PHONE[:3], limit=limit), contract))


def test_tokens_are_those_of_the_log_or_bounds(tmp_path: Path) -> None:
    contract = Contract(window=Window(tokens=10))
    process = Process().append("phone", 0, 1, 0, tokens=6).append("phone", 2, 3, 1, text="x" * 12)  # 2 to 6 tokens
    assert not found(judge(tmp_path, process.recall("phone", 4, 5, PHONE[1]), contract))
    checked = judge(tmp_path, process, Contract(window=Window(tokens=12)))
    assert found(checked) == {(2, "missing", "phone", 0)}
    process.recall("phone", 6, 7, *PHONE[:2])
    assert not found(judge(tmp_path, process, Contract(window=Window(tokens=8)))) - {(2, "missing", "phone", 0)}
    assert (3, "window overrun", None, None) in found(judge(tmp_path, process, Contract(window=Window(tokens=7))))


def test_what_stands_in_the_list_beside_takes_tokens(tmp_path: Path) -> None:
    contract = Contract(window=Window(tokens=12), unmarked="allow", isolation=("tenant",))
    process = Process().append("phone", 0, 1, 0, tokens=6).append("phone", 2, 3, 1, tokens=6)
    assert not found(judge(tmp_path, process.recall("phone", 4, 5, PHONE[1]), contract))  # strangers may be stored
    contract = Contract(window=Window(tokens=12))
    for element, lossy in (
        (corrupted("phone", 1, "altered"), False),
        (corrupted("phone", 1, "truncated"), True),
        (PHONE[1], True),
    ):
        process = Process().append("phone", 0, 1, 0, tokens=6).append("phone", 2, 3, 1, tokens=6)
        assert bool(judge(tmp_path, process.recall("phone", 4, 5, element), contract).recalls_lossy) == lossy
    process = Process().append("phone", 0, 1, 0, tokens=6).append("phone", 2, 3, 1, tokens=6)
    assert not judge(tmp_path, process.recall("phone", 4, 5, PHONE[1], PHONE[1]), contract).recalls_lossy
    assert judge(tmp_path, process, Contract(window=Window(tokens=18))).recalls_lossy


# unretrieved ---------------------------------------------------------------------------------------------------------


def test_a_fact_that_a_search_does_not_return_is_unretrieved(tmp_path: Path) -> None:
    checked = judge(tmp_path, three().search("laptop", 6, 7, PHONE[2], asked=[PHONE[0], PHONE[2]]))
    assert found(checked) == {(3, "unretrieved", "phone", 0)}
    assert (checked.recalls_checked, checked.recalls_lossy) == (1, 1)
    assert checked.findings[0].guarantee == "monotonic-writes"
    assert checked.findings[0].position is None


def test_a_search_that_returns_what_was_asked_for_owes_nothing_else(tmp_path: Path) -> None:
    process = three().search("phone", 6, 7, PHONE[0], PHONE[1], asked=[PHONE[0]])
    assert not found(judge(tmp_path, process, window(1)))  # the window bounds what is listed, not what is found


def test_a_search_full_of_what_was_asked_for_names_nobody(tmp_path: Path) -> None:
    process = three().recall("phone", 6, 7, PHONE[1], view="search", session=None, asked=PHONE[:3], limit=2)
    checked = judge(tmp_path, process)
    assert found(checked) == {(3, "unretrieved", None, None)}
    (tmp_path / "b").mkdir()
    process = three().recall("phone", 6, 7, *PHONE[1:3], view="search", session=None, asked=PHONE[:3], limit=2)
    assert not found(judge(tmp_path / "b", process))


def test_second_copies_of_a_fact_answer_too(tmp_path: Path) -> None:
    process = three().recall("phone", 6, 7, PHONE[1], PHONE[1], view="search", session=None, asked=PHONE[:2], limit=2)
    assert found(judge(tmp_path, process)) == {(3, "duplicated", "phone", 1)}


def test_a_search_has_no_order_and_tells_no_fate(tmp_path: Path) -> None:
    process = three().search("phone", 6, 7, PHONE[2], PHONE[1], asked=[PHONE[0]])
    checked = judge(tmp_path, process.recall("phone", 8, 9, PHONE[2], limit=1))
    assert found(checked) == {(3, "unretrieved", "phone", 0)}
    fates = {message.seq: fate.name for message, fate in checked.fates.items()}
    assert fates == {0: "unchecked", 1: "ok", 2: "ok"}


def test_a_search_spans_the_users_sessions(tmp_path: Path) -> None:
    for whose, anomalies in (("ada", []), ("ben", ["foreign"])):
        process = Process().talk("0.0.s0", user="ada").append("phone", 0, 1, 0)
        owner = Owner(tenant=None, user=whose, session="s9", conversation="other")
        checked = judge(tmp_path, process.search("phone", 2, 3, PHONE[0], foreign(owner), asked=[PHONE[0]]))
        assert classes(checked) == anomalies


# what a contract declares --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("isolation", "reported"),
    [(("tenant", "user"), {"user", "tenant"}), (("tenant",), {"tenant"}), ((), set())],
)
def test_a_message_from_a_distance_that_is_not_kept_apart_is_no_leak(
    tmp_path: Path, isolation: Any, reported: set[str]
) -> None:
    process = Process().talk("0.0.s0", user="ada").append("phone", 0, 1, 0)
    owners = [
        Owner(tenant=None, user="ada", session="s9", conversation="a"),
        Owner(tenant=None, user="ben", session="s9", conversation="b"),
        Owner(tenant="acme", user="eve", session="s9", conversation="c"),
    ]
    process.recall("phone", 2, 3, *map(foreign, owners), PHONE[0])
    checked = judge(tmp_path, process, Contract(isolation=isolation))
    assert {finding.detail for finding in checked.findings} == reported


def test_a_declared_change_is_no_corruption_and_any_other_is(tmp_path: Path) -> None:
    stripped = Odd(at=0, why="corrupted", kind="altered", device="phone", seq=0, changes=["nul-stripped"], bytes=9)
    process = Process().append("phone", 0, 1, 0).recall("phone", 2, 3, stripped)
    assert not found(judge(tmp_path, process, Contract(content=Content(nul="strip"))))
    assert found(judge(tmp_path, process)) == {(1, "corrupted", "phone", 0)}


def test_a_text_cut_at_its_declared_length_is_no_corruption(tmp_path: Path) -> None:
    cut = Odd(at=0, why="corrupted", kind="truncated", device="phone", seq=0, changes=["cut"], bytes=20)
    process = Process().append("phone", 0, 1, 0, text="x" * 50).recall("phone", 2, 3, cut)
    assert not found(judge(tmp_path, process, Contract(content=Content(max_bytes=20))))
    assert found(judge(tmp_path, process, Contract(content=Content(max_bytes=30)))) == {(1, "corrupted", "phone", 0)}


def test_roles_and_last_writers_excuse(tmp_path: Path) -> None:
    process = Process().append("phone", 0, 1, 0, role="system").recall("phone", 2, 3)
    assert judge(tmp_path, process, Contract(roles=("user",))).recalls_checked == 0
    process = Process().append("phone", 0, 5, 0).append("laptop", 1, 6, 0).recall("phone", 7, 8, LAPTOP[0])
    assert not found(judge(tmp_path, process, Contract(concurrency="last-writer")))
    assert found(judge(tmp_path, process)) == {(2, "missing", "phone", 0)}


# the registry and the verdict ----------------------------------------------------------------------------------------


def test_every_class_and_flag_says_what_it_is() -> None:
    for entry in [*ANOMALIES.values(), *FLAGS.values()]:
        assert all([entry.meaning, entry.rule, entry.clock, entry.example, entry.causes, entry.remedies])
        assert (entry.severity == "flag") == (entry.name in FLAGS)
    assert not set(ANOMALIES) & set(FLAGS)
    assert ANOMALIES["window overrun"].code == "window-overrun"


def spoiled(anomaly: str) -> tuple[Process, Contract]:
    """Ten sound conversations, and one with a finding of a class."""
    contract = Contract()
    process = many(10)
    process.talk("bad")
    if anomaly == "over-retained":
        contract = Contract(ttl=Ttl(seconds=0.1))
        process.append("phone", 0, 1, 0).recall("phone", 300, 301, PHONE[0], final=True)
    elif anomaly == "resurrected":
        process.append("phone", 0, 1, 0).delete("phone", 2, 3).append("phone", 4, 5, 1)
        process.recall("phone", 6, 7, *PHONE[:2], final=True)
    else:
        contract = Contract(window=Window(messages=3))
        process.append("phone", 0, 1, 0, 1, 2, 3).recall("phone", 6, 7, *PHONE[:4], final=True)
    return process, contract


@pytest.mark.parametrize("anomaly", ["over-retained", "resurrected", "window overrun"])
def test_what_may_not_be_listed_fails_the_run_unless_the_budget_only_reports_it(tmp_path: Path, anomaly: str) -> None:
    from analysis.analyze import analyze

    process, contract = spoiled(anomaly)
    for name, disorder, expected in (("a", "fail", ("fail", 3)), ("b", "report", ("pass", 0))):
        (tmp_path / name).mkdir()
        budget = Budget(min_conversations=10, disorder=disorder)  # type: ignore[arg-type]
        results: Results = analyze(write(tmp_path / name, process, contract=contract, budget=budget))
        assert (results.verdict, results.exit_code) == expected
        assert reasons(results) == [ANOMALIES[anomaly].code]
        assert ANOMALIES[anomaly].meaning in results.reasons[0].text
        assert results.scenarios[0].anomalies == {anomaly: 1}
        assert results.scenarios[0].conversations.harmed == 1


def test_a_search_that_fails_counts_as_context_loss(tmp_path: Path) -> None:
    from analysis.analyze import analyze

    process = many(10)
    process.talk("bad").append("phone", 0, 1, 0).search("phone", 2, 3, asked=[PHONE[0]])
    process.recall("phone", 6, 7, PHONE[0], final=True)
    results = analyze(write(tmp_path, process, budget=Budget(min_conversations=10)))
    assert (results.verdict, reasons(results)) == ("fail", ["context-loss"])
    assert results.scenarios[0].recalls.lossy == 1
