"""Deployments of ours from the command line."""

from __future__ import annotations

import shlex
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from goldfish.errors import UsageError
from goldfish.spec import parse_spec
from goldfish.terminal import console

if TYPE_CHECKING:
    from stress.deployment import Deployment, Plan
    from stress.targets.host.hosted import Hosted
    from stress.targets.load import Loaded


def plan_of(
    store: str, instances: int, balance: str, defects: Sequence[str], port: int, library: Loaded | None = None
) -> Plan:
    """The plan of an embedded deployment, of a store of ours or of a library.

    Raises:
        UsageError: the embedded servers are not installed, or the plan names something unknown.
    """
    try:
        from stress.deployment import Plan
    except ImportError as error:
        raise UsageError(
            f"the embedded deployment needs the package '{error.name}': install goldfish[embedded], or give --host"
        ) from error
    return Plan(
        store=store,
        instances=instances,
        balance=balance,
        defects=tuple(parse_spec(text) for text in defects),
        port=port,
        library=_hosted(library) if library is not None else None,
    )


def _hosted(target: Loaded) -> Hosted:
    from stress.targets.host.hosted import hosted

    about = target.about
    assert about.library is not None
    return hosted(about.library, about.needs, about.packages, Path(target.source.path).parent)


@contextmanager
def deployed(plan: Plan) -> Iterator[Deployment]:
    """A deployment that is up inside the block, with a spinner while it starts."""
    from stress.deployment import Deployment

    with console(stderr=True).status("starting the deployment") as status:
        deployment = Deployment.start(plan, on_step=lambda step: status.update(Text(step)))
    with deployment:
        yield deployment


def keep_up(plan: Plan) -> int:
    """Keep a deployment up until Ctrl-C or SIGTERM."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    out = console()
    with deployed(plan) as deployment:
        out.print(Text.assemble("memory at  ", (deployment.url, "bold")))
        out.print(Text(f"{plan.what}, {plan.instances} instances, {plan.balance}"))
        if plan.defects:
            out.print(Text(f"defects    {' '.join(map(str, plan.defects))}"))
        out.print(Text(f"folder     {deployment.folder}"))
        out.print(Text(f"\ntry        {_curl(deployment.url)}\nend        Ctrl-C"), soft_wrap=True)
        told: set[str] = set()
        while not (ended.wait(0.25) or deployment.wait(0.25)):
            for part in _parts(deployment):
                if not part["alive"] and part["name"] not in told and not ended.is_set():
                    told.add(part["name"])
                    out.print(Text(f"{part['name']} ended", "yellow"))
    return 0


def _parts(deployment: Deployment) -> list[dict[str, Any]]:
    return list(deployment.status()["parts"])


def _curl(url: str) -> str:
    body = '{"messages":[{"id":"1","role":"user","content":"My order number is 4711"}]}'
    where = f"{url}/v1/users/ada/sessions/first/messages"
    return f"curl -s {where} -H 'Content-Type: application/json' -d {shlex.quote(body)} && curl -s {where}"
