"""The rule of loss, written down once more: literal, obvious, quadratic.

Every definition is one function under its own name, in the order of the text it transcribes; nothing is sorted, indexed
or remembered to be fast. Times are integer nanoseconds. *Certain* relations are strict, so equal stamps are concurrent.

The domain: append order without slack, windows in messages, request limits, visibility, deletes, batches, overlapping
devices, session and user scope. Not yet: expiry, pinned messages, tokens, turns, pages, roles, messages sent twice.

Two classes wait for their step and are only judged on request (`also`): "resurrected" and "window overrun".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from .histories import Append, Delete, Foreign, History, Key, Message, OtherRun, Own, Recall, Unmarked

Position: TypeAlias = Literal["blank", "tail", "head", "gap", "unplaced"]
Extra: TypeAlias = Literal["resurrected", "window overrun"]
Finding: TypeAlias = tuple[int, str, int | None, int | None]
"""Operation number of the recall, class, and the message's device and seq, or None twice where none is named."""

REJECTED, INDETERMINATE, UNCHECKED, OK = "rejected", "indeterminate", "unchecked", "ok"
STALE, FLICKER = "stale", "flicker"
NEVER_VISIBLE, VANISHED = "lost: never visible", "lost: vanished"
FATES = (REJECTED, INDETERMINATE, UNCHECKED, OK, STALE, FLICKER, NEVER_VISIBLE, VANISHED)


@dataclass(slots=True)
class Verdict:
    """All that is reported of one history, as sets, so that one count cannot hide another.

    `other` names the message for corrupted, duplicated, from the future, resurrected and a rejected append shown; for
    reordered, foreign, window overrun, another run and unmarked it holds one entry a recall, without a message.
    `detail` holds the same findings with a fifth field: corrupted truncated|altered|role, foreign session|user|tenant,
    phantom rejected|other-run|unmarked, reordered certain|opposite, else the class again.
    """

    checked: set[int] = field(default_factory=set)
    lossy: set[int] = field(default_factory=set)
    missing: set[tuple[int, int, int, Position]] = field(default_factory=set)
    unnamed: set[int] = field(default_factory=set)
    other: set[Finding] = field(default_factory=set)
    detail: set[tuple[int, str, int | None, int | None, str]] = field(default_factory=set)
    fate: dict[Key, str] = field(default_factory=dict)
    surfaced: set[Key] = field(default_factory=set)

    def add(self, number: int, anomaly: str, key: Key | None, detail: str) -> None:
        """Report one finding."""
        device, seq = key if key is not None else (None, None)
        self.other.add((number, anomaly, device, seq))
        self.detail.add((number, anomaly, device, seq, detail))


def inexplicable(verdict: Verdict) -> set[int]:
    """The recalls that are lossy, or hold a certain inversion or an impossible element.

    The verdict must have been asked for window overruns. A rejected append that is shown is not meant (it counts as
    stored), nor is a list whose order only contradicts another list.
    """
    apart = {("phantom", "rejected"), ("reordered", "opposite")}
    return verdict.lossy | {
        number for number, anomaly, _, _, detail in verdict.detail if (anomaly, detail) not in apart
    }


class Sent(NamedTuple):
    """A message and the append it went in: the append's operation number and the message's place in the list."""

    number: int
    place: int
    append: Append
    message: Message


class Facts:
    """A history and the definitions every rule builds on."""

    def __init__(self, history: History) -> None:
        self.contract = history.contract
        self.recalls: dict[int, Recall] = dict(history.ok_recalls())
        self.deletes = [op for op in history.ops if isinstance(op, Delete)]
        self.sent: dict[Key, Sent] = {
            (op.device, message.seq): Sent(number, place, op, message)
            for number, op in enumerate(history.ops)
            if isinstance(op, Append)
            for place, message in enumerate(op.messages)
        }
        self.own = {number: first_copies(recall) for number, recall in self.recalls.items()}
        self.kappa = {key: self._kappa(key) for key in self.sent}

    def acknowledged_ns(self, m: Key) -> float:
        """b(m): the end of an append that was acknowledged, else infinity."""
        append = self.sent[m].append
        return append.end_ns if append.outcome == "ok" else math.inf

    def shown(self, m: Key) -> bool:
        """Does any recall show m? Then it counts as stored, whatever its outcome was."""
        return any(m in own for own in self.own.values())

    def _kappa(self, m: Key) -> float:
        """κ(m): m is stored at this time at the latest; infinity if nothing proves that it ever was."""
        showings = (recall.end_ns for number, recall in self.recalls.items() if m in self.own[number])
        return min([self.acknowledged_ns(m), *showings])

    def before(self, n: Key, m: Key) -> bool:
        """n certainly stands before m in the order of storage."""
        first, second = self.sent[n], self.sent[m]
        in_one_append = first.number == second.number and first.place < second.place and self.kappa[n] < math.inf
        return self.kappa[n] < second.append.start_ns or in_one_append

    def places(self, number: int) -> float:
        """K(r): the smaller of contract window and request limit; infinity if neither applies."""
        bounds = [n for n in (self.contract.window, self.recalls[number].limit) if n is not None]
        return min(bounds, default=math.inf)

    def reads_after_ns(self, number: int) -> int:
        """t(r): the recall reads at this time at the earliest: after its start, and after all it shows was sent."""
        return max([self.recalls[number].start_ns, *(self.sent[s].append.start_ns for s in self.own[number])])

    def due(self, m: Key, number: int) -> bool:
        """m was certainly stored, and its visibility delay over, when r read."""
        visibility_ns = self.contract.visibility_ns
        sent = self.sent[m]
        if visibility_ns == 0:
            if self.kappa[m] < self.reads_after_ns(number):
                return True
            later_parts = [(sent.append.device, part.seq) for part in sent.append.messages[sent.place + 1 :]]
            return sent.append.outcome == "ok" and any(part in self.own[number] for part in later_parts)
        stored_ns = self.acknowledged_ns(m) if sent.append.outcome == "ok" else self.kappa[m]
        return stored_ns + visibility_ns < self.recalls[number].start_ns

    def excused(self, m: Key, number: int) -> bool:
        """A delete of m's session may have taken m: sent by the end of r, not refused, not over before m was sent."""
        sent = self.sent[m]
        return any(
            delete.session in (None, sent.message.session)
            and delete.start_ns <= self.recalls[number].end_ns
            and delete.outcome != "fail"
            and not (delete.outcome == "ok" and delete.end_ns < sent.append.start_ns)
            for delete in self.deletes
        )

    def may_be_stored(self, m: Key, number: int) -> bool:
        """m may take a place in r: sent by its end, and not refused (a refused one that some recall shows was not)."""
        append = self.sent[m].append
        return append.start_ns <= self.recalls[number].end_ns and (append.outcome != "fail" or self.shown(m))

    def owed(self, number: int) -> list[Key]:
        """What r owes, whether it shows it or not: due and not excused."""
        return [m for m in self.sent if self.due(m, number) and not self.excused(m, number)]

    def rank(self, m: Key, number: int) -> int:
        """How many elements may stand after m at most, shown or not.

        A second copy counts as an element of its own. (Whether it should when the first is before m makes no
        difference: a shown own message before m names m without its rank.)
        """
        earlier = {s for s in self.own[number] if self.before(s, m)}
        elements = len(self.recalls[number].items) - len(earlier)
        unshown = [n for n in self.sent if n != m and n not in self.own[number]]
        return elements + sum(self.may_be_stored(n, number) and not self.before(n, m) for n in unshown)


def first_copies(recall: Recall) -> list[Key]:
    """own(r) in the order listed, a corrupted copy with a legible token included."""
    own: list[Key] = []
    for item in recall.items:
        if isinstance(item, Own) and item.key not in own:
            own.append(item.key)
    return own


def judge(history: History, also: Collection[Extra] = ()) -> Verdict:
    """The verdict on one conversation."""
    facts = Facts(history)
    verdict = Verdict()
    for number in facts.recalls:
        judge_missing(facts, number, verdict)
        judge_elements(facts, number, verdict)
        for extra in also:
            EXTRAS[extra](facts, number, verdict)
    judge_order(facts, verdict)
    for m in facts.sent:
        verdict.fate[m] = fate(facts, m, verdict)
        if facts.sent[m].append.outcome != "ok" and facts.shown(m):
            verdict.surfaced.add(m)
    return verdict


def judge_missing(facts: Facts, number: int, verdict: Verdict) -> None:
    """Is r checked, is it lossy, and who is named."""
    shown = facts.own[number]
    places = facts.places(number)
    owed = facts.owed(number)
    candidates = [m for m in owed if m not in shown]
    if places >= 1 and owed:
        verdict.checked.add(number)
    has_room = len(facts.recalls[number].items) < places
    follows_shown = {m for m in candidates if any(facts.before(s, m) for s in shown)}
    if not candidates or not (has_room or follows_shown):
        return
    verdict.lossy.add(number)
    named = [m for m in candidates if m in follows_shown or facts.rank(m, number) < places]
    for m in named:
        verdict.missing.add((number, *m, position(facts, m, number)))
    if not named:
        verdict.unnamed.add(number)


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


def judge_elements(facts: Facts, number: int, verdict: Verdict) -> None:
    """What may not be in a list at all: second copies, corrupted ones, what is not ours or was not there yet."""
    recall = facts.recalls[number]
    copies: set[Key] = set()
    for item in recall.items:
        if isinstance(item, Foreign):
            verdict.add(number, "foreign", None, item.owner)
        elif isinstance(item, OtherRun):
            verdict.add(number, "phantom", None, "other-run")
        elif isinstance(item, Unmarked):
            if facts.contract.unmarked == "forbid":
                verdict.add(number, "phantom", None, "unmarked")
        else:
            append = facts.sent[item.key].append
            if item.key in copies:
                verdict.add(number, "duplicated", item.key, "duplicated")
            copies.add(item.key)
            if item.content != "intact":
                verdict.add(number, "corrupted", item.key, item.content)
            if append.outcome == "fail":
                verdict.add(number, "phantom", item.key, "rejected")
            if append.start_ns > recall.end_ns:
                verdict.add(number, "from the future", item.key, "from the future")


def judge_order(facts: Facts, verdict: Verdict) -> None:
    """Reordered: a list contradicts the certain order, or the list of a recall that completed earlier.

    Two lists that show opposite orders are reported at the one that completed later (end stamp, then operation number),
    as soon as it is known. Pairs with a certain order are left out of that comparison: there the list that contradicts
    the order is known to be the wrong one, and the right one is innocent. Among copies the first counts.
    """
    seen: set[tuple[Key, Key]] = set()
    for number in sorted(facts.recalls, key=lambda r: (facts.recalls[r].end_ns, r)):
        own = facts.own[number]
        pairs = [(x, y) for place, x in enumerate(own) for y in own[place + 1 :]]
        open_pairs = [(x, y) for x, y in pairs if not facts.before(x, y) and not facts.before(y, x)]
        if any(facts.before(y, x) for x, y in pairs):
            verdict.add(number, "reordered", None, "certain")
        if any((y, x) in seen for x, y in open_pairs):
            verdict.add(number, "reordered", None, "opposite")
        seen.update(open_pairs)


def fate(facts: Facts, m: Key, verdict: Verdict) -> str:
    """What became of m: one of `FATES`, for every message sent.

    A recall judges m if it shows m (any copy, also a corrupted one) or m is named missing from it. The judging recalls
    are taken in order: load before final, then by end stamp, then by operation number.

    - rejected, indeterminate: refused, or never acknowledged, and no recall shows it.
    - unchecked: no recall judges it. ok: judged, never missing. lost: never visible: missing, never shown.
    - Both shown and missing: final recalls that disagree are flicker, whatever came before. Otherwise the last word
      decides: missing to the end is lost: vanished, however often it had come and gone. Shown to the end is flicker if
      it had been shown before it was first missing or between two absences, else stale: missing at first, later shown
      for good.
    """
    append = facts.sent[m].append
    missing = {number for number, device, seq, _ in verdict.missing if (device, seq) == m}
    judging = [number for number in facts.recalls if m in facts.own[number] or number in missing]
    judging.sort(key=lambda r: (facts.recalls[r].phase == "final", facts.recalls[r].end_ns, r))
    words = ["missing" if number in missing else "shown" for number in judging]
    finals = {word for number, word in zip(judging, words, strict=True) if facts.recalls[number].phase == "final"}
    if "shown" not in words and append.outcome != "ok":
        return REJECTED if append.outcome == "fail" else INDETERMINATE
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


def judge_resurrected(facts: Facts, number: int, verdict: Verdict) -> None:
    """r shows what was stored before a delete began that was acknowledged, and visible, before r began."""
    for m in facts.own[number]:
        for delete in facts.deletes:
            if (
                delete.session in (None, facts.sent[m].message.session)
                and delete.outcome == "ok"
                and facts.kappa[m] < delete.start_ns
                and delete.end_ns + facts.contract.visibility_ns < facts.recalls[number].start_ns
            ):
                verdict.add(number, "resurrected", m, "resurrected")


def judge_overrun(facts: Facts, number: int, verdict: Verdict) -> None:
    """r shows more own messages than it may.

    An older message shown in place of a missing one is no overrun: it is the same loss, and is reported as missing.
    """
    if len(facts.own[number]) > facts.places(number):
        verdict.add(number, "window overrun", None, "window overrun")


EXTRAS: Mapping[Extra, Callable[[Facts, int, Verdict], None]] = {
    "resurrected": judge_resurrected,
    "window overrun": judge_overrun,
}
