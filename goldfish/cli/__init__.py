"""The command ``goldfish``. Neither Locust nor pandas is imported here: both run in processes of their own."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from goldfish.cli.share import Share
from goldfish.errors import GoldfishError
from goldfish.interrupt import take_interrupts
from goldfish.terminal import mend_streams
from goldfish.words import visible

if TYPE_CHECKING:
    from stress.targets.load import Loaded

_INSTANCES = click.IntRange(1, 16)
_BALANCE = click.Choice(["round-robin", "sticky", "random"])
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="goldfish")
def cli() -> None:
    """Tells whether the memory behind a conversational AI loses, delays, mixes up or leaks what users said, under load.

    Exit codes: 0 pass · 1 pass, but too many requests failed · 2 usage, configuration or target · 3 context loss over
    budget · 4 inconclusive, or interrupted twice.
    """


def main() -> None:
    """Run the command; errors meant for people are printed without a traceback."""
    mend_streams()
    try:
        take_interrupts()
        code = cli(standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted; nothing was judged", err=True)
        sys.exit(4)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except GoldfishError as error:
        click.echo(f"error: {visible(str(error))}", err=True)
        sys.exit(error.exit_code)
    except Exception:  # noqa: BLE001 - Python would exit with 1, which is a pass here
        with suppress(OSError):
            traceback.print_exc()
            click.echo("error: this is a fault of goldfish itself; nothing was judged", err=True)
        sys.exit(4)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient one more must not change the code
    sys.exit(code if isinstance(code, int) else 0)


@cli.command()
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="Folder for runs."
)
def demo(out: Path) -> int:
    """Run the main job twice: on a sound store, and on one with two defects. Both tables, both reports."""
    from goldfish.cli.demo import run_demo

    return run_demo(out)


@cli.command()
@click.option("--store", default="journal", show_default=True, help="How the memory keeps conversations.")
@click.option("--instances", type=_INSTANCES, default=3, show_default=True, help="Memory instances.")
@click.option("--balance", type=_BALANCE, default="round-robin", show_default=True, help="How the balancer chooses.")
@click.option(
    "--defect", "defects", multiple=True, metavar="SPEC", help="Switch a defect on, e.g. lost-update:gap_ms=5."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the balancer; 0 finds a free one.")
@click.option("--target", default="", metavar="NAME|FILE", help="A library to host in place of a store.")
def up(store: str, instances: int, balance: str, defects: tuple[str, ...], port: int, target: str) -> int:
    """Keep a deployment of the reference memory, or of a hosted library, up until Ctrl-C."""
    from goldfish.cli.deployment import keep_up, plan_of

    library = _library(_loaded(target), target) if target else None
    return keep_up(plan_of(store, instances, balance, defects, port, library))


@cli.command()
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option("--host", metavar="URL", help="A memory that is already running.")
@click.option(
    "--target",
    default="",
    metavar="NAME|FILE",
    help="How it is asked: a shipped target (`goldfish targets`), a mapping (memory.toml), or an adapter or library "
    "(memory.py:Class).  [default: the reference interface]",
)
@click.option(
    "--deploy", type=click.Choice(["embedded"]), help="Start a deployment for this run (default without --host)."
)
@click.option(
    "--contract", type=click.Path(path_type=Path, dir_okay=False), help="What the memory promises (goldfish.toml)."
)
@click.option("--store", help="How the embedded memory keeps conversations.  [default: journal]")
@click.option("--instances", type=_INSTANCES, help="Embedded memory instances.  [default: 3]")
@click.option("--balance", type=_BALANCE, help="How the embedded balancer chooses.  [default: round-robin]")
@click.option("--defect", "defects", multiple=True, metavar="SPEC", help="Switch a defect on in the embedded memory.")
@click.option(
    "--connection",
    type=click.Choice(["kept", "session", "request"]),
    default="kept",
    show_default=True,
    help="How long a device keeps a connection.",
)
@click.option("-u", "--users", type=click.IntRange(1), default=20, show_default=True, help="Users at the same time.")
@click.option(
    "-r", "--spawn-rate", type=click.FloatRange(0, min_open=True), help="Users spawned a second.  [default: all]"
)
@click.option("-t", "--time", "time_s", type=click.IntRange(1), help="Seconds of load.  [default: 60]")
@click.option("--turns", type=click.IntRange(1), help="End after this many turns, instead of by time.")
@click.option(
    "--processes", type=click.IntRange(1, 64), default=1, show_default=True, help="Load processes, one a core."
)
@click.option(
    "--until-proven",
    is_flag=True,
    help="End as soon as the budget is proven to be kept, or not to be; -t is the longest then.  [default: 600]",
)
@click.option(
    "--turns-per-second",
    type=click.FloatRange(0, 100_000, min_open=True),
    help="Open arrivals: turns begin at this rate over all users.  [default: every user at its own pace]",
)
@click.option("--seed", type=click.IntRange(1), help="Fix plans, texts and ids (not the interleaving).")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="Folder for runs."
)
@_JSON
def run(
    scenarios: tuple[str, ...],
    host: str | None,
    target: str,
    deploy: str | None,
    contract: Path | None,
    store: str | None,
    instances: int | None,
    balance: str | None,
    defects: tuple[str, ...],
    connection: str,
    users: int,
    spawn_rate: float | None,
    time_s: int | None,
    turns: int | None,
    processes: int,
    until_proven: bool,
    turns_per_second: float | None,
    seed: int | None,
    out: Path,
    as_json: bool,
) -> int:
    """One run: swarm, closing of every conversation, analysis, verdict.

    Without SCENARIO all default scenarios run together. Exits with the verdict's code.
    """
    from goldfish.cli.deployment import plan_of
    from goldfish.cli.swarm import Load, run_embedded, run_external

    load = Load(
        scenarios=scenarios,
        target=target,
        contract=contract,
        connection=connection,
        users=users,
        spawn_rate=spawn_rate or min(users, 100),
        time_s=time_s if time_s or turns else 600 if until_proven else 60,
        turns=turns,
        until_proven=until_proven,
        processes=processes,
        turns_per_second=turns_per_second,
        seed=seed,
        out=out,
    )
    loaded = _loaded(target) if target else None
    address = host or (loaded.about.base_url if loaded is not None else None)
    if address is not None:
        ours = {"--deploy": deploy, "--store": store, "--instances": instances, "--balance": balance}
        given = [name for name, value in ours.items() if value] + ["--defect"] * bool(defects)
        if given:
            raise click.UsageError(f"{', '.join(given)}: only for an embedded deployment; --host names one that runs")
        mask = loaded.manner.mask if loaded is not None else str
        result = run_external(msgspec.structs.replace(load, host_given=host is not None), address, mask)
    else:
        library = _library(loaded, target) if loaded is not None else None
        if library is not None and store:
            raise click.UsageError(f"--store beside --target: {target} is hosted in place of a store")
        plan = plan_of(store or "journal", instances or 3, balance or "round-robin", defects, 0, library)
        result = run_embedded(load, plan)
    result.show(as_json=as_json)
    return result.exit_code


@cli.command()
@click.argument("run_directory", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--contract", type=click.Path(path_type=Path, dir_okay=False), help="Judge by another contract and budget."
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    help="How many processes share the work.  [default: as many as there are processors, for large records]",
)
@_JSON
def analyze(run_directory: Path, contract: Path | None, processes: int | None, as_json: bool) -> None:
    """Judge a recorded run (again), and write its results and report."""
    command = [sys.executable, "-P", "-m", "analysis", str(run_directory)]
    command += ["--contract", str(contract)] if contract else []
    command += ["--processes", str(processes)] if processes else []
    command += ["--json"] if as_json else []
    # In the place of this process, so that whatever ends the command ends the analyzer.
    os.execv(command[0], command)


@cli.command()
@click.argument("run_directory", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("conversation")
@click.option("--curl", is_flag=True, help="Print a script that replays the conversation with curl.")
def show(run_directory: Path, conversation: str, curl: bool) -> int:
    """Show one conversation of a run as a timeline: what was said, what was listed, by which instance."""
    from analysis.timeline import show_conversation

    show_conversation(run_directory, conversation, curl=curl)
    return 0


@cli.command()
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("candidate", type=click.Path(path_type=Path))
@_JSON
def compare(base: Path, candidate: Path, as_json: bool) -> int:
    """Compare two judged runs: does CANDIDATE lose more than BASE? Exits with 3 if it does, 4 if nobody can say."""
    from goldfish.cli.comparison import compare_runs

    return compare_runs(base, candidate, as_json=as_json)


@cli.command()
@click.option("--max-loss", type=Share(), required=True, help="The claim: at most this share of recalls is lossy.")
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of the claim.",
)
@click.option(
    "--burst",
    type=click.FloatRange(0, 1),
    default=0.8,
    show_default=True,
    help="Share of losses that come in bursts, all at one user.",
)
@click.option("--like", type=click.Path(path_type=Path), metavar="RUN", help="Take the pace from this run.")
@_JSON
def plan(max_loss: float, confidence: float, burst: float, like: Path | None, as_json: bool) -> int:
    """Tell how many users, conversations and minutes a claim takes."""
    from goldfish.cli.planning import plan_claim

    return plan_claim(max_loss, confidence, burst, like, as_json=as_json)


@cli.command()
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=Path("runs"))
@_JSON
def history(folder: Path, as_json: bool) -> int:
    """Show the judged runs of a folder, oldest first, and the trend of each scenario."""
    from goldfish.cli.history import show_history

    return show_history(folder, as_json=as_json)


@cli.command()
@click.option("--host", metavar="URL", help="A memory that is already running.")
@click.option("--target", default="", metavar="NAME|FILE", help="How it is asked, as of `goldfish run`.")
@click.option(
    "--contract", type=click.Path(path_type=Path, dir_okay=False), help="What the memory promises (goldfish.toml)."
)
@click.option("--all", "every_step", is_flag=True, help="Show every request and answer.")
@_JSON
def probe(host: str | None, target: str, contract: Path | None, every_step: bool, as_json: bool) -> int:
    """One user alone, step by step: does the mapping work, and does the contract fit? Exits with 2 if not."""
    from goldfish.cli.probing import probe as run_probe

    return run_probe(target, host, contract, as_json=as_json, every_step=every_step)


@cli.command()
@click.option(
    "--from",
    "template",
    metavar="TARGET|OPENAPI",
    help="A shipped target (`goldfish targets`), or an OpenAPI document: a file or a URL, JSON or YAML.  "
    "[default: a mapping of the reference interface with everything else that can be said]",
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path(), show_default=True, help="Folder for the two files."
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
def init(template: str | None, out: Path, force: bool) -> int:
    """Write a first mapping (memory.toml) for a memory of your own, and a commented goldfish.toml."""
    from goldfish.cli.init import write_files

    return write_files(template, out, force=force)


@cli.command()
@_JSON
def targets(as_json: bool) -> int:
    """List the targets that are shipped: what each is, and what its contract promises."""
    from stress.targets.catalog import shipped

    return _list(
        as_json,
        shipped(),
        {"name": "name", "kind": "kind", "what it is": "about", "promises": "contract", "packages": "packages"},
    )


@cli.command()
@_JSON
def scenarios(as_json: bool) -> int:
    """List what users can be made to do."""
    from stress.scenarios.registry import scenarios as known

    rows = list(known().values())
    return _list(
        as_json, rows, {"scenario": "name", "recall spans": "scope", "users do": "users_do", "must hold": "must_hold"}
    )


@cli.command()
@_JSON
def defects(as_json: bool) -> int:
    """List the defects that can be switched on in the reference memory."""
    from stress.memory.registry import DEFECTS

    return _list(
        as_json,
        list(DEFECTS.values()),
        {
            "defect": "name",
            "stores": "stores",
            "what goes wrong": "wrong",
            "seen as": "seen_as",
            "parameters": "parameters",
        },
    )


@cli.command()
@_JSON
def anomalies(as_json: bool) -> int:
    """List the classes and flags of findings, what proves them, and what usually causes them."""
    from goldfish.anomalies import ANOMALIES, FLAGS

    return _list(
        as_json,
        [*ANOMALIES.values(), *FLAGS.values()],
        {"class": "name", "meaning": "meaning", "proved by": "rule", "usual causes": "causes"},
    )


def _loaded(target: str) -> Loaded:
    from stress.targets.load import find, load

    return load(find(target))


def _library(loaded: Loaded, target: str) -> Loaded | None:
    """The target if it is a library that we host; None for the reference interface, which a store of ours serves.

    Raises:
        UsageError: it has to be running already, and nobody says where.
    """
    if loaded.about.library is not None:
        return loaded
    if not loaded.source.text:
        return None
    raise click.UsageError(f"no address: {target} needs --host URL, or base_url under [target]")


def _list(as_json: bool, entries: list[Any], columns: dict[str, str]) -> int:
    from goldfish.terminal import console, emit

    if as_json:
        plain = [entry._asdict() if hasattr(entry, "_asdict") else entry for entry in entries]
        emit(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode())
        return 0
    from rich.table import Table
    from rich.text import Text

    out = console()
    (_, name), *others = columns.items()
    width = max(len(title) for title, _ in others)
    for entry in entries:
        out.print(Text(_words(getattr(entry, name)), style="bold"))
        told = Table.grid(padding=(0, 2, 0, 0))
        told.add_column(width=width + 2, style="dim")
        told.add_column(overflow="fold")
        for title, field in others:
            if words := _words(getattr(entry, field)):
                told.add_row(f"  {title}", Text(words))
        out.print(told)
        out.print()
    return 0


def _words(value: Any) -> str:
    if isinstance(value, tuple):
        return "; ".join(_words(part) for part in value)
    if hasattr(value, "default"):
        return f"{value.name}={value.default:g} ({value.unit}: {value.what})"
    return str(value)
