"""Sound stores keep what they acknowledge, in one order, whoever writes at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from stress.deployment import Deployment

from .client import Memory, fresh, instance, said, until

Pair = tuple[Memory, Memory, Callable[[], list[dict[str, Any]]]]


@pytest.fixture(params=["journal", "user-profile"])
def two_instances(request: pytest.FixtureRequest) -> Pair:
    """Two sound instances of one memory, and its dump."""
    deployment: Deployment = request.getfixturevalue(request.param.replace("-", "_"))
    status = deployment.status()
    return instance(status, "m1"), instance(status, "m2"), deployment.dump


def together(*actions: Callable[[], Any]) -> list[Any]:
    """Run all actions, each in a thread, from the same instant on."""
    barrier = threading.Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        barrier.wait()
        return action()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


def test_two_writers_of_one_session_lose_nothing_and_agree_on_the_order(two_instances: Pair) -> None:
    one, two, dump = two_instances
    user = fresh()

    def write(memory: Memory, name: str) -> None:
        for number in range(30):
            assert memory.append(user, "s", said(f"{name}{number}"), said(f"{name}{number}+")).status == 201

    together(partial(write, one, "a"), partial(write, two, "b"))
    contents = one.session(user, "s").contents
    assert sorted(contents) == sorted(f"{name}{n}{end}" for name in "ab" for n in range(30) for end in ("", "+"))
    # A batch stays together, and each writer's own messages keep their order.
    for first, second in zip(contents[::2], contents[1::2], strict=True):
        assert second == first + "+"
    for name in "ab":
        assert [text for text in contents if text[0] == name and text[-1] != "+"] == [f"{name}{n}" for n in range(30)]
    assert two.session(user, "s").contents == contents
    assert one.user(user).contents == two.user(user).contents == contents
    assert [row["content"] for row in dump() if row["user"] == user] == contents


def test_writers_of_several_sessions_of_a_user_agree_on_one_order(two_instances: Pair) -> None:
    one, two, _ = two_instances
    user = fresh()

    def write(memory: Memory, session: str) -> None:
        for number in range(20):
            assert memory.append(user, session, f"{session}{number}").status == 201

    together(*(partial(write, memory, session) for memory, session in [(one, "a"), (two, "b"), (one, "c")]))
    messages = two.user(user).body["messages"]
    assert len(messages) == 60
    numbers = [message["seq"] for message in messages]
    assert numbers == sorted(set(numbers))
    for session in "abc":
        expected = [message["content"] for message in messages if message["session"] == session]
        assert one.session(user, session).contents == expected == [f"{session}{number}" for number in range(20)]


def test_the_first_messages_of_a_new_user_may_arrive_at_once(two_instances: Pair) -> None:
    one, two, _ = two_instances
    for _ in range(10):
        user = fresh()
        answers = together(*(partial(m.append, user, "s", t) for m, t in [(one, "a"), (two, "b"), (one, "c")]))
        assert [answer.status for answer in answers] == [201] * 3
        assert sorted(one.session(user, "s").contents) == ["a", "b", "c"]


def test_a_retry_that_overtakes_its_first_attempt_stores_once(two_instances: Pair) -> None:
    one, two, _ = two_instances
    for _ in range(10):
        user = fresh()
        batch = [said("x", "1"), said("y", "2")]
        first, second = together(*(partial(memory.append, user, "s", *batch) for memory in (one, two)))
        assert first.status == second.status == 201
        assert first.body == second.body
        assert two.session(user, "s").contents == ["x", "y"]


def test_a_delete_amid_appends_leaves_a_whole_suffix(two_instances: Pair) -> None:
    one, two, dump = two_instances
    user = fresh()
    one.append(user, "other", "kept")

    def write() -> None:
        for number in range(40):
            assert one.append(user, "s", f"{number}").status == 201

    def delete() -> None:
        for _ in range(10):
            assert two.delete(user, "s").status == 204

    together(write, delete)
    one.append(user, "s", "40")
    contents = two.session(user, "s").contents
    assert contents == [f"{number}" for number in range(41 - len(contents), 41)]
    assert two.user(user).contents == ["kept", *contents]
    assert [row["content"] for row in dump() if row["user"] == user] == ["kept", *contents]


def test_a_dump_tells_whose_each_message_is(two_instances: Pair) -> None:
    one, _, dump = two_instances
    user = fresh()
    one.append(user, "s", said("line\nbreak \\ é 🐟", "x", "assistant"), tenant="acme")
    assert [row for row in dump() if row["user"] == user] == [
        {
            "tenant": "acme",
            "user": user,
            "session": "s",
            "id": "x",
            "role": "assistant",
            "content": "line\nbreak \\ é 🐟",
            "seq": 1,
        }
    ]


def test_connections_that_the_database_ends_cost_no_acknowledged_message(journal: Deployment) -> None:
    memory = Memory(journal.url)
    user = fresh()
    acknowledged = []
    for number in range(80):
        if number % 8 == 4:
            journal._psql("-c", "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
        answer = memory.append(user, "s", said("x", f"{number}"))
        assert answer.status in (201, 503)
        if answer.status == 201:
            acknowledged.append(f"{number}")
    until(lambda: memory.session(user, "s").status == 200)
    recalled = memory.session(user, "s").ids
    assert set(acknowledged) <= set(recalled)
    assert recalled == sorted(recalled, key=int)
    assert len(acknowledged) > 30
