"""Bare HttpUser."""

import meter  # noqa: F401
from bare import turn
from locust import HttpUser, constant


class Turns(HttpUser):
    """The same requests by Locust's default client."""

    wait_time = constant(0)
    tasks = [turn]  # noqa: RUF012
