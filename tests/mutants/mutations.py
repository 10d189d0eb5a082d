"""The changes that are tried: one at a time, of the kind that fingers make."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "bisect_left": "bisect_right", "ceil": "int"}
NAMES |= {"bisect_right": "bisect_left", "sorted": "list"}


class Mutant(NamedTuple):
    """One change of one module."""

    name: str
    """Where and what: `goldfish/rule/room.py Room.rank: a - b -> a + b`, numbered where two are alike."""
    module: str
    tree: ast.Module


def mutants(root: Path, file: str) -> Iterator[Mutant]:
    """Every change of one source file; annotations, docstrings and messages for people are left alone."""
    tree = ast.parse((root / file).read_text(encoding="utf-8"))
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    alike: dict[str, int] = {}
    for where, path in _expressions(tree):
        original = _at(tree, path)
        for changed in _changes(original):
            mutated = copy.deepcopy(tree)
            _put(mutated, path, changed)
            name = f"{file} {where}: {_told(original)} -> {_told(changed)}"
            alike[name] = alike.get(name, 0) + 1
            if alike[name] > 1:
                name += f" #{alike[name]}"
            yield Mutant(name, module, ast.fix_missing_locations(mutated))


Path_ = tuple[tuple[str, int | None], ...]


def _expressions(tree: ast.Module) -> Iterator[tuple[str, Path_]]:
    """Every node that may be changed: the function it stands in, and the way to it."""

    def walk(node: ast.AST, where: str, path: Path_) -> Iterator[tuple[str, Path_]]:
        yield where, path
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
                continue
            children = value if isinstance(value, list) else [value]
            for at, child in enumerate(children):
                if not isinstance(child, ast.AST) or _is_left_alone(node, child):
                    continue
                inner = where
                if isinstance(child, ast.FunctionDef | ast.ClassDef):
                    inner = f"{where}.{child.name}" if where else child.name
                    if child.name == "__repr__":
                        continue
                yield from walk(child, inner, (*path, (name, at if isinstance(value, list) else None)))

    for where, path in walk(tree, "", ()):
        yield where or "module", path


def _is_left_alone(parent: ast.AST, child: ast.AST) -> bool:
    """Docstrings, formatted messages, imports, and what only types are made of."""
    if isinstance(child, ast.JoinedStr | ast.Import | ast.ImportFrom):
        return True
    if isinstance(parent, ast.Expr) and isinstance(child, ast.Constant):
        return True
    if isinstance(child, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in child.targets):
        return True
    if isinstance(child, ast.Assign | ast.AnnAssign) and isinstance(child.value, ast.Subscript | ast.Call):
        called = child.value.value if isinstance(child.value, ast.Subscript) else child.value.func
        return isinstance(called, ast.Name) and called.id in ("Literal", "get_args", "dict", "tuple")
    return isinstance(child, ast.Assert)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """The changes of one node, not counting those of its parts."""
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            if type(op) in COMPARISONS:
                changed = copy.deepcopy(node)
                changed.ops[at] = COMPARISONS[type(op)]()
                yield changed
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        if type(node.op) in OPERATORS:
            changed_op = copy.deepcopy(node)
            changed_op.op = OPERATORS[type(node.op)]()
            yield changed_op
    elif isinstance(node, ast.BoolOp):
        swapped = copy.deepcopy(node)
        swapped.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield swapped
        for at in range(len(node.values)):
            left = [value for place, value in enumerate(node.values) if place != at]
            yield copy.deepcopy(left[0] if len(left) == 1 else ast.BoolOp(node.op, left))
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Not | ast.USub):
            yield copy.deepcopy(node.operand)
    elif isinstance(node, ast.Constant):
        yield from _constants(node)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in NAMES:
        yield ast.Name(NAMES[node.id], ast.Load())
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        if not isinstance(node, ast.While):
            negated = copy.deepcopy(node)
            negated.test = ast.UnaryOp(ast.Not(), negated.test)
            yield negated
    elif isinstance(node, ast.comprehension):
        for at in range(len(node.ifs)):
            loose = copy.deepcopy(node)
            del loose.ifs[at]
            yield loose
    elif isinstance(node, ast.Continue):
        yield ast.Break()
    elif isinstance(node, ast.Break):
        yield ast.Continue()
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "reversed":
        yield copy.deepcopy(node.args[0])
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield ast.Return(ast.Constant(None))


def _constants(node: ast.Constant) -> Iterator[ast.Constant]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
        if value > 0:
            yield ast.Constant(value - 1)
    elif isinstance(value, str):
        yield ast.Constant(f"XX{value}")


def _at(tree: ast.AST, path: Path_) -> ast.AST:
    node = tree
    for name, at in path:
        value = getattr(node, name)
        node = value if at is None else value[at]
    return node


def _put(tree: ast.AST, path: Path_, changed: ast.AST) -> None:
    parent = _at(tree, path[:-1])
    name, at = path[-1]
    if at is None:
        setattr(parent, name, changed)
    else:
        getattr(parent, name)[at] = changed


def _told(node: ast.AST) -> str:
    """The changed part as it reads; of a statement its first line."""
    if isinstance(node, ast.comprehension):
        return "for " + ast.unparse(node.target) + " in …" + "".join(f" if {ast.unparse(test)}" for test in node.ifs)
    text = ast.unparse(node).splitlines()[0]
    return text if len(text) <= 90 else f"{text[:87]}…"
