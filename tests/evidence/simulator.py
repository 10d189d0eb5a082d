"""A simulated store that is sound, and that uses every freedom its contract leaves it.

Each history is one conversation on a store that loses nothing it has promised to keep: it may be slow, show
acknowledged messages only when the visibility delay is over, apply an indeterminate write never, at once or long after
everybody looked elsewhere, store a batch at one moment or message by message, delete physically what no window will
need, let expire, overwrite, reorder and store again what its contract allows. Whoever accuses it, is wrong.

Stamps are whole ticks (milliseconds); an operation takes effect at one real moment in [start, end + 1 tick), so that
equal stamps fall in either order and strictly ordered ones never do. Everything follows from the seed.

`Simulated.serve` makes the list of a recall again, without one message: the ground truth for planting losses.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import NamedTuple

from .designs import draw_design
from .features import late_writes, name_features
from .histories import (
    NS_PER_MS,
    Append,
    Delete,
    Elsewhere,
    History,
    Item,
    Key,
    Message,
    Op,
    Outcome,
    Own,
    Phase,
    Recall,
    Touch,
)
from .store import UNMARKED, Effect, Kept, Request, cut, replay, ticks

__all__ = ["UNMARKED", "Simulated", "simulate"]

Serve = Callable[[Key | None], tuple[Item, ...]]


@dataclass(frozen=True, slots=True)
class Simulated:
    """A sound history and how it came about.

    `serve`: by operation number of each ok recall, in the order of their reading moments, its list as it would have
    been without one message (None: as it was).
    """

    history: History
    serve: dict[int, Serve]


class _Plan(NamedTuple):
    """A recall that waits for its moment."""

    place: int
    at: float
    request: Request


def simulate(seed: int) -> Simulated:
    """One sound history, with what the store could have served."""
    return _Simulation(Random(seed)).run()


class _Simulation:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.draw = rng.random
        self.features: set[str] = set()
        self.ops: list[Op] = []
        self.elsewhere: list[Elsewhere] = []
        self.effects: list[Effect] = []
        self.plans: list[_Plan] = []
        draw = self.draw
        self.devices = 1 + int(draw() * 4)
        self.sessions = 1 + int(draw() * 3) if draw() < 0.4 else 0
        self.deletes = draw() < 0.4
        self.searches = draw() < 0.2
        self.next_seq = [0] * self.devices
        self.next_turn = [0] * self.devices
        self.next_batch = 0
        self.open_turn: list[int | None] = [None] * self.devices
        """The session of each device's turn that goes on."""
        self.pause_ticks = (1, 4, 12)[int(draw() * 3)]
        self.length_ticks = (3, 8, 20)[int(draw() * 3)]
        self.in_turn = draw() < 0.4
        self.design = draw_design(draw)
        contract = self.design.contract
        self.lag = ticks(contract.visibility_ns)
        self.resends = draw() < (0.9 if contract.stores_resends else 0.3)
        if contract.last_writer:
            self.in_turn = False
        if self.design.trims:
            self.searches = False

    def run(self) -> Simulated:
        draw = self.draw
        clocks = [int(draw() * 10) for _ in range(self.devices)]
        for _ in range(8 + int(draw() * 15)):
            device = clocks.index(min(clocks))
            start = clocks[device] + int(draw() * self.pause_ticks)
            if draw() < 0.05:
                start += int(draw() * 120)
            end = start + int(draw() * self.length_ticks)
            clocks[device] = end
            choice = draw()
            if choice < 0.5:
                clocks[device] = self._append(device, start, end)
            elif choice < 0.88:
                self._recall(device, start, end, "load")
            elif choice < 0.94 and self.deletes:
                self._delete(device, start, end)
            elif self.design.contract.ttl is not None:
                self._touch(device, start, end)
        self._strangers(max(clocks))
        self._elsewhere(max(clocks))
        if draw() < 0.7:
            settled = max(clocks) + 1 + self.lag
            for device in range(self.devices):
                start = settled + int(draw() * 5)
                self._recall(device, start, start + int(draw() * 5), "final")
            self.features.add("final")
        if draw() < 0.5:
            self._number_by_completion()
        return self._serve()

    def _number_by_completion(self) -> None:
        """Operations in the order a log has them, instead of the order they were begun in."""
        order = sorted(range(len(self.ops)), key=lambda place: self.ops[place].end_ns)
        numbers = {place: number for number, place in enumerate(order)}
        self.ops = [self.ops[place] for place in order]
        self.plans = [plan._replace(place=numbers[plan.place]) for plan in self.plans]

    def _outcome(self, info: float, fail: float) -> Outcome:
        choice = self.draw()
        return "info" if choice < info else "fail" if choice < info + fail else "ok"

    def _moment(self, start: float, end: float) -> float:
        return start + self.draw() * (end + 1 - start)

    def _append(self, device: int, start: int, end: int) -> int:
        """Say something; unanswered, it may be said again. Returns when the device is done."""
        draw = self.draw
        count = 1 if draw() < 0.6 else 2 + int(draw() * 2)
        session = int(draw() * self.sessions)
        seq = self.next_seq[device]
        self.next_seq[device] = seq + count
        messages = tuple([self._message(device, seq + n, session) for n in range(count)])
        outcome = self._outcome(info=0.15, fail=0.08)
        self._write(Append(device, start * NS_PER_MS, end * NS_PER_MS, outcome, messages))
        if count > 1:
            self.features.add("batch")
        attempt = 1
        while self.resends and outcome != "ok" and attempt < 4 and draw() < 0.8:
            attempt += 1
            start = end + int(draw() * self.pause_ticks)
            end = start + int(draw() * self.length_ticks)
            outcome = self._outcome(info=0.3, fail=0.1)
            self._write(Append(device, start * NS_PER_MS, end * NS_PER_MS, outcome, messages, attempt))
            self.features.add("resend")
        return end

    def _message(self, device: int, seq: int, session: int) -> Message:
        """What is said; a turn goes over one message or several, of one append or several."""
        draw, contract = self.draw, self.design.contract
        if self.open_turn[device] != session:
            self.next_turn[device] += 1
        self.open_turn[device] = session if draw() < (0.5 if contract.turns is None else 0.75) else None
        message = _message(device, seq, session, self.next_turn[device])
        if contract.tokens is not None:
            message = replace(message, chars=int(draw() * 60), tokens=int(draw() * 12) if draw() < 0.3 else None)
        if contract.strips_nul and draw() < 0.3:
            message = replace(message, text=f"{message.text}\0")
        return message

    def _write(self, append: Append) -> None:
        """What becomes of one attempt."""
        draw, device, count = self.draw, append.device, len(append.messages)
        start, end = ticks(append.start_ns), ticks(append.end_ns)
        session = append.messages[0].session
        self.ops.append(append)
        stored, last = count, end
        if append.outcome == "fail":
            self.features.add("rejected")
            stored = 0
            if draw() < 0.5:
                self._effect("touch", self._moment(start, end), session, begins=draw() < 0.5)
        elif append.outcome == "info":
            stored, last = self._indeterminate(count, end)
        if stored > 1 and self.in_turn:
            self.features.add("batch-in-turn")
            moments = sorted(self._moment(start, last) for _ in range(stored))
        else:
            moments = [self._moment(start, last)] * stored
        batch, self.next_batch = self.next_batch, self.next_batch + 1
        if self.design.contract.last_writer and stored:
            self._effect("snapshot", start + draw() * (moments[0] - start), session, batch=batch)
        place, most = 0.0, ticks(self.design.contract.slack_ns)
        lags = self._lags()
        for message, moment in zip(append.messages, moments, strict=False):
            place = max(place, moment + draw() * most)  # parts of one append keep their order
            lags = lags if draw() < 0.5 else self._lags()
            more = {"message": message, "device": device, "place": place, "lags": lags, "batch": batch}
            self._effect("store", moment, session, **more)

    def _indeterminate(self, count: int, end: int) -> tuple[int, int]:
        """How many messages of an unanswered append are stored, and by when."""
        choice = self.draw()
        if choice < 0.35:
            self.features.add("indeterminate-lost")
            return 0, end
        if choice < 0.6:
            self.features.add("indeterminate-at-once")
            return count, end
        if choice < 0.8 and count > 1 and self.in_turn:
            self.features.add("indeterminate-partial")
            return count - 1, end
        self.features.add("indeterminate-late")
        return count, end + int(self.draw() * 150)

    def _delete(self, device: int, start: int, end: int) -> None:
        outcome = self._outcome(info=0.25, fail=0.15)
        session = int(self.draw() * self.sessions) if self.sessions and self.draw() < 0.7 else None
        self.ops.append(Delete(device, start * NS_PER_MS, end * NS_PER_MS, outcome, session))
        self.features.add({"ok": "delete", "fail": "delete-failed", "info": "delete-indeterminate"}[outcome])
        late = int(self.draw() * 150) if outcome == "info" and self.draw() < 0.5 else 0
        moment = self._moment(start, end + late)
        if outcome == "ok" or (outcome == "info" and self.draw() < 0.7):
            self._effect("delete", moment, session)
        if self.draw() < 0.5:
            self._effect("touch", moment, session)

    def _touch(self, device: int, start: int, end: int) -> None:
        """Another request: it may refresh, or not."""
        outcome = self._outcome(info=0.2, fail=0.2)
        session = int(self.draw() * self.sessions) if self.draw() < 0.6 else None
        if session is None and not self.sessions:
            session = 0
        self.ops.append(Touch(device, start * NS_PER_MS, end * NS_PER_MS, outcome, session))
        self.features.add("touch")
        if self.draw() < 0.6:
            late = int(self.draw() * 100) if outcome == "info" else 0
            self._effect("touch", self._moment(start, end + late), session)

    def _elsewhere(self, until: int) -> None:
        """What the user does in other conversations."""
        ttl = self.design.contract.ttl
        if ttl is None or ttl.unit != "user" or self.draw() < 0.3:
            return
        self.features.add("elsewhere")
        for number in range(1 + int(self.draw() * 5)):
            start = int(self.draw() * (until + 1))
            end = start + int(self.draw() * self.length_ticks)
            outcome = self._outcome(info=0.15, fail=0.1)
            kind = "append" if not number or self.draw() < 0.5 else "recall"
            shows = kind == "recall" and outcome == "ok" and self.draw() < 0.7
            self.elsewhere.append(Elsewhere(start * NS_PER_MS, end * NS_PER_MS, outcome, kind, shows))
            certain = outcome == "ok" and (kind == "append" or shows)
            if kind == "recall" and ttl.refresh != "read":
                continue
            if certain or self.draw() < 0.5:
                late = int(self.draw() * 100) if outcome == "info" else 0
                self._effect("touch", self._moment(start, end + late), None, begins=kind == "append")

    def _strangers(self, until: int) -> None:
        """Messages of the user's other sessions, where sessions are not kept apart."""
        contract = self.design.contract
        if "session" in contract.isolation:
            return
        for _ in range(int(self.draw() * 5)):
            moment = self.draw() * until
            batch, self.next_batch = self.next_batch, self.next_batch + 1
            if contract.last_writer:
                self._effect("snapshot", moment, -1, batch=batch)
            self._effect("store", moment, -1, batch=batch)
            self.features.add("other sessions listed")
            start = int(moment)
            end = start + int(self.draw() * self.length_ticks)
            if contract.ttl is not None and contract.ttl.unit == "user":
                self.elsewhere.append(Elsewhere(start * NS_PER_MS, end * NS_PER_MS, "ok", "append"))

    def _lags(self) -> tuple[float, float]:
        return (self.draw() * self.lag, self.draw() * self.lag) if self.lag else (0.0, 0.0)

    def _effect(self, kind: str, moment: float, session: int | None, **more: object) -> None:
        fields = {"lags": self._lags()} | more
        self.effects.append(Effect(moment, len(self.effects), kind, session, **fields))  # type: ignore[arg-type]

    def _recall(self, device: int, start: int, end: int, phase: Phase) -> None:
        draw = self.draw
        limit = int(draw() * 9) if draw() < 0.3 else None
        asked: tuple[Key, ...] | None = None
        if self.searches and phase == "load" and draw() < 0.4:
            sent = [(op.device, m.seq) for op in self.ops if isinstance(op, Append) for m in op.messages]
            asked = tuple(self.rng.sample(sorted(set(sent)), min(len(set(sent)), 1 + int(draw() * 3))))
            self.features.add("search")
        outcome = self._outcome(info=0.05, fail=0.05)
        if limit is not None:
            self.features.add("limit" if limit else "limit-zero")
        if outcome != "ok":
            self.features.add("killed-recall" if outcome == "info" else "failed-recall")
            late = int(draw() * 100) if outcome == "info" else 0
            if self._reading_refreshes() and draw() < 0.5:
                self._effect("touch", self._moment(start, end + late), None)
        else:
            self.plans.append(_Plan(len(self.ops), self._moment(start, end), Request(limit, asked)))
        self.ops.append(Recall(device, start * NS_PER_MS, end * NS_PER_MS, limit, outcome, (), phase, asked))

    def _reading_refreshes(self) -> bool:
        ttl = self.design.contract.ttl
        return ttl is not None and ttl.refresh == "read"

    def _serve(self) -> Simulated:
        self.effects.sort()
        serve: dict[int, Serve] = {}
        for plan in sorted(self.plans, key=lambda plan: plan.at):
            kept = self._read(plan)
            seed = self.rng.getrandbits(32)
            serve[plan.place] = again = _again(self, kept, plan.request, seed)
            items = again(None)
            recall = self.ops[plan.place]
            assert isinstance(recall, Recall)
            self.ops[plan.place] = replace(recall, items=items)
            if self._reading_refreshes():
                self._refresh(plan, kept, items)
        history = History(
            self.design.contract,
            tuple(self.ops),
            "user" if self.sessions else "session",
            tuple(self.elsewhere),
        )
        stored = {(e.device, e.message.seq): e.at for e in self.effects if e.kind == "store" and e.message}
        more = name_features(self.design, history, self.features, devices=self.devices, sessions=self.sessions)
        named = frozenset(self.features | more | late_writes(history, stored))
        return Simulated(replace(history, features=named), serve)

    def _refresh(self, plan: _Plan, kept: Sequence[Kept], items: Sequence[Item]) -> None:
        """A recall refreshes what it shows, and perhaps all there is."""
        shown = {k.session for k in kept if k.item in items and isinstance(k.item, Own)}
        everything = self.draw() < 0.5
        for session in range(max(self.sessions, 1)):
            if session in shown or everything:
                turn = len(self.effects)
                insort(self.effects, Effect(plan.at, turn, "touch", session, self._lags()))

    def _read(self, plan: _Plan) -> list[Kept]:
        """What a recall at this moment finds, in order."""
        design, at, lag = self.design, plan.at, self.lag
        now = at
        if not lag:
            seen = [effect for effect in self.effects if effect.at <= at]
        elif design.per_message:
            replica = int(self.draw() * 2)
            seen = [effect for effect in self.effects if effect.at + effect.lags[replica] <= at]
            if "resend" in self.features:  # a replica is not told of what the store itself took for known
                ignored = replay(design, [effect for effect in self.effects if effect.at <= at], at).ignored
                seen = [effect for effect in seen if effect.turn not in ignored]
        else:
            earlier = at - self.draw() * lag
            seen = [effect for effect in self.effects if effect.at <= earlier]
            now = earlier if design.stale_clock else at
        if lag and len(seen) < sum(effect.at <= at for effect in self.effects):
            self.features.add("lag")
        kept = replay(design, seen, now).kept
        most, settling = ticks(design.contract.slack_ns), self.draw()
        if most:
            latest: dict[int, float] = {}
            for k in kept:
                if k.at + most > at - lag:  # its place is not settled yet, but for the order of its append
                    k.place = max(k.at + settling * (k.place - k.at), latest.get(k.batch, 0.0))
                latest[k.batch] = k.place
        return sorted(kept, key=lambda k: (k.place, k.at))


def _again(simulation: _Simulation, kept: list[Kept], request: Request, seed: int) -> Serve:
    def serve(lost: Key | None) -> tuple[Item, ...]:
        left = [k for k in kept if not (isinstance(k.item, Own) and k.item.key == lost)]
        return cut(simulation.design, left, request, Random(seed))

    return serve


@cache
def _message(device: int, seq: int, session: int, turn: int) -> Message:
    return Message(seq, "user" if seq % 2 == 0 else "assistant", f"d{device} m{seq}", session, turn)
