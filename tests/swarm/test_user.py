"""A story is told again and again; what one user holds has a bound. In a process of its own: Locust patches sockets."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

DRIVER = """
import json
from types import SimpleNamespace
from locust.env import Environment
from goldfish.contract import Settings
from goldfish.token import Person
from stress.swarm import lifecycle
from stress.swarm.user import MemoryUser
from stress.targets.reference import ReferenceTarget

told = {"stories": 0, "ended": 0, "open_max": 0, "turns": 0}
open_now = []

class Run:
    seed, accepts_turns, pacer = 1, True, None
    plan = SimpleNamespace(scenarios=("endless",))
    closing = SimpleNamespace(behind=False)
    settings, target = Settings(), ReferenceTarget()
    def turn_begins(self):
        pass
    def turn_ended(self):
        pass
    def next_person(self):
        return Person("aaaaaa", 0, told["stories"])
    def opened(self, conversation):
        open_now.append(conversation)
        told["open_max"] = max(told["open_max"], len(open_now))
    def ended(self, conversation):
        open_now.remove(conversation)
        told["ended"] += 1

class Endless(MemoryUser):
    '''Someone who never ends.'''

    turns_max = 5
    def story(self):
        told["stories"] += 1
        while True:
            self.session()
            told["turns"] += 1
            yield

run = Run()
lifecycle.current = lambda: run
user = Endless(Environment())
"""


def driven(program: str) -> dict[str, Any]:
    ended = subprocess.run([sys.executable, "-c", DRIVER + program], capture_output=True, text=True, check=True)
    return dict(json.loads(ended.stdout))


def test_an_endless_story_is_told_anew() -> None:
    told = driven("[user.turn() for _ in range(23)]; print(json.dumps(told))")
    assert told == {"stories": 5, "ended": 20, "open_max": 5, "turns": 23}


def test_no_story_begins_while_too_many_conversations_wait_to_be_closed() -> None:
    told = driven("""
user.turn()
run.closing.behind = True
for _ in range(6):
    user.turn()
print(json.dumps(told))
""")
    assert (told["stories"], told["turns"]) == (1, 5)
