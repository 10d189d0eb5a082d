"""FastHttpUser: the same two requests over a connection that stays open."""

import sys
from pathlib import Path

from locust import FastHttpUser
from waiting import pause

sys.path.append(str(Path(__file__).parents[1] / "turns"))
from bare import turn


class Idle(FastHttpUser):
    """Appends and recalls, and looks at nothing."""

    wait_time = pause
    tasks = [turn]  # noqa: RUF012
