"""Our options on Locust's own parser, so that ``locust -f`` and its web UI know them.

The parser is rebuilt at every page load: no side effects here. Values are validated when a test starts.
"""

from __future__ import annotations

from typing import Any

TURNS_PER_SECOND_MAX = 100_000

PLAN = "goldfish_plan"
"""The option that carries the plan of a run from the master to its workers."""

CONNECTIONS = ("kept", "session", "request")


def add_options(parser: Any) -> None:
    """Add the options; ``parser`` is Locust's."""
    parser.add_argument(
        "--goldfish-out",
        type=str,
        default="runs",
        env_var="GOLDFISH_OUT",
        help="Folder that receives the run directory",
    )
    parser.add_argument(
        "--goldfish-target",
        type=str,
        default="",
        env_var="GOLDFISH_TARGET",
        help="How the memory is asked: a shipped target, a mapping (memory.toml) or an adapter (memory.py:Memory)",
    )
    parser.add_argument(
        "--goldfish-contract",
        type=str,
        default="",
        env_var="GOLDFISH_CONTRACT",
        help="File with the memory's contract and the budget (goldfish.toml)",
    )
    parser.add_argument(
        "--goldfish-connection",
        type=str,
        default="kept",
        choices=CONNECTIONS,
        env_var="GOLDFISH_CONNECTION",
        help="How long a device keeps a connection: kept, one per session, or one per request",
    )
    parser.add_argument(
        "--goldfish-turns",
        type=int,
        default=0,
        env_var="GOLDFISH_TURNS",
        help="End the run after this many turns (0: by time or by hand)",
    )
    parser.add_argument(
        "--goldfish-until-proven",
        action="store_true",
        env_var="GOLDFISH_UNTIL_PROVEN",
        help="End the run as soon as the budget is proven to be kept, or not to be",
    )
    parser.add_argument(
        "--goldfish-turns-per-second",
        type=float,
        default=0.0,
        env_var="GOLDFISH_TURNS_PER_SECOND",
        help="Open arrivals: turns per second over the whole swarm (0: every user goes at its own pace)",
    )
    parser.add_argument(
        "--goldfish-seed",
        type=int,
        default=0,
        env_var="GOLDFISH_SEED",
        help="Seed of plans and texts (0: a new one)",
    )
    parser.add_argument(
        "--goldfish-deployment",
        type=str,
        default="",
        env_var="GOLDFISH_DEPLOYMENT",
        include_in_web_ui=False,
        help="Folder of the deployment under test, if it is ours",
    )
