"""`locust -f locustfiles/two_devices.py --host http://127.0.0.1:8080`."""

from stress.scenarios.two_devices import TwoDevices

__all__ = ["TwoDevices"]
