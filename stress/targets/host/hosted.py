"""Which library is hosted: what a target says of it, checked as far as that goes without importing it.

The library is imported by the instances only. Here, in the process that starts them, it is merely looked for, so that
a package that is not installed is one sentence and not the traceback of a process that died.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

import msgspec

from goldfish.errors import UsageError

Need = Literal["postgres", "redis"]
NEEDS: tuple[Need, ...] = get_args(Need)

_FORM = re.compile(r"(?P<where>.+):(?P<name>[^\W\d]\w*)")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


class Hosted(msgspec.Struct, frozen=True, kw_only=True):
    """A library and what it needs; ``hosted`` makes it."""

    library: str
    """``module:Class``, or ``/folder/file.py:Class`` with an absolute path."""
    needs: tuple[Need, ...] = ()
    """Which servers of the deployment are started."""
    versions: dict[str, str] = {}
    """The library's packages as they are installed: distribution and version."""


def hosted(library: str, needs: Sequence[str] = (), packages: Sequence[str] = (), folder: Path | None = None) -> Hosted:
    """The library that a target names.

    Args:
        library: ``module:Class`` or ``file.py:Class``.
        needs: of ``postgres`` and ``redis``, what it connects to.
        packages: the distributions it comes in.
        folder: where a relative ``file.py`` starts from; None is the working directory.

    Raises:
        UsageError: one of them cannot be meant, or is not installed.
    """
    unknown = [need for need in needs if need not in NEEDS]
    if unknown:
        raise UsageError(f"needs = {list(needs)}: there is no '{unknown[0]}'; known are {', '.join(NEEDS)}")
    versions = installed(library, packages)
    needed = tuple(need for need in NEEDS if need in needs)
    return Hosted(library=_found(library, folder or Path.cwd()), needs=needed, versions=versions)


def installed(library: str, packages: Sequence[str]) -> dict[str, str]:
    """The versions of these distributions.

    Raises:
        UsageError: some are not installed; the message says how to install them.
    """
    versions, missing = {}, []
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        raise UsageError(f"library '{library}' is not installed: pip install {' '.join(map(_quoted, packages))}")
    return versions


def _found(library: str, folder: Path) -> str:
    form = _FORM.fullmatch(library)
    if form is None:
        raise UsageError(f"library '{library}': expected 'file.py:Class' or 'module:Class'")
    where, name = form["where"], form["name"]
    if where.endswith(".py"):
        file = (folder / Path(where).expanduser()).resolve()
        if not file.is_file():
            raise UsageError(f"library '{library}': there is no file {file}")
        return f"{file}:{name}"
    if _MODULE.fullmatch(where) is None:
        raise UsageError(f"library '{library}': '{where}' is neither a module nor a file that ends in .py")
    try:
        spec = find_spec(where)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise UsageError(
            f"library '{library}': there is no module '{where}' in this Python; is its package installed? "
            "For a file of your own, say file.py:Class"
        )
    return library


def _quoted(package: str) -> str:
    return package if re.fullmatch(r"[\w.-]+", package) else f"'{package}'"
