"""What an analysis leaves behind, and that hostile contents stay contents."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from analysis.analyze import analyze
from analysis.publish import RESULTS
from analysis.summary import summary
from goldfish.anomalies import ANOMALIES
from goldfish.contract import Budget, Contract, Ttl
from goldfish.errors import RecordError
from goldfish.headline import headline
from goldfish.oplog import Owner
from goldfish.run import Skipped
from goldfish.table import render
from goldfish.words import plain, share, span

from .runs import Process, foreign, many, sound, write

BUDGET = Budget(min_conversations=10)
HOSTILE = [
    "<script>alert(1)</script>",
    "[bold red]x[/] [link=http://evil]y[/link]",
    "**bold** | cell | `code` [text](http://evil) ![i](x)",
    "line\nbreak\r\n# heading\n| a | b |",
    "escape \x1b[31mred\x1b[0m \x9b31m",
    "right to left \u202eevil\u202c",
    "x" * 10_000,
]


def results_of(directory: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((directory / RESULTS).read_text(encoding="utf-8"))
    return content


def printed(directory: Path, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False, color_system=None)
    console.print(render(results_of(directory)))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_results_have_the_published_keys(tmp_path: Path) -> None:
    analyze(write(tmp_path, many(10), budget=BUDGET))
    results = results_of(tmp_path)
    assert list(results) == [
        "schema",
        "run",
        "verdict",
        "exit_code",
        "reasons",
        "contract",
        "budget",
        "effective_contract",
        "causes",
        "causes_sample",
        "power",
        "faults",
        "until_proven",
        "skipped",
        "scenarios",
        "load_processes",
        "latency_reliable",
        "arrivals",
    ]
    (scenario,) = results["scenarios"]  # type: ignore[misc]
    assert scenario["name"] == "rapid-switch"  # type: ignore[has-type]
    assert scenario["recalls"] == {
        "checked": 40,
        "lossy": 0,
        "rate": 0.0,
        "low": 0.0,
        "high": pytest.approx(1 - 0.025 ** (1 / 10)),
        "deff": None,
        "clusters": 10,
    }
    assert scenario["messages"] == {
        "sent": 30,
        "rejected": 0,
        "indeterminate": 0,
        "unchecked": 0,
        "checked": 30,
        "ok": 30,
        "stale": 0,
        "flicker": 0,
        "lost": 0,
        "rate": 0.0,
        "low": 0.0,
        "high": pytest.approx(1 - 0.025 ** (1 / 10)),
        "deff": None,
        "clusters": 10,
    }
    assert scenario["requests"] == {
        "append": {"ok": 30, "fail": 0, "info": 0},
        "recall": {"ok": 40, "fail": 0, "info": 0},
    }
    assert scenario["latency_ms"]["append"] == {"p50": 2.0, "p95": 2.0, "p99": 2.0, "max": 2.0}
    # 30 appends in the 26 ms from the first start to the last end of the load phase
    assert scenario["throughput"]["append"] == pytest.approx(30 / 0.026, abs=0.001)
    assert scenario["anomalies"] == {}


def test_nothing_but_the_outputs_is_left_in_the_run_directory(tmp_path: Path) -> None:
    analyze(write(tmp_path, many(1)))
    assert {path.name for path in tmp_path.iterdir()} == {
        "run.json",
        "transcript",
        "results.json",
        "findings.parquet",
        "users.parquet",
        "summary.md",
        "junit.xml",
        "report.html",
    }


def test_an_analysis_can_be_repeated_and_says_the_same(tmp_path: Path) -> None:
    first = analyze(write(tmp_path, many(10)))
    assert analyze(tmp_path) == first


def test_outputs_that_cannot_be_written_are_an_error_for_people(tmp_path: Path) -> None:
    write(tmp_path, many(1))
    (tmp_path / "findings.parquet").mkdir()
    with pytest.raises(RecordError, match="cannot write the results"):
        analyze(tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


# words ---------------------------------------------------------------------------------------------------------------


def test_the_headline_says_how_far_a_pass_reaches(tmp_path: Path) -> None:
    analyze(write(tmp_path, many(10), budget=BUDGET))
    assert headline(results_of(tmp_path)) == (
        "PASS: Nothing was lost, late, mixed up or leaked in 40 checked recalls of 10 conversations. "
        "With 95% confidence every scenario's loss rate is below 30.8 %."
    )


def told(directory: Path, process: Process, contract: Contract | None = None) -> str:
    analyze(write(directory, process, budget=BUDGET, contract=contract or Contract()))
    return headline(results_of(directory))


def test_the_headline_of_a_leak_does_not_speak_of_loss(tmp_path: Path) -> None:
    process = (
        many(10).talk("x").append("phone", 0, 1, 0, outcome="fail").recall("phone", 2, 3, ("phone", 0), final=True)
    )
    assert told(tmp_path, process) == (
        "FAIL: 1 time a message was shown that had been refused. "
        "No message was missing (40 checked recalls of 11 conversations)."
    )


def owner(user: str, session: str) -> Owner:
    return Owner(tenant=None, user=user, session=session, conversation="elsewhere")


def test_a_leak_says_whose_messages_and_in_how_many_conversations(tmp_path: Path) -> None:
    process = many(10).talk("x").append("phone", 0, 1, 0)
    process.recall("phone", 2, 3, ("phone", 0), foreign(owner("ada", "s")), final=True)
    assert told(tmp_path / "1", process).startswith(
        "FAIL: Another user's messages were shown in 1 of 11 conversations. No message was missing ("
    )
    process.recall("phone", 4, 5, ("phone", 0), foreign(owner("user of x", "t")), final=True)
    assert "Another user's or another session's messages were shown in 1 of 11" in told(tmp_path / "2", process)


def test_lost_late_and_fickle_messages_have_a_sentence_each(tmp_path: Path) -> None:
    process = many(10)
    process.talk("lost").append("phone", 0, 1, 0).recall("phone", 2, 3).recall("phone", 4, 5, final=True)
    process.talk("late").append("phone", 0, 1, 0).recall("phone", 42, 43)
    process.recall("phone", 60, 61, ("phone", 0), final=True)
    process.talk("fickle").append("phone", 0, 1, 0).recall("phone", 2, 3, ("phone", 0)).recall("phone", 4, 5)
    process.recall("phone", 6, 7, ("phone", 0), final=True)
    assert told(tmp_path, process) == (
        "FAIL: 1 of 33 messages was lost: missing to the last recall, 2 s after the last write. "
        "1 of 33 messages was late: missing when owed, shown for good later. "
        "Recalls lacked them up to 41 ms after their acknowledgement. "
        "1 of 33 messages came and went: shown, missing, and shown again. "
        "4 of 47 checked recalls of 13 conversations lacked something."
    )
    (scenario,) = results_of(tmp_path)["scenarios"]  # type: ignore[misc]
    assert scenario["final_recalls"] == 13  # type: ignore[has-type]
    assert scenario["lateness"] == {  # type: ignore[has-type]
        "missing_ms": {"p50": 41.0, "p95": 41.0, "max": 41.0},
        "shown_ms": {"p50": 60.0, "p95": 60.0, "max": 60.0},
    }


def test_how_long_the_tool_waited_is_said_only_if_it_did(tmp_path: Path) -> None:
    process = Process().talk("lost").append("phone", 0, 1, 0).recall("phone", 2, 3)
    assert "1 of 1 message was lost: missing to the last recall. " in told(tmp_path, process)


def test_the_table_shows_every_scenario_and_every_reason(tmp_path: Path) -> None:
    process = many(10)
    sound(process, 99, scenario="two-devices")
    skipped = [Skipped(scenario="reconnect", reason="the contract offers no recall by user")]
    analyze(write(tmp_path, process, budget=BUDGET, skipped=skipped))
    shown = printed(tmp_path)
    for words in ("rapid-switch", "two-devices", "reconnect", "the contract offers", "few-conversations", "9 more"):
        assert words in shown


def test_the_summary_says_before_its_table_what_was_not_run(tmp_path: Path) -> None:
    skipped = [Skipped(scenario="reconnect", reason="the contract offers no recall by user")]
    analyze(write(tmp_path, many(10), budget=BUDGET, skipped=skipped))
    before = (tmp_path / "summary.md").read_text(encoding="utf-8").partition("| scenario |")[0]
    assert "\n- Not run: reconnect, because the contract offers no recall by user\n" in before


def untested_of(directory: Path, contract: Contract, **talk: Any) -> tuple[str, str]:
    """What the report says was looked for, and what was not put to the test."""
    process = many(10)
    process.talk("x", **talk).append("phone", 0, 1, 0).recall("phone", 2, 3, ("phone", 0), final=True)
    process.delete("phone", 4, 5)
    analyze(write(directory, process, contract=contract))
    html = (directory / "report.html").read_text(encoding="utf-8")
    text = " ".join(re.sub(r"<[^>]*>", "", html).split())
    looked = re.search(r"Looked for, and not found: (.*?)\.", text)
    untested = re.search(r"Not put to the test: (.*?)\.", text)
    return looked[1] if looked else "", untested[1] if untested else ""


def test_what_a_run_gave_no_occasion_for_is_not_said_to_be_looked_for(tmp_path: Path) -> None:
    looked, untested = untested_of(tmp_path / "plain", Contract())
    assert untested == (
        "over-retained, because the contract declares no ttl; expired early, because the contract declares no ttl; "
        "foreign of another tenant, because there was only one"
    )
    assert looked.split(", ") == [name for name in ANOMALIES if name not in ("over-retained", "expired early")]
    contract = Contract(ttl=Ttl(seconds=3_600), order="unspecified")
    looked, untested = untested_of(tmp_path / "more", contract, tenant="other")
    assert untested == "reordered, because the contract promises no order"
    assert looked.split(", ") == [name for name in ANOMALIES if name != "reordered"]


def coloured(directory: Path, style: str) -> list[str]:
    """What the table shows in a colour."""
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard")
    console.print(render(results_of(directory)))
    code = {"red": "31", "yellow": "33"}[style]
    return re.findall(rf"\x1b\[{code}m *([^\x1b]+)", console.file.getvalue())  # type: ignore[attr-defined]


def test_the_table_shows_a_leak_first_and_in_red(tmp_path: Path) -> None:
    process = many(10).talk("x").append("phone", 0, 1, 0)
    process.recall("phone", 2, 3, ("phone", 0), foreign(owner("ada", "s")), ("phone", 0), final=True)
    analyze(write(tmp_path, process, budget=BUDGET))
    heading, row = printed(tmp_path).splitlines()[4:6]
    assert heading.split() == ["scenario", "foreign", "duplicated", "lossy", "rate", "95%", "interval", "harmed"]
    assert row.split()[:5] == ["rapid-switch", "1/11", "1/11", "0/41", "0"]
    assert (coloured(tmp_path, "red"), coloured(tmp_path, "yellow")) == (["1/11"], ["1/11"])


def test_the_table_colours_by_what_is_lost_and_not_by_how_much_is_late(tmp_path: Path) -> None:
    process = many(10).talk("late").append("phone", 0, 1, 0).recall("phone", 42, 43)
    process.recall("phone", 60, 61, ("phone", 0), final=True)
    analyze(write(tmp_path, process, budget=BUDGET))
    assert (coloured(tmp_path, "red"), coloured(tmp_path, "yellow")) == ([], ["1/42", "2.38 %", "1"])
    process.talk("lost").append("phone", 0, 1, 0).recall("phone", 2, 3).recall("phone", 4, 5, final=True)
    analyze(write(tmp_path, process, budget=BUDGET))
    assert (coloured(tmp_path, "red"), coloured(tmp_path, "yellow")) == (["3/44", "6.82 %", "1 3.12 %"], ["1"])
    assert "| 1 of 32 (3.12 %) | 1 of 32 (3.12 %) |" in (tmp_path / "summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0, "0 %"), (1.0, "100 %"), (0.1234, "12.3 %"), (0.00069, "0.0690 %"), (0.0000021, "0.00021 %")],
)
def test_shares_keep_the_digits_that_matter(value: float | None, text: str) -> None:
    assert share(value) == text


def test_both_ends_of_an_interval_have_the_same_digits() -> None:
    assert span(0.00036, 0.0118) == "0.04–1.18 %"
    assert span(0.0, 0.308) == "0–30.8 %"


def test_the_likely_cause_stands_in_table_and_summary(tmp_path: Path) -> None:
    process = many(10)
    for at in range(40):
        process.talk(f"split {at}").append("phone", 0, 1, 0, instance="m1").append("phone", 2, 3, 1, instance="m2")
        process.recall("phone", 4, 5, ("phone", at % 2), instance=f"m{at % 2 + 1}", final=True)
    analyze(write(tmp_path, process, budget=BUDGET))
    assert results_of(tmp_path)["causes"][0]["code"] == "split-memory"  # type: ignore[index]
    assert "likely cause: Instances do not share one memory" in printed(tmp_path, width=200)
    written = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "- **likely cause**: Instances do not share one memory" in written
    assert "  - for: Where one instance wrote and another read, 100 % of 40 owed messages were missing" in written
    assert "More: report\\.html in the run directory" in written.replace("report.html", "report\\.html")


# hostile contents ----------------------------------------------------------------------------------------------------


def hostile_run(directory: Path, text: str) -> None:
    process = Process().talk(text, scenario=text, user=text, session=text)
    process.append(text, 0, 1, 0, text=text, instance=text).recall(text, 2, 3, instance=text, final=True)
    analyze(write(directory, process, skipped=[Skipped(scenario=text, reason=text)]))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_table_shows_hostile_names_as_text(tmp_path: Path, text: str) -> None:
    hostile_run(tmp_path, text)
    shown = printed(tmp_path, width=4_000)
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "\u202e" not in shown
    assert plain(text, 100)[:25] in shown


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_summary_holds_hostile_names_in_their_cells(tmp_path: Path, text: str) -> None:
    hostile_run(tmp_path, text)
    written = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert written == summary(results_of(tmp_path))
    assert "<" not in written
    assert not any(control in written for control in ("\x1b", "\x9b", "\u202e", "\r"))
    rows = [line for line in written.splitlines() if line.startswith("| ")]
    assert len(rows) == 2
    for row in rows:
        assert row.replace("\\|", "").count("|") == 10
    for line in written.splitlines():
        assert line.startswith(("## ", "|", "- ", "  - ", "Run ", "More: ")) or not line


def test_a_pass_of_a_hostile_name_is_no_longer_than_a_screen(tmp_path: Path) -> None:
    hostile_run(tmp_path, "x" * 10_000)
    assert len((tmp_path / "summary.md").read_text(encoding="utf-8")) < 20_000
