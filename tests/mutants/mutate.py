"""Makes wrong versions of a module, one change each, and puts one into a running process.

Only bodies of functions are changed, so that a version is put in place by giving the function other code: nothing needs
to be imported again. Constants of a module, defaults of arguments, fields of structs and assertions stay as they are.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


class Mutant(NamedTuple):
    """One wrong version."""

    module: str
    function: str
    """The outermost function that holds the change, with its class."""
    number: int
    """Its place among the changes of the module."""
    line: int
    text: str
    """The line as it stands in the file."""
    change: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.change}"


class _Change(NamedTuple):
    parent: ast.AST
    field: str
    at: int | None
    right: ast.AST
    wrong: ast.AST
    said: str
    function: str


def source(module: str) -> str:
    """The text of a module."""
    file = importlib.import_module(module).__file__
    assert file is not None
    return Path(file).read_text(encoding="utf-8")


@cache
def _parsed(module: str) -> tuple[ast.Module, list[_Change]]:
    tree = ast.parse(source(module))
    return tree, [change for name, function in _functions(tree, "") for change in _changes(function, name)]


def mutants(module: str) -> list[Mutant]:
    """All wrong versions of a module."""
    lines = source(module).splitlines()
    return [
        Mutant(module, c.function, number, line := c.right.lineno, lines[line - 1].strip(), c.said)  # type: ignore[attr-defined]
        for number, c in enumerate(_parsed(module)[1])
    ]


def install(mutant: Mutant) -> None:
    """Make this process run the wrong version, for good."""
    function, owner = _function(mutant)
    function.__code__ = _code(mutant)
    if hasattr(owner, "cache_clear"):
        owner.cache_clear()


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


def _function(mutant: Mutant) -> tuple[FunctionType, Any]:
    """The function of the running process, and what its name stands for."""
    found: Any = importlib.import_module(mutant.module)
    for name in mutant.function.split("."):
        found = vars(found)[name]
    function = found
    for wrapper in ("fget", "__func__", "__wrapped__"):
        function = getattr(function, wrapper, function)
    assert isinstance(function, FunctionType), mutant
    return function, found


def _code(mutant: Mutant) -> CodeType:
    """The changed function, compiled."""
    tree, changes = _parsed(mutant.module)
    change = changes[mutant.number]
    _put(change, change.wrong)
    try:
        code = compile(ast.fix_missing_locations(tree), f"<{mutant}>", "exec")
    finally:
        _put(change, change.right)
    for name in mutant.function.split("."):
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
    return code


def _put(change: _Change, node: ast.AST) -> None:
    if change.at is None:
        setattr(change.parent, change.field, node)
    else:
        getattr(change.parent, change.field)[change.at] = node


def _changes(function: ast.FunctionDef, name: str) -> Iterator[_Change]:
    for parent, field, at, node in _slots(function):
        yields = isinstance(function.returns, ast.Name) and function.returns.id == "bool"
        for wrong, said in _wrong(parent, field, node, yields):
            yield _Change(parent, field, at, node, ast.copy_location(wrong, node), said, name)


def _slots(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every place below a function's body that holds something, without what does not run in the body."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "args") and not isinstance(node, ast.Call):
            continue
        for at, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.Assert):
                yield node, field, at, child
                yield from _slots(child)


def _wrong(parent: ast.AST, field: str, node: ast.AST, yields: bool) -> Iterator[tuple[ast.AST, str]]:
    """What may stand there instead, and how to say so."""
    if isinstance(node, ast.expr):
        for wrong in _wrong_expression(node):
            yield wrong, f"{ast.unparse(node)} -> {ast.unparse(wrong)}"
        if field == "test" and isinstance(parent, ast.If | ast.IfExp):
            for forced in (True, False):
                yield ast.Constant(forced), f"if {ast.unparse(node)} -> if {forced}"
        elif field == "ifs":
            yield ast.Constant(True), f"if {ast.unparse(node)} -> if True"
        if isinstance(parent, ast.Return) and yields and not isinstance(node, ast.Constant):
            yield ast.UnaryOp(ast.Not(), node), f"return {ast.unparse(node)} -> return not ..."
    elif isinstance(node, ast.Continue):
        yield ast.Break(), "continue -> break"
    elif isinstance(node, ast.Break):
        yield ast.Continue(), "break -> continue"


def _wrong_expression(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            other = COMPARISONS[type(operator)]()
            yield ast.Compare(node.left, [*node.ops[:at], other, *node.ops[at + 1 :]], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield ast.BinOp(node.left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.right)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in CALLS:
        yield ast.Name(CALLS[node.id], ast.Load())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and node.value in (0, 1) and isinstance(node.value, int):
        yield ast.Constant(1 - node.value)
