"""``journal`` answers from Redis where it can, and is right whatever Redis says or does."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest
import redis

from stress.deployment import Deployment
from stress.memory.stores.window import KEPT_S

from .client import Memory, fresh, instance, said, until


@pytest.fixture
def cache(journal: Deployment) -> Iterator[redis.Redis]:
    with redis.Redis(unix_socket_path=str(journal.folder / "redis.sock")) as client:
        yield client


@pytest.fixture
def balancer(journal: Deployment) -> Memory:
    return Memory(journal.url)


def served(journal: Deployment) -> dict[str, float]:
    """Recalls so far, by source, over all instances."""
    counts = {"redis": 0.0, "postgres": 0.0}
    status = journal.status()
    for name in ("m1", "m2", "m3"):
        exposition = instance(status, name).ask("GET", "/metrics").body
        for source, value in re.findall(r'goldfish_memory_recalls_total\{source="(\w+)"\} (\S+)', exposition):
            counts[source] += float(value)
    return counts


def test_redis_serves_most_recalls_of_ordinary_conversations(journal: Deployment, balancer: Memory) -> None:
    until(lambda: _redis_is_used(journal))
    before = served(journal)

    def talk(user: str) -> None:
        for turn in range(15):
            session = f"s{turn % 3}"
            balancer.append(user, session, said(f"question {turn}"), said(f"answer {turn}", role="assistant"))
            assert balancer.session(user, session).contents[-1] == f"answer {turn}"
            assert balancer.user(user, 10).contents[-1] == f"answer {turn}"

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(talk, [fresh() for _ in range(8)]))
    after = served(journal)
    share = (after["redis"] - before["redis"]) / (sum(after.values()) - sum(before.values()))
    assert share > 0.9


def test_a_recall_after_a_flush_is_whole_and_fills_the_cache_again(
    journal: Deployment, balancer: Memory, cache: redis.Redis
) -> None:
    until(lambda: _redis_is_used(journal))
    user = fresh()
    balancer.append(user, "s", "a", "b")
    cache.flushall()
    assert balancer.session(user, "s").contents == ["a", "b"]
    assert cache.exists(f"goldfish:default:{user}:s")
    balancer.append(user, "s", "c")
    assert balancer.session(user, "s").contents == ["a", "b", "c"]


def test_a_window_of_an_older_head_is_not_served(balancer: Memory, cache: redis.Redis) -> None:
    user = fresh()
    balancer.append(user, "s", "a")
    balancer.session(user, "s")
    old = cache.get(f"goldfish:default:{user}:s")
    assert isinstance(old, bytes)
    balancer.append(user, "s", "b")
    cache.set(f"goldfish:default:{user}:s", old)
    assert balancer.session(user, "s").contents == ["a", "b"]


def test_a_window_that_outlived_its_deleted_session_is_not_served(balancer: Memory, cache: redis.Redis) -> None:
    user = fresh()
    balancer.append(user, "s", "a")
    balancer.session(user, "s")
    balancer.user(user)
    keys = [f"goldfish:default:{user}:s", f"goldfish:default:{user}"]
    old = [cache.get(key) for key in keys]
    balancer.delete(user, "s")
    assert not cache.exists(*keys)
    for key, value in zip(keys, old, strict=True):
        assert isinstance(value, bytes)
        cache.set(key, value)
    assert balancer.session(user, "s").status == 404
    assert balancer.user(user).status == 404
    balancer.append(user, "s", "b")
    assert balancer.session(user, "s").contents == ["b"]
    assert balancer.user(user).contents == ["b"]


def test_with_redis_at_a_standstill_nothing_fails_and_nothing_is_missing(journal: Deployment, balancer: Memory) -> None:
    server = psutil.Process(next(part["pid"] for part in journal.status()["parts"] if part["name"] == "redis"))
    user = fresh()
    balancer.append(user, "s", "a")
    server.suspend()
    try:
        for number in range(6):
            assert balancer.append(user, "s", f"{number}").status == 201
            assert balancer.session(user, "s").contents == ["a", *map(str, range(number + 1))]
        assert balancer.ask("GET", "/readyz").status == 200
    finally:
        server.resume()
    until(lambda: _redis_is_used(journal))
    assert balancer.session(user, "s").contents == ["a", *map(str, range(6))]


def test_every_recall_under_flushes_and_stale_windows_is_a_prefix_with_all_that_was_acknowledged(
    journal: Deployment, balancer: Memory, cache: redis.Redis
) -> None:
    user = fresh()
    sessions = ["shared", "shared", "mine", "yours"]
    acknowledged: dict[str | None, list[str]] = {None: [], **{session: [] for session in sessions}}
    recalls: list[tuple[str | None, list[str], list[str]]] = []
    writing = threading.Event()

    def write(writer: int) -> None:
        session = sessions[writer]
        for number in range(120):
            message_id = f"{writer}-{number}"
            assert balancer.append(user, session, said("x", message_id)).status == 201
            acknowledged[session].append(message_id)
            acknowledged[None].append(message_id)

    def read(seed: int) -> None:
        choose = random.Random(seed)
        while not writing.is_set():
            session = choose.choice([*sessions, None])
            due = list(acknowledged[session])
            answer = balancer.user(user) if session is None else balancer.session(user, session)
            recalls.append((session, due, answer.ids if answer.status == 200 else []))

    def disturb() -> None:
        choose = random.Random(1)
        windows: list[tuple[Any, Any]] = []
        while not writing.is_set():
            keys = list(cache.scan_iter(f"goldfish:default:{user}*"))
            windows += [(key, value) for key in keys if (value := cache.get(key)) is not None]
            if windows:
                cache.set(*choose.choice(windows))
            if choose.random() < 0.3:
                cache.flushall()

    with ThreadPoolExecutor(8) as pool:
        others = [pool.submit(read, seed) for seed in range(3)] + [pool.submit(disturb)]
        try:
            list(pool.map(write, range(4)))
        finally:
            writing.set()
        for other in others:
            other.result()

    final = {session: balancer.session(user, session).ids for session in sessions}
    whole: dict[str | None, list[str]] = {**final, None: balancer.user(user).ids}
    assert sorted(whole[None]) == sorted(acknowledged[None])
    assert len(recalls) > 50
    for session, due, ids in recalls:
        assert ids == whole[session][: len(ids)]
        assert set(due) <= set(ids)


def _redis_is_used(journal: Deployment) -> bool:
    """Whether every instance asks Redis (after trouble each leaves it alone for a while)."""
    status = journal.status()
    user = fresh("probe")
    for name in ("m1", "m2", "m3"):
        memory = instance(status, name)
        memory.append(user, "s", "x")
        memory.session(user, "s")
        before = _count(memory)
        memory.session(user, "s")
        if _count(memory) == before:
            return False
    return True


def _count(memory: Memory) -> str | None:
    found = re.search(r'recalls_total\{source="redis"\} (\S+)', memory.ask("GET", "/metrics").body)
    return found and found[1]


def test_redis_keeps_what_is_talked_about_and_not_all_that_ever_was(
    journal: Deployment, balancer: Memory, cache: redis.Redis
) -> None:
    until(lambda: _redis_is_used(journal))
    user = fresh()
    for turn in range(3):
        balancer.append(user, "s0", said(f"question {turn}"))
        balancer.user(user, 10)
        balancer.session(user, "s0")
    keys = list(cache.scan_iter(match=f"goldfish:*{user}*"))
    assert len(keys) == 2
    assert all(0 < cache.ttl(key) <= KEPT_S for key in keys)
