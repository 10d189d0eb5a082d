"""Bare Locust: a user without a client."""

from locust import User, task
from waiting import pause


class Idle(User):
    """Does nothing."""

    wait_time = pause

    @task
    def turn(self):
        """Nothing happens."""
