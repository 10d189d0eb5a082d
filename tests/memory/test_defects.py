"""Every defect shows what it is said to do, and its sound twin on the same rows does not."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from goldfish.errors import UsageError
from goldfish.spec import parse_spec
from stress.deployment import Deployment
from stress.memory.registry import DEFECTS, STORES, defects_of, store_named

from .client import Memory, fresh, instance, until


@pytest.fixture
def named(user_profile: Deployment) -> Callable[[str], Memory]:
    status = user_profile.status()
    return lambda name: instance(status, name)


def both_acknowledged_but_one_lost(memory: Memory) -> bool:
    """Whether two devices that write at once lose a message."""
    user = fresh()
    barrier = threading.Barrier(2)

    def write(text: str) -> int:
        barrier.wait()
        return memory.append(user, f"session {text}".replace(" ", "-"), text).status

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(write, ["a", "b"])) == [201, 201]
    return len(memory.user(user).contents) < 2


def test_lost_update_loses_one_of_two_messages_written_at_once(named: Callable[[str], Memory]) -> None:
    assert any(both_acknowledged_but_one_lost(named("m3")) for _ in range(20))


def test_a_locked_row_loses_neither(named: Callable[[str], Memory]) -> None:
    assert not any(both_acknowledged_but_one_lost(named("m1")) for _ in range(20))


def test_lost_update_overwrites_what_a_sound_instance_wrote_in_the_gap(named: Callable[[str], Memory]) -> None:
    def lost() -> bool:
        user = fresh()
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(named("m3").append, user, "s", "slow")
            fast = named("m1").append(user, "s", "fast")
            assert (slow.result().status, fast.status) == (201, 201)
        return named("m1").session(user, "s").contents == ["slow"]

    until(lost)


def test_lost_update_loses_nothing_of_a_single_writer(named: Callable[[str], Memory]) -> None:
    user = fresh()
    for text in "abc":
        named("m3").append(user, "s", text)
    assert named("m1").session(user, "s").contents == ["a", "b", "c"]


def test_instance_cache_serves_its_old_copy_after_another_instance_wrote(named: Callable[[str], Memory]) -> None:
    user = fresh()
    named("m1").append(user, "s", "a")
    assert named("m4").session(user, "s").contents == ["a"]
    named("m1").append(user, "s", "b")
    assert named("m4").session(user, "s").contents == ["a"]
    assert named("m4").user(user).contents == ["a"]
    assert named("m2").session(user, "s").contents == ["a", "b"]


def test_instance_cache_knows_nothing_of_a_user_it_asked_for_too_early(named: Callable[[str], Memory]) -> None:
    user = fresh()
    assert named("m4").user(user).status == 404
    named("m1").append(user, "s", "a")
    assert named("m4").user(user).status == 404
    assert named("m2").user(user).contents == ["a"]


def test_instance_cache_writes_to_the_row_and_refreshes_its_own_copy(named: Callable[[str], Memory]) -> None:
    user = fresh()
    assert named("m4").user(user).status == 404
    named("m1").append(user, "s", "a")
    named("m4").append(user, "s", "b")
    assert named("m4").session(user, "s").contents == ["a", "b"]
    assert named("m1").session(user, "s").contents == ["a", "b"]


def test_instance_cache_reads_the_row_again_once_its_copy_is_old(named: Callable[[str], Memory]) -> None:
    user = fresh()
    assert named("m5").user(user).status == 404
    named("m1").append(user, "s", "a")
    until(lambda: named("m5").user(user).status == 200)
    assert named("m5").user(user).contents == ["a"]


def test_a_defect_given_to_one_instance_is_told_to_no_other() -> None:
    defects = [parse_spec("lost-update@m2:gap_ms=5")]
    assert defects_of("m2", "user-profile", defects) == {"lost-update": {"gap_ms": 5.0}}
    assert defects_of("m1", "user-profile", defects) == {}


def test_a_defect_given_to_one_instance_replaces_the_one_given_to_all_and_defaults_are_filled_in() -> None:
    defects = [parse_spec("instance-cache@m1:ttl=1"), parse_spec("instance-cache"), parse_spec("lost-update")]
    assert defects_of("m1", "user-profile", defects) == {
        "instance-cache": {"ttl": 1.0},
        "lost-update": {"gap_ms": 10.0},
    }
    assert defects_of("m2", "user-profile", defects)["instance-cache"] == {"ttl": 5.0}


@pytest.mark.parametrize(
    ("store", "defects", "told"),
    [
        ("user-profile", ["late-delivery"], "unknown defect 'late-delivery': known are instance-cache, lost-update"),
        ("journal", ["lost-update"], "store 'journal' has no defect 'lost-update'; try --store user-profile"),
        ("user-profile", ["lost-update:gap=3"], "unknown parameter 'gap', known are gap_ms"),
        ("user-profile", ["lost-update:gap_ms=-1"], "gap_ms is '-1', expected a number"),
        ("user-profile", ["lost-update:gap_ms=soon"], "gap_ms is 'soon', expected a number"),
        ("user-profile", ["lost-update:gap_ms=nan"], "gap_ms is 'nan', expected a number"),
        ("user-profile", ["lost-update", "lost-update:gap_ms=2"], "given twice"),
        ("user-profile", ["lost-update@m7:wait=2"], "unknown parameter 'wait'"),
    ],
)
def test_a_defect_that_cannot_be_meant_is_told_with_what_is_known(store: str, defects: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        defects_of("m1", store, [parse_spec(text) for text in defects])


def test_an_unknown_store_is_told_with_what_is_known() -> None:
    with pytest.raises(UsageError, match="unknown store 'redis': known are journal, user-profile"):
        store_named("redis")


def test_every_declaration_is_complete() -> None:
    assert all(name == store.name and store.what and "create table" in store.schema for name, store in STORES.items())
    for name, defect in DEFECTS.items():
        assert name == defect.name
        assert set(defect.stores) <= set(STORES)
        assert defect.wrong
        assert defect.seen_as
        assert all(parameter.unit and parameter.what for parameter in defect.parameters)


def test_the_declarations_can_be_read_without_the_service_and_its_drivers() -> None:
    code = "import sys, stress.memory.registry; print(sorted({'aiohttp', 'asyncpg', 'redis'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
