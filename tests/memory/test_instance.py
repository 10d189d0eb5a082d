"""One instance as a process: what it counts, and how it behaves when the database does not answer."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from goldfish.errors import DeploymentError
from goldfish.spec import parse_spec
from stress.deployment import Deployment, Plan

from .client import Memory, fresh, instance, until


@pytest.fixture(scope="module")
def without_database() -> Iterator[Deployment]:
    """A deployment that has stored something and whose PostgreSQL was killed."""
    with Deployment.start(Plan(instances=1)) as deployment:
        memory = instance(deployment.status(), "m1")
        assert memory.append("u", "s", "a").status == 201
        assert memory.session("u", "s").contents == ["a"]
        postgres = psutil.Process(next(p["pid"] for p in deployment.status()["parts"] if p["name"] == "postgres"))
        postgres.send_signal(signal.SIGQUIT)
        until(lambda: not next(p["alive"] for p in deployment.status()["parts"] if p["name"] == "postgres"))
        yield deployment


def test_without_database_nothing_is_acknowledged_or_recalled_even_if_redis_knows(without_database: Deployment) -> None:
    memory = instance(without_database.status(), "m1")
    for answer in (
        memory.append("u", "s", "b"),
        memory.session("u", "s"),
        memory.user("u"),
        memory.delete("u", "s"),
        memory.ask("GET", "/readyz"),
    ):
        assert (answer.status, answer.code) == (503, "store-unavailable")
        assert answer.headers["X-Memory-Instance"] == "m1"


def test_a_message_for_clients_tells_no_address_or_statement(without_database: Deployment) -> None:
    message = instance(without_database.status(), "m1").session("u", "s").body["error"]["message"]
    assert not re.search(r"postgres|host|sock|select|/tmp|" + without_database.folder.name, message, re.IGNORECASE)


def test_without_database_an_instance_is_alive_but_not_ready(without_database: Deployment) -> None:
    memory = instance(without_database.status(), "m1")
    assert memory.ask("GET", "/healthz").status == 200
    assert memory.ask("GET", "/readyz").status == 503


def test_with_no_instance_ready_the_balancer_answers_in_the_same_form(without_database: Deployment) -> None:
    balancer = Memory(without_database.url)
    until(lambda: balancer.session("u", "s").code == "no-instance")
    assert balancer.append("u", "s", "b").status == 503


def test_a_dump_without_database_is_an_error_with_the_reason(without_database: Deployment) -> None:
    with pytest.raises(DeploymentError, match=r"the dump failed: .*connection"):
        without_database.dump()


def test_metrics_count_requests_by_method_route_and_status(journal: Deployment) -> None:
    memory = instance(journal.status(), "m1")

    def count(**labels: str) -> float:
        wanted = ",".join(f'{name}="{value}"' for name, value in labels.items())
        found = re.search(rf"goldfish_memory_requests_total\{{{wanted}\}} (\S+)", memory.ask("GET", "/metrics").body)
        return float(found[1]) if found else 0.0

    def counts() -> list[float]:
        return [
            count(method="POST", route="session-messages", status="201"),
            count(method="GET", route="user-messages", status="200"),
            count(method="GET", route="session-messages", status="404"),
            count(method="other", route="unknown", status="404"),
        ]

    before = counts()
    user = fresh()
    memory.append(user, "s", "a")
    memory.user(user)
    memory.user(user)
    memory.session(user, "other")
    memory.ask("PATCH", "/coffee")
    assert [after - earlier for after, earlier in zip(counts(), before, strict=True)] == [1, 2, 1, 1]


def test_every_metric_has_the_projects_prefix_and_both_operations_have_a_latency(journal: Deployment) -> None:
    memory = instance(journal.status(), "m1")
    user = fresh()
    memory.append(user, "s", "a")
    memory.session(user, "s")
    exposition: str = memory.ask("GET", "/metrics").body
    lines = [line for line in exposition.splitlines() if not line.startswith("#")]
    assert all(line.startswith("goldfish_memory_") for line in lines)
    for operation in ("append", "recall"):
        assert f'goldfish_memory_latency_seconds_bucket{{le="0.005",operation="{operation}"}}' in exposition


def test_an_instance_that_is_told_to_end_answers_what_it_has_begun() -> None:
    # The gap of lost-update keeps the request in flight while the signal arrives.
    with Deployment.start(
        Plan(store="user-profile", instances=1, defects=(parse_spec("lost-update:gap_ms=400"),))
    ) as deployment:
        status = deployment.status()
        memory = instance(status, "m1")
        process = psutil.Process(next(part["pid"] for part in status["parts"] if part["name"] == "m1"))
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(memory.append, "u", "s", "a")
            until(lambda: _in_transaction(deployment))
            process.terminate()
            assert answer.result().status == 201
        until(lambda: not next(part["alive"] for part in deployment.status()["parts"] if part["name"] == "m1"))
        assert [row["content"] for row in deployment.dump()] == ["a"]


def _in_transaction(deployment: Deployment) -> bool:
    """Whether an instance is between its read and its write."""
    count = "select count(*) from pg_stat_activity where state = 'idle in transaction'"
    return deployment._psql("-c", count).stdout.strip() != b"0"
