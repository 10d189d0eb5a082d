"""One concrete case for each cause: a conversation, a message, a recall, and how to look them up."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from analysis.causes.cause import Cause, Example
from analysis.check import Checked, Finding
from analysis.fates import FateName
from goldfish.oplog import Owner
from goldfish.rule import NEVER

GONE: tuple[FateName, ...] = ("lost: never visible", "lost: vanished")
TELLING: dict[str, tuple[FateName, ...]] = {
    "own-copies": ("flicker", "stale"),
    "late-reads": ("stale",),
    "incomplete-reads": ("flicker", "stale"),
    "never-stored": ("lost: never visible",),
    "lost-update": GONE,
    "lost-at-once": GONE,
    "disappearing": ("lost: vanished",),
}
"""Fates of messages that show a cause at its plainest; others are taken if there are none of these."""


def with_examples(
    causes: Iterable[Cause], conversations: Sequence[Checked], start_ns: int, directory: Path
) -> list[Cause]:
    """The causes with a case of each.

    Args:
        causes: what is suspected.
        conversations: what was kept whole, the gravest first.
        start_ns: the stamp that times of the run are told relative to.
        directory: of the run.
    """
    return [
        msgspec.structs.replace(cause, example=_example(cause, conversations, start_ns, directory)) for cause in causes
    ]


def _example(cause: Cause, conversations: Sequence[Checked], start_ns: int, directory: Path) -> Example | None:
    fates = TELLING.get(cause.code, ())
    cases = list(_cases(cause.anomaly, conversations))
    case = min(cases, key=lambda told: _plainness(told[0], told[1], fates), default=None)
    if case is None:
        return None
    checked, finding = case
    command = shlex.join(["goldfish", "show", str(directory), checked.conversation.name])
    return Example(text=_told(checked, finding, start_ns), command=command)


def _cases(anomaly: str, conversations: Sequence[Checked]) -> Iterator[tuple[Checked, Finding]]:
    for checked in conversations:
        for finding in checked.findings:
            if finding.anomaly == anomaly:
                yield checked, finding


def _plainness(checked: Checked, finding: Finding, fates: Sequence[FateName]) -> tuple[int, int]:
    """Smaller for plainer: the fate that tells most, then the longest time from acknowledgement to recall."""
    message = finding.message
    if message is None or message not in checked.fates:
        return len(fates), 0
    fate = checked.fates[message].name
    age_ns = finding.recall.start_ns - message.acked_ns if message.acked_ns < NEVER else 0
    return fates.index(fate) if fate in fates else len(fates), -age_ns


def _told(checked: Checked, finding: Finding, start_ns: int) -> str:
    conversation, recall = checked.conversation, finding.recall
    at = _at(recall.start_ns - start_ns)
    by = f" by {recall.instance}" if recall.instance else ""
    place = f"conversation {conversation.name} ({conversation.scenario}), user {conversation.user}"
    read = f"read at {at}{by} (request {conversation.process}-{recall.id})"
    message = finding.message
    if finding.anomaly not in ("missing", "unretrieved") or message is None:
        what = "a message" if finding.seq is None else f"message {finding.seq} by {finding.device}"
        return f"{place}: {read}, {_wrong(finding, what)}."
    sent = checked.sent_of(message)
    said = f"message {message.seq} by {message.device}"
    if message.acked_ns < NEVER:
        wrote = f" by {sent.append.instance}" if sent.append.instance else ""
        said += f", acknowledged at {_at(message.acked_ns - start_ns)}{wrote}"
    age = f" {(recall.start_ns - message.acked_ns) / 1e6:,.0f} ms later" if message.acked_ns < recall.start_ns else ""
    return f"{place}: {said}, was missing{age}, {read}; {_end(checked, finding)}."


def _wrong(finding: Finding, what: str) -> str:
    if finding.anomaly == "foreign":
        return f"listed {what} {_whose(finding.owner)}" if finding.owner else f"listed {what} of somebody else"
    detail = f" ({finding.detail})" if finding.detail else ""
    return f"listed {what}{detail}: {finding.anomaly}"


def _whose(owner: Owner) -> str:
    tenant = f"tenant {owner.tenant}, " if owner.tenant is not None else ""
    return f"of {tenant}user {owner.user}, session {owner.session}"


def _end(checked: Checked, finding: Finding) -> str:
    """What became of a message that was missing."""
    message = finding.message
    assert message is not None
    fate = checked.fates[message]
    if fate.name == "lost: never visible":
        return "no recall ever showed it"
    if fate.name == "lost: vanished":
        return "it had been shown, and did not come back"
    if fate.delay_ns is not None:
        return f"first shown {fate.delay_ns / 1e6:,.0f} ms after the acknowledgement"
    return "other recalls showed it"


def _at(since_ns: int) -> str:
    return f"{since_ns / 1e9:,.3f} s"
