"""The page says what the report says, and stays inert whatever the memory under test returned."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from analysis.reason import Reason
from analysis.report import render
from analysis.report.model import Failed, LossOverTime, LossSeries, Row, Shown
from analysis.report.transcript import ROWS_MAX
from analysis.results import Requests
from goldfish.anomalies import ANOMALIES
from tests.analysis.report.report_samples import HOSTILE, SAMPLES, empty, failing, hostile, inconclusive, sound

if TYPE_CHECKING:
    from analysis.report import Report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page(HTMLParser):
    """The structure of a page, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.texts: list[str] = []
        self.raw: dict[str, str] = {}
        self._open = ""
        self.feed(html)
        self.close()
        self.text = " ".join(" ".join(self.texts).replace("\u00a0", " ").split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(attrs)))
        self._open = (dict(attrs).get("id") or dict(attrs).get("type") or tag) if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.raw[self._open] = self.raw.get(self._open, "") + data
        else:
            self.texts.append(data)

    @property
    def skeleton(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(tag, tuple(name for name, _ in attributes)) for tag, attributes in self.elements]

    @property
    def chart(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.raw["chart-data"])
        return data


def page(report: Report) -> Page:
    return Page(render(report))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_adds_no_element_and_no_attribute(text: str) -> None:
    assert page(hostile(text)).skeleton == page(hostile("tame")).skeleton


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_in_its_script_element(text: str) -> None:
    html = render(hostile(text))
    html.encode()
    assert html.count("<script") == html.count("</script>") == 3
    for name in ("chart-data", "age-data"):
        data = html.split(f'id="{name}">')[1].split("</script>")[0]
        assert not re.search("[<>&\u2028\u2029]", data)
    assert Page(html).chart["series"][0]["lossy"] == [0, 1]


def test_hostile_text_is_shown_as_text() -> None:
    shown = page(hostile("</script><script>alert(1)</script>")).text
    assert shown.count("</script><script>alert(1)</script>") > 20


def test_a_template_in_a_text_is_not_evaluated() -> None:
    assert "{{ 7 * 7 }}" in page(hostile("{{ 7 * 7 }}")).text


def test_invisible_characters_are_named() -> None:
    html = render(hostile("a\u202eb\u2066c\u200bd\x00e\x1bf\ud83dg\u2028h"))
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x00\x1b\u2028]", html)
    assert "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d⟨U+0000⟩e⟨U+001B⟩f⟨U+D83D⟩g⟨U+2028⟩h" in html


@pytest.mark.parametrize("text", ["👨‍👩‍👧‍👦", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "❤️‍🔥", "1️⃣", "Zoe\u0308", "مُنى", "मीरा", "می‌خواهم", "שָׁלוֹם"])
def test_what_people_write_is_left_as_it_is(text: str) -> None:
    assert text in page(hostile(text)).text


def test_long_texts_are_cut_and_say_so() -> None:
    html = render(hostile("x" * 1_000_000))
    assert "more characters]" in html
    assert "x" * 2_001 not in html
    assert len(html.encode()) < 200_000


def test_texts_are_cut_between_graphemes() -> None:
    for shift in range(12):
        html = render(hostile("a" * shift + "👨‍👩‍👧‍👦" * 500))
        assert "more characters]" in html
        assert not re.search("[^👦a]… \\[", html)


def test_user_content_is_isolated_from_the_direction_of_the_page() -> None:
    elements = page(failing()).elements
    said = [dict(attributes) for tag, attributes in elements if dict(attributes).get("class") == "said"]
    assert said
    assert all(attributes["dir"] == "auto" for attributes in said)
    assert sum(tag == "bdi" for tag, _ in elements) > 50


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_the_page_needs_nothing_from_outside(make: Any) -> None:
    html = render(make())
    parsed = Page(html)
    for _, attributes in parsed.elements:
        for name, value in attributes:
            assert name not in ("src", "srcset", "action", "style")
            assert not name.startswith("on")
            if name == "href":
                assert value is not None
                assert value.startswith("#") or value == "data:,"
    assert not re.search(r"url\(|@import", parsed.raw["style"])
    assert len(html.encode()) < 2_000_000


def test_the_content_security_policy_admits_this_style_and_this_script_alone() -> None:
    parsed = page(hostile("x"))
    policy = next(
        dict(attributes)["content"] or ""
        for _, attributes in parsed.elements
        if ("charset", "utf-8") not in attributes and dict(attributes).get("http-equiv") == "Content-Security-Policy"
    )
    for directive, element in (("style-src", "style"), ("script-src", "script")):
        digest = base64.b64encode(hashlib.sha256(parsed.raw[element].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_every_reference_has_its_target_and_ids_are_unique(make: Any) -> None:
    attributes = [dict(attributes) for _, attributes in page(make()).elements]
    ids = [found["id"] for found in attributes if "id" in found]
    assert len(ids) == len(set(ids))
    for found in attributes:
        for reference in (found.get("href", ""), f"#{found['aria-labelledby']}" if "aria-labelledby" in found else ""):
            assert not (reference or "").startswith("#") or (reference or "")[1:] in ids


def test_numbers_appear_as_given() -> None:
    text = page(failing()).text
    for words in (
        "✗ Fail 717 of 12,594 checked recalls lacked something the user had said; the budget is 0.",
        "12.1 % 10.1 – 14.3 %",
        "642 of 5,312",
        "0.87 % 0.49 – 1.54 %",
        "123 of 531",
        "rapid-switch 531 5.2",
        "20 users at a time, 1,259 persons in all",
        "17 of 531",
        "which does not see what other instances wrote accounts for about 62 % of 834 missing messages",
        "Also likely: Writers overwrite each other: read, append, write back without a lock accounts for about 18 % of",
        "shared-state accounts for both foreign findings",
        "Against 498 messages written alone were lost as well.",
        "window {messages = 20} {messages = 12}",
        "40 of the 163 lossy conversations",
        "Self-test : would have named 98.7 % of possible losses, and found 200 of 200 planted ones.",
        "pause@m2 18.00 s 24.00 s 0 % 0 of 1,000 32.0 % 128 of 400 1.0 % 9 of 900 137 lossy recalls, 12 lost messages",
        "kill@m1 40.50 s the end 0 % 0 of 1,000 32.0 % 128 of 400 – 137",
        "10 ms to 20 ms 0 % 0 / 440 40.0 % 176 / 440",
        "rapid-switch append timeout unknown 17",
        "rapid-switch append 413 no 4",
        "38.0 % 1,633 of 4,302",
        "– no pairs",
        "append 5,342 4 17 3.4 12 28 1,530",
        "rapid-switch 10,685 9,875 214 321 214 40 17 4",
        "31 conversations of the load process w2",
        "exit code 3 (a proven fail)",
        "seed 1729",
        "This run began at 2025-03-14 09:45:10 UTC .",
    ):
        assert words in text


def test_the_verdict_stands_first_and_reasons_name_their_scenario() -> None:
    text = page(inconclusive()).text
    assert text.index("Inconclusive Nothing was lost") < text.index("two-devices 62 more conversations")
    assert "window-edge No recall was checked, because every append failed. nothing-checked" in text
    assert "whole run" in page(sound()).text


def test_a_scenario_without_a_checked_recall_has_no_rate() -> None:
    assert "first message pinned – nothing checked –" in page(inconclusive()).text


def test_a_sound_run_says_so() -> None:
    text = page(sound()).text
    assert "a loss rate above 0.07 % would have shown up with 95 % confidence" in text
    assert f"Looked for, and not found: {' , '.join(ANOMALIES)} ." in text
    assert "Likely cause" not in text
    assert "No request failed or stayed unanswered." in text
    assert "No message was missing." in text
    assert "No conversation was harmed." in text
    assert "rapid-switch: no loss in" in text


def test_an_empty_report_is_a_page() -> None:
    text = page(empty()).text
    assert "No scenario was judged." in text
    assert "there is nothing to draw" in text
    assert "No conversation was judged." in text
    assert "Everything that was recorded was checked." not in text


def test_the_chart_has_data_and_words() -> None:
    parsed = page(failing())
    chart = parsed.chart
    assert chart["series"][0]["name"] == "rapid-switch"
    assert all(len(series["checked"]) == len(series["lossy"]) == len(chart["seconds"]) for series in chart["series"])
    container = next(dict(attributes) for _, attributes in parsed.elements if ("id", "chart") in attributes)
    assert container["aria-label"]
    assert "rapid-switch: at most 40.5 % between 33 and 34 s (32 of 79 recalls)." in parsed.text
    assert "device-handover: no loss in 4,916 recalls." in parsed.text
    assert "32 s 59 / 149" in parsed.text


def test_series_of_different_times_share_one_axis() -> None:
    series = [
        LossSeries(scenario="a", seconds=[0.0, 2.0], checked=[3, 4], lossy=[0, 1]),
        LossSeries(scenario="b", seconds=[1.0, 2.0], checked=[5, 6], lossy=[2, 0]),
    ]
    chart = page(msgspec.structs.replace(empty(), loss_over_time=LossOverTime(bin_s=1.0, series=series))).chart
    assert chart["seconds"] == [0, 1, 2]
    assert [(one["checked"], one["lossy"]) for one in chart["series"]] == [
        ([3, 0, 4], [0, 0, 1]),
        ([0, 5, 6], [0, 2, 0]),
    ]


def test_a_pause_looks_like_one() -> None:
    chart = page(inconclusive()).chart
    assert chart["seconds"] == list(range(11))
    assert chart["series"][0]["checked"][2:6] == [30, 0, 0, 22]


def test_skipped_scenarios_are_named_with_their_reason() -> None:
    text = page(inconclusive()).text
    assert "Not run: tenants , because the target has no tenants" in text.partition("Findings by scenario")[0]
    assert "Not run" not in page(sound()).text


def test_a_touch_is_told_as_what_it_does() -> None:
    report = failing()
    opening = {"touch": Requests(ok=3, fail=1, info=0)}
    scenarios = [msgspec.structs.replace(report.scenarios[0], requests=opening), *report.scenarios[1:]]
    failed = Failed(scenario=scenarios[0].name, kind="touch", outcome="fail", why="503", number=1)
    text = page(msgspec.structs.replace(report, scenarios=scenarios, failures=[failed])).text
    requests = text.partition("Requests and latency")[2].partition("Messages by fate")[0]
    assert "touch" not in requests
    assert requests.count(" open ") == 2
    assert "open A request that opens a session, or prolongs one: touch in results.json" in text


def test_many_bins_are_merged_and_none_is_dropped() -> None:
    seconds = [at * 0.1 for at in range(36_000)]
    series = LossSeries(scenario="soak", seconds=seconds, checked=[2] * 36_000, lossy=[1] * 36_000)
    html = render(msgspec.structs.replace(empty(), loss_over_time=LossOverTime(bin_s=0.1, series=[series])))
    chart = Page(html).chart
    assert len(chart["seconds"]) <= 400
    assert sum(chart["series"][0]["checked"]) == 72_000
    assert len(html) < 200_000


def test_missing_and_foreign_are_told_in_words_too() -> None:
    html = render(failing())
    assert "<del>可以的，收货地址已改为：杭州文三路27号3单元602，联系电话不变。</del>" in html
    text = Page(html).text
    assert "✗ missing not in the list" in text
    assert "nothing owed here ! foreign: belongs to somebody else foreign · of user u-0-0044, session s-2" in text
    assert "11 rows left out, all sound" in text


def test_a_long_transcript_is_bounded_and_counts_what_it_leaves_out() -> None:
    worst = failing().worst_conversations[2]
    rows = worst.rows * 100
    report = msgspec.structs.replace(failing(), worst_conversations=[msgspec.structs.replace(worst, rows=rows)])
    text = page(report).text
    assert f"{len(rows) - ROWS_MAX:,} rows left out, not shown here, some of them unsound" in text


def test_everything_at_once_stays_below_two_megabytes() -> None:
    report = failing()
    worst = report.worst_conversations[2]
    rows = [Row(mark="phantom", shown=Shown(kind="unmarked", text="好" * 9_999))] * 5_000
    report = msgspec.structs.replace(
        report,
        reasons=[Reason(code="loss", scenario="好" * 999, text="好" * 9_999)] * 500,
        scenarios=report.scenarios * 100,
        worst_conversations=[msgspec.structs.replace(worst, rows=rows)] * 30,
        unverifiable=report.unverifiable * 500,
    )
    html = render(report)
    assert len(html.encode()) < 2_000_000
    assert "460 more reasons are in results.json" in Page(html).text


def test_harm_that_fits_no_cause_says_so() -> None:
    text = page(msgspec.structs.replace(failing(), causes=[])).text
    assert "What went wrong fits no cause that is known here." in text


def test_what_can_be_filtered_carries_the_number_of_its_scenario() -> None:
    parsed = page(failing())
    names = [scenario.name for scenario in failing().scenarios]
    options = {
        dict(attributes)["value"]
        for tag, attributes in parsed.elements
        if tag == "option" and dict(attributes)["value"]
    }
    assert {str(at) for at in range(len(names))} < options
    numbered = [
        dict(attributes)["data-scenario"] for _, attributes in parsed.elements if "data-scenario" in dict(attributes)
    ]
    assert {str(at) for at in range(len(names))} == set(numbered)
    assert len(numbered) > 3 * len(names)


def test_the_drawn_ages_are_those_of_the_table() -> None:
    parsed = page(failing())
    drawn = json.loads(parsed.raw["age-data"])
    assert drawn["bins"][:3] == ["< 1 ms", "1 ms", "2 ms"]
    assert {(series["scenario"], series["kin"]) for series in drawn["series"]} == {
        (0, "same"), (0, "other"), (1, "same"), (1, "other"),
    }  # fmt: skip
    assert all(len(series["missing"]) == len(series["pairs"]) == len(drawn["bins"]) for series in drawn["series"])


def test_incidents_stand_where_there_is_no_interval() -> None:
    report = failing()
    first = report.scenarios[0]
    recalls = msgspec.structs.replace(first.recalls, low=0.0, high=1.0)
    struck = msgspec.structs.replace(first, recalls=recalls, incidents=2)
    text = page(msgspec.structs.replace(report, scenarios=[struck, *report.scenarios[1:]])).text
    assert "12.1 % in 2 incidents 642 of 5,312" in text


# accessibility -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_the_page_has_landmarks_and_an_outline_without_leaps(make: Any) -> None:
    elements = page(make()).elements
    tags = [tag for tag, _ in elements]
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert tags.count(landmark) == 1
    assert ("lang", "en") in next(attributes for tag, attributes in elements if tag == "html")
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))
    assert all("aria-labelledby" in dict(attributes) for tag, attributes in elements if tag in ("section", "article"))


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_every_head_cell_says_what_it_heads(make: Any) -> None:
    for tag, attributes in page(make()).elements:
        if tag == "th":
            assert dict(attributes).get("scope") in ("col", "row", "rowgroup")


def test_everything_that_scrolls_or_is_chosen_from_can_be_reached_and_is_named() -> None:
    html = render(failing())
    parsed = Page(html)
    for tag, attributes in parsed.elements:
        found = dict(attributes)
        assert int(found.get("tabindex") or 0) == 0
        if found.get("class") == "scroll":
            assert (found["role"], found["tabindex"]) == ("region", "0")
            assert found["aria-label"]
        if tag == "svg":
            assert found["aria-hidden"] == "true"
        if found.get("role") == "group":
            assert found["aria-label"]
    for name in ("scenario", "class"):
        assert re.search(rf"<label>\w+ <select id=\"filter-{name}\">", html)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """As defined by WCAG 2.2."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "print"])
def test_text_and_lines_stand_out_in_every_theme(theme: int) -> None:
    css = (Path(__file__).parents[3] / "analysis" / "report" / "report.css").read_text(encoding="utf-8")
    full = re.sub(r"#([0-9a-f])([0-9a-f])([0-9a-f])\b(?!\w)", r"#\1\1\2\2\3\3", css)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})\b", re.findall(r":root \{(.*?)\}", full, re.DOTALL)[theme]))
    for ground in ("page", "panel"):
        for ink in ("ink", "quiet", "link", "bad"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
        for at in range(1, 9):
            assert contrast(colours[f"series-{at}"], colours[ground]) >= 3, (at, ground)
    for verdict in ("pass", "fail", "inconclusive"):
        assert contrast(colours["on-badge"], colours[verdict]) >= 4.5, verdict
    for at in range(8):
        ink = "heat-ink-high" if at >= 6 else "heat-ink-low"
        assert contrast(colours[ink], colours[f"heat-{at}"]) >= 4.5, at
    assert contrast(colours["bad"], colours["bad-ground"]) >= 4.5
    assert contrast(colours["odd"], colours["odd-ground"]) >= 4.5


def opened(report: Report, folder: Path, query: str = "") -> str:
    """The page as it stands after its script ran."""
    file = folder / "report.html"
    file.write_text(render(report), encoding="utf-8")
    return subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder / 'profile'}",
            "--dump-dom", file.as_uri() + query,
        ],
        capture_output=True, check=True, timeout=60,
    ).stdout.decode()  # fmt: skip


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH")
def test_a_browser_draws_the_charts_under_the_policy(tmp_path: Path) -> None:
    dom = opened(failing(), tmp_path)
    assert dom.count("<canvas") == 3
    assert 'aria-label="Filter what follows">' in dom  # offered by the script: no longer hidden


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH")
def test_a_filter_shows_one_scenario_and_one_class(tmp_path: Path) -> None:
    elements = Page(opened(failing(), tmp_path, "?scenario=reconnect&class=reordered")).elements
    found = [dict(attributes) for _, attributes in elements]
    scenarios = {one["data-scenario"] for one in found if "data-scenario" in one and "hidden" not in one}
    classes = {one["data-class"] for one in found if "data-class" in one and "hidden" not in one}
    assert (scenarios, classes) == ({"1"}, {"reordered"})
    assert any("data-scenario" not in one and "data-class" not in one and "hidden" not in one for one in found)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH")
@pytest.mark.parametrize("text", HOSTILE[:3], ids=range(3))
def test_hostile_text_runs_nothing_in_a_browser(tmp_path: Path, text: str) -> None:
    dom = opened(hostile(text), tmp_path)
    assert dom.count("<canvas") == 3
    assert Page(dom).skeleton == Page(opened(hostile("tame"), tmp_path)).skeleton
