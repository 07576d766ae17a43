"""Calls that are not functions of the engine, but ways to read facts or numbers.

`'k' in node.labels` asks for presence, `label(x, 'k')` reads with a default, `orValue` and `or` of
optionals evaluate their argument only when needed, `math.greatest` takes any number of arguments.
"""

from __future__ import annotations

from kpolicy.diagnostics import Span

from . import ast
from .members import as_map_fact, entries_of, entry_of, member_of, present
from .scope import Scope
from .tree import (
    Call,
    Conditional,
    Constant,
    NewList,
    OrOptional,
    OrValue,
    Present,
    Reported,
    Tree,
    latest,
)
from .types import BOOL, DYN, ERROR, NUMBERS, STRING, Type, fits, joined, list_of, optional_of


def contained(scope: Scope, span: Span, key: Tree, holder: Tree) -> Tree | None:
    """`key in map`, where the entries of the map are facts: whether the entry is there."""
    entries = entries_of(as_map_fact(holder))
    if entries is None or key.type == ERROR:
        return None
    if not fits(key.type, STRING, {}):
        return scope.report("KP204", f"the keys are string, this is {key.type}", key.span)
    return present(entry_of(entries, key, span), span)


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
        Present(value, type=BOOL, span=span, time=value.time, cost=value.cost),
        value,
        Constant("", type=STRING, span=span, cost=0),
        type=STRING,
        span=span,
        time=value.time,
        size=value.size,
    )


def fallback(scope: Scope, receiver: Tree, node: ast.Call, other: Tree) -> Tree:
    """`optional.or(other)`, `optional.orValue(default)`."""
    inner = receiver.type.parameters[0] if receiver.type.parameters else DYN
    is_value = node.name == "orValue"
    kind = _default_type(inner, other.type) if is_value else _or_type(inner, other.type)
    if kind is None:
        return scope.report(
            "KP204", f"`{node.name}` of optional({inner}) does not take {other.type}", other.span
        )
    time, size = max(receiver.time, other.time), max(receiver.size, other.size)
    if not is_value:
        return OrOptional(receiver, other, type=kind, span=node.span, time=time, size=size)
    read = _optional_read(receiver)
    if read is None:
        return OrValue(receiver, other, type=kind, span=node.span, time=time, size=size)
    test, value = read
    return Conditional(test, value, other, type=kind, span=node.span, time=time, size=size)


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


def _optional_read(tree: Tree) -> tuple[Tree, Tree] | None:
    """`present ? optional.of(fact) : optional.none()` as its test and its fact."""
    match tree:
        case Conditional(test=Present() as test, yes=Call("optional_of_any", (value,))):
            return test, value
    return None


def extreme(scope: Scope, node: ast.Call, args: tuple[Tree, ...]) -> Tree:
    """`math.greatest(…)` and `math.least(…)`: numbers of any types, or one list of them."""
    if not args:
        return scope.report("KP202", f"`math.{node.name}` takes at least 1 argument", node.span)
    first = args[0]
    operand: Tree
    if len(args) == 1 and first.type.name == "list":
        operand, kind = first, first.type.parameters[0]
        is_empty = isinstance(first, NewList) and not first.args
        if is_empty or kind not in (*NUMBERS, DYN, ERROR):
            return scope.report(
                "KP204", f"`math.{node.name}` needs numbers, these are {kind}", first.span
            )
    else:
        kind = joined([arg.type for arg in args])
        for arg in args:
            if arg.type not in (*NUMBERS, DYN, ERROR):
                return scope.report(
                    "KP204", f"`math.{node.name}` needs numbers, this is {arg.type}", arg.span
                )
        operand = NewList(
            args, type=list_of(kind), span=node.span, size=len(args), time=latest(args)
        )
        if len(args) == 1 and kind == DYN:
            operand = first
    overload = f"math_{node.name}" + ("_list" if operand.type.name == "list" else "")
    return Call(
        overload,
        (operand,),
        type=kind,
        span=node.span,
        time=operand.time,
        cost=1 + operand.size,
    )
