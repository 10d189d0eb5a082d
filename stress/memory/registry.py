"""Which stores and defects the reference memory has: declarations, importable without the service and its drivers.

A defect is a fault that real teams shipped, kept beside the sound code it spoils and switched on by name. Each instance
is told its own defects (``lost-update@m2``), so that a deployment can be half sound.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from goldfish.errors import UsageError
from goldfish.spec import Spec, Value

_FOLDER = Path(__file__).parent / "stores"

Settings = dict[str, dict[str, float]]
"""Defects switched on in one instance: name to all its parameters."""


class StoreKind(msgspec.Struct, frozen=True, kw_only=True):
    """One way to keep a conversation."""

    name: str
    what: str
    """One line for people."""
    code: str
    """``module:class``, imported by an instance only."""
    schema_file: str
    dump: str
    """A query over everything stored: tenant, user, session, id, role, content, seq; ordered."""

    @property
    def schema(self) -> str:
        """The SQL that creates the store's tables, run once before any instance starts."""
        return (_FOLDER / self.schema_file).read_text(encoding="utf-8")


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One number that a defect takes."""

    name: str
    default: float
    unit: str
    what: str


class Defect(msgspec.Struct, frozen=True, kw_only=True):
    """One fault that can be switched on."""

    name: str
    stores: tuple[str, ...]
    wrong: str
    """One line: what goes wrong."""
    seen_as: tuple[str, ...]
    """The anomaly classes under which a run shows it."""
    parameters: tuple[Parameter, ...] = ()


STORES = {
    store.name: store
    for store in (
        StoreKind(
            name="journal",
            what="append-only rows in PostgreSQL, one counter per user; Redis caches, and may be lost at any time",
            code="stress.memory.stores.journal:Journal",
            schema_file="journal.sql",
            dump="""select tenant, user_id as user, session_id as session, message_id as id, role, content, seq
                    from journal_message order by tenant, user_id, seq""",
        ),
        StoreKind(
            name="user-profile",
            what="the history of a user is one row in PostgreSQL, read and written whole",
            code="stress.memory.stores.user_profile:UserProfile",
            schema_file="user_profile.sql",
            dump="""select tenant, user_id as user, item->>'session' as session, item->>'id' as id,
                           item->>'role' as role, item->>'content' as content, (item->>'seq')::bigint as seq
                    from user_profile, json_array_elements(history) with ordinality as line(item, place)
                    order by tenant, user_id, place""",
        ),
    )
}

DEFECTS = {
    defect.name: defect
    for defect in (
        Defect(
            name="lost-update",
            stores=("user-profile",),
            wrong="the history is read, appended to and written back whole without a lock: of two writers one loses",
            seen_as=("lost", "gap", "tail"),
            parameters=(Parameter(name="gap_ms", default=10.0, unit="ms", what="time between the read and the write"),),
        ),
        Defect(
            name="instance-cache",
            stores=("user-profile",),
            wrong="each process serves its own copy of a user's history, which the other instances never refresh",
            seen_as=("flicker", "stale", "blank"),
            parameters=(Parameter(name="ttl", default=5.0, unit="s", what="how long a process trusts its copy"),),
        ),
    )
}


def store_named(name: str) -> StoreKind:
    """The store of this name.

    Raises:
        UsageError: there is none.
    """
    if name not in STORES:
        raise UsageError(f"unknown store '{name}': known are {_listed(STORES)}")
    return STORES[name]


def defects_of(instance: str, store: str, defects: Sequence[Spec]) -> Settings:
    """What one instance is told: its defects, every parameter filled in.

    A defect given to the instance by name replaces the same defect given to all.

    Raises:
        UsageError: a defect or a parameter is unknown, is given twice, or the store does not have it.
    """
    settings: Settings = {}
    given = set()
    for spec in sorted(defects, key=lambda spec: spec.part is not None):
        if (spec.name, spec.part) in given:
            raise UsageError(f"defect '{spec}': '{spec.name}' is given twice for the same instances")
        given.add((spec.name, spec.part))
        values = _parameters(spec, store)
        if spec.part in (None, instance):
            settings[spec.name] = values
    return settings


def _parameters(spec: Spec, store: str) -> dict[str, float]:
    offered = {name: defect for name, defect in DEFECTS.items() if store in defect.stores}
    if spec.name not in DEFECTS:
        raise UsageError(f"unknown defect '{spec.name}': known are {_listed(DEFECTS)}")
    if spec.name not in offered:
        stores = _listed(DEFECTS[spec.name].stores)
        raise UsageError(
            f"store '{store}' has no defect '{spec.name}'; try --store {stores}. '{store}' has {_listed(offered)}"
        )
    values = {parameter.name: parameter.default for parameter in offered[spec.name].parameters}
    for key, value in spec.values.items():
        if key not in values:
            raise UsageError(f"defect '{spec}': unknown parameter '{key}', known are {_listed(values)}")
        values[key] = _number(spec, key, value)
    return values


def _number(spec: Spec, key: str, value: Value) -> float:
    if isinstance(value, bool | str) or not 0 <= value < float("inf"):
        raise UsageError(f"defect '{spec}': {key} is '{value}', expected a number that is not negative")
    return float(value)


def _listed(names: object) -> str:
    return ", ".join(sorted(names)) or "none"  # type: ignore[call-overload]
