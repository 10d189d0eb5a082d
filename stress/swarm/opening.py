"""Before any user acts: everything that can be checked is checked, and the run's plan and record are made."""

from __future__ import annotations

import json
import logging
import os
import platform
import secrets
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from goldfish.errors import UsageError
from goldfish.run import Run as Record
from goldfish.run import Skipped
from goldfish.token import Person
from stress.swarm.http import Endpoint
from stress.swarm.options import CONNECTIONS, TURNS_PER_SECOND_MAX
from stress.swarm.plan import Plan
from stress.swarm.preflight import check_target
from stress.swarm.progress import tell
from stress.targets.load import Loaded, find, load

log = logging.getLogger("goldfish")


def open_plan(options: Any, host: str | None, classes: list[Any], users: int) -> tuple[Plan, Record]:
    """Check options, contract and target, and say what the run will be.

    Args:
        options: Locust's parsed options with ours among them.
        host: the target's URL.
        classes: the user classes, scenarios among them.
        users: how many there will be.

    Raises:
        UsageError: something cannot be meant.
        TargetError: the target does not answer as its interface says.
    """
    source = find(options.goldfish_target)
    loaded = load(source)
    settings = loaded.settings(Path(options.goldfish_contract) if options.goldfish_contract else None)
    if options.goldfish_connection not in CONNECTIONS:
        raise UsageError(f"--goldfish-connection is '{options.goldfish_connection}'; known: {', '.join(CONNECTIONS)}")
    if not 0 <= options.goldfish_turns_per_second <= TURNS_PER_SECOND_MAX:
        raise UsageError(
            f"--goldfish-turns-per-second is {options.goldfish_turns_per_second:g}; expected a rate over the whole "
            f"swarm of at most {TURNS_PER_SECOND_MAX:,}, or 0 to let every user go at its own pace"
        )
    host = host or loaded.about.base_url
    if not host:
        raise UsageError("no target: give --host, e.g. the address that `goldfish up` prints")
    scenarios, skipped = [], []
    for cls in filter(is_scenario, classes):
        if cls.scope in settings.contract.scope:
            scenarios.append(cls)
        else:
            skipped.append(Skipped(scenario=cls.scenario(), reason=f"the contract offers no recall by {cls.scope}"))
    if not scenarios:
        raise UsageError("every scenario is skipped: " + "; ".join(f"{s.scenario}: {s.reason}" for s in skipped))
    meanings = {cls.scenario(): cls.meaning() for cls in sorted(scenarios, key=lambda cls: cls.scenario())}
    name, tag = _new_name()
    endpoint = Endpoint(host, loaded.manner)
    deployment = _deployment(options.goldfish_deployment)
    # Ours has this form, and if a defect empties it that is a finding, no obstacle.
    by_user = any(cls.scope == "user" for cls in scenarios) and not deployment
    patience_s = settings.contract.settle_s
    for problem in check_target(endpoint, loaded.target, Person(tag, 0, 0), by_user=by_user, patience_s=patience_s):
        log.warning(problem)
        tell("note", message=problem)
    plan = Plan(
        run=name,
        tag=tag,
        directory=str((Path(options.goldfish_out) / name).absolute()),
        host=host,
        target=source,
        timeout_s=endpoint.timeout_s,
        settings=settings,
        scenarios=tuple(meanings),
        connection=options.goldfish_connection,
        seed=options.goldfish_seed or int(tag, 36) % 1_000_000,
        owned=bool(deployment),
        users=users,
        turns=options.goldfish_turns,
        until_proven=options.goldfish_until_proven,
        turns_per_second=options.goldfish_turns_per_second,
    )
    record = Record(
        run=name,
        contract=settings.contract,
        budget=settings.budget,
        processes=[],
        started=time.time(),
        start_ns=time.monotonic_ns(),
        target=_told(loaded, endpoint) | deployment,
        seed=plan.seed,
        users=users,
        turns_per_second=plan.turns_per_second or None,
        connection=plan.connection,
        until_proven=plan.until_proven,
        scenarios=list(meanings),
        meanings=meanings,
        cancelling=sorted(cls.scenario() for cls in scenarios if cls.cancels),
        skipped=skipped,
        versions=_versions(),
        command=_command(),
        git_commit=_git_commit(),
    )
    return plan, record


def _told(loaded: Loaded, endpoint: Endpoint) -> dict[str, Any]:
    """What the record says of a target; of the reference, only where it listens."""
    told: dict[str, Any] = {"host": str(endpoint)}
    if loaded.source.text:
        told |= {"target": loaded.source.name, "about": loaded.about.about, "versions": loaded.versions}
    return told


def is_scenario(cls: Any) -> bool:
    """Whether a user class is one of ours; others may run beside them, and nothing is recorded of them."""
    return hasattr(cls, "scenario") and hasattr(cls, "scope")


def _new_name() -> tuple[str, str]:
    """A run's id and the tag that its users and tokens carry."""
    tag = "".join(secrets.choice("0123456789abcdefghijklmnopqrstuvwxyz") for _ in range(6))
    return time.strftime("%Y%m%d-%H%M%S-") + tag, tag


def _deployment(folder: str) -> dict[str, Any]:
    """What a deployment of ours says of itself."""
    if not folder:
        return {}
    try:
        plan = msgspec.json.decode((Path(folder) / "deployment.json").read_bytes())["plan"]
    except (OSError, msgspec.DecodeError, KeyError) as error:
        raise UsageError(f"{folder} is no folder of a deployment that is up: {error}") from error
    return {key: plan[key] for key in ("store", "library", "instances", "balance", "defects") if key in plan}


def _command() -> list[str]:
    """How to do the same again; a URL's credentials never get here, they are refused."""
    started_by = os.environ.get("GOLDFISH_COMMAND")
    return list(json.loads(started_by)) if started_by else ["locust", *sys.argv[1:]]


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in ("goldfish", "locust", "gevent")}}


def _git_commit() -> str | None:
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
