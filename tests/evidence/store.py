"""The store that is simulated: sound, and of whatever design its contract allows.

`replay` brings a store to a moment: it applies effects in the order of their moments and lets go what has expired.
`cut` makes the list of one recall from what is kept. A `Design` names the freedoms a store takes: what a contract
leaves open, one sound store does this way and another that way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, NamedTuple

from .histories import NS_PER_MS, Contract, Foreign, Item, Key, Message, Own, Unmarked

UNMARKED = Unmarked()
FOREIGN = Foreign("session")
User = None
"""The unit of all that a user said, among the sessions."""


@dataclass(frozen=True, slots=True)
class Design:
    """The freedoms one store takes."""

    contract: Contract
    per_message: bool = False
    """With a lag: each effect becomes visible by itself; else a recall reads the whole store as it was a while ago."""
    stale_clock: bool = False
    """With a lag: what is read a while late is judged by the clock of then, too."""
    trims: Literal["conversation", "session"] | None = None
    """Cuts the window when it is written to, for the conversation or for each session; else when it is read."""
    prompt: bool = False
    pins_ever: bool = False
    """The first messages ever stored are pinned; else the first of what is kept."""
    reserves: bool = False
    """Keeps the places of pinned messages free where there are none."""
    pins_in_budget: bool = False
    turns: Literal["suffix", "first", "last"] = "suffix"
    """The newest messages of so many turns; or whole turns, the newest by their first or by their last message."""
    keeps_all_roles: bool = False
    forgets: bool = False
    """What is gone may be stored again by a resend; else its id is known for ever."""
    sweep: float = 0.0
    """Which share of the granularity what has expired is still there."""
    revives: bool = False
    """What has expired and is still there, may be refreshed."""
    resend_touches: bool = False
    session_outlives: bool = False
    """A deleted session keeps its expiry."""


class Effect(NamedTuple):
    """A change of the store at a moment."""

    at: float
    turn: int
    """Tells apart what happens at one moment."""
    kind: Literal["store", "delete", "touch", "snapshot"]
    session: int | None
    lags: tuple[float, float]
    device: int = 0
    message: Message | None = None
    """store: what is stored; None: a message of another session."""
    place: float | None = None
    """store: its place in the order, where that is not its moment."""
    begins: bool = False
    """touch: begins a unit that there is none of."""
    batch: int = 0
    """store, snapshot: the append, where the last writer wins."""


@dataclass(slots=True, eq=False)
class Kept:
    """One message in the store."""

    item: Own | Foreign
    message: Message | None
    device: int
    session: int
    at: float
    place: float
    batch: int
    dies: float | None = None
    pinned: bool = False
    gone: bool = False


@dataclass(slots=True)
class State:
    """What a store holds at a moment."""

    kept: list[Kept] = field(default_factory=list)
    lives: dict[int | None, float] = field(default_factory=dict)
    """When each unit expires."""
    ids: set[Key] = field(default_factory=set)
    stored: int = 0
    snapshots: dict[int, tuple[list[Kept], int]] = field(default_factory=dict)
    """What an append had read: what was kept, and how much had ever been stored."""
    ignored: set[int] = field(default_factory=set)
    """What was sent again and known, by `Effect.turn`."""


class Request(NamedTuple):
    """What one recall asks for."""

    limit: int | None
    asked: tuple[Key, ...] | None


def ticks(ns: int) -> int:
    """Stamps in the unit of the simulation."""
    return ns // NS_PER_MS


def replay(design: Design, effects: Sequence[Effect], now: float) -> State:
    """The store after these effects, in the order of their moments, as far as it is alive now."""
    state = State()
    for effect in effects:
        _let_go(design, state, effect.at)
        if effect.kind == "store":
            _store(design, state, effect)
        elif effect.kind == "snapshot":
            state.snapshots[effect.batch] = list(state.kept), state.stored
        elif effect.kind == "delete":
            _remove(design, state, [k for k in state.kept if effect.session in (None, k.session)])
            if not design.session_outlives and _unit(design) == "session":
                for session in [*state.lives] if effect.session is None else [effect.session]:
                    state.lives.pop(session, None)
        elif _unit(design) in ("session", "user"):
            units = [effect.session] if effect.session is not None else [*state.lives]
            for unit in units if _unit(design) == "session" else [User]:
                _touch(design, state, unit, effect.at, begins=effect.begins)
    _let_go(design, state, now)
    return state


def _unit(design: Design) -> str | None:
    return design.contract.ttl.unit if design.contract.ttl else None


def _let_go(design: Design, state: State, now: float) -> None:
    """Remove what expired."""
    ttl = design.contract.ttl
    if ttl is None:
        return
    lingers = design.sweep * ticks(ttl.granularity_ns)
    if ttl.unit == "message":
        _remove(design, state, [k for k in state.kept if k.dies is not None and k.dies + lingers <= now])
        return
    for unit, dies in [*state.lives.items()]:
        if dies + lingers <= now:
            _end(design, state, unit)


def _end(design: Design, state: State, unit: int | None) -> None:
    del state.lives[unit]
    _remove(design, state, [k for k in state.kept if unit is User or k.session == unit])


def _remove(design: Design, state: State, removed: list[Kept]) -> None:
    if removed:
        for k in removed:
            k.gone = True
            if design.forgets and isinstance(k.item, Own):
                state.ids.discard(k.item.key)
        state.kept = [k for k in state.kept if not k.gone]


def _touch(design: Design, state: State, unit: int | None, at: float, *, begins: bool) -> None:
    ttl = design.contract.ttl
    assert ttl is not None
    dies = state.lives.get(unit)
    if dies is not None and dies <= at and not design.revives:
        _end(design, state, unit)
        dies = None
    if dies is None:
        if begins:
            state.lives[unit] = at + ticks(ttl.life_ns)
    elif ttl.refresh != "none":
        state.lives[unit] = max(dies, at + ticks(ttl.life_ns))


def _store(design: Design, state: State, effect: Effect) -> None:
    contract, message, at = design.contract, effect.message, effect.at
    assert effect.session is not None
    key = (effect.device, message.seq) if message else None
    known = key in state.ids and not contract.stores_resends
    ttl = contract.ttl
    if ttl is not None and ttl.unit != "message" and (not known or design.resend_touches):
        _touch(design, state, effect.session if ttl.unit == "session" else User, at, begins=True)
        known = key in state.ids and not contract.stores_resends  # it may have gone just now
    if known:
        state.ignored.add(effect.turn)
        return
    if message and contract.roles is not None and message.role not in contract.roles and not design.keeps_all_roles:
        return
    if contract.last_writer:
        read, state.stored = state.snapshots[effect.batch]
        state.kept = [k for k in read if not k.gone]
    item: Own | Foreign = FOREIGN
    if message and key:
        state.ids.add(key)
        item = Own(*key, "stripped" if "\0" in message.text and contract.strips_nul else "intact")
    dies = at + ticks(ttl.life_ns) if ttl is not None and ttl.unit == "message" else None
    pinned = state.stored < contract.pinned
    state.stored += 1
    kept = Kept(
        item,
        message,
        effect.device,
        effect.session,
        at,
        at if effect.place is None else effect.place,
        effect.batch,
        dies,
        pinned,
    )
    state.kept.append(kept)
    if contract.last_writer:
        state.snapshots[effect.batch] = list(state.kept), state.stored  # later parts of one append go on from here
    if design.trims:
        _trim(design, state, effect.session)


def _trim(design: Design, state: State, session: int) -> None:
    """Cut the window of what was written to."""
    cut = [k for k in state.kept if design.trims == "conversation" or k.session == session]
    cut.sort(key=lambda k: k.place)
    pins = _pins(design, cut)
    left = {id(k) for k in [*pins, *_window(design, [k for k in cut if k not in pins], pins)]}
    touched = {id(k) for k in cut}
    state.kept = [k for k in state.kept if id(k) not in touched or id(k) in left]


def _pins(design: Design, ordered: Sequence[Kept]) -> list[Kept]:
    if design.pins_ever:
        return [k for k in ordered if k.pinned]
    return list(ordered[: design.contract.pinned])


def _window(design: Design, rest: Sequence[Kept], pins: Sequence[Kept]) -> list[Kept]:
    """The newest of what is not pinned."""
    contract = design.contract
    if contract.window is not None:
        return newest(rest, contract.window - (contract.pinned if design.reserves else len(pins)))
    if contract.tokens is not None:
        budget = contract.tokens - (sum(_tokens(k) for k in pins) if design.pins_in_budget else 0)
        chosen: list[Kept] = []
        for k in reversed(rest):
            budget -= _tokens(k)
            if budget < 0 and len(chosen) >= contract.keep_at_least:
                break
            chosen.insert(0, k)
        return chosen
    if contract.turns is not None:
        return _newest_turns(design, rest, contract.turns)
    return list(rest)


def _newest_turns(design: Design, rest: Sequence[Kept], turns: int) -> list[Kept]:
    if design.turns == "suffix":
        seen: set[object] = set()
        chosen: list[Kept] = []
        for k in reversed(rest):
            seen.add(_turn(k))
            if len(seen) > turns:
                break
            chosen.insert(0, k)
        return chosen
    places: dict[object, int] = {}
    for place, k in enumerate(rest):
        if design.turns == "last" or _turn(k) not in places:
            places[_turn(k)] = place
    best = set(sorted(places, key=lambda turn: places[turn])[-turns:])
    return [k for k in rest if _turn(k) in best]


def _turn(k: Kept) -> object:
    return (k.device, k.message.turn) if k.message else id(k)


def _tokens(k: Kept) -> int:
    """Its true size: somewhere between the bounds, always the same."""
    if k.message is None:
        return 0
    low, high = k.message.tokens_min, k.message.tokens_max
    return low + (high - low) * ((k.message.seq * 7 + k.device * 3) % 5) // 4


def newest(kept: Sequence[Kept], number: int) -> list[Kept]:
    """The last so many."""
    return list(kept[-number:]) if number > 0 else []


def places(contract: Contract, request: Request) -> int | None:
    """How long a list may be at most; None: as long as it is."""
    bounds = [request.limit if request.limit is not None else contract.page_default, contract.page_max]
    if request.asked is None:
        bounds.append(contract.window)
    return min((n for n in bounds if n is not None), default=None)


def cut(design: Design, kept: Sequence[Kept], request: Request, rng: Random) -> tuple[Item, ...]:
    """The list of one recall."""
    contract = design.contract
    most = places(contract, request)
    if request.asked is not None:
        return _found(kept, request.asked, most, rng)
    pins = _pins(design, kept)
    chosen = _window(design, [k for k in kept if k not in pins], pins)
    prompts: tuple[Item, ...] = (UNMARKED,) if design.prompt and most != 0 else ()
    if most is not None:
        most -= len(prompts)
        if most < contract.pinned:
            pins, chosen = [], newest(list(kept), most) if rng.random() < 0.5 else list(kept[:most])
        else:
            chosen = newest(chosen, most - (contract.pinned if design.reserves else len(pins)))
    listed = [k.item for k in sorted([*pins, *chosen], key=kept.index)]
    if not contract.ordered:
        rng.shuffle(listed)
    return (*prompts, *listed)


def _found(kept: Sequence[Kept], asked: tuple[Key, ...], most: int | None, rng: Random) -> tuple[Item, ...]:
    """What a search returns: what was asked for first, then what looked like it."""
    facts = [k.item for k in kept if isinstance(k.item, Own) and k.item.key in asked]
    others = [k.item for k in kept if k.item not in facts and rng.random() < 0.4]
    rng.shuffle(facts)
    rng.shuffle(others)
    found = [*facts, *others]
    return tuple(found if most is None else found[:most])
