"""Histories of users who talk through several instances to a memory with a known fault.

A small simulation: users with two devices say and recall, any instance answers, and a store does what its fault makes
of it. Nothing here knows how the analyzer works; what comes out are the rows a load process would have logged.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from goldfish.oplog import Append, Odd, Operation, Owner, Recall, Said, encode_runs

from .runs import MS, Process

INSTANCES = ("m1", "m2", "m3")
SETTLE_MS = 2_000


@dataclass(frozen=True)
class Line:
    """One stored message."""

    conversation: str
    user: str
    device: str
    seq: int
    role: str
    size: int
    stored_ms: float
    changed: str | None = None


class Memory:
    """A sound memory; faults override what they spoil. Times are milliseconds since the start of the run."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: dict[str, list[Line]] = {}

    def begin(self, at_ms: float, instance: str, conversation: str) -> Any:
        """An append has arrived; what is returned is given to ``commit``."""

    def commit(self, at_ms: float, instance: str, lines: list[Line], begun: Any) -> None:
        """The append takes effect."""
        held = self.lines.setdefault(lines[0].conversation, [])
        known = {(line.device, line.seq) for line in held}
        held += [line for line in lines if (line.device, line.seq) not in known]

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        """The history that an instance lists."""
        return list(self.lines.get(conversation, []))


@dataclass
class Swarm:
    """Who talks how; the defaults are a hundred users with two devices who mostly take turns."""

    users: int = 60
    turns: int = 8
    together: float = 0.0
    """Share of turns in which both devices write at once."""
    pause: float = 0.1
    """Probability of a long pause before a turn."""
    pause_ms: tuple[float, float] = (1_000, 4_000)
    think_ms: tuple[float, float] = (5, 150)
    retries: float = 0.0
    """Share of appends that are sent a second time though the first was stored."""
    scenario: str = "chat"
    spread_ms: float = 8_000
    """Users start anywhere in this time."""
    named: bool = True
    """Whether answers name their instance."""
    limit: int | None = None


def play(memory: Memory, *swarms: Swarm, seed: int = 1) -> Process:
    """Let swarms talk to a memory; a process with their log."""
    process = Process()
    rows: list[Operation] = []
    steps: list[tuple[float, int, Callable[[], None]]] = []
    rng = random.Random(seed)
    for number, swarm in enumerate(swarms):
        for user in range(swarm.users):
            _story(memory, swarm, f"{number}.{user}", rng, steps, rows)
    for _, _, act in sorted(steps, key=lambda step: step[:2]):
        act()
    rows.sort(key=lambda row: row.end_ns)
    for at, row in enumerate(rows):
        row.id = at
    process.operations = rows
    return process


def _story(
    memory: Memory,
    swarm: Swarm,
    name: str,
    rng: random.Random,
    steps: list[tuple[float, int, Callable[[], None]]],
    rows: list[Operation],
) -> None:
    """One user's conversation, as steps to be taken in the order of time."""
    now = rng.uniform(0, swarm.spread_ms)
    talk = f"c{name}"
    who = {"scenario": swarm.scenario, "user": f"u{name}", "conversation": talk, "session": f"s{name}"}
    said = {"phone": 0, "laptop": 0}

    def say(device: str, start: float) -> float:
        instance = rng.choice(INSTANCES)
        end = start + rng.uniform(3, 9)
        seq = said[device]
        said[device] += 2
        lines = [
            Line(talk, who["user"], device, seq + at, role, rng.choice((40, 200, 900, 6_000)), start)
            for at, role in enumerate(("user", "assistant"))
        ]
        if rng.random() >= swarm.retries:
            _send(device, lines, start, end, instance)
            return end
        # The first answer is lost, so it is sent once more.
        _send(device, lines, start, end, instance, outcome="info")
        again = end + rng.uniform(5, 20)
        _send(device, lines, again, again + 4, rng.choice(INSTANCES), attempt=2)
        return again + 4

    def _send(
        device: str, lines: list[Line], start: float, end: float, instance: Any, attempt: int = 1, outcome: Any = "ok"
    ) -> None:
        begun: list[Any] = []
        steps.append((start + 1, len(steps), lambda: begun.append(memory.begin(start + 1, instance, talk))))

        def commit() -> None:
            at = end - 1
            memory.commit(at, instance, [replace(line, stored_ms=at) for line in lines], begun[0])

        steps.append((end - 1, len(steps), commit))
        messages = [
            Said(seq=line.seq, turn=line.seq // 2, role=line.role, text=f"text {line.seq}", bytes=line.size)
            for line in lines
        ]
        told: dict[str, Any] = {"status": 201, "instance": instance if swarm.named else None}
        if outcome != "ok":
            told = {"reason": "timeout"}
        rows.append(
            Append(
                id=0, device=device, start_ns=int(start * MS), end_ns=int(end * MS), outcome=outcome, attempt=attempt,
                messages=messages, **told, **who,
            )
        )  # fmt: skip

    def look(device: str, start: float, phase: str = "load") -> float:
        instance, end = rng.choice(INSTANCES), start + rng.uniform(2, 6)

        def answer() -> None:
            lines = memory.read(start + 1, instance, talk)
            if swarm.limit is not None:
                lines = lines[-swarm.limit :]
            named = instance if swarm.named else None
            rows.append(_recall(lines, device, start, end, named, phase, swarm.limit, talk, who))

        steps.append((start + 1, len(steps), answer))
        return end

    for turn in range(swarm.turns):
        now += rng.uniform(*(swarm.pause_ms if turn and rng.random() < swarm.pause else swarm.think_ms))
        if rng.random() < swarm.together:
            now = max(say("phone", now), say("laptop", now + rng.uniform(0, 1)))
        else:
            now = say(rng.choice(("phone", "laptop")), now)
        for _ in range(2):
            now = look(rng.choice(("phone", "laptop")), now + rng.uniform(*swarm.think_ms))
    now += SETTLE_MS
    for device in ("phone", "laptop"):
        now = look(device, now, "final")


def _recall(
    lines: list[Line],
    device: str,
    start: float,
    end: float,
    instance: Any,
    phase: str,
    limit: int | None,
    talk: str,
    who: dict[str, Any],
) -> Recall:
    own: list[tuple[str, int]] = []
    odd: list[Odd] = []
    for at, line in enumerate(lines):
        if line.conversation != talk:
            owner = Owner(
                tenant=None, user=line.user, session=f"s{line.conversation[1:]}", conversation=line.conversation
            )
            odd.append(Odd(at=at, why="foreign", device=line.device, seq=line.seq, owner=owner, text="not yours"))
        elif line.changed:
            kind: Any = line.changed
            odd.append(Odd(at=at, why="corrupted", kind=kind, device=line.device, seq=line.seq, text="cut"))
        else:
            own.append((line.device, line.seq))
    chosen: Any = phase
    return Recall(
        id=0, device=device, phase=chosen, start_ns=int(start * MS), end_ns=int(end * MS), outcome="ok", status=200,
        instance=instance, view="session", limit=limit, seen=encode_runs(own), odd=odd, **who,
    )  # fmt: skip


# faults --------------------------------------------------------------------------------------------------------------


class OwnCopies(Memory):
    """Each instance reads through a cache of its own, which only its own writes refresh."""

    def __init__(self, seed: int, ttl_ms: float = 800, only: str | None = None) -> None:
        super().__init__(seed)
        self.ttl_ms, self.only = ttl_ms, only
        self.copies: dict[tuple[str, str], tuple[float, list[Line]]] = {}

    def commit(self, at_ms: float, instance: str, lines: list[Line], begun: Any) -> None:
        super().commit(at_ms, instance, lines, begun)
        taken = self.copies.get((instance, lines[0].conversation))
        if taken:
            taken[1].extend(lines)

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        if self.only not in (None, instance):
            return super().read(at_ms, instance, conversation)
        taken = self.copies.get((instance, conversation))
        if taken is None or taken[0] + self.ttl_ms < at_ms:
            taken = self.copies[instance, conversation] = at_ms, super().read(at_ms, instance, conversation)
        return list(taken[1])


class SplitMemory(Memory):
    """Each instance keeps what it is told to itself; or one of them uses other keys than the rest."""

    def __init__(self, seed: int, only: str | None = None) -> None:
        super().__init__(seed)
        self.only = only

    def _key(self, instance: str, conversation: str) -> str:
        own = instance if self.only is None else str(instance == self.only)
        return f"{own}/{conversation}"

    def commit(self, at_ms: float, instance: str, lines: list[Line], begun: Any) -> None:
        self.lines.setdefault(self._key(instance, lines[0].conversation), []).extend(lines)

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        return list(self.lines.get(self._key(instance, conversation), []))


class ReplicaLag(Memory):
    """Reads go to a replica that is behind."""

    def __init__(self, seed: int, lag_ms: float = 300) -> None:
        super().__init__(seed)
        self.lag_ms = lag_ms

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        return [line for line in super().read(at_ms, instance, conversation) if line.stored_ms + self.lag_ms <= at_ms]


class LostUpdate(Memory):
    """Read, append, write back."""

    def begin(self, at_ms: float, instance: str, conversation: str) -> Any:
        return list(self.lines.get(conversation, []))

    def commit(self, at_ms: float, instance: str, lines: list[Line], begun: Any) -> None:
        self.lines[lines[0].conversation] = [*begun, *lines]


class SmallWindow(Memory):
    """Only the newest are listed."""

    def __init__(self, seed: int, messages: int = 10) -> None:
        super().__init__(seed)
        self.messages = messages

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        return super().read(at_ms, instance, conversation)[-self.messages :]


class FirstPage(Memory):
    """Only the oldest are listed."""

    def __init__(self, seed: int, messages: int = 10) -> None:
        super().__init__(seed)
        self.messages = messages

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        return super().read(at_ms, instance, conversation)[: self.messages]


class TokenWindow(Memory):
    """Only the newest are listed, as many as fit a size."""

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        kept: list[Line] = []
        room = 12_000
        for line in reversed(super().read(at_ms, instance, conversation)):
            room -= line.size
            if room < 0:
                break
            kept.append(line)
        return kept[::-1]


class Crash(Memory):
    """What was acknowledged shortly before a crash had not been written yet."""

    def __init__(self, seed: int, at_ms: float = 6_000, behind_ms: float = 700) -> None:
        super().__init__(seed)
        self.at_ms, self.behind_ms = at_ms, behind_ms

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        lines = super().read(at_ms, instance, conversation)
        if at_ms < self.at_ms:
            return lines
        return [line for line in lines if not self.at_ms - self.behind_ms < line.stored_ms < self.at_ms]


class Flush(Memory):
    """Everything there was is gone at one moment."""

    def __init__(self, seed: int, at_ms: float = 6_000) -> None:
        super().__init__(seed)
        self.at_ms = at_ms

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        lines = super().read(at_ms, instance, conversation)
        return lines if at_ms < self.at_ms else [line for line in lines if line.stored_ms > self.at_ms]


class Swallow(Memory):
    """Some writes are acknowledged and not stored."""

    def __init__(
        self, seed: int, share: float = 0.05, instance: str | None = None, role: str | None = None, size: int = 0
    ) -> None:
        super().__init__(seed)
        self.share, self.instance, self.role, self.size = share, instance, role, size

    def commit(self, at_ms: float, instance: str, lines: list[Line], begun: Any) -> None:
        kept = [
            line
            for line in lines
            if self.instance not in (None, instance)
            or self.role not in (None, line.role)
            or line.size < self.size
            or self.random.random() >= self.share
        ]
        if kept:
            super().commit(at_ms, instance, kept, begun)


class IdleExpiry(Memory):
    """A history is gone when nobody touched it for a while."""

    def __init__(self, seed: int, ttl_ms: float = 1_500) -> None:
        super().__init__(seed)
        self.ttl_ms = ttl_ms
        self.touched: dict[str, float] = {}

    def _touch(self, at_ms: float, conversation: str) -> None:
        if self.touched.get(conversation, at_ms) + self.ttl_ms < at_ms:
            self.lines[conversation] = []
        self.touched[conversation] = at_ms

    def commit(self, at_ms: float, instance: str, lines: list[Line], begun: Any) -> None:
        self._touch(at_ms, lines[0].conversation)
        super().commit(at_ms, instance, lines, begun)

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        self._touch(at_ms, conversation)
        return super().read(at_ms, instance, conversation)


class AgeExpiry(Memory):
    """A message is gone at an age."""

    def __init__(self, seed: int, ttl_ms: float = 1_000) -> None:
        super().__init__(seed)
        self.ttl_ms = ttl_ms

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        return [line for line in super().read(at_ms, instance, conversation) if line.stored_ms + self.ttl_ms > at_ms]


class Holes(Memory):
    """A read now and then skips a message."""

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        return [line for line in super().read(at_ms, instance, conversation) if self.random.random() > 0.01]


class Eviction(Memory):
    """Now and then something old is thrown out."""

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        lines = self.lines.get(conversation, [])
        if len(lines) > 4 and self.random.random() < 0.1:
            lines.pop(self.random.randrange(len(lines) - 2))
        return list(lines)


class StoredAgain(Memory):
    """A message that is sent again is stored again."""

    def commit(self, at_ms: float, instance: str, lines: list[Line], begun: Any) -> None:
        self.lines.setdefault(lines[0].conversation, []).extend(lines)


class ClockOrder(Memory):
    """The order is that of clocks that disagree."""

    def commit(self, at_ms: float, instance: str, lines: list[Line], begun: Any) -> None:
        skew = {"m1": 0.0, "m2": 120.0, "m3": -90.0}[instance]
        super().commit(at_ms, instance, [replace(line, stored_ms=line.stored_ms + skew) for line in lines], begun)

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        return sorted(super().read(at_ms, instance, conversation), key=lambda line: line.stored_ms)


class SharedState(Memory):
    """One instance now and then lists what it listed for somebody else."""

    def __init__(self, seed: int, only: str | None = "m3") -> None:
        super().__init__(seed)
        self.only = only
        self.before: list[Line] = []

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        lines = super().read(at_ms, instance, conversation)
        before, self.before = self.before, lines
        if self.only in (None, instance) and self.random.random() < 0.1:
            return [*lines, *(line for line in before[-1:] if line.conversation != conversation)]
        return lines


class ShortKey(Memory):
    """Histories of several users are kept under one key: the last digit of the conversation's name."""

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        return [line for name, lines in self.lines.items() if name[-1] == conversation[-1] for line in lines]


class Cut(Memory):
    """Long contents are cut."""

    def commit(self, at_ms: float, instance: str, lines: list[Line], begun: Any) -> None:
        lines = [replace(line, changed="truncated") if line.size > 4_000 else line for line in lines]
        super().commit(at_ms, instance, lines, begun)


class Struck(Memory):
    """While an instance is paused, the others answer without what it wrote last."""

    def __init__(self, seed: int, begin_ms: float = 4_000, end_ms: float = 5_500) -> None:
        super().__init__(seed)
        self.begin_ms, self.end_ms = begin_ms, end_ms

    def read(self, at_ms: float, instance: str, conversation: str) -> list[Line]:
        lines = super().read(at_ms, instance, conversation)
        return lines[:-1] if self.begin_ms <= at_ms < self.end_ms else lines
