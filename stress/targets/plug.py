"""Classes of other people, by "file.py:Class" or "module:Class".

What kind of class a file holds is told without importing it: a library may be heavy, and is for its instances only.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

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


def module_of(place: str) -> ModuleType:
    """Import a module by its name, or a file that ends in .py by its path.

    What importing it raises is handed on.
    """
    if not place.endswith(".py"):
        return importlib.import_module(place)
    file = Path(place)
    # Last on the path: a file beside it can be imported, and replaces nothing of ours.
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    spec = importlib.util.spec_from_file_location(f"goldfish_file_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
