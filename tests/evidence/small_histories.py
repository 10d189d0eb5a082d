"""Random histories small enough that all orders of their writes can be tried.

Few messages in few ticks, so that nearly everything overlaps with something. A sound store answers; a faulty one
answers the same, and then each list may suffer. Domain as in the enumerator: windows in messages and request limits,
no visibility delay, no deletes.
"""

from __future__ import annotations

from random import Random

from .enumerator import MESSAGES_MAX
from .histories import NS_PER_MS, Append, Contract, History, Item, Key, Message, Op, Outcome, Own, Recall, own
from .store import UNMARKED

TICKS = 14


def small_history(seed: int, *, faulty: bool) -> History:
    """One small history."""
    rng = Random(seed)
    draw = rng.random
    ops: list[Op] = []
    stored: list[tuple[float, Key]] = []
    next_seq = [0, 0, 0]
    left = 1 + int(draw() * MESSAGES_MAX)
    batched = draw() < 0.6
    while left > 0:
        device = int(draw() * 3)
        start, end = _interval(rng)
        choice = draw()
        outcome: Outcome = "ok" if choice < 0.65 else "info" if choice < 0.9 else "fail"
        count = min(left, 1 + int(draw() * 3)) if batched else 1
        left -= count
        keys = [(device, next_seq[device] + n) for n in range(count)]
        next_seq[device] += count
        ops.append(Append(device, start, end, outcome, tuple(Message(seq) for _, seq in keys)))
        stored += _stored(rng, keys, start, end, outcome)
    stored.sort()
    window = 1 + int(draw() * 4) if draw() < 0.6 else None
    sent = [(op.device, message.seq) for op in ops if isinstance(op, Append) for message in op.messages]
    for _ in range(1 + int(draw() * 3)):
        start, end = _interval(rng)
        limit = int(draw() * 5) if draw() < 0.25 else None
        read_ns = _moment(rng, start, end)
        seen = tuple(own(*key) for at_ns, key in stored if at_ns <= read_ns)
        places = min((n for n in (window, limit) if n is not None), default=len(seen))
        items: list[Item] = list(seen[len(seen) - min(places, len(seen)) :])
        if faulty and draw() < 0.6:
            _spoil(rng, items, sent)
        ops.append(Recall(int(draw() * 3), start, end, limit, "ok", tuple(items)))
    return History(Contract(window), tuple(ops))


def _interval(rng: Random) -> tuple[int, int]:
    start = int(rng.random() * TICKS)
    return start * NS_PER_MS, (start + int(rng.random() * 5)) * NS_PER_MS


def _moment(rng: Random, start_ns: int, end_ns: int) -> float:
    return start_ns + rng.random() * (end_ns - start_ns + NS_PER_MS)


def _stored(rng: Random, keys: list[Key], start_ns: int, end_ns: int, outcome: Outcome) -> list[tuple[float, Key]]:
    """When each message of an append takes effect; those that never do are left out."""
    if outcome == "fail" or (outcome == "info" and rng.random() < 0.4):
        return []
    last_ns = end_ns + int(rng.random() * 8) * NS_PER_MS if outcome == "info" else end_ns
    in_turn = rng.random() < 0.5
    moments = sorted(_moment(rng, start_ns, last_ns) for _ in keys)
    return [(moment if in_turn else moments[0], key) for moment, key in zip(moments, keys, strict=True)]


def _spoil(rng: Random, items: list[Item], sent: list[Key]) -> None:
    """Do one wrong to a list."""
    kind = int(rng.random() * 8)
    if kind <= 2 and items:
        del items[rng.randrange(len(items))]
    elif kind == 3 and len(items) > 1:
        first, second = rng.sample(range(len(items)), 2)
        items[first], items[second] = items[second], items[first]
    elif kind == 4:
        items[:] = [own(*key) for key in rng.sample(sent, rng.randrange(len(sent) + 1))]
    elif kind == 5:
        items.insert(rng.randrange(len(items) + 1), own(*rng.choice(sent)))
    elif kind == 6 and items:
        items[rng.randrange(len(items))] = own(*rng.choice(sent))
    elif kind == 7 and items:
        place = rng.randrange(len(items))
        item = items[place]
        assert isinstance(item, Own)
        items[place] = UNMARKED if rng.random() < 0.5 else Own(item.device, item.seq, "altered")
