"""``python -m tests.mutants [NAME…]``: try all mutants, and compare the survivors with those that are listed."""

from __future__ import annotations

import os
import sys
import time
import tomllib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from .mutations import Mutant, mutants
from .trials import BY_HISTORY, BY_TEST, BY_TIME, SURVIVED, Judged, histories, trial

ROOT = Path(__file__).parent.parent.parent
SURVIVORS = Path(__file__).with_name("survivors.toml")
FILES = (
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "goldfish/rule").glob("*.py") if path.stem != "__init__"),
    "goldfish/content.py",
    "analysis/check.py",
    "analysis/early.py",
    "analysis/elements.py",
    "analysis/fates.py",
    "analysis/guarantees.py",
    "analysis/listed.py",
    "analysis/order.py",
    "analysis/touches.py",
)
HISTORIES = 360
TOLD = {SURVIVED: "SURVIVED", BY_HISTORY: "killed by a history", BY_TEST: "killed by a test", BY_TIME: "out of time"}

_judged: Judged = []


def _one(mutant: Mutant, path: Path) -> tuple[str, int]:
    return mutant.name, trial(mutant, path, _judged)


def listed() -> dict[str, str]:
    """The survivors that are known, and why each is no fault."""
    if not SURVIVORS.exists():
        return {}
    entries = tomllib.loads(SURVIVORS.read_text(encoding="utf-8"))["survivor"]
    return {entry["mutant"]: entry["why"] for entry in entries}


def main(wanted: list[str]) -> int:
    """Try all mutants, or those of which the name contains one of these."""
    _judged.extend(histories(HISTORIES))
    every = [(mutant, ROOT / file) for file in FILES for mutant in mutants(ROOT, file)]
    tried = [(m, path) for m, path in every if not wanted or any(part in m.name for part in wanted)]
    print(f"{len(tried)} mutants, {len(_judged)} histories", flush=True)
    ends, survivors, begun = Counter[str](), [], time.monotonic()
    jobs = int(os.environ.get("JOBS", "2"))
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        for number, (name, end) in enumerate(pool.map(_one, *zip(*tried, strict=True)), 1):
            ends[TOLD.get(end, f"ended with {end}")] += 1
            if end == SURVIVED:
                survivors.append(name)
                print(f"SURVIVED {name}", flush=True)
            if number % 100 == 0:
                print(f"{number} of {len(tried)} after {time.monotonic() - begun:.0f} s: {dict(ends)}", flush=True)
    known = listed()
    unknown = [name for name in survivors if name not in known]
    names = {mutant.name for mutant, _ in every}
    gone = [name for name in known if name not in names]
    stale = [name for name in known if name in {m.name for m, _ in tried} and name not in survivors]
    print(f"{len(tried)} mutants: {dict(ends)}; {len(survivors) - len(unknown)} survivors are listed with their reason")
    for what, which in (("not listed", unknown), ("listed, but killed", stale), ("listed, but no mutant", gone)):
        for name in which:
            print(f"{what}: {name}")
    return 1 if unknown or stale or gone else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
