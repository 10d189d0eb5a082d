"""The rule of loss, written down once more: literal, obvious, quadratic and worse.

Every definition is one function under its own name, in the order of the text it transcribes; nothing is sorted, indexed
or remembered to be fast. Times are integer nanoseconds. *Certain* relations are strict, so equal stamps are concurrent.
`judge` puts together what `facts` and `places` define, and names what may not be listed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .facts import EVER, Facts
from .histories import Append, Foreign, History, Key, OtherRun, Own, Unmarked
from .places import Places

Position: TypeAlias = Literal["blank", "tail", "head", "gap", "unplaced"]
Finding: TypeAlias = tuple[int, str, int | None, int | None]
"""Operation number of the recall, class, and the message's device and seq, or None twice where none is named."""

REJECTED, INDETERMINATE, UNCHECKED, OK = "rejected", "indeterminate", "unchecked", "ok"
STALE, FLICKER = "stale", "flicker"
NEVER_VISIBLE, VANISHED = "lost: never visible", "lost: vanished"
FATES = (REJECTED, INDETERMINATE, UNCHECKED, OK, STALE, FLICKER, NEVER_VISIBLE, VANISHED)


@dataclass(slots=True)
class Verdict:
    """All that is reported of one history, as sets, so that one count cannot hide another.

    `missing` are recalls of a history, `unretrieved` are searches: operation number, device and seq (or None twice
    where nobody is named), the former with a position. `other` names the message for corrupted, duplicated, from the
    future, over-retained, resurrected and a rejected append shown; for reordered, foreign, window overrun, another run
    and unmarked it holds one entry a recall, without a message. `detail` holds the same findings with a fifth field:
    corrupted truncated|altered|role, foreign session|user|tenant, phantom rejected|other-run|unmarked, reordered
    certain|opposite, duplicated "" or "after a retry", else the class again. `flags` tell more of a missing message: a
    guarantee, or "torn turn".
    """

    checked: set[int] = field(default_factory=set)
    lossy: set[int] = field(default_factory=set)
    missing: set[tuple[int, int, int, Position]] = field(default_factory=set)
    unnamed: set[int] = field(default_factory=set)
    unretrieved: set[tuple[int, int | None, int | None]] = field(default_factory=set)
    other: set[Finding] = field(default_factory=set)
    detail: set[tuple[int, str, int | None, int | None, str]] = field(default_factory=set)
    flags: set[tuple[int, int, int, str]] = field(default_factory=set)
    fate: dict[Key, str] = field(default_factory=dict)
    surfaced: set[Key] = field(default_factory=set)

    def add(self, number: int, anomaly: str, key: Key | None, detail: str) -> None:
        """Report one finding."""
        device, seq = key if key is not None else (None, None)
        self.other.add((number, anomaly, device, seq))
        self.detail.add((number, anomaly, device, seq, detail))


def inexplicable(verdict: Verdict) -> set[int]:
    """The recalls that are lossy, or hold a certain inversion or an impossible element.

    A rejected append that is shown is not meant (it counts as stored), nor is a list whose order only contradicts
    another list.
    """
    apart = {("phantom", "rejected"), ("reordered", "opposite")}
    return verdict.lossy | {
        number for number, anomaly, _, _, detail in verdict.detail if (anomaly, detail) not in apart
    }


def judge(history: History) -> Verdict:
    """The verdict on one conversation."""
    facts = Facts(history)
    verdict = Verdict()
    for number, recall in facts.recalls.items():
        if recall.asked is None:
            judge_missing(facts, number, verdict)
        else:
            judge_search(facts, number, verdict)
        judge_elements(facts, number, verdict)
        judge_overrun(facts, number, verdict)
        judge_over_retained(facts, number, verdict)
        judge_resurrected(facts, number, verdict)
    judge_order(facts, verdict)
    for m in facts.sent:
        verdict.fate[m] = fate(facts, m, verdict)
        if not facts.was_acknowledged(m) and facts.shown(m):
            verdict.surfaced.add(m)
    return verdict


def judge_missing(facts: Facts, number: int, verdict: Verdict) -> None:
    """Is r checked, is it lossy, and who is named.

    Lossy is decided by what is known when r completes, a name by all that is ever known.
    """
    known = Places(facts, number, facts.recalls[number].end_ns)
    finally_known = Places(facts, number, EVER)
    shown = facts.own[number]
    if known.length_max() < max(1, facts.contract.pinned):
        return
    owed = facts.owed(number)
    if owed:
        verdict.checked.add(number)
    candidates = [m for m in owed if m not in shown]
    lacking = [m for m in candidates if known.proves_a_loss(m)]
    if not lacking:
        return
    verdict.lossy.add(number)
    named = [m for m in candidates if finally_known.names(m)]
    for m in named:
        verdict.missing.add((number, *m, position(facts, m, number)))
        judge_flags(facts, m, number, verdict)
    if not named:
        verdict.unnamed.add(number)


def judge_search(facts: Facts, number: int, verdict: Verdict) -> None:
    """A search owes the facts it asks for, which outrank everything else."""
    recall = facts.recalls[number]
    asked = recall.asked or ()
    places = Places(facts, number, EVER)
    if places.length_max() < 1:
        return
    owed = [m for m in facts.owed(number) if m in asked]
    if owed:
        verdict.checked.add(number)
    candidates = [m for m in owed if m not in facts.own[number]]
    answers = [item for item in recall.items if isinstance(item, Own) and item.key in asked]
    if not candidates or len(answers) >= places.length_max():
        return
    verdict.lossy.add(number)
    named = []
    for m in candidates:
        rivals = [n for n in set(asked) if n != m and facts.may_be_stored(n, number)]
        if sum(facts.copies(n) for n in rivals) < places.length_max():
            named.append(m)
    for m in named:
        verdict.unretrieved.add((number, *m))
        judge_flags(facts, m, number, verdict)
    if not named:
        verdict.unretrieved.add((number, None, None))


def position(facts: Facts, m: Key, number: int) -> Position:
    """Where in the list of r the missing m should have been."""
    shown = facts.own[number]
    earlier = [facts.before(s, m) for s in shown]
    later = [facts.before(m, s) for s in shown]
    if not shown:
        return "blank"
    if all(earlier):
        return "tail"
    if all(later):
        return "head"
    if any(earlier) and any(later):
        return "gap"
    return "unplaced"


def judge_flags(facts: Facts, m: Key, number: int, verdict: Verdict) -> None:
    """The guarantee that the absence of m breaks, the first that certainly is; and a turn torn apart."""
    recall, shown = facts.recalls[number], facts.own[number]
    device = m[0]
    if device == recall.device and facts.acknowledged_ns(m) < recall.start_ns:
        verdict.flags.add((number, *m, "read-your-writes"))
    elif facts.seen_ns(recall.device, m) < recall.start_ns:
        verdict.flags.add((number, *m, "monotonic-reads"))
    elif any(s[0] == device and facts.before(m, s) for s in shown):
        verdict.flags.add((number, *m, "monotonic-writes"))
    elif any(facts.seen_ns(s[0], m) < facts.start_ns(s) for s in shown):
        verdict.flags.add((number, *m, "writes-follow-reads"))
    elif device != recall.device:
        verdict.flags.add((number, *m, "cross-device"))
    others = [n for n in facts.sent if n != m and facts.turn(n) == facts.turn(m)]
    acknowledged = all(facts.was_acknowledged(n) for n in [m, *others])
    if recall.asked is None and acknowledged and any(n in shown for n in others):
        verdict.flags.add((number, *m, "torn turn"))


def judge_elements(facts: Facts, number: int, verdict: Verdict) -> None:
    """What may not be in a list at all: second copies, corrupted ones, what is not ours or was not there yet."""
    recall, contract = facts.recalls[number], facts.contract
    copies: list[Key] = []
    for item in recall.items:
        if isinstance(item, Foreign):
            kept_apart = {
                "session": contract.isolation & {"session"},
                "user": contract.isolation & {"session", "user"},
                "tenant": contract.isolation,
            }
            if kept_apart[item.owner] and not (item.owner == "session" and recall.asked is not None):
                verdict.add(number, "foreign", None, item.owner)
        elif isinstance(item, OtherRun):
            verdict.add(number, "phantom", None, "other-run")
        elif isinstance(item, Unmarked):
            if contract.unmarked == "forbid":
                verdict.add(number, "phantom", None, "unmarked")
        else:
            copies.append(item.key)
            if item.content != "intact" and not (item.content == "stripped" and contract.strips_nul):
                verdict.add(number, "corrupted", item.key, item.content)
            if facts.only_rejected_by(item.key, recall.end_ns):
                verdict.add(number, "phantom", item.key, "rejected")
            if facts.start_ns(item.key) > recall.end_ns:
                verdict.add(number, "from the future", item.key, "from the future")
    for m in facts.own[number]:
        if copies.count(m) > facts.copies(m):
            verdict.add(number, "duplicated", m, "after a retry" if len(facts.sent[m].attempts) > 1 else "")


def judge_order(facts: Facts, verdict: Verdict) -> None:
    """Reordered: a list contradicts the certain order, or the list of a recall that completed earlier.

    Two lists that show opposite orders are reported at the one that completed later (end stamp, then operation number),
    as soon as it is known. Pairs with a certain order are left out of that comparison: there the list that contradicts
    the order is known to be the wrong one, and the right one is innocent. So are messages whose place was not settled
    when the recall began. Among copies the first counts; what may have been stored more than once is left out.
    """
    contract = facts.contract
    seen: set[tuple[Key, Key]] = set()
    for number in sorted(facts.recalls, key=lambda r: (facts.recalls[r].end_ns, r)):
        recall = facts.recalls[number]
        if recall.asked is not None or not contract.ordered:
            continue
        own = [m for m in facts.own[number] if not facts.loose(m)]
        pairs = [(x, y) for place, x in enumerate(own) for y in own[place + 1 :]]
        if any(facts.before(y, x) for x, y in pairs):
            verdict.add(number, "reordered", None, "certain")
        settled = {
            m
            for m in own
            if not contract.slack_ns or facts.kappa[m] + contract.slack_ns + contract.visibility_ns < recall.start_ns
        }
        open_pairs = [
            (x, y) for x, y in pairs if {x, y} <= settled and not facts.before(x, y) and not facts.before(y, x)
        ]
        if any((y, x) in seen for x, y in open_pairs):
            verdict.add(number, "reordered", None, "opposite")
        seen.update(open_pairs)


def judge_overrun(facts: Facts, number: int, verdict: Verdict) -> None:
    """r shows more own messages than it may.

    An older message shown in place of a missing one is no overrun: it is the same loss, and is reported as missing.
    Copies that the contract allows beside each other prove nothing. In turns, only those shown whole are counted; in
    tokens, the fewest there may be of all but the largest that may be pinned, if more is shown than is kept in any
    case.
    """
    contract, recall = facts.contract, facts.recalls[number]
    shown = [m for m in facts.own[number] if facts.copies(m) == 1]
    too_much = len(shown) > Places(facts, number, EVER).length_max()
    if recall.asked is None and contract.turns is not None:
        whole = {facts.turn(m) for m in shown if all(n in shown for n in facts.sent if facts.turn(n) == facts.turn(m))}
        too_much = too_much or len(whole) > contract.turns + contract.pinned
    if recall.asked is None and contract.tokens is not None and len(shown) > contract.keep_at_least + contract.pinned:
        damaged = {m for m in shown if any(facts.damaged(item, m) for item in recall.items)}
        sizes = sorted((0 if m in damaged else facts.sent[m].message.tokens_min for m in shown), reverse=True)
        too_much = too_much or sum(sizes[contract.pinned :]) > contract.tokens
    if too_much:
        verdict.add(number, "window overrun", None, "window overrun")


def judge_over_retained(facts: Facts, number: int, verdict: Verdict) -> None:
    """r shows what must have expired."""
    for m in facts.own[number]:
        if facts.must_have_expired(m, number):
            verdict.add(number, "over-retained", m, "over-retained")


def judge_resurrected(facts: Facts, number: int, verdict: Verdict) -> None:
    """r shows what was stored, for the last time, before a delete began that was over, and visible, before r began.

    Where the last writer wins, an append that overlaps the delete may have undone it.
    """
    for m in facts.own[number]:
        for delete in facts.deletes:
            undone = facts.contract.last_writer and any(
                facts.may_be_stored(n, number) and facts.overlaps(n, delete.start_ns, delete.end_ns) for n in facts.sent
            )
            if (
                not undone
                and delete.session in (None, facts.sent[m].message.session)
                and delete.outcome == "ok"
                and facts.settled_ns(m) < delete.start_ns
                and delete.end_ns + facts.contract.visibility_ns < facts.recalls[number].start_ns
            ):
                verdict.add(number, "resurrected", m, "resurrected")


def fate(facts: Facts, m: Key, verdict: Verdict) -> str:
    """What became of m: one of `FATES`, for every message sent.

    A recall judges m if it shows m (any copy, also a corrupted one) or m is named missing from it; a search judges m
    only by showing it. The judging recalls are taken in order: load before final, then by end stamp, then by operation
    number.

    - rejected, indeterminate: refused, or never acknowledged, and no recall shows it.
    - unchecked: no recall judges it. ok: judged, never missing. lost: never visible: missing, never shown.
    - Both shown and missing: final recalls that disagree are flicker, whatever came before. Otherwise the last word
      decides: missing to the end is lost: vanished, however often it had come and gone. Shown to the end is flicker if
      it had been shown before it was first missing or between two absences, else stale: missing at first, later shown
      for good.
    """
    missing = {number for number, device, seq, _ in verdict.missing if (device, seq) == m}
    judging = [number for number in facts.recalls if m in facts.own[number] or number in missing]
    judging.sort(key=lambda r: (facts.recalls[r].phase == "final", facts.recalls[r].end_ns, r))
    words = ["missing" if number in missing else "shown" for number in judging]
    finals = {word for number, word in zip(judging, words, strict=True) if facts.recalls[number].phase == "final"}
    if "shown" not in words and not facts.was_acknowledged(m):
        return REJECTED if facts.rejected(m) else INDETERMINATE
    if not words:
        return UNCHECKED
    if "missing" not in words:
        return OK
    if "shown" not in words:
        return NEVER_VISIBLE
    if len(finals) == 2:
        return FLICKER
    if words[-1] == "missing":
        return VANISHED
    turns = [word for place, word in enumerate(words) if place == 0 or words[place - 1] != word]
    return STALE if turns == ["missing", "shown"] else FLICKER


def sent_messages(history: History) -> set[Key]:
    """Everything that was sent, once however often it was sent."""
    return {(op.device, message.seq) for op in history.ops if isinstance(op, Append) for message in op.messages}
