"""Loop macros: which calls are loops, and the types of their variables and results.

A macro is known by its name and the number of its arguments, as in CEL. The checker checks the
operands, with the variables of the loop in force.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from .catalogue import RANGES
from .scope import Scope
from .tree import LoopKind, Read, Tree
from .types import BOOL, DYN, ERROR, INT, Type, fits, list_of, map_of, optional_of


@dataclass(frozen=True, slots=True)
class Shape:
    """How many variables a loop has, and whether a test comes before its body."""

    kind: LoopKind
    variables: int = 1
    has_test: bool = False


LOOPS: Final[dict[tuple[str, int], Shape]] = {
    ("all", 2): Shape(LoopKind.ALL),
    ("all", 3): Shape(LoopKind.ALL, 2),
    ("exists", 2): Shape(LoopKind.EXISTS),
    ("exists", 3): Shape(LoopKind.EXISTS, 2),
    ("exists_one", 2): Shape(LoopKind.EXISTS_ONE),
    ("exists_one", 3): Shape(LoopKind.EXISTS_ONE, 2),
    ("existsOne", 2): Shape(LoopKind.EXISTS_ONE),
    ("existsOne", 3): Shape(LoopKind.EXISTS_ONE, 2),
    ("filter", 2): Shape(LoopKind.FILTER),
    ("map", 2): Shape(LoopKind.MAP),
    ("map", 3): Shape(LoopKind.MAP, has_test=True),
    ("transformList", 3): Shape(LoopKind.MAP, 2),
    ("transformList", 4): Shape(LoopKind.MAP, 2, has_test=True),
    ("transformMap", 3): Shape(LoopKind.TRANSFORM_MAP, 2),
    ("transformMap", 4): Shape(LoopKind.TRANSFORM_MAP, 2, has_test=True),
    ("transformMapEntry", 3): Shape(LoopKind.TRANSFORM_MAP_ENTRY, 2),
    ("transformMapEntry", 4): Shape(LoopKind.TRANSFORM_MAP_ENTRY, 2, has_test=True),
    ("sortBy", 2): Shape(LoopKind.SORT_BY),
    ("optMap", 2): Shape(LoopKind.OPTIONAL_MAP),
    ("optFlatMap", 2): Shape(LoopKind.OPTIONAL_FLAT_MAP),
}
# Kinds whose body is a test.
_TESTING: Final = frozenset({LoopKind.ALL, LoopKind.EXISTS, LoopKind.EXISTS_ONE, LoopKind.FILTER})
_OF_OPTIONALS: Final = frozenset({LoopKind.OPTIONAL_MAP, LoopKind.OPTIONAL_FLAT_MAP})
# The most bytes or items of one item of a fact's list: these are records of a bounded size.
_RECORD_SIZE_MAX: Final = 256


def tests_of(shape: Shape, operands: int) -> int:
    """How many of the operands behind the variables are tests."""
    return operands if shape.kind in _TESTING else int(shape.has_test)


def with_range_size(over: Tree) -> Tree:
    """The range of a loop, with the number of items that an object such as `node.pods` has."""
    found = RANGES.get(over.type.name)
    return over if found is None else replace(over, size=found[1])


def item_size(over: Tree) -> int:
    return _RECORD_SIZE_MAX if isinstance(over, Read) else over.size


def variable_types(kind: Type, shape: Shape) -> tuple[Type, ...] | None:
    """The types of the variables of a loop over `kind`; None where there is no such loop."""
    if kind in (DYN, ERROR):
        return (DYN,) * shape.variables
    if shape.kind in _OF_OPTIONALS:
        return kind.parameters if kind.name == "optional" else None
    if kind.name in RANGES and shape.variables == 1 and shape.kind in _TESTING:
        return (RANGES[kind.name][0],)
    if kind.name == "list":
        return (INT, kind.parameters[0]) if shape.variables == 2 else kind.parameters
    if kind.name == "map":
        return kind.parameters if shape.variables == 2 else kind.parameters[:1]
    return None


def result_type(
    scope: Scope, shape: Shape, over: Tree, variables: tuple[Type, ...], body: Tree
) -> Type:
    match shape.kind:
        case LoopKind.ALL | LoopKind.EXISTS | LoopKind.EXISTS_ONE:
            return BOOL
        case LoopKind.FILTER:
            return list_of(variables[0])
        case LoopKind.SORT_BY:
            return over.type if over.type.name == "list" else list_of(DYN)
        case LoopKind.MAP:
            return list_of(body.type)
        case LoopKind.TRANSFORM_MAP:
            return map_of(variables[0], body.type)
        case LoopKind.OPTIONAL_MAP:
            return optional_of(body.type)
        case LoopKind.TRANSFORM_MAP_ENTRY:
            wanted, message = map_of(DYN, DYN), "a map of one entry is needed"
        case LoopKind.OPTIONAL_FLAT_MAP:
            wanted, message = optional_of(DYN), "`optFlatMap` needs an optional"
    if not fits(body.type, wanted, {}):
        scope.report("KP204", f"{message}, this is {body.type}", body.span)
    return body.type if body.type.name == wanted.name else wanted
