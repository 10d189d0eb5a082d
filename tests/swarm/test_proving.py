"""A user counts when the last of the story's conversations is closed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from goldfish.contract import Budget
from stress.swarm.proving import Stories


def conversation(user: str, checked: int = 3, lossy: int = 0, wrong: int = 0, scenario: str = "a") -> Any:
    return SimpleNamespace(user_id=user, scenario=scenario, checked=checked, lossy=lossy, wrong=wrong)


def test_a_user_counts_when_the_last_conversation_is_closed() -> None:
    stories = Stories(Budget(context_loss=0.1, conversations_harmed=0.2))
    four = [conversation("ann"), conversation("ann", lossy=1), conversation("ann", wrong=2), conversation("ann", 0)]
    for each in four:
        stories.opened(each)
    stories.opened(conversation("ben"))
    for each in four[:3]:
        stories.closed(each)
    assert stories.evidence == {}
    stories.closed(four[3])
    ann = stories.evidence["a"]
    # The fourth conversation was never looked at, so it is no evidence.
    assert (ann.users, ann.conversations, ann.harmed, ann.lossy, ann.wrong) == (1, 3, 2, 1, 1)
    assert {*ann.wagers} == {"context_loss", "conversations_harmed"}


def test_scenarios_are_told_apart() -> None:
    stories = Stories(Budget())
    for name in "ab":
        for number in range(2):
            each = conversation(f"{name}{number}", scenario=name)
            stories.opened(each)
            stories.closed(each)
    assert {name: evidence.users for name, evidence in stories.evidence.items()} == {"a": 2, "b": 2}
