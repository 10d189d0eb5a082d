"""Faults put into sound histories: one loss whose extent is known, or several kinds at once.

`plant_loss` answers whether anybody innocent is named: it takes one message from one recall, or from all recalls from
one moment on, and says which. `compound` makes histories on which independent implementations must agree, whatever they
find: nothing is promised about them but their seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

from .histories import Append, Delete, Foreign, History, Item, Key, OtherRun, Own, Recall, own
from .simulator import UNMARKED, Simulated, simulate

FAULTS_MAX = 4


@dataclass(frozen=True, slots=True)
class Planted:
    """A history with one message lost on purpose: `lost`, in the recalls numbered `taken_from`.

    `refilled`: the place was filled with something older, if there was any, as a store does that lost the message
    before it cut the window. `for_good`: lost from one moment on, else from a single list.
    """

    history: History
    lost: Key
    taken_from: frozenset[int]
    refilled: bool
    for_good: bool


def plant_loss(simulated: Simulated, seed: int) -> Planted | None:
    """Lose one message that was shown; None if no recall shows any."""
    rng = Random(seed)
    ops = list(simulated.history.ops)
    reads = list(simulated.serve)
    showing = [(number, item) for number in reads for item in _items(ops[number]) if isinstance(item, Own)]
    if not showing:
        return None
    number, shown = rng.choice(showing)
    for_good = rng.random() < 0.5
    refilled = rng.random() < 0.5
    later = reads[reads.index(number) :] if for_good else [number]
    lost = shown.key
    taken_from = frozenset(number for number in later if any(_shows(item, lost) for item in _items(ops[number])))
    for recall_number in taken_from:
        recall = ops[recall_number]
        assert isinstance(recall, Recall)
        if refilled:
            items = simulated.serve[recall_number](lost)
        else:
            items = tuple(item for item in recall.items if not _shows(item, lost))
        ops[recall_number] = replace(recall, items=items)
    faults = frozenset({f"lose-{'for-good' if for_good else 'once'}{'-and-refill' if refilled else ''}"})
    history = replace(simulated.history, ops=tuple(ops), faults=faults)
    return Planted(history, lost, taken_from, refilled, for_good)


def compound(seed: int) -> History:
    """A history with several kinds of fault, each named in `faults` if it changed a list."""
    rng = Random(-1 - seed)
    history = spoiled = simulate(rng.getrandbits(60)).history
    injured = set[str]()
    for kind in rng.choices(tuple(FAULTS), k=1 + int(rng.random() * FAULTS_MAX)):
        lists = {number: list(recall.items) for number, recall in spoiled.ok_recalls()}
        FAULTS[kind](rng, history, lists)
        ops = list(spoiled.ops)
        for number, recall in spoiled.ok_recalls():
            items = tuple(lists[number])
            if items != recall.items:
                injured.add(kind)
                ops[number] = replace(recall, items=items)
        spoiled = replace(spoiled, ops=tuple(ops))
    return replace(spoiled, faults=frozenset(injured))


Lists = dict[int, list[Item]]
"""By operation number, the lists of all ok recalls, to be changed in place. In order of operation numbers."""


def lose_once(rng: Random, history: History, lists: Lists) -> None:
    """Some lists lack an element each."""
    for items in _some(rng, lists):
        del items[rng.randrange(len(items))]


def lose_for_good(rng: Random, history: History, lists: Lists) -> None:
    """A message shown once is gone from some recall on."""
    for items in _some(rng, lists)[:1]:
        lost = rng.choice(items)
        past = False
        for later in lists.values():
            past = past or later is items
            if past and lost in later:
                later[:] = [item for item in later if item != lost]


def amnesia(rng: Random, history: History, lists: Lists) -> None:
    """Some lists are empty, or cut to their newest or oldest elements."""
    for items in _some(rng, lists):
        cut = rng.randrange(len(items))
        items[:] = rng.choice(([], items[cut:], items[:cut]))


def flicker(rng: Random, history: History, lists: Lists) -> None:
    """One message is missing from every other list, as when one of two instances lacks it."""
    for items in _some(rng, lists)[:1]:
        lost = rng.choice(items)
        holding = [later for later in lists.values() if lost in later]
        for later in holding[int(rng.random() * 2) :: 2]:
            later.remove(lost)


def serve_stale(rng: Random, history: History, lists: Lists) -> None:
    """A recall answers with the list of an earlier one."""
    numbers = list(lists)
    if len(numbers) > 1:
        earlier, later = sorted(rng.sample(range(len(numbers)), 2))
        lists[numbers[later]][:] = lists[numbers[earlier]]


def serve_future(rng: Random, history: History, lists: Lists) -> None:
    """A list holds any message of the conversation, perhaps one not sent yet, or one that no window should reach."""
    sent = _sent(history, rejected=False)
    for items in _some(rng, lists)[:1] if sent else []:
        items.insert(rng.randrange(len(items) + 1), own(*rng.choice(sent)))


def duplicate(rng: Random, history: History, lists: Lists) -> None:
    """Some lists hold an element twice."""
    for items in _some(rng, lists):
        items.insert(rng.randrange(len(items) + 1), rng.choice(items))


def reorder(rng: Random, history: History, lists: Lists) -> None:
    """Two elements of some lists change places."""
    for items in _some(rng, lists):
        first, second = rng.randrange(len(items)), rng.randrange(len(items))
        items[first], items[second] = items[second], items[first]


def corrupt(rng: Random, history: History, lists: Lists) -> None:
    """An own element of some lists suffers."""
    for items in _some(rng, lists):
        place = rng.randrange(len(items))
        item = items[place]
        if isinstance(item, Own):
            items[place] = own(item.device, item.seq, rng.choice(("truncated", "altered", "role")))


def insert_foreign(rng: Random, history: History, lists: Lists) -> None:
    """Some lists hold a message of somebody else, in addition or in place of their oldest element."""
    for items in _some(rng, lists):
        if rng.random() < 0.5:
            del items[0]
        items.insert(rng.randrange(len(items) + 1), Foreign(rng.choice(("session", "user", "tenant"))))


def insert_unknown(rng: Random, history: History, lists: Lists) -> None:
    """Some lists hold an element of another run, or without a token."""
    for items in _some(rng, lists):
        items.insert(rng.randrange(len(items) + 1), rng.choice((OtherRun(), UNMARKED)))


def show_rejected(rng: Random, history: History, lists: Lists) -> None:
    """A rejected message was stored after all: every list from some recall on shows it at its end."""
    rejected = _sent(history, rejected=True)
    if rejected:
        shown = own(*rng.choice(rejected))
        numbers = list(lists)
        for number in numbers[int(rng.random() * len(numbers)) :][: 1 + int(rng.random() * 3)]:
            lists[number].append(shown)


def linger(rng: Random, history: History, lists: Lists) -> None:
    """Some lists begin with what was shown long before."""
    numbers = list(lists)
    for place, number in enumerate(numbers):
        earlier = [item for before in numbers[:place] for item in lists[before]]
        if earlier and rng.random() < 0.3:
            lists[number].insert(0, rng.choice(earlier))


def forget(rng: Random, history: History, lists: Lists) -> None:
    """From some recall on all that had been said is gone."""
    numbers = list(lists)
    if numbers:
        first = rng.choice(numbers)
        start_ns = history.ops[first].start_ns
        gone = {
            (op.device, message.seq)
            for op in history.ops
            if isinstance(op, Append) and op.start_ns <= start_ns
            for message in op.messages
        }
        for number in numbers:
            if history.ops[number].start_ns >= start_ns:
                lists[number][:] = [item for item in lists[number] if not (isinstance(item, Own) and item.key in gone)]


def resurrect(rng: Random, history: History, lists: Lists) -> None:
    """Some lists after an acknowledged delete begin with what was shown before it."""
    for delete in history.ops:
        if isinstance(delete, Delete) and delete.outcome == "ok":
            ends = {number: recall.end_ns for number, recall in history.ok_recalls()}
            earlier = [item for number, items in lists.items() if ends[number] < delete.start_ns for item in items]
            for number, items in lists.items():
                recall = history.ops[number]
                if earlier and recall.start_ns > delete.end_ns and rng.random() < 0.5:
                    items.insert(0, rng.choice(earlier))


FAULTS: Mapping[str, Callable[[Random, History, Lists], None]] = {
    "lose-once": lose_once,
    "lose-for-good": lose_for_good,
    "amnesia": amnesia,
    "flicker": flicker,
    "serve-stale": serve_stale,
    "serve-future": serve_future,
    "duplicate": duplicate,
    "reorder": reorder,
    "corrupt": corrupt,
    "insert-foreign": insert_foreign,
    "insert-unknown": insert_unknown,
    "show-rejected": show_rejected,
    "linger": linger,
    "forget": forget,
    "resurrect": resurrect,
}


def _some(rng: Random, lists: Lists) -> list[list[Item]]:
    """One list that is not empty, or a few of them."""
    full = [items for items in lists.values() if items]
    return rng.sample(full, min(len(full), 1 + int(rng.random() * 3)))


def _sent(history: History, *, rejected: bool) -> list[Key]:
    return [
        (op.device, message.seq)
        for op in history.ops
        if isinstance(op, Append) and (op.outcome == "fail") == rejected
        for message in op.messages
    ]


def _shows(item: Item, key: Key) -> bool:
    return isinstance(item, Own) and item.key == key


def _items(op: object) -> tuple[Item, ...]:
    return op.items if isinstance(op, Recall) else ()
