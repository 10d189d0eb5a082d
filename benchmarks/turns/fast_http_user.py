"""Bare FastHttpUser."""

import meter  # noqa: F401
from bare import turn
from locust import FastHttpUser, constant


class Turns(FastHttpUser):
    """The same requests by Locust's fast client."""

    wait_time = constant(0)
    tasks = [turn]  # noqa: RUF012
