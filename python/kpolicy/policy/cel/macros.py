"""Calls that are not functions of the engine: the types of loop macros, and ways to read facts.

A macro is known by its name and the number of its arguments, as in CEL. `'k' in node.labels` asks
for presence, `label(x, 'k')` reads with a default, `orValue` and `or` of optionals evaluate their
argument only when needed, and `math.greatest` takes any number of arguments. The checker checks
the operands, with the variables of a loop in force.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kpolicy.diagnostics import Span
from kpolicy.policy.cel import syntax
from kpolicy.policy.cel.facts import RANGES
from kpolicy.policy.cel.members import as_map_fact, entries_of, entry_of, member_of, present
from kpolicy.policy.cel.prices import CALL, NODE
from kpolicy.policy.cel.scope import Scope
from kpolicy.policy.cel.sizes import SCALAR, Size, larger, largest, times
from kpolicy.policy.cel.tree import (
    Call,
    Conditional,
    Constant,
    LoopKind,
    NewList,
    OrOptional,
    OrValue,
    Present,
    Reported,
    Tree,
    latest,
)
from kpolicy.policy.cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    NUMBERS,
    STRING,
    Type,
    fits,
    joined,
    list_of,
    map_of,
    optional_of,
)
from kpolicy.quick_dataclass import dataclass


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


def tests_of(shape: Shape, operands: int) -> int:
    """How many of the operands after the variables are tests."""
    return operands if shape.kind in _TESTING else int(shape.has_test)


def variable_sizes(over: Tree, shape: Shape) -> tuple[Size, ...]:
    """How large the values of a loop's variables may be."""
    if over.type.name in RANGES:
        return (SCALAR,)
    item, key = over.size.inside, Size(over.size.key)
    match over.type.name:
        case "map":
            return (key, item) if shape.variables == 2 else (key,)
        case "list" | "optional":
            return (SCALAR, item) if shape.variables == 2 else (item,)
    return (larger(item, key),) * shape.variables


def result_size(shape: Shape, over: Tree, sizes: tuple[Size, ...], body: Tree) -> Size:
    length = over.size.length
    match shape.kind:
        case LoopKind.ALL | LoopKind.EXISTS | LoopKind.EXISTS_ONE:
            return SCALAR
        case LoopKind.FILTER | LoopKind.SORT_BY:
            return Size(length, sizes[0])
        case LoopKind.MAP:
            return Size(length, body.size)
        case LoopKind.TRANSFORM_MAP:
            return Size(length, body.size, sizes[0].length)
        case LoopKind.TRANSFORM_MAP_ENTRY:
            return Size(times(length, body.size.length), body.size.item, body.size.key)
        case LoopKind.OPTIONAL_MAP:
            return Size(1, body.size)
        case LoopKind.OPTIONAL_FLAT_MAP:
            return body.size


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


def contained(scope: Scope, span: Span, key: Tree, holder: Tree) -> Tree | None:
    """`key in map`, where the entries of the map are facts: whether the entry is there."""
    entries = entries_of(as_map_fact(holder))
    if entries is None or key.type == ERROR:
        return None
    if not fits(key.type, STRING, {}):
        return scope.report("KP204", f"the keys are string, this is {key.type}", key.span)
    asked = entry_of(entries, key, span)
    if entries.reads_absent:
        asked = replace(asked, name=f"{entries.name}?[]")
    return present(asked, span)


def label(scope: Scope, span: Span, owner: Tree, key: Tree) -> Tree:
    """`label(x, key)`: the label, or an empty string."""
    if ERROR in (owner.type, key.type):
        return Reported(type=ERROR, span=span)
    described = scope.environment.catalogue.object_type(owner.type)
    member = described.members.get("labels") if described else None
    if member is None or key.type not in (STRING, DYN):
        return scope.report(
            "KP204",
            f"`label` needs something that has labels and a string, not {owner.type}, {key.type}",
            span,
        )
    value = entry_of(member_of(owner, member, "labels", ()), key, span)
    return Conditional(
        Present(value, type=BOOL, span=span, time=value.time),
        value,
        Constant("", type=STRING, span=span),
        type=STRING,
        span=span,
        time=value.time,
        size=value.size,
    )


def fallback(scope: Scope, receiver: Tree, node: syntax.Call, other: Tree) -> Tree:
    """`optional.or(other)`, `optional.orValue(default)`."""
    inner = receiver.type.parameters[0] if receiver.type.parameters else DYN
    is_value = node.name == "orValue"
    kind = _default_type(inner, other.type) if is_value else _or_type(inner, other.type)
    if kind is None:
        return scope.report(
            "KP204", f"`{node.name}` of optional({inner}) does not take {other.type}", other.span
        )
    time, size = max(receiver.time, other.time), larger(receiver.size, other.size)
    if is_value:
        size = larger(receiver.size.inside, other.size)
    else:
        return OrOptional(receiver, other, type=kind, span=node.span, time=time, size=size)
    match receiver:
        case Conditional(test=Present() as test, yes=Call("optional_of_any", (value,))):
            # `present ? optional.of(fact) : optional.none()`
            return Conditional(test, value, other, type=kind, span=node.span, time=time, size=size)
    return OrValue(receiver, other, type=kind, span=node.span, time=time, size=size)


def _default_type(inner: Type, other: Type) -> Type | None:
    """The type of `optional.orValue(other)`; None if `other` does not go with the optional."""
    if not fits(other, inner, {}):
        return None
    return other if inner == DYN else joined([inner, other])


def _or_type(inner: Type, other: Type) -> Type | None:
    if other in (DYN, ERROR):
        return optional_of(inner)
    if other.name != "optional" or not fits(other.parameters[0], inner, {}):
        return None
    return optional_of(joined([inner, other.parameters[0]]))


def extreme(scope: Scope, node: syntax.Call, args: tuple[Tree, ...]) -> Tree:
    """`math.greatest(…)` and `math.least(…)`: numbers of any types, or one list of them."""
    if not args:
        return scope.report("KP202", f"`math.{node.name}` takes at least 1 argument", node.span)
    operand = args[0]
    if len(args) == 1 and operand.type.name == "list":
        kind = operand.type.parameters[0]
        is_empty = isinstance(operand, NewList) and not operand.args
        if is_empty or kind not in (*NUMBERS, DYN, ERROR):
            message = f"`math.{node.name}` needs numbers, these are {kind}"
            return scope.report("KP204", message, operand.span)
    else:
        kind = joined([arg.type for arg in args])
        wrong = next((arg for arg in args if arg.type not in (*NUMBERS, DYN, ERROR)), None)
        if wrong is not None:
            message = f"`math.{node.name}` needs numbers, this is {wrong.type}"
            return scope.report("KP204", message, wrong.span)
        if len(args) > 1 or kind != DYN:
            operand = NewList(
                args,
                type=list_of(kind),
                span=node.span,
                size=Size(len(args), largest(arg.size for arg in args)),
                time=latest(args),
            )
    overload = f"math_{node.name}" + ("_list" if operand.type.name == "list" else "")
    return Call(
        overload,
        (operand,),
        type=kind,
        span=node.span,
        time=operand.time,
        size=operand.size.inside,
        cost=NODE + CALL + operand.size.length,
    )
