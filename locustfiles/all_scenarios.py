"""Every default scenario at once: `locust -f locustfiles/all_scenarios.py --host http://127.0.0.1:8080`."""

from stress.scenarios.rapid_switch import RapidSwitch
from stress.scenarios.reconnect import Reconnect
from stress.scenarios.two_devices import TwoDevices

__all__ = ["RapidSwitch", "Reconnect", "TwoDevices"]
