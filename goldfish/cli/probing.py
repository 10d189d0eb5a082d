"""``goldfish probe``: one user alone, step by step."""

from __future__ import annotations

import secrets
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from rich.table import Table
from rich.text import Text

from goldfish.errors import UsageError
from goldfish.terminal import console, emit
from goldfish.words import visible

if TYPE_CHECKING:
    from stress.swarm.alone import Exchange, Step
    from stress.swarm.http import Endpoint
    from stress.swarm.probe import Probe

BODY_CHARS = 240
READ_BYTES = 128 * 1024
SHOWN = 4
"""Steps that are shown whole: one turn, and what a session needs before it. The rest are many of a kind."""
SHOWN_OF_FAILED = 8
"""The last steps that are shown where one failed."""


def probe(target: str, host: str | None, contract: Path | None, *, as_json: bool, every_step: bool) -> int:
    """Probe a target; 0 if a load makes sense, 2 if not.

    Raises:
        UsageError: the target cannot be made, or has no address.
    """
    from goldfish.cli.deployment import deployed, plan_of
    from stress.targets.load import find, load

    source = find(target)
    loaded = load(source)
    settings = loaded.settings(contract)
    address = host or loaded.about.base_url
    library = loaded if loaded.about.library is not None else None
    if address is None and library is None and loaded.source.text:
        raise UsageError(f"no address: {target} needs --host URL, or base_url under [target]")
    plan = plan_of("journal", 3, "round-robin", (), 0, library) if address is None else None
    with deployed(plan) if plan is not None else nullcontext() as ours:
        import gevent

        from goldfish.token import Person
        from stress.swarm.answer import name_instances_by
        from stress.swarm.http import Endpoint
        from stress.swarm.probe import Probe

        endpoint = Endpoint(address or (ours.url if ours is not None else ""), loaded.manner)
        name_instances_by(loaded.about.instance_header)
        gevent.get_hub().exception_stream = None  # an interrupt is told once, by us
        tag = "".join(secrets.choice("0123456789abcdefghijklmnopqrstuvwxyz") for _ in range(6))
        found = Probe(endpoint, loaded.target, Person(tag, 0, 0), settings.contract, loaded.contract_at(contract))
        with console(stderr=True).status("probing") as status:
            found.run(lambda what: status.update(f"probing: {what}"))
    if as_json:
        emit(msgspec.json.format(msgspec.json.encode(_told(found, endpoint)), indent=2).decode())
    else:
        _show(found, endpoint, every_step=every_step)
    return 0 if found.fits else 2


def _show(found: Probe, endpoint: Endpoint, *, every_step: bool) -> None:
    out = console()
    steps = found.alone.steps if every_step or found.problem else found.alone.steps[:SHOWN]
    if found.problem and not every_step:
        steps = steps[-SHOWN_OF_FAILED:]
    for step in steps:
        for exchange in step.exchanges:
            out.print(_exchange(step, exchange, endpoint), soft_wrap=True)
    left = len(found.alone.steps) - len(steps)
    if left:
        out.print(Text(f"… and {left} more steps; --all shows them", style="dim"))
    if found.problem:
        out.print(Text(f"\n{found.problem}", style="bold"), soft_wrap=True)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("", "promise", "seen", "the contract says"):
        table.add_column(title)
    for seen in found.observations:
        sign = {True: "✓", False: "✗", None: "·"}[seen.fits]
        style = {True: "green", False: "bold red", None: "dim"}[seen.fits]
        table.add_row(Text(sign, style=style), seen.promise, visible(seen.seen), seen.declared)
    out.print()
    out.print(table)
    if any(seen.fits is None for seen in found.observations):
        out.print(Text("·  the contract says nothing of it, or it was not tested", style="dim"))
    for seen in found.observations:
        if seen.fits is False:
            out.print(
                Text(f"\n✗ {seen.promise}: {visible(seen.seen)}; the contract says {seen.declared}", style="bold"),
                soft_wrap=True,
            )
            if seen.at:
                out.print(Text(f"  written: {visible(seen.at)}"), soft_wrap=True)
            if seen.advice:
                out.print(Text(f"  try: {seen.advice}"), soft_wrap=True)
    good = "the target answers as the contract says: a load makes sense"
    bad = "under load, what does not fit would look like a loss: change the mapping, the contract, or the memory"
    out.print(Text(f"\n{good if found.fits else bad}", style="bold"), soft_wrap=True)


def _exchange(step: Step, exchange: Exchange, endpoint: Endpoint) -> Text:
    request, answer = exchange.request, exchange.answer
    text = Text()
    text.append(f"{step.name:10} ", "bold")
    text.append(f"{request.method} {endpoint}{endpoint.mask(request.path)}\n")
    for line in endpoint.mask(request.headers).splitlines():
        text.append(f"           {visible(line)}\n", "dim")
    if request.body:
        text.append(f"           → {_excerpt(request.body, endpoint)}\n")
    if answer is not None:
        instance = f" from {visible(answer.instance)}" if answer.instance else ""
        text.append(f"           ← {answer.status}{instance} {_excerpt(answer.body, endpoint)}")
    else:
        text.append(f"           ← no answer: {endpoint.mask(str(exchange.error))}", "red")
    return text


def _excerpt(body: bytes, endpoint: Endpoint) -> str:
    # Masked before it is cut: the first part of a secret is one, too.
    shown = visible(endpoint.mask(body[:READ_BYTES].decode("utf-8", "replace")))
    return shown if len(shown) <= BODY_CHARS else f"{shown[:BODY_CHARS]}… ({len(body):,} bytes)"


def _told(found: Probe, endpoint: Endpoint) -> dict[str, Any]:
    return {
        "fits": found.fits,
        "problem": found.problem,
        "observations": found.observations,
        "steps": [
            {
                "step": step.name,
                "outcome": step.outcome,
                "requests": [
                    {
                        "method": exchange.request.method,
                        "path": endpoint.mask(exchange.request.path),
                        "status": exchange.answer.status if exchange.answer is not None else None,
                    }
                    for exchange in step.exchanges
                ],
            }
            for step in found.alone.steps
        ],
    }
