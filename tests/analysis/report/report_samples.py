"""Reports as an analyzer would fill them, and some that no analyzer should have to show.

``python -m tests.analysis.report.report_samples DIR`` writes the pages, to be looked at.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import msgspec

from analysis.causes.cause import Example, suspect
from analysis.causes.effective import EffectiveContract
from analysis.diagnosis import ClassRate
from analysis.faults import Fault, Recalled
from analysis.power import Control, Power
from analysis.reason import Reason
from analysis.report import render
from analysis.report.model import (
    AgeCurve,
    AgeSeries,
    Failed,
    InstanceMatrix,
    LossOverTime,
    LossSeries,
    Owed,
    Promise,
    Report,
    Row,
    Shown,
    Target,
    Unverifiable,
    WorstConversation,
)
from analysis.results import Conversations, Latency, Messages, Recalls, Requests, Scenario
from goldfish.run import Skipped

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "' onmouseover='alert(3)",
    "<svg/onload=alert(4)>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(5)",
    "</style><style>*{display:none}</style>",
    "<!--<script>-->",
    "]]>&lt;b&gt;&#x3c;",
    "safe\u202egnirts a\u202c \u2066isolated\u2069 \u200bhidden\u00ad",
    "nul\x00 bell\x07 escape\x1b[31m red\r\nnext",
    "lone \ud83d surrogate",
    "line\u2028separator\u2029s",
    "z" + "\u0317\u0311\u0300" * 60 + "algo",
    "🏴" + "".join(chr(0xE0000 + ord(sign)) for sign in "ignorethis") + "\U000e007f",
    "a" * 70_000,
)

MEANINGS = {
    "rapid-switch": "hop between sessions with every message and recall at once",
    "reconnect": "tell facts in one session, drop the connection, ask in the next",
    "two-devices": "phone and laptop write one session in the same instant",
    "device-handover": "write on one device, go on at once on the other, through another instance",
    "cold-start": "several devices send the first message of a new session together",
    "window-edge": "exactly K−1, K, K+1 and 2K messages, first message pinned",
}


def scenario(name: str, checked: int, lossy: int, low: float, high: float, deff: float, clusters: int) -> Scenario:
    talks = clusters
    harmed = min(talks, round(lossy / deff)) if lossy else 0
    disordered = lossy // 9 // 4
    classes = {
        name: ClassRate(
            findings=4 * number,
            conversations=number,
            checked=talks,
            rate=number / talks if talks else None,
            low=number / talks * 0.6 if talks else 0,
            high=min(1, number / talks * 1.5 + 3.7 / talks) if talks else 1,
        )
        for name, number in (("missing", harmed), ("reordered", disordered), ("foreign", 1 if lossy > 300 else 0))
    }
    lost = lossy // 3
    return Scenario(
        name=name,
        recalls=Recalls(
            checked=checked,
            lossy=lossy,
            rate=lossy / checked if checked else None,
            low=low,
            high=high,
            deff=deff if lossy else None,
            clusters=clusters,
        ),
        conversations=Conversations(
            checked=talks,
            harmed=harmed,
            rate=harmed / talks if talks else None,
            low=harmed / talks * 0.7,
            high=harmed / talks * 1.3 + (0 if harmed else 3.7 / talks),
        ),
        messages=Messages(
            sent=checked * 2 + 61,
            rejected=4 if lossy else 0,
            indeterminate=17 if lossy else 0,
            unchecked=40,
            checked=checked * 2,
            ok=checked * 2 - 2 * lost - lossy // 2,
            stale=lost,
            flicker=lossy // 2,
            lost=lost,
        ),
        anomalies={"missing": lossy, "foreign": 2 if lossy > 300 else 0, "reordered": lossy // 9} if lossy else {},
        classes=classes,
        requests={
            "append": Requests(ok=checked + 30, fail=4 if lossy else 0, info=17 if lossy else 0),
            "recall": Requests(ok=checked, fail=9 if lossy else 0, info=0),
        },
        latency_ms={
            "append": Latency(p50=3.42, p95=11.8, p99=28.4, max=1530.2),
            "recall": Latency(p50=1.91, p95=7.3, p99=19.0, max=212.7),
        },
        throughput={"append": 85.2, "recall": 84.7},
    )


def over_time(loss: dict[str, float], length_s: int = 60, begin_s: int = 18, end_s: int = 42) -> LossOverTime:
    rng = random.Random(4)
    series = []
    for name, most in loss.items():
        checked = [rng.randrange(60, 110) if second > 1 else 12 for second in range(length_s)]
        lossy = [
            sum(rng.random() < most * (begin_s <= second < end_s) for _ in range(number))
            for second, number in enumerate(checked)
        ]
        series.append(
            LossSeries(
                scenario=name,
                seconds=[float(second) for second in range(length_s)],
                checked=checked,
                lossy=lossy,
            )
        )
    return LossOverTime(bin_s=1.0, series=series)


def fault(kind: str, part: str, begin_s: float, end_s: float | None, proof: str) -> Fault:
    return Fault(
        kind=kind,
        part=part,
        ok=True,
        proof=proof,
        requested_s=begin_s,
        effective_s=begin_s + 0.01,
        heal_requested_s=end_s,
        healthy_s=end_s,
        before=Recalled(checked=1_000, lossy=0, rate=0.0),
        during=Recalled(checked=400, lossy=128, rate=0.32),
        after=Recalled(checked=900 if end_s else 0, lossy=9 if end_s else 0, rate=0.01 if end_s else None),
        episode=0,
        lossy_recalls=137,
        harmed_conversations=41,
        lost_messages=12,
    )


def sound() -> Report:
    names = ["rapid-switch", "reconnect", "two-devices", "device-handover"]
    sizes = [5_312, 2_208, 1_954, 3_120]
    return Report(
        verdict="pass",
        exit_code=0,
        headline="5,312 recalls of the largest scenario were checked and none lost context; a loss rate above 0.07 % "
        "would have shown up with 95 % confidence.",
        reasons=[
            Reason(
                code="no-loss",
                scenario=None,
                text="12,594 recalls of 1,318 conversations were checked; none lacked a message it owed.",
            ),
            Reason(
                code="power",
                scenario=None,
                text="99.2 % of the shown messages would have been named, had they been "
                "missing; 200 of 200 planted losses were found.",
            ),
        ],
        run="2025-03-14-092653-k7qd",
        started=1_741_944_413.0,
        target=Target(host="http://127.0.0.1:41873", store="journal", instances=3, balance="round-robin"),
        duration_s=61.4,
        users=20,
        seed=1729,
        versions={"goldfish": "0.1.0", "python": "3.11.9", "locust": "2.47.0", "pandas": "3.0.1"},
        command="goldfish run rapid-switch reconnect two-devices device-handover -u 20 -t 60 --seed 1729",
        scenarios=[
            scenario(name, size, 0, 0.0, 3.7 / (size / 10), 1.0, size // 10)
            for name, size in zip(names, sizes, strict=True)
        ],
        meanings=MEANINGS,
        loss_over_time=over_time(dict.fromkeys(names, 0.0)),
        instance_matrix=InstanceMatrix(
            writing=["m1", "m2", "m3"],
            reading=["m1", "m2", "m3"],
            pairs=[[4210, 4188, 4302], [4099, 4241, 4155], [4180, 4203, 4227]],
            missing=[[0, 0, 0], [0, 0, 0], [0, 0, 0]],
        ),
        unverifiable=[
            Unverifiable(
                count=40, what="messages", why="said last in their conversation and never recalled afterwards"
            ),
        ],
    )


def failing() -> Report:
    rates = {
        "rapid-switch": (5_312, 642, 0.101, 0.143, 5.2, 531),
        "reconnect": (2_208, 58, 0.018, 0.038, 2.4, 221),
        "two-devices": (1_954, 17, 0.0049, 0.0154, 1.6, 195),
        "device-handover": (3_120, 0, 0.0, 0.0118, 1.0, 312),
    }
    return Report(
        verdict="fail",
        exit_code=3,
        headline="717 of 12,594 checked recalls lacked something the user had said; the budget is 0.",
        reasons=[
            Reason(
                code="loss",
                scenario="rapid-switch",
                text="642 of 5,312 checked recalls were lossy (12.1 %, 10.1 – 14.3 %); the budget is 0.",
            ),
            Reason(code="loss", scenario="reconnect", text="58 of 2,208 checked recalls were lossy (2.6 %)."),
            Reason(
                code="foreign",
                scenario="rapid-switch",
                text="2 recalls listed a message of another user. One proven case fails a run.",
            ),
            Reason(
                code="lost-worker",
                scenario=None,
                text="The load process ‎w2 ended without a footer; its 31 conversations were not judged.",
            ),
        ],
        run="2025-03-14-094510-x2hb",
        started=1_741_945_510.0,
        target=Target(
            host="http://127.0.0.1:41873",
            store="user-profile",
            defects=["instance-cache:ttl=30", "lost-update:gap_ms=5", "shared-singleton@m3"],
            instances=3,
            balance="round-robin",
        ),
        duration_s=63.0,
        users=20,
        seed=1729,
        versions={"goldfish": "0.1.0", "python": "3.11.9", "locust": "2.47.0", "pandas": "3.0.1"},
        command="goldfish run rapid-switch reconnect two-devices device-handover --store user-profile "
        "--defect instance-cache:ttl=30 --defect lost-update:gap_ms=5 -u 20 -t 60 --seed 1729",
        scenarios=[scenario(name, *numbers) for name, numbers in rates.items()],
        meanings=MEANINGS,
        loss_over_time=over_time(
            {"rapid-switch": 0.31, "reconnect": 0.07, "two-devices": 0.025, "device-handover": 0.0}
        ),
        instance_matrix=InstanceMatrix(
            writing=["m1", "m2", "m3"],
            reading=["m1", "m2", "m3"],
            pairs=[[4210, 4188, 4302], [4099, 4241, 4155], [4180, 0, 4227]],
            missing=[[0, 512, 1_633], [44, 3, 702], [3_200, 0, 9]],
        ),
        power=Power(share=0.987, sampled=400, conversations=60, control=Control(planted=200, found=200)),
        faults=[
            fault("pause", "m2", 18.0, 24.0, "pid 4711 stopped; m2 answers nothing"),
            fault("kill", "m1", 40.5, None, "pid 4709 is gone, m1 refuses connections"),
        ],
        ages=AgeCurve(
            edges_ms=[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000],
            series=[
                AgeSeries(
                    scenario=name,
                    kin=kin,
                    missing=[0, 0, 12, 40, 88, 120, 90, 44, 12, 3, 0, 0, 0][: 13 if kin == "other" else 0] or [0] * 13,
                    pairs=[0, 30, 60, 120, 220, 410, 620, 810, 900, 1_200, 900, 420, 60],
                )
                for name in ("rapid-switch", "reconnect")
                for kin in ("same", "other")
            ],
        ),
        causes=[
            suspect(
                "own-copies",
                0.62,
                [
                    "Where one instance wrote and another read, 28.3 % of 17,928 owed messages were missing.",
                    "It heals: of messages older than 5 s 0 % were missing (0 of 1,204).",
                ],
            ),
            suspect(
                "lost-update",
                0.18,
                ["Of messages written while another append was under way, 46.2 % were lost; of the others 16.6 %."],
                ["498 messages written alone were lost as well."],
            ),
            suspect("shared-state", 1.0, ["All 2 foreign messages were listed by m3, none by the other 2."]),
        ],
        promises=[
            Promise(name="scope", declared='["session", "user"]'),
            Promise(name="window", declared="{messages = 20}", behaves="{messages = 12}"),
            Promise(name="visibility_ms", declared="0"),
        ],
        effective=EffectiveContract(window_messages=12, visibility_ms=None, ttl=None, conversations=40, harmed=163),
        failures=[
            Failed(scenario="rapid-switch", kind="append", outcome="fail", why="413", number=4),
            Failed(scenario="rapid-switch", kind="append", outcome="info", why="timeout", number=17),
        ],
        worst_conversations=[_chinese(), _arabic(), _hostile()],
        unverifiable=[
            Unverifiable(
                count=160, what="messages", why="said last in their conversation and never recalled afterwards"
            ),
            Unverifiable(
                count=31,
                what="conversations of the load process w2",
                why="its op log has no footer: operations that were open when it died are missing from it",
            ),
            Unverifiable(count=9, what="recalls", why="answered with an error, so they prove nothing"),
        ],
    )


def inconclusive() -> Report:
    return Report(
        verdict="inconclusive",
        exit_code=4,
        headline="Nothing was lost, but only 38 conversations of two-devices were checked; a pass needs 100.",
        reasons=[
            Reason(
                code="too-few",
                scenario="two-devices",
                text="62 more conversations are needed: run about 100 s longer, or with more users.",
            ),
            Reason(
                code="nothing-checked",
                scenario="window-edge",
                text="No recall was checked, because every append failed.",
            ),
        ],
        run="2025-03-14-101112-p9ww",
        started=1_741_947_072.0,
        target=Target(host="https://memory.staging.internal:8443/v2"),
        duration_s=12.0,
        users=4,
        versions={"goldfish": "0.1.0"},
        command="goldfish run two-devices window-edge --host https://memory.staging.internal:8443/v2 -u 4 -t 12",
        scenarios=[
            scenario("two-devices", 214, 0, 0.0, 0.0926, 1.0, 38),
            Scenario(
                name="window-edge",
                recalls=Recalls(checked=0, lossy=0, rate=None, low=0, high=1, deff=None, clusters=0),
                conversations=Conversations(checked=0, harmed=0, rate=None, low=0, high=1),
                messages=Messages(
                    sent=48, rejected=48, indeterminate=0, unchecked=0, checked=0, ok=0, stale=0, flicker=0, lost=0
                ),
                requests={"append": Requests(ok=0, fail=48, info=0)},
                anomalies={},
                latency_ms={"append": None},
                throughput={"append": None},
            ),
        ],
        meanings=MEANINGS,
        skipped=[Skipped(scenario="tenants", reason="the target has no tenants")],
        loss_over_time=LossOverTime(
            bin_s=1.0,
            series=[
                LossSeries(
                    scenario="two-devices",
                    seconds=[0.0, 1.0, 2.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
                    checked=[4, 18, 30, 22, 31, 29, 28, 30, 22],
                    lossy=[0] * 9,
                )
            ],
        ),
        unverifiable=[Unverifiable(count=48, what="messages of window-edge", why="rejected with 413")],
    )


def empty() -> Report:
    """As little as a report can say."""
    return Report(verdict="inconclusive", exit_code=4, headline="", run="r", target=Target(host=""))


def hostile(text: str) -> Report:
    """A report in which every string is this one."""
    row = Row(
        mark="foreign",
        owed=Owed(device=text, seq=3, role=text, text=text, written_by=text, acknowledged_s=1.0),
        shown=Shown(kind="foreign", text=text, detail=text),
    )
    return Report(
        verdict="fail",
        exit_code=3,
        headline=text,
        also=[text],
        reasons=[Reason(code=text, scenario=text, text=text)],
        run=text,
        target=Target(host=text, store=text, defects=[text], instances=3, balance=text),
        versions={text: text},
        command=text,
        scenarios=[
            Scenario(
                name=text,
                recalls=Recalls(checked=9, lossy=1, rate=1 / 9, low=0.01, high=0.4, deff=1.0, clusters=3),
                conversations=Conversations(checked=3, harmed=1, rate=1 / 3, low=0.1, high=0.8),
                messages=Messages(
                    sent=9, rejected=0, indeterminate=0, unchecked=0, checked=9, ok=8, stale=0, flicker=0, lost=1
                ),
                anomalies={text: 1},
                classes={
                    text: ClassRate(findings=1, conversations=1, checked=3, rate=1 / 3, low=0.1, high=0.8),
                },
                requests={text: Requests(ok=9, fail=0, info=0)},
                latency_ms={text: Latency(p50=1, p95=2, p99=3, max=4)},
                throughput={text: 1.0},
            )
        ],
        meanings={text: text},
        skipped=[Skipped(scenario=text, reason=text)],
        loss_over_time=LossOverTime(
            bin_s=1.0, series=[LossSeries(scenario=text, seconds=[0.0, 1.0], checked=[5, 4], lossy=[0, 1])]
        ),
        power=Power(share=0.9, sampled=10, conversations=3, control=Control(planted=10, found=9)),
        faults=[fault(text, text, 0.2, 0.7, text)],
        instance_matrix=InstanceMatrix(writing=[text], reading=[text], pairs=[[9]], missing=[[1]]),
        ages=AgeCurve(
            edges_ms=[1, 10], series=[AgeSeries(scenario=text, kin="other", missing=[1, 0, 0], pairs=[30, 30, 0])]
        ),
        causes=[
            msgspec.structs.replace(
                suspect("own-copies", 1.0, [text], [text], text),
                code=text,
                anomaly=text,
                remedy=text,
                example=Example(text=text, command=text),
            )
        ],
        promises=[Promise(name=text, declared=text, behaves=text)],
        effective=EffectiveContract(window_messages=1, visibility_ms=1, ttl=None, conversations=1, harmed=1),
        failures=[Failed(scenario=text, kind=text, outcome="info", why=text, number=1)],
        worst_conversations=[
            WorstConversation(
                scenario=text,
                conversation=text,
                user=text,
                story=text,
                request_ids=[text],
                classes=[text],
                command=text,
                rows=[row, Row(mark="missing", owed=row.owed)],
            )
        ],
        unverifiable=[Unverifiable(count=1, what=text, why=text)],
    )


def _same(device: str, seq: int, role: str, text: str, acknowledged_s: float, by: str) -> Row:
    owed = Owed(device=device, seq=seq, role=role, text=text, written_by=by, acknowledged_s=acknowledged_s)
    return Row(mark="ok", owed=owed, shown=Shown(kind="same"))


def _chinese() -> WorstConversation:
    said = [
        ("user", "你好，帮我查一下快递，订单号是 DD202584310277。"),
        (
            "assistant",
            "您好！订单 DD202584310277 已经查到：墨绿色双肩包一件，实付 ￥1,389.00。预计还要两天左右送达。",
        ),
        ("user", "能改地址吗？改到杭州文三路27号3单元602，电话不变。"),
        ("assistant", "可以的，收货地址已改为：杭州文三路27号3单元602，联系电话不变。"),
    ]
    before = [
        _same(
            "phone",
            seq,
            ("user", "assistant")[seq % 2],
            ("好的", "好的，还有什么可以帮您的吗？")[seq % 2],
            31 + seq / 3,
            "m1",
        )
        for seq in range(12)
    ]
    rows = [_same("phone", 12 + at, role, text, 37.2 + at, "m1") for at, (role, text) in enumerate(said[:2])]
    lost = [
        Row(
            mark="missing",
            owed=Owed(device="laptop", seq=at, role=role, text=text, written_by="m2", acknowledged_s=38.1),
        )
        for at, (role, text) in enumerate(said[2:])
    ]
    return WorstConversation(
        scenario="rapid-switch",
        conversation="c-0191",
        user="u-0-0191",
        story="laptop read at 41.20 s, 3.1 s after message 17 was acknowledged by m2; m3 returned 14, 15, 16, 18.",
        request_ids=["local-4711", "local-4719", "local-4733"],
        rows=[
            *before,
            *rows,
            *lost,
            Row(
                mark="foreign",
                shown=Shown(
                    kind="foreign", text="我对花生过敏，挺严重的那种。", detail="of user u-0-0044, session s-2"
                ),
            ),
            _same("phone", 14, "user", "我刚才说的订单号是多少来着？", 40.3, "m3"),
            Row(
                mark="duplicated",
                shown=Shown(kind="duplicate", text="我刚才说的订单号是多少来着？", detail="phone 14, second copy"),
            ),
        ],
    )


def _arabic() -> WorstConversation:
    return WorstConversation(
        scenario="reconnect",
        conversation="c-0007",
        user="u-1-0007",
        story="phone read at 22.04 s, 0.4 s after its message 2 was acknowledged by m1; m3 returned "
        "phone 1 before phone 0, without phone 2.",
        request_ids=["w1-88"],
        rows=[
            Row(
                mark="reordered",
                owed=Owed(
                    device="phone",
                    seq=1,
                    role="assistant",
                    text="أهلًا وسهلًا يا ليلى! ما هواياتك؟",
                    written_by="m1",
                    acknowledged_s=20.9,
                ),
                shown=Shown(kind="same"),
            ),
            _same(
                "phone", 0, "user", "مرحبًا، اسمي ليلى. انتقلت إلى عمّان قبل 7 أيام، ورقم الطلب AR-482913.", 20.1, "m1"
            ),
            Row(
                mark="missing",
                owed=Owed(
                    device="phone",
                    seq=2,
                    role="user",
                    text="أحب الخط العربي كثيرًا، لكن `TypeError: x is undefined` 😅",
                    written_by="m1",
                    acknowledged_s=21.64,
                ),
            ),
            _same(
                "phone", 3, "user", "👨‍👩‍👧‍👦🏴󠁧󠁢󠁳󠁣󠁴󠁿👍🏽 Zoe\u0308 ☘︎ 1️⃣ — it's मीरा 🪷's bday on 14 Jan!!! 🎂🎂🎂", 21.8, "m2"
            ),
            Row(
                mark="corrupted",
                owed=Owed(
                    device="phone",
                    seq=4,
                    role="assistant",
                    written_by="m2",
                    acknowledged_s=21.9,
                    text="Yay 🥳 14 Jan, 10 people for मीरा 🪷 🎈🎈 Let's start: 📍 where, 🍽️ what to eat",
                ),
                shown=Shown(kind="corrupted", detail="truncated", text="Yay 🥳 14 Jan, 10 people for म"),
            ),
        ],
    )


def _hostile() -> WorstConversation:
    rows = [
        Row(mark="phantom", shown=Shown(kind="unmarked", text=text, detail="element without a token"))
        for text in HOSTILE
    ]
    return WorstConversation(
        scenario="two-devices",
        conversation="c-<b>66</b>",
        user="u-\u202e660",
        story="laptop read at 3.00 s; m1 returned 16 elements that nobody had stored, \u202ebackwards\u202c.",
        request_ids=[f"w0-{number}" for number in range(20)],
        rows=rows,
    )


SAMPLES = {"sound": sound, "failing": failing, "inconclusive": inconclusive, "empty": empty}

if __name__ == "__main__":
    for name, make in SAMPLES.items():
        page = render(make())
        Path(sys.argv[1], f"{name}.html").write_text(page, encoding="utf-8")
        print(f"{name}: {len(page.encode()):,} bytes")
