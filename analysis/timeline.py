"""``goldfish show RUN CONVERSATION``: one conversation in the order of time.

Read directly from the op logs and judged by the same rule as the run; no pandas here, because the command imports this.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from analysis.check import Checked, Finding, check
from analysis.listed import spoken
from analysis.load import load
from analysis.replay import curl_script
from goldfish.errors import UsageError
from goldfish.oplog import Append, Delete, Odd, Operation, Recall, encode_runs, listing
from goldfish.run import read_run
from goldfish.words import count, plain

TEXT_CHARS_MAX = 60
NAMES_MAX = 5
_OUTCOMES = {"ok": "", "fail": "red", "info": "yellow"}


def show_conversation(directory: Path, name: str, *, curl: bool = False, console: Console | None = None) -> None:
    """Print a conversation's timeline, or a bash script that replays it with curl.

    Raises:
        UsageError: the run holds no such conversation, or was not recorded in the interface that is replayed.
        RecordError: the record cannot be trusted.
    """
    checked, start_ns = _judged(directory, name)
    if curl:
        target = read_run(directory).target
        if "target" in target and "library" not in target:
            raise UsageError(
                f"{directory} was recorded by the target {plain(str(target['target']), 80)!r}, and a script of curl "
                "commands is only made for the reference interface (docs/http-interface.md); `goldfish probe --all` "
                "shows the requests that the target makes"
            )
        sys.stdout.write(curl_script(checked.conversation, start_ns))
    else:
        (console or Console()).print(timeline(checked, start_ns))


def timeline(checked: Checked, start_ns: int) -> RenderableType:
    """The conversation as a table; stamps are seconds since ``start_ns``."""
    conversation = checked.conversation
    found: dict[int, list[Finding]] = {}
    for finding in checked.findings:
        found.setdefault(finding.line, []).append(finding)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("at s", "took ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("device", "instance", "what", "request"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "request")
    for line, row in conversation.operations():
        table.add_row(
            Text(f"{(row.start_ns - start_ns) / 1e9:.3f}"),
            Text(f"{(row.end_ns - row.start_ns) / 1e6:.1f}"),
            Text(plain(row.device, 40)),
            Text(plain(row.instance or "–", 40)),
            _what(row, found.get(line, [])),
            Text(plain(f"{conversation.process}-{row.id}", 80), style="dim"),
        )
    title = Text.assemble(
        ("conversation ", "dim"),
        (plain(conversation.name, 200), "bold"),
        (" of scenario ", "dim"),
        plain(conversation.scenario, 200),
        (", user ", "dim"),
        plain(conversation.user, 200),
    )
    return Group(title, Text(), table, Text(), *_conclusion(checked))


def _judged(directory: Path, name: str) -> tuple[Checked, int]:
    ttl = read_run(directory).contract.ttl
    # Where a user's memory expires as a whole, the user's other conversations tell as well.
    record = load(directory, only=None if ttl is not None and ttl.unit == "user" else name)
    conversation = record.conversations.get(name)
    if conversation is None:
        known = list(load(directory).conversations)
        some = ", ".join(plain(other, 80) for other in known[:NAMES_MAX])
        raise UsageError(
            f"{directory} holds no conversation {plain(name, 200)!r}; it holds {count(len(known), 'conversation')}"
            + (f", e.g. {some}" if known else "")
        )
    start_ns = record.run.start_ns
    if start_ns is None:
        start_ns = min(row.start_ns for _, row in conversation.operations())
    return check(conversation, record.run.contract, record.company(conversation)), start_ns


def _what(row: Operation, findings: list[Finding]) -> Text:
    """What was asked, what came back, and what is wrong with it."""
    text = Text()
    if isinstance(row, Append):
        for at, said in enumerate(row.messages):
            text.append("\n" if at else "")
            text.append(f"says {said.seq} {'again ' if row.attempt > 1 else ''}", "bold")
            text.append(f"{plain(said.role, 20)}: {plain(spoken(said.text), TEXT_CHARS_MAX)}")
    elif isinstance(row, Recall):
        limit = "" if row.limit is None else f" the last {row.limit}"
        verb = "final recall" if row.phase == "final" else "searches" if row.view == "search" else "recalls"
        text.append(f"{verb}{limit}: ", "bold")
        text.append(_list(row) if row.outcome == "ok" else "no answer")
    elif isinstance(row, Delete):
        text.append(f"deletes session {plain(row.session or '', 80)}", "bold")
    else:
        text.append("opens the session, or asks for something else", "bold")
    if row.outcome != "ok":
        why = ", ".join(str(part) for part in (row.reason, row.status) if part is not None)
        text.append(f"  {'failed' if row.outcome == 'fail' else 'indeterminate'} ({why})", _OUTCOMES[row.outcome])
    for told in _findings(findings):
        text.append(f"\n✗ {told}", "red")
    return text


def _list(recall: Recall) -> str:
    """The listed elements as runs of consecutive messages, odd elements where they stand."""
    parts: list[str] = []
    run: tuple[str, int, int] | None = None
    for element in listing(recall):
        if not isinstance(element, Odd) and run is not None and run[0] == element[0] and run[2] + 1 == element[1]:
            run = run[0], run[1], element[1]
            continue
        if run is not None:
            parts.append(_run(*run))
        run = None if isinstance(element, Odd) else (element[0], element[1], element[1])
        if isinstance(element, Odd):
            parts.append(f"[{element.why}: {plain(spoken(element.text), 30)}]")
    if run is not None:
        parts.append(_run(*run))
    return f"{', '.join(parts)}  ({recall.length})" if parts else "nothing"


def _run(device: str, first: int, last: int) -> str:
    return f"{plain(device, 40)} {first}" if first == last else f"{plain(device, 40)} {first}–{last}"


def _findings(findings: list[Finding]) -> list[str]:
    """The findings of one recall, those alike on one line: "missing phone 3–5, laptop 2 (gap)"."""
    alike: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for finding in findings:
        more = [part for part in (finding.position, finding.detail, finding.guarantee) if part]
        if finding.anomaly in ("missing", "unretrieved") and finding.device is None:
            more = ["no single message can be named"]
        if finding.owner is not None:
            more.append(f"of user {plain(finding.owner.user, 80)}, session {plain(finding.owner.session, 80)}")
        named = alike.setdefault((finding.anomaly, f" ({', '.join(more)})" if more else ""), [])
        if finding.device is not None and finding.seq is not None:
            named.append((finding.device, finding.seq))
    lines = []
    for (anomaly, more_text), named in alike.items():
        runs = ", ".join(_run(*run) for run in encode_runs(sorted(named)))
        lines.append(f"{anomaly}{' ' + runs if runs else ''}{more_text}")
    return lines


def _conclusion(checked: Checked) -> list[Text]:
    fates = Counter(fate.name for fate in checked.fates.values())
    told = ", ".join(f"{number:,} {name}" for name, number in fates.most_common())
    lines = [
        Text(
            f"{count(checked.recalls_lossy, 'recall')} lossy of {checked.recalls_checked:,} checked; "
            f"{count(fates.total(), 'message')}: {told or 'none'}"
        )
    ]
    if checked.doubt is not None:
        lines.append(Text(f"losses were not judged: {plain(checked.doubt.text)}", style="yellow"))
    return lines
