"""What kind of class a file holds, told without importing it: a library may be heavy, and is for its instances only."""

from __future__ import annotations

import ast
from pathlib import Path

from goldfish.errors import UsageError

KINDS = {"Adapter": "adapter", "Library": "library"}


def kind_of(reference: str) -> str:
    """ "adapter" or "library", for "file.py:Class".

    Raises:
        UsageError: the file has no such class.
    """
    file, _, name = reference.rpartition(":")
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except (SyntaxError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is no Python file: {error}") from error
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    if name not in classes:
        raise UsageError(f"{file} has no class {name}; it has {', '.join(classes) or 'none'}")
    bases = {ast.unparse(base).rpartition(".")[2] for base in classes[name].bases}
    for base, kind in KINDS.items():
        if base in bases:
            return kind
    raise UsageError(f"{file}: {name} is no target: expected class {name}(goldfish.Adapter) or (goldfish.Library)")
