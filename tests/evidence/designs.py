"""Contracts and stores at random: what is promised, and which of the freedoms that leaves a store takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from .histories import NS_PER_MS, Contract, Level, Refresh, Ttl, Unit
from .store import Design

T = TypeVar("T")
Draw = Callable[[], float]

LEVELS: tuple[Level, ...] = ("session", "user", "tenant")
KEPT_APART: tuple[frozenset[Level], ...] = (frozenset({"user", "tenant"}), frozenset({"tenant"}), frozenset())


def choose(draw: Draw, *values: T) -> T:
    """One of these."""
    return values[int(draw() * len(values))]


def draw_design(draw: Draw) -> Design:
    """A store and its contract; one in four is of those that are hardest to judge."""
    if draw() < 0.75:
        return draw_store(draw, draw_contract(draw))
    return choose(draw, *HARD)(draw)


def lets_go(draw: Draw) -> Design:
    """A small window, cut when it is written to, from which messages go."""
    ttl = draw_ttl(draw) if draw() < 0.5 else None
    contract = Contract(window=1 + int(draw() * 3), ttl=ttl, pinned=0)
    return replace(draw_store(draw, contract), trims="conversation")


def interrupts_turns(draw: Draw) -> Design:
    """Turns that are cut when other turns are written, and may go on afterwards."""
    contract = Contract(turns=1 + int(draw() * 4))
    return replace(draw_store(draw, contract), trims="conversation", turns=choose(draw, "first", "first", "suffix"))


def pins_in_sessions(draw: Draw) -> Design:
    """Tokens, and first messages that are kept for each session."""
    contract = Contract(
        tokens=8 + int(draw() * 40), pinned=1 + int(draw() * 2), ttl=draw_ttl(draw) if draw() < 0.4 else None
    )
    return replace(draw_store(draw, contract), trims="session", pins_in_budget=True, pins_ever=False)


def refreshes_late(draw: Draw) -> Design:
    """An expiry that a replica is told of late."""
    contract = Contract(
        visibility_ns=(5 + int(draw() * 30)) * NS_PER_MS,
        ttl=Ttl((12 + int(draw() * 30)) * NS_PER_MS, choose(draw, "session", "user"), choose(draw, "write", "read")),
    )
    return draw_store(draw, contract)


HARD: tuple[Callable[[Draw], Design], ...] = (lets_go, interrupts_turns, pins_in_sessions, refreshes_late)


def draw_store(draw: Draw, contract: Contract) -> Design:
    """A store for a contract."""
    windowed = contract.window is not None or contract.turns is not None or contract.tokens is not None
    return Design(
        contract,
        per_message=draw() < 0.5 and not contract.last_writer,
        stale_clock=draw() < 0.5,
        trims=choose(draw, "conversation", "session") if windowed and draw() < 0.4 else None,
        prompt=contract.unmarked == "allow" and draw() < 0.9,
        pins_ever=draw() < 0.5,
        reserves=draw() < 0.5,
        pins_in_budget=draw() < 0.5,
        turns=choose(draw, "suffix", "first", "last"),
        keeps_all_roles=draw() < 0.3,
        forgets=draw() < 0.5,
        sweep=choose(draw, 0.0, 0.5, 1.0),
        revives=draw() < 0.5,
        resend_touches=draw() < 0.5,
        session_outlives=draw() < 0.5,
    )


def draw_contract(draw: Draw) -> Contract:
    """What is promised: each promise is left out now and then, several at once rarely enough to be owed something."""
    unit = draw()
    window = 1 + int(draw() * 8) if unit < 0.4 else None
    turns = 1 + int(draw() * 4) if 0.4 <= unit < 0.52 else None
    tokens = 5 + int(draw() * 60) if 0.52 <= unit < 0.7 else None
    pinned = choose(draw, 0, 0, 0, 1, 1, 2, 3) if unit < 0.7 else 0
    if window is not None:
        pinned = min(pinned, window - 1)
    page_default = 1 + int(draw() * 8) if draw() < 0.15 else None
    page_max = (page_default or 1) + int(draw() * 6) if draw() < 0.12 else None
    ordered = pinned > 0 or draw() < 0.92
    return Contract(
        window=window,
        turns=turns,
        tokens=tokens,
        pinned=pinned,
        keep_at_least=1 + int(draw() * 3) if tokens is not None and draw() < 0.5 else 0,
        page_default=page_default,
        page_max=page_max,
        ttl=draw_ttl(draw) if draw() < 0.35 else None,
        visibility_ns=(1 + int(draw() * 30)) * NS_PER_MS if draw() < 0.3 else 0,
        slack_ns=(1 + int(draw() * 15)) * NS_PER_MS if ordered and draw() < 0.15 else 0,
        ordered=ordered,
        stores_resends=draw() < 0.15,
        last_writer=draw() < 0.1,
        roles=frozenset({choose(draw, "user", "assistant")}) if draw() < 0.1 else None,
        isolation=choose(draw, *KEPT_APART) if draw() < 0.08 else frozenset(LEVELS),
        unmarked="allow" if draw() < 0.08 else "forbid",
        strips_nul=draw() < 0.08,
    )


def draw_ttl(draw: Draw) -> Ttl:
    """An expiry that some conversations outlive."""
    unit: Unit = choose(draw, "session", "session", "user", "message")
    refresh: Refresh = "none" if unit == "message" else choose(draw, "write", "write", "read", "read", "none")
    life = choose(draw, 12, 30, 60, 120)
    granularity = int(draw() * 20) if draw() < 0.4 else 0
    return Ttl((life + int(draw() * 10)) * NS_PER_MS, unit, refresh, granularity * NS_PER_MS)
