"""Is there any order of the writes that explains a recall? Found by trying all of them.

For small histories (a handful of messages) whose contract is a window in messages, without visibility delay and without
anything that makes messages go or come again. A write takes effect at one moment between its start and the time by
which it is known to be stored:

- its acknowledgement, if it has one;
- the end of every recall that shows it, the judged one included. What other recalls show is used as this fact alone,
  not for the order it implies; one recall is judged at a time.

A write with neither happens at any time after its start, or never. A refused one happens never, unless some recall
shows it: then it is a write without acknowledgement (that it is shown at all is a finding of its own). Stamps are
closed: moments at equal stamps may fall in either order.

The recall reads at one moment between its start and its end, and returns the last min(window, limit) of what is stored
by then, in order of storage. Anything else in the list (a second copy, a corrupted one, one of somebody else) no order
explains.

How a batch is stored, is a model of its own:

- `whole`: at one moment, all or nothing.
- `in turn`: message by message, in list order. An acknowledged batch is stored completely; of one without
  acknowledgement any part may be.

The rule equals the model `in turn`: a recall is lossy, or holds a certain inversion or an impossible element, if and
only if no order explains it. Two kinds of recall stand outside of that:

- *divided*: r shows the later part of a batch without acknowledgement, and some other recall shows an earlier part that
  r lacks. The rule owes the earlier part only if the batch was acknowledged. Accusations are right here, not complete.
- *disputed*: another recall shows a message before it was sent. That fact no order can meet, so the question is void.

`whole` explains less than `in turn`, so what the rule accuses, `whole` cannot explain either.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, TypeAlias

from .histories import Append, Contract, Delete, History, Key, Own, Recall

Batches: TypeAlias = Literal["in turn", "whole"]
MESSAGES_MAX = 5


def explained(history: History, number: int, batches: Batches = "in turn") -> bool:
    """Does some order of the writes make the recall with this operation number return what it returned?"""
    recall = history.ops[number]
    assert isinstance(recall, Recall)
    returned = tuple(item.key if isinstance(item, Own) and item.content == "intact" else None for item in recall.items)
    places = min((n for n in (history.contract.window, recall.limit) if n is not None), default=None)
    return any(_last(places, stored) == returned for stored in _stored_at(recall, _units(history, batches), batches))


def divided(history: History, number: int) -> bool:
    """Does r show a later part of an unacknowledged batch, but not an earlier part that another recall shows?"""
    here = _shown(history.ops[number])
    anywhere = set[Key]().union(*(_shown(op) for op in history.ops))
    for append in history.ops:
        if isinstance(append, Append) and append.outcome != "ok":
            parts = [(append.device, message.seq) for message in append.messages]
            for place, part in enumerate(parts):
                if part in here and any(earlier in anywhere - here for earlier in parts[:place]):
                    return True
    return False


def disputed(history: History, number: int) -> bool:
    """Does another recall show a message that was sent only after that recall had ended?"""
    start_ns = {
        (op.device, message.seq): op.start_ns for op in history.ops if isinstance(op, Append) for message in op.messages
    }
    return any(
        start_ns[key] > op.end_ns for other, op in enumerate(history.ops) if other != number for key in _shown(op)
    )


class _Unit:
    """What takes effect at one moment: a message, or a batch stored whole."""

    def __init__(self, append: Append, keys: tuple[Key, ...], stored_by_ns: float, after: tuple[Key, ...]) -> None:
        self.append = append
        self.keys = keys
        self.stored_by_ns = stored_by_ns
        self.after = after
        """Messages that must be stored before this one, if it is to be stored."""


def _units(history: History, batches: Batches) -> list[_Unit]:
    deletes = [op for op in history.ops if isinstance(op, Delete)]
    appends = [op for op in history.ops if isinstance(op, Append)]
    plain = history.contract == Contract(window=history.contract.window)
    resent = any(append.attempt > 1 for append in appends)
    if deletes or resent or not plain or sum(len(a.messages) for a in appends) > MESSAGES_MAX:
        raise ValueError("beyond what is enumerated")
    units: list[_Unit] = []
    for append in appends:
        keys = tuple((append.device, message.seq) for message in append.messages)
        stored_by = {key: _stored_by_ns(history, append, key) for key in keys}
        known = {key for key in keys if stored_by[key] < math.inf}
        if append.outcome == "fail" and not known:
            continue
        if batches == "whole":
            units.append(_Unit(append, keys, min(stored_by.values()), ()))
        else:
            for place, key in enumerate(keys):
                units.append(_Unit(append, (key,), stored_by[key], tuple(k for k in keys[:place] if k in known)))
    return units


def _stored_by_ns(history: History, append: Append, key: Key) -> float:
    """The time by which this message is known to be stored."""
    known: list[float] = [append.end_ns] if append.outcome == "ok" else []
    known += [op.end_ns for op in history.ops if key in _shown(op)]
    return min(known, default=math.inf)


def _stored_at(recall: Recall, units: list[_Unit], batches: Batches) -> Iterator[tuple[Key, ...]]:
    """Every list that may be stored at a moment when the recall may read."""

    def grow(stored: tuple[Key, ...], waiting: list[_Unit], now_ns: float) -> Iterator[tuple[Key, ...]]:
        read_ns = max(now_ns, recall.start_ns)
        if read_ns <= recall.end_ns and all(unit.stored_by_ns >= read_ns for unit in waiting):
            yield stored
        for unit in waiting:
            then_ns = max(now_ns, unit.append.start_ns)
            in_turn = batches == "whole" or all(key in stored for key in unit.after)
            if then_ns <= min(unit.stored_by_ns, recall.end_ns) and in_turn:
                yield from grow(stored + unit.keys, [other for other in waiting if other is not unit], then_ns)

    return grow((), units, -math.inf)


def _last(places: int | None, stored: tuple[Key, ...]) -> tuple[Key, ...]:
    if places is None:
        return stored
    return stored[-places:] if places else ()


def _shown(op: object) -> set[Key]:
    if not isinstance(op, Recall) or op.outcome != "ok":
        return set()
    return {item.key for item in op.items if isinstance(item, Own)}
