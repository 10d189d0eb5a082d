"""Tries every wrong version of the rule and of the checking modules.

    python -m tests.mutants [MODULE...]

Prints those that nobody notices and that `survivors.toml` does not explain, and fails if there are any. Two at a time,
each in a process of its own that is ended when it has computed for too long: an endless loop is noticed.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from .mutate import Mutant
from .run import run
from .suite import MODULES
from .survivors import key, survivors


def main(modules: list[str]) -> int:
    """Try them; 1 if some survive without an explanation."""
    began = time.monotonic()
    explained = {entry.key: entry for entry in survivors()}
    fates: list[tuple[Mutant, str]] = []
    new: list[Mutant] = []

    def told(mutant: Mutant, fate: str) -> None:
        fates.append((mutant, fate))
        if fate == "survived" and key(mutant) not in explained:
            new.append(mutant)
            print(f"survived: {mutant}\n    {mutant.function}: {mutant.text}", flush=True)

    run(modules or list(MODULES), told)
    alive_keys = {
        key(mutant) for mutant, fate in fates if fate == "survived"
    }  # of twins in one line, one may be noticed
    noticed = {key(mutant) for mutant, _ in fates}.intersection(explained) - alive_keys
    for entry in sorted(noticed):
        print("noticed, but listed as a survivor:", *entry)
    counts: dict[str, Counter[str]] = {}
    for mutant, fate in fates:
        counts.setdefault(mutant.module, Counter())[fate.partition(":")[0]] += 1
    for module, row in counts.items():
        print(
            f"{module:24} {sum(row.values()):5} mutants", *(f"{n} {what}" for what, n in sorted(row.items())), sep="  "
        )
    total = sum(counts.values(), Counter())
    alive = total["survived"]
    open_ones = sum(
        fate == "survived" and (key(m) not in explained or explained[key(m)].reason.startswith("not equivalent"))
        for m, fate in fates
    )
    print(
        f"{len(fates)} mutants, {len(fates) - alive} killed ({dict(total)}), {alive} survive, "
        f"{open_ones} of them not shown to be equivalent; {time.monotonic() - began:.0f} s"
    )
    return int(bool(new or noticed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
