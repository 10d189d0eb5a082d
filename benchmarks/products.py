"""The shipped products under load, and the page about them.

    python -m benchmarks.products [TARGET]... [-u USERS] [-t SECONDS]
    python -m benchmarks.products --page

Every hosted library is run as a user would run it, ``goldfish run SCENARIO... --target NAME``, on the embedded
deployment, one after the other. A run that checked fewer conversations of a scenario than its budget asks for is made
again, and longer. ``results/products.json`` keeps what the last run of each product proved, so naming some replaces
theirs and leaves the others; ``docs/shipped-products.md`` is made of it (``--page``: only that), of the target files,
and of what people read in the sources (``stress/targets/shipped/sources.py``).
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import jinja2

from benchmarks.record import RESULTS, machine
from goldfish import words
from goldfish.headline import accounts, headline
from goldfish.table import told
from stress.scenarios.registry import scenario_named
from stress.targets.load import REFERENCE, find, names
from stress.targets.shipped.sources import READINGS

SCENARIOS = ("rapid-switch", "two-devices", "reconnect")
USERS = 20
SECONDS = 90
SECONDS_MAX = 600
TRIES = 3
RECORD = RESULTS / "products.json"
TEMPLATE = Path(__file__).with_suffix(".md.jinja")
PAGE = Path(__file__).parents[1] / "docs" / "shipped-products.md"

Product = dict[str, Any]


class UnfinishedError(Exception):
    """A run that judged nothing."""


def measure(target: str, users: int, seconds: int) -> Product:
    """Run one product until enough conversations were checked, and tell what the last run proved.

    Raises:
        UnfinishedError: it did not come to a verdict, for example because the library is not installed.
    """
    for _ in range(TRIES):
        product = product_of(target, *_run(target, users, seconds))
        print(f"{target}: {product['headline']}", file=sys.stderr)
        fewest = min(scenario["conversations"]["checked"] for scenario in product["scenarios"])
        if fewest >= product["conversations_min"] or seconds == SECONDS_MAX:
            break
        seconds = longer(seconds, fewest, product["conversations_min"])
    return product


def longer(seconds: int, fewest: int, enough: int) -> int:
    """How long a run has to be, if one of so many seconds checked too few conversations; with a reserve of a fifth."""
    return min(SECONDS_MAX, math.ceil(1.2 * seconds * enough / max(fewest, 1)))


def _run(target: str, users: int, seconds: int) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """One run: its exit code, results.json and run.json."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*SCENARIOS, "--target", target, "-u", str(users), "-t", str(seconds), "--json"]
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "goldfish", "run", *command, "--out", folder],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        try:
            results = json.loads(ended.stdout)
            (run,) = Path(folder).glob("*/run.json")
            return ended.returncode, results, json.loads(run.read_bytes())
        except ValueError:
            raise UnfinishedError(f"{target}: exit code {ended.returncode}; nothing was judged") from None


def product_of(target: str, exit_code: int, results: dict[str, Any], run: dict[str, Any]) -> Product:
    """What is kept of a run: what it was, what it proved, and what it says about the cause."""
    return {
        "target": target,
        "measured": time.strftime("%Y-%m-%d", time.gmtime(run["started"])),
        "machine": machine(),
        "goldfish": run["versions"]["goldfish"],
        "versions": run["target"]["versions"],
        "command": run["command"],
        "deployment": {"instances": run["target"]["instances"], "balance": run["target"]["balance"]},
        "contract": results["contract"],
        "owed": told(results),
        "verdict": results["verdict"],
        "exit_code": exit_code,
        "headline": headline(results),
        "confidence": results["budget"]["confidence"],
        "conversations_min": results["budget"]["min_conversations"],
        "power": results["power"],
        "scenarios": [_scenario(scenario) for scenario in results["scenarios"]],
        "skipped": results["skipped"],
        "causes": [
            {
                **{key: cause[key] for key in ("code", "title", "explains", "evidence_for", "evidence_against")},
                "accounts": accounts(cause, results["scenarios"]),
            }
            for cause in results["causes"]
        ],
        "reasons": [{key: reason[key] for key in ("code", "scenario")} for reason in results["reasons"]],
    }


def _scenario(scenario: dict[str, Any]) -> dict[str, Any]:
    requests: Counter[str] = Counter()
    for outcomes in scenario["requests"].values():
        requests.update(outcomes)
    kept = ("name", "recalls", "conversations", "messages", "anomalies", "final_recalls")
    return {key: scenario[key] for key in kept} | {"requests": dict(requests)}


def merged(record: list[Product], new: Product) -> list[Product]:
    """The record with this product in the place of what was known of it, sorted by name."""
    others = [product for product in record if product["target"] != new["target"]]
    return sorted([*others, new], key=lambda product: str(product["target"]))


def read() -> list[Product]:
    """The record; empty if there is none yet."""
    return list(json.loads(RECORD.read_bytes())["products"]) if RECORD.exists() else []


def page(record: list[Product]) -> str:
    """The page in Markdown. What is not in the record is said to be not measured."""
    shipped = {name: tomllib.loads(find(name).text)["target"] for name in names() if name != REFERENCE}
    hosted = [name for name, target in shipped.items() if "library" in target]
    environment = jinja2.Environment(
        autoescape=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    known = {product["target"]: product for product in record}
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        products=[known[name] for name in hosted if name in known],
        missing=[name for name in hosted if name not in known],
        about={name: target["about"].rstrip(".") for name, target in shipped.items()},
        servers=[name for name in shipped if name not in hosted],
        stories=[scenario_named(name) for name in SCENARIOS],
        notes={name: _notes(find(name).text) for name in hosted},
        readings=READINGS,
        share=words.share,
        span=words.span,
        count=words.count,
    )


def _notes(file: str) -> list[str]:
    """What a target's file says beside its contract: one text for each block of comments below ``[contract]``."""
    _, _, below = file.partition("[contract]\n")
    blocks: list[list[str]] = [[]]
    for line in below.splitlines():
        if line.startswith("#"):
            blocks[-1].append(line.lstrip("# "))
        elif blocks[-1]:
            blocks.append([])
    return [" ".join(block) for block in blocks if block]


def main() -> None:
    """Run, keep, and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.products", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(READINGS) + " (default: all)")
    parser.add_argument("-u", "--users", type=int, default=USERS)
    parser.add_argument("-t", "--time", type=int, default=SECONDS, help="seconds of the first try")
    parser.add_argument("--page", action="store_true", help="only make the page, from the record")
    given = parser.parse_args()
    if unknown := set(given.targets) - set(READINGS):
        parser.error(f"{', '.join(unknown)}: expected some of {', '.join(READINGS)}")
    failed = False
    if not given.page:
        for target in given.targets or READINGS:
            try:
                record = merged(read(), measure(target, given.users, given.time))
            except UnfinishedError as error:
                print(error, file=sys.stderr)
                failed = True
                continue
            # After each: a product that took its time is not lost with the next one's failure.
            RECORD.write_text(json.dumps({"products": record}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(read()), encoding="utf-8")
    print(PAGE)
    sys.exit(failed)


if __name__ == "__main__":
    main()
