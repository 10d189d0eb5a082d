"""`locust -f locustfiles/rapid_switch.py --host http://127.0.0.1:8080`."""

from stress.scenarios.rapid_switch import RapidSwitch

__all__ = ["RapidSwitch"]
