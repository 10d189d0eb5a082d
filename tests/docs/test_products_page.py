"""The page about shipped products tells what its record holds, and what was read in sources stands there."""

from __future__ import annotations

import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

from benchmarks import products
from stress.targets.load import REFERENCE, find, names
from stress.targets.shipped.sources import READINGS, Statement

RECORD = products.read()
PAGE = products.PAGE.read_text(encoding="utf-8")
SHIPPED = {name: tomllib.loads(find(name).text)["target"] for name in names() if name != REFERENCE}
HOSTED = [name for name, target in SHIPPED.items() if "library" in target]
STATEMENTS = [(name, statement) for name, reading in READINGS.items() for statement in reading.statements]


def section(page: str, title: str) -> str:
    _, _, after = page.partition(f"\n## {title}\n")
    return after.partition("\n## ")[0]


def test_the_page_is_what_the_record_gives() -> None:
    assert products.page(RECORD) == PAGE


def test_every_hosted_library_is_measured_in_every_scenario_that_its_contract_allows() -> None:
    assert [product["target"] for product in RECORD] == sorted(HOSTED)
    for product in RECORD:
        judged = [scenario["name"] for scenario in product["scenarios"]]
        skipped = [scenario["scenario"] for scenario in product["skipped"]]
        assert sorted(judged + skipped) == sorted(products.SCENARIOS)
        assert skipped == ([] if "user" in product["contract"]["scope"] else ["reconnect"])


@pytest.mark.parametrize("product", RECORD, ids=lambda product: product["target"])
def test_enough_was_checked_to_say_so(product: dict[str, Any]) -> None:
    assert product["verdict"] != "inconclusive"
    for scenario in product["scenarios"]:
        assert scenario["conversations"]["checked"] >= 100


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_target_is_on_the_page(name: str) -> None:
    if name in HOSTED:
        own = section(PAGE, name)
        assert "**Contract**" in own
        assert "**Measured**" in own
        assert "**Read**" in own
        assert f"--target {name} " in own
        assert PAGE.count(f"| `{name}` |") == len(products.SCENARIOS)
    else:
        assert f"  - `{name}`: " in section(PAGE, "What was not run")
        assert f"| `{name}` |" not in PAGE


def test_what_is_not_in_the_record_is_told_to_be_not_measured() -> None:
    without = products.page([product for product in RECORD if product["target"] != "langchain-redis"])
    assert "| `langchain-redis` | | not measured |" in without
    assert "`langchain-redis`" in section(without, "What was not run")
    assert section(without, "langchain-redis") == ""


def test_losses_and_their_causes_are_told() -> None:
    (product,) = [product for product in RECORD if product["target"] == "langgraph-postgres"]
    own = section(PAGE, "langgraph-postgres")
    assert product["exit_code"] == 3
    assert "lost-update" in [cause["code"] for cause in product["causes"][:2]]
    for cause in product["causes"]:
        assert f"1. **{cause['title']}** ({cause['accounts']}). {cause['evidence_for'][0]}" in own


def test_a_run_of_one_product_replaces_its_own_and_leaves_the_others() -> None:
    old = [{"target": "a", "verdict": "pass"}, {"target": "c", "verdict": "pass"}]
    assert products.merged(old, {"target": "c", "verdict": "fail"}) == [old[0], {"target": "c", "verdict": "fail"}]
    assert [row["target"] for row in products.merged(old, {"target": "b"})] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("seconds", "fewest", "expected"), [(90, 54, 200), (5, 23, 27), (1, 0, 120), (90, 1, products.SECONDS_MAX)]
)
def test_a_run_with_too_few_conversations_is_made_again_and_longer(seconds: int, fewest: int, expected: int) -> None:
    assert products.longer(seconds, fewest, 100) == expected


def test_people_have_read_the_source_of_every_hosted_library() -> None:
    assert sorted(READINGS) == sorted(HOSTED)
    for name, reading in READINGS.items():
        assert set(reading.versions) <= set(SHIPPED[name]["packages"])


@pytest.mark.parametrize(("name", "statement"), STATEMENTS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(STATEMENTS)])
def test_what_a_source_is_said_to_say_stands_there(name: str, statement: Statement) -> None:
    source = " ".join((Path(sysconfig.get_path("purelib")) / statement.file).read_text(encoding="utf-8").split())
    for quote in statement.quotes:
        assert quote in source
