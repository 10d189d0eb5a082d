"""A simulated store that is sound, and that uses every freedom its contract leaves it.

Each history is one conversation on a store that loses nothing: it may be slow, show acknowledged messages only when the
visibility delay is over, apply an indeterminate write never, at once or long after everybody looked elsewhere, store a
batch at one moment or message by message, and delete physically what no window will need. Whoever accuses it, is wrong.

Stamps are whole ticks (milliseconds); an operation takes effect at one real moment in [start, end + 1 tick), so that
equal stamps fall in either order and strictly ordered ones never do. Everything follows from the seed.

`Simulated.visible` keeps, for each ok recall, what the store could have served before window and limit cut it: the
ground truth for planting losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import NamedTuple

from .histories import (
    NS_PER_MS,
    Append,
    Contract,
    Delete,
    History,
    Key,
    Message,
    Op,
    Outcome,
    Own,
    Phase,
    Recall,
    Unmarked,
    own,
)

UNMARKED = Unmarked()


@dataclass(frozen=True, slots=True)
class Simulated:
    """A sound history and how it came about.

    `visible`: by operation number of each ok recall, in the order of their reading moments, all it could have served.
    `limits`: by the same number, how many own messages it may serve (None: all).
    """

    history: History
    visible: dict[int, tuple[Own, ...]]
    limits: dict[int, int | None]


class _Effect(NamedTuple):
    """A change of the store: a message stored, or (None) a session deleted, all sessions if that is None."""

    at: float
    turn: int
    item: Own | None
    session: int | None
    lags: tuple[float, float]


class _Store(NamedTuple):
    """The freedoms this store takes."""

    window: int | None
    lag: int
    per_message: bool
    """Each message becomes visible by itself; else a recall reads the whole store as it was a while ago."""
    in_turn: bool
    trims: bool
    """Deletes from each session, when writing, what is beyond the window."""
    prompt: bool


class _Plan(NamedTuple):
    """An ok recall that waits for its list."""

    place: int
    at: float
    limit: int | None


def simulate(seed: int) -> Simulated:
    """One sound history, with what the store could have served."""
    return _Simulation(Random(seed)).run()


class _Simulation:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.draw = rng.random
        self.features: set[str] = set()
        self.ops: list[Op] = []
        self.effects: list[_Effect] = []
        self.plans: list[_Plan] = []
        self.devices = 1 + int(self.draw() * 4)
        self.sessions = 1 + int(self.draw() * 3) if self.draw() < 0.4 else 0
        self.deletes = self.draw() < 0.5
        self.next_seq = [0] * self.devices
        self.pause_ticks = (1, 4, 12)[int(self.draw() * 3)]
        self.length_ticks = (3, 8, 20)[int(self.draw() * 3)]
        self.store = self._choose_store()

    def _choose_store(self) -> _Store:
        draw = self.draw
        window = 1 + int(draw() * 8) if draw() < 0.65 else None
        lag = 1 + int(draw() * 30) if draw() < 0.35 else 0
        per_message, in_turn, trims, prompt = draw() < 0.5, draw() < 0.4, draw() < 0.4, draw() < 0.06
        return _Store(window, lag, per_message, in_turn, trims and window is not None, prompt)

    def run(self) -> Simulated:
        draw = self.draw
        clocks = [int(draw() * 10) for _ in range(self.devices)]
        for _ in range(8 + int(draw() * 15)):
            device = clocks.index(min(clocks))
            start = clocks[device] + int(draw() * self.pause_ticks)
            end = start + int(draw() * self.length_ticks)
            clocks[device] = end
            choice = draw()
            if choice < 0.5:
                self._append(device, start, end)
            elif choice < 0.92 or not self.deletes:
                self._recall(device, start, end, "load")
            else:
                self._delete(device, start, end)
        if draw() < 0.7:
            settled = max(clocks) + 1 + self.store.lag
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
        places = {place: number for number, place in enumerate(order)}
        self.ops = [self.ops[place] for place in order]
        self.plans = [plan._replace(place=places[plan.place]) for plan in self.plans]

    def _outcome(self, info: float, fail: float) -> Outcome:
        choice = self.draw()
        return "info" if choice < info else "fail" if choice < info + fail else "ok"

    def _moment(self, start: int, end: int) -> float:
        return start + self.draw() * (end + 1 - start)

    def _append(self, device: int, start: int, end: int) -> None:
        draw = self.draw
        count = 1 if draw() < 0.6 else 2 + int(draw() * 2)
        session = int(draw() * self.sessions)
        seq = self.next_seq[device]
        self.next_seq[device] = seq + count
        outcome = self._outcome(info=0.15, fail=0.08)
        messages = tuple([_message(device, seq + n, session) for n in range(count)])
        self.ops.append(Append(device, start * NS_PER_MS, end * NS_PER_MS, outcome, messages))
        if count > 1:
            self.features.add("batch")
        stored, last = count, end
        if outcome == "fail":
            self.features.add("rejected")
            stored = 0
        elif outcome == "info":
            stored, last = self._indeterminate(count, end)
        if stored > 1 and self.store.in_turn:
            self.features.add("batch-in-turn")
            moments = sorted(self._moment(start, last) for _ in range(stored))
        else:
            moments = [self._moment(start, last)] * stored
        for n, moment in enumerate(moments):
            self._effect(moment, own(device, seq + n), session)

    def _indeterminate(self, count: int, end: int) -> tuple[int, int]:
        """How many messages of an unanswered append are stored, and by when."""
        choice = self.draw()
        if choice < 0.35:
            self.features.add("indeterminate-lost")
            return 0, end
        if choice < 0.6:
            self.features.add("indeterminate-at-once")
            return count, end
        if choice < 0.8 and count > 1 and self.store.in_turn:
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
        if outcome == "ok" or (outcome == "info" and self.draw() < 0.7):
            self._effect(self._moment(start, end + late), None, session)

    def _effect(self, moment: float, item: Own | None, session: int | None) -> None:
        lag, draw = self.store.lag, self.draw
        lags = (draw() * lag, draw() * lag) if lag else (0.0, 0.0)
        self.effects.append(_Effect(moment, len(self.effects), item, session, lags))

    def _recall(self, device: int, start: int, end: int, phase: Phase) -> None:
        draw = self.draw
        limit = int(draw() * 9) if draw() < 0.3 else None
        outcome = self._outcome(info=0.05, fail=0.05)
        if limit is not None:
            self.features.add("limit" if limit else "limit-zero")
        if outcome == "ok":
            self.plans.append(_Plan(len(self.ops), self._moment(start, end), limit))
        else:
            self.features.add("killed-recall" if outcome == "info" else "failed-recall")
        self.ops.append(Recall(device, start * NS_PER_MS, end * NS_PER_MS, limit, outcome, (), phase))

    def _serve(self) -> Simulated:
        store, ops = self.store, self.ops
        effects = sorted(self.effects)
        visible: dict[int, tuple[Own, ...]] = {}
        limits: dict[int, int | None] = {}
        for plan in sorted(self.plans, key=lambda plan: plan.at):
            seen = self._seen(effects, plan.at)
            listed = tuple(contents(seen, store.window if store.trims else None))
            places = smaller(store.window, plan.limit)
            prompts: tuple[Unmarked, ...] = ()
            if store.prompt and places != 0:
                prompts = (UNMARKED,)
                places = None if places is None else places - 1
            recall = ops[plan.place]
            assert isinstance(recall, Recall)
            ops[plan.place] = Recall(
                recall.device,
                recall.start_ns,
                recall.end_ns,
                plan.limit,
                "ok",
                prompts + last(places, listed),
                recall.phase,
            )
            visible[plan.place] = listed
            limits[plan.place] = places
        contract = Contract(store.window, store.lag * NS_PER_MS, "allow" if store.prompt else "forbid")
        self._name_features(effects)
        history = History(contract, tuple(ops), "user" if self.sessions else "session", frozenset(self.features))
        return Simulated(history, visible, limits)

    def _seen(self, effects: list[_Effect], moment: float) -> list[_Effect]:
        """The effects a recall at this moment reads, in the order of storage."""
        if not self.store.lag:
            return [effect for effect in effects if effect.at <= moment]
        if self.store.per_message:
            replica = int(self.draw() * 2)
            seen = [effect for effect in effects if effect.at + effect.lags[replica] <= moment]
        else:
            earlier = moment - self.draw() * self.store.lag
            seen = [effect for effect in effects if effect.at <= earlier]
        if len(seen) < sum(effect.at <= moment for effect in effects):
            self.features.add("lag")
        return seen

    def _name_features(self, effects: Sequence[_Effect]) -> None:
        store, features = self.store, self.features
        features.add("user-scope" if self.sessions else "session-scope")
        features.add("no-window" if store.window is None else "window")
        for name, present in (
            ("several-sessions", self.sessions > 1),
            ("several-devices", self.devices > 1),
            ("visibility", store.lag > 0),
            ("trims-at-write", store.trims),
            ("unmarked-allowed", store.prompt),
        ):
            if present:
                features.add(name)
        ends = {op.end_ns for op in self.ops}
        if any(op.start_ns in ends for op in self.ops if op.start_ns != op.end_ns):
            features.add("equal-stamps")
        if "indeterminate-late" in features:
            stored = {effect.item.key: effect.at for effect in effects if effect.item is not None}
            self._name_late_writes(stored)
        if self.devices > 1:
            self._name_overlaps()

    def _name_late_writes(self, stored: dict[Key, float]) -> None:
        """An indeterminate write that took effect only after a recall that began after its end had been answered."""
        for op in self.ops:
            if isinstance(op, Append) and op.outcome == "info":
                at_ns = stored.get((op.device, op.messages[0].seq), -1.0) * NS_PER_MS
                if any(
                    isinstance(other, Recall) and op.end_ns < other.start_ns and other.end_ns + NS_PER_MS < at_ns
                    for other in self.ops
                ):
                    self.features.add("indeterminate-after-recall")
                    return

    def _name_overlaps(self) -> None:
        writers = [op for op in self.ops if isinstance(op, Append)]
        for op in self.ops:
            for writer in writers:
                if writer.device != op.device and writer.start_ns <= op.end_ns and op.start_ns <= writer.end_ns:
                    self.features.add("overlapping-devices")
                    if isinstance(op, Append):
                        self.features.add("overlapping-writers")
                    elif isinstance(op, Recall):
                        self.features.add("recall-overlaps-append")


def contents(effects: Sequence[_Effect], kept: int | None) -> list[Own]:
    """What is stored after these effects, in order; each session holds its last `kept` messages at most."""
    stored: list[tuple[Own, int | None]] = []
    for effect in effects:
        if effect.item is None:
            stored = [] if effect.session is None else [pair for pair in stored if pair[1] != effect.session]
            continue
        stored.append((effect.item, effect.session))
        if kept is not None:
            of_session = [place for place, pair in enumerate(stored) if pair[1] == effect.session]
            if len(of_session) > kept:
                del stored[of_session[0]]
    return [item for item, _ in stored]


def last(places: int | None, listed: tuple[Own, ...]) -> tuple[Own, ...]:
    """The last `places` elements; all if that is None."""
    if places is None:
        return listed
    return listed[-places:] if places else ()


def smaller(window: int | None, limit: int | None) -> int | None:
    """The smaller bound; None if there is none."""
    if window is None or limit is None:
        return limit if window is None else window
    return min(window, limit)


@cache
def _message(device: int, seq: int, session: int) -> Message:
    return Message(seq, "user" if seq % 2 == 0 else "assistant", f"d{device} m{seq}", session)
