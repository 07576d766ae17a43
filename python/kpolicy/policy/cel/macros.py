"""Macros: loops, `has`, `cel.bind`, `optMap`.

Owns which calls are macros and what they become. A macro is known by its name, its receiver and
the number of its arguments, as in CEL; what is not a macro is an ordinary call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from . import ast, members
from .catalogue import RANGES
from .scope import Scope
from .tree import Tree
from .types import BOOL, DYN, ERROR, INT, Type, fits, list_of, map_of, optional_of

Check: TypeAlias = Callable[[Scope, ast.Expression], Tree]


@dataclass(frozen=True, slots=True)
class _Shape:
    """A loop: how many variables, whether a selecting operand comes before the body."""

    kind: str
    variables: int
    selects: bool = False


_LOOPS: Final[dict[tuple[str, int], _Shape]] = {
    ("all", 2): _Shape("all", 1),
    ("all", 3): _Shape("all", 2),
    ("exists", 2): _Shape("exists", 1),
    ("exists", 3): _Shape("exists", 2),
    ("exists_one", 2): _Shape("exists_one", 1),
    ("exists_one", 3): _Shape("exists_one", 2),
    ("existsOne", 2): _Shape("exists_one", 1),
    ("existsOne", 3): _Shape("exists_one", 2),
    ("filter", 2): _Shape("filter", 1),
    ("map", 2): _Shape("map", 1),
    ("map", 3): _Shape("map", 1, selects=True),
    ("transformList", 3): _Shape("map", 2),
    ("transformList", 4): _Shape("map", 2, selects=True),
    ("transformMap", 3): _Shape("transform_map", 2),
    ("transformMap", 4): _Shape("transform_map", 2, selects=True),
    ("transformMapEntry", 3): _Shape("transform_map_entry", 2),
    ("transformMapEntry", 4): _Shape("transform_map_entry", 2, selects=True),
    ("sortBy", 2): _Shape("sort_by", 1),
    ("optMap", 2): _Shape("optional_map", 1),
    ("optFlatMap", 2): _Shape("optional_flat_map", 1),
}
_TESTS: Final = ("all", "exists", "exists_one", "filter")


def expand(scope: Scope, node: ast.Call, check: Check) -> Tree | None:
    """What a macro stands for; `None` when the call is not one."""
    if node.target is None:
        if node.name == "has" and len(node.args) == 1:
            return _has(scope, node, check)
        return None
    if (
        node.name == "bind"
        and len(node.args) == 3
        and isinstance(node.target, ast.Identifier)
        and node.target.name == "cel"
    ):
        return _bind(scope, node, check)
    shape = _LOOPS.get((node.name, len(node.args)))
    return None if shape is None else _loop(scope, node, shape, check)


def _has(scope: Scope, node: ast.Call, check: Check) -> Tree:
    (arg,) = node.args
    if not isinstance(arg, ast.Select):
        return scope.report(
            "KP204", "`has` needs a field: `has(a.b)`", arg.span, "for a key: `'k' in m`"
        )
    operand = check(scope, arg.operand)
    if operand.type.name == "map" and not operand.column_entries:
        return Tree("has", BOOL, node.span, (operand,), name=arg.name, time=operand.time)
    tree = members.field_of(scope, operand, arg)
    if tree.type == ERROR:
        return Tree("constant", BOOL, node.span)
    if tree.op == "conditional":
        # An optional selection of a fact: there when the fact is.
        return tree.args[0]
    there = members.present(scope, tree, node.span)
    if there is None:
        return scope.report("KP204", "`has` cannot be asked of this", arg.span)
    return there


def _name(scope: Scope, node: ast.Expression) -> str:
    if isinstance(node, ast.Identifier) and not node.absolute:
        return node.name
    scope.report("KP204", "the name of a variable is expected here", node.span)
    return ""


def _bind(scope: Scope, node: ast.Call, check: Check) -> Tree:
    name = _name(scope, node.args[0])
    value = check(scope, node.args[1])
    path = members.step(value)
    described = scope.environment.catalogue.object_type(path.type)
    if path.op == "fact" and described is not None and not described.record:
        # A step of a path is no value: what is read is what the path ends in.
        return _within(scope, {name: path}, node.args[2], check)
    slot = scope.new_slot()
    bound = Tree("slot", value.type, node.span, slots=(slot,), time=value.time, size=value.size)
    body = _within(scope, {name: bound}, node.args[2], check)
    return Tree(
        "bind",
        body.type,
        node.span,
        (value, body),
        slots=(slot,),
        time=max(value.time, body.time),
        size=body.size,
    )


def _within(scope: Scope, names: dict[str, Tree], body: ast.Expression, check: Check) -> Tree:
    before = scope.bound
    scope.bound = {**before, **names}
    try:
        return check(scope, body)
    finally:
        scope.bound = before


def _loop(scope: Scope, node: ast.Call, shape: _Shape, check: Check) -> Tree | None:
    assert node.target is not None
    range_ = check(scope, node.target)
    elements = _elements(range_.type, shape)
    if elements is None:
        return scope.report(
            "KP204",
            f"`{node.name}` runs over a list or a map, this is {range_.type}",
            node.target.span,
        )
    names = [_name(scope, arg) for arg in node.args[: shape.variables]]
    if len(set(names)) < len(names):
        scope.report("KP204", f"`{names[0]}` names both variables", node.args[1].span)
    slots = tuple(scope.new_slot() for _ in names)
    bound = {
        name: Tree(
            "slot", kind, node.span, slots=(slot,), time=range_.time, size=_inner_size(range_)
        )
        for name, kind, slot in zip(names, elements, slots, strict=True)
    }
    operands = [_within(scope, bound, arg, check) for arg in node.args[shape.variables :]]
    tests = len(operands) if shape.kind in _TESTS else int(shape.selects)
    operands[:tests] = [_test(scope, node, operand) for operand in operands[:tests]]
    return Tree(
        "loop",
        _result(scope, shape, range_, elements, operands[-1]),
        node.span,
        (_sized(range_), *operands),
        name=shape.kind,
        slots=slots,
        time=max(range_.time, *(operand.time for operand in operands)),
        size=range_.size,
    )


def _test(scope: Scope, node: ast.Call, operand: Tree) -> Tree:
    if fits(operand.type, BOOL, {}):
        return operand
    message = f"`{node.name}` needs a bool here, this is {operand.type}"
    scope.report("KP204", message, operand.span)
    return scope.untyped(operand)


def _sized(range_: Tree) -> Tree:
    if range_.type.name in RANGES:
        return replace(range_, size=RANGES[range_.type.name][1])
    return range_


def _inner_size(range_: Tree) -> int:
    """Items of a fact's list are records of a bounded size."""
    return 256 if range_.op in ("fact", "member") else range_.size


def _elements(kind: Type, shape: _Shape) -> tuple[Type, ...] | None:
    """The types of the variables."""
    optional = shape.kind.startswith("optional")
    if kind in (DYN, ERROR):
        return (DYN,) * shape.variables
    if optional:
        return kind.parameters if kind.name == "optional" else None
    if kind.name in RANGES and shape.variables == 1 and shape.kind in _TESTS:
        return (RANGES[kind.name][0],)
    if kind.name == "list":
        return (INT, kind.parameters[0]) if shape.variables == 2 else kind.parameters
    if kind.name == "map":
        return kind.parameters if shape.variables == 2 else kind.parameters[:1]
    return None


def _result(
    scope: Scope, shape: _Shape, range_: Tree, elements: tuple[Type, ...], body: Tree
) -> Type:
    kind = shape.kind
    if kind in ("all", "exists", "exists_one"):
        return BOOL
    if kind == "filter":
        return list_of(elements[0])
    if kind == "sort_by":
        return range_.type if range_.type.name == "list" else list_of(DYN)
    if kind == "map":
        return list_of(body.type)
    if kind == "transform_map":
        return map_of(elements[0], body.type)
    if kind == "transform_map_entry":
        if not fits(body.type, map_of(DYN, DYN), {}):
            scope.report("KP204", f"a map of one entry is needed, this is {body.type}", body.span)
        return body.type if body.type.name == "map" else map_of(DYN, DYN)
    if kind == "optional_flat_map":
        if not fits(body.type, optional_of(DYN), {}):
            scope.report("KP204", f"`optFlatMap` needs an optional, this is {body.type}", body.span)
        return body.type if body.type.name == "optional" else optional_of(DYN)
    return optional_of(body.type)
