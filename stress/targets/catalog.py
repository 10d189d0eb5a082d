"""The targets that are shipped, told from their files: nothing is imported, and no secret is needed."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import msgspec

from goldfish.contract import Budget, in_words, load_settings
from stress.targets.load import REFERENCE, SHIPPED, names
from stress.targets.mapping.file import TargetFile

ABOUT_REFERENCE = "The reference interface (docs/http-interface.md), and the memory that speaks it, which we start."
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Shipped(msgspec.Struct, frozen=True, kw_only=True):
    """A target that is shipped."""

    name: str
    kind: str
    """ "reference", "mapping", "adapter" or "library"."""
    about: str
    contract: str
    """What it promises, in words."""
    packages: tuple[str, ...] = ()
    """Which are tested, and have to be installed."""
    needs: tuple[str, ...] = ()
    """What a library keeps its data in."""
    variables: tuple[str, ...] = ()
    """Of the environment, that have to be set."""


def shipped() -> list[Shipped]:
    """All of them, the reference first."""
    return [_reference() if name == REFERENCE else _described(name) for name in names()]


def _reference() -> Shipped:
    return Shipped(
        name=REFERENCE,
        kind="reference",
        about=ABOUT_REFERENCE,
        contract=in_words(load_settings(None).contract, Budget()),
    )


def _described(name: str) -> Shipped:
    text = (SHIPPED / f"{name}.toml").read_text(encoding="utf-8")
    raw = tomllib.loads(text)
    file = msgspec.convert(raw, TargetFile, strict=True)
    about = file.target
    by_user = file.recall_user is not None or about.adapter is not None or about.library is not None
    promised: dict[str, dict[str, Any]] = {table: dict(raw[table]) for table in ("contract", "budget") if table in raw}
    if not by_user:
        promised["contract"] = {"scope": ["session"], **promised.get("contract", {})}
    settings = load_settings(None, promised, f"{name}.toml", text)
    set_lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return Shipped(
        name=name,
        kind="library" if about.library else "adapter" if about.adapter else "mapping",
        about=about.about,
        contract=in_words(settings.contract, settings.budget),
        packages=about.packages,
        needs=about.needs,
        variables=tuple(dict.fromkeys(_VARIABLE.findall(set_lines))),
    )
