"""``NAME[@PART][:KEY=VALUE[,KEY=VALUE]…]``: how defects (and later faults) are named on the command line."""

from __future__ import annotations

import re

import msgspec

from goldfish.errors import UsageError

Value = bool | int | float | str

_FORM = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)(?:@(?P<part>[a-z0-9][a-z0-9-]*))?(?::(?P<rest>.*))?\Z")


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """One parsed specification; ``part`` names an instance (``m2``) or another part, None means all it applies to."""

    name: str
    part: str | None = None
    values: dict[str, Value] = msgspec.field(default_factory=dict)

    def __str__(self) -> str:
        part = f"@{self.part}" if self.part else ""
        rest = ",".join(f"{key}={value}" for key, value in self.values.items())
        return f"{self.name}{part}{':' + rest if rest else ''}"


def parse_spec(text: str) -> Spec:
    """Read one specification.

    Raises:
        UsageError: the text has another form.
    """
    form = _FORM.match(text.strip())
    if form is None:
        raise UsageError(f"'{text}' is no specification: expected NAME[@PART][:KEY=VALUE,…], e.g. lost-update:gap_ms=5")
    values: dict[str, Value] = {}
    for pair in filter(None, (form["rest"] or "").split(",")):
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"'{pair}' in '{text}': expected KEY=VALUE")
        values[key.strip()] = _value(value.strip())
    return Spec(name=form["name"], part=form["part"], values=values)


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)
