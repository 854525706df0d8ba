"""Small changes to a module's source, each of which a test should notice.

Comparisons, arithmetic, constants and conditions are changed, one at a time. Annotations, decorators,
docstrings, other strings and what only type checkers read are left alone: no test could tell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
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
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_LARGER = 1.5  # what a float is multiplied by: tests that allow a tolerance should still notice


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: where it is (``index`` counts the places of its file), and what stood and stands there."""

    path: Path
    index: int
    line: int
    column: int
    before: str
    after: str

    def source(self, text: str) -> str:
        """The text of the file with the change."""
        tree = ast.parse(text)
        _change(list(_places(tree))[self.index])
        return ast.unparse(tree)


def mutants_of(path: Path) -> list[Mutant]:
    """Every mutant of one file, in the order of its lines."""
    return [
        Mutant(path, index, node.lineno, node.col_offset, ast.unparse(node), _changed(node))
        for index, node in enumerate(_places(ast.parse(path.read_text(encoding="utf-8"))))
    ]


def _changed(node: ast.AST) -> str:
    copy = deepcopy(node)
    _change(copy)
    return ast.unparse(copy)


def _places(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Nodes that can be changed; :func:`_change` changes each in one way."""
    for child in _looked_at(tree):
        if _can_change(child):
            yield child  # type: ignore[misc]
        yield from _places(child)


def _looked_at(node: ast.AST) -> Iterator[ast.AST]:
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_for_type_checkers(child):
                yield child


def _is_for_type_checkers(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef) and ast.unparse(node.body[-1]) == "...":  # of a protocol
        return True
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.Assign):  # Floats = NDArray[...] | None: a name of a type
        return all(isinstance(name, ast.Name) and name.id.istitle() for name in node.targets)
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _can_change(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[only]):
            return type(only) in _COMPARISONS
        case ast.BinOp():
            return type(node.op) in _ARITHMETIC
        case ast.AugAssign():
            return type(node.op) in _ARITHMETIC
        case ast.UnaryOp():
            return isinstance(node.op, (ast.Not, ast.USub))
        case ast.Constant():
            return isinstance(node.value, (bool, int, float))
    return isinstance(node, ast.BoolOp)


def _change(node: ast.AST) -> None:
    match node:
        case ast.Compare():
            node.ops = [_COMPARISONS[type(node.ops[0])]()]
        case ast.BinOp() | ast.AugAssign():
            node.op = _ARITHMETIC[type(node.op)]()
        case ast.UnaryOp(op=ast.USub()):
            node.op = ast.UAdd()
        case ast.UnaryOp():  # a second `not` takes the first away
            node.operand = ast.UnaryOp(op=ast.Not(), operand=node.operand)
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant(value=int()):
            node.value += 1  # type: ignore[operator]
        case ast.Constant(value=float()):
            node.value = node.value * _LARGER or 1.0  # type: ignore[operator]
