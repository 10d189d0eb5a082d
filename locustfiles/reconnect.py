"""`locust -f locustfiles/reconnect.py --host http://127.0.0.1:8080`."""

from stress.scenarios.reconnect import Reconnect

__all__ = ["Reconnect"]
