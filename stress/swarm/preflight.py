"""Before any load: does the target answer as its interface says?

One turn is appended, recalled and deleted. A target that fails here would otherwise look like a memory that loses
everything.
"""

from __future__ import annotations

import time

import gevent

from goldfish.token import PREFIX, Person
from stress.swarm.alone import Alone
from stress.swarm.http import Endpoint
from stress.targets.target import Item, Target

QUESTION = "Can you remember this? · 你记得吗？ · 🐠"
ANSWER = "Yes: I remember it. · 记得。"
AGAIN_S = 0.1
PATIENCE_S = 3.0


def check_target(endpoint: Endpoint, target: Target, person: Person, *, by_user: bool, patience_s: float) -> list[str]:
    """Append, recall and delete one turn; returns what is odd but no obstacle.

    Args:
        endpoint: where the memory listens.
        target: how it is asked.
        person: the test user; nobody else may be this one.
        by_user: some scenario recalls everything of a person.
        patience_s: how long a message may take to show up, where its absence means that the list is misread.

    Raises:
        TargetError: what was asked, what was expected, what came, what to try.
    """
    # A load that is to take five seconds should not wait longer for an address where nobody answers.
    alone = Alone(endpoint, target, person, PATIENCE_S if target.replies == "ours" else endpoint.timeout_s)
    messages = alone.say(0, [(QUESTION, ANSWER)])
    try:
        items = look_back(alone, messages, patience_s)
        if by_user and items:
            step = alone.recall(0, by_user=True)
            if step.outcome != "ok" or step.status == 404:
                raise alone.failure(step)
    finally:
        deleted = alone.delete(0) if target.deletes else None
    if deleted is None or deleted.outcome != "ok" or deleted.status == 404:
        told = "no way is known"
        if deleted is not None:
            told = f"status {deleted.status}" if deleted.status else deleted.detail
        return [
            f"the memory does not delete a session ({told}): the sessions of test users, {PREFIX}-…, will stay in it"
        ]
    return []


def look_back(alone: Alone, messages: list[Item], patience_s: float) -> list[Item]:
    """What is listed of session 0, which must be readable.

    Raises:
        TargetError: it is not.
    """
    until_s = time.monotonic() + patience_s
    while True:
        step = alone.need(alone.recall(0))
        answer = step.exchanges[-1].answer
        assert step.items is not None
        assert answer is not None
        advice = alone.target.misread(messages, step.items, answer)
        if advice is None:
            return step.items
        if step.items or time.monotonic() > until_s:
            raise alone.failure(step, advice)
        gevent.sleep(AGAIN_S)
