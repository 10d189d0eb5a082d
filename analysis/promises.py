"""The contract clause by clause: what is declared, and what the memory behaves like."""

from __future__ import annotations

from typing import Any

import msgspec

from analysis.causes.effective import EffectiveContract
from analysis.report.model import Promise
from goldfish.contract import Contract


def promises(contract: Contract, effective: EffectiveContract | None) -> list[Promise]:
    """Every clause, as it would stand in goldfish.toml."""
    behaves: dict[str, str] = {}
    if effective is not None and effective.window_messages is not None:
        behaves["window"] = f"{{messages = {effective.window_messages}}}"
    if effective is not None and effective.visibility_ms is not None:
        behaves["visibility_ms"] = f"{effective.visibility_ms:g}"
    if effective is not None and effective.ttl is not None:
        behaves["ttl"] = _toml(effective.ttl)
    return [
        Promise(name=name, declared=_toml(getattr(contract, name)), behaves=behaves.get(name))
        for name in contract.__struct_fields__
    ]


def _toml(value: Any) -> str:
    """A value as TOML; of a table only what is not as it is anyway."""
    if value is None:
        return "not set"
    if isinstance(value, msgspec.Struct):
        set_keys = {
            field.name: getattr(value, field.name)
            for field in msgspec.structs.fields(value)
            if getattr(value, field.name) != field.default
        }
        inner = ", ".join(f"{name} = {_toml(part)}" for name, part in set_keys.items() if part is not None)
        return f"{{{inner}}}" if inner else "not set"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:g}" if isinstance(value, float) else str(value)
