"""The wrong versions that nobody notices, and why not: `survivors.toml`, kept by hand."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

from .mutate import Mutant

FILE = Path(__file__).with_name("survivors.toml")


class Survivor(NamedTuple):
    """One entry; several changes of one line may share a reason."""

    module: str
    function: str
    text: str
    change: str
    reason: str
    """Why it is equivalent, or "not equivalent: not yet killed", with what would kill it."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.module, self.function, self.text, self.change


def key(mutant: Mutant) -> tuple[str, str, str, str]:
    """What an entry names a mutant by: line numbers change too often."""
    return mutant.module, mutant.function, mutant.text, mutant.change


def survivors() -> list[Survivor]:
    """All entries."""
    return [Survivor(**entry) for entry in tomllib.loads(FILE.read_text(encoding="utf-8")).get("survivor", [])]
