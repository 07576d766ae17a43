"""Calls that are not functions of the engine, but ways to read facts.

`'k' in node.labels` asks for presence, `label(x, 'k')` reads with a default, `orValue` and `or` of
optionals evaluate their argument only when needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from . import ast, members
from .scope import Scope
from .tree import Tree
from .types import BOOL, DYN, ERROR, NUMBERS, STRING, Type, fits, joined, list_of, optional_of

Check: TypeAlias = Callable[[Scope, ast.Expression], Tree]


def contained(scope: Scope, node: ast.Call, args: list[Tree]) -> Tree | None:
    """`key in map`, where the entries of the map are facts: whether the entry is there."""
    key, range_ = args[0], members.map_step(args[1])
    if range_.op not in ("fact", "member") or not range_.column_entries or key.type == ERROR:
        return None
    if not fits(key.type, STRING, {}):
        return scope.report("KP204", f"the keys are string, this is {key.type}", key.span)
    return members.present(scope, members.entry(scope, range_, key, node.span), node.span)


def label(scope: Scope, node: ast.Call, check: Check) -> Tree:
    """`label(x, key)`: the label, or an empty string."""
    if len(node.args) != 2:
        return scope.report("KP202", f"`label` takes 2 arguments, not {len(node.args)}", node.span)
    owner, key = check(scope, node.args[0]), check(scope, node.args[1])
    if ERROR in (owner.type, key.type):
        return Tree("constant", ERROR, node.span)
    described = scope.environment.catalogue.object_type(owner.type)
    member = described.members.get("labels") if described else None
    if member is None or key.type not in (STRING, DYN):
        return scope.report(
            "KP204",
            f"`label` needs something that has labels and a string, not {owner.type}, {key.type}",
            node.span,
        )
    labels = members.asked(owner, member, "labels", ())
    value = members.entry(scope, labels, key, node.span)
    there = members.present(scope, value, node.span)
    assert there is not None
    empty = Tree("constant", STRING, node.span, value="", cost=0)
    return Tree(
        "conditional", STRING, node.span, (there, value, empty), time=value.time, size=value.size
    )


def with_receiver(scope: Scope, receiver: Tree, node: ast.Call, check: Check) -> Tree | None:
    """`optional.or(other)`, `optional.orValue(default)`."""
    if node.name not in ("or", "orValue") or receiver.type.name not in ("optional", "dyn"):
        return None
    if len(node.args) != 1:
        return scope.report(
            "KP202", f"`{node.name}` takes 1 argument, not {len(node.args)}", node.span
        )
    other = check(scope, node.args[0])
    inner = receiver.type.parameters[0] if receiver.type.parameters else DYN
    kind, op = _result(inner, other, node.name)
    if kind is None:
        return scope.report(
            "KP204", f"`{node.name}` of optional({inner}) does not take {other.type}", other.span
        )
    guard = _unguarded(receiver)
    if guard is not None and op == "or_value":
        there, value = guard
        args = (there, value, other)
        return Tree(
            "conditional",
            kind,
            node.span,
            args,
            time=max(receiver.time, other.time),
            size=max(receiver.size, other.size),
        )
    return Tree(
        op,
        kind,
        node.span,
        (receiver, other),
        time=max(receiver.time, other.time),
        size=max(receiver.size, other.size),
    )


def _result(inner: Type, other: Tree, name: str) -> tuple[Type | None, str]:
    if name == "orValue":
        kind = other.type if inner == DYN else joined([inner, other.type])
        agrees = fits(other.type, inner, {})
        return (kind if agrees else None), "or_value"
    if other.type in (DYN, ERROR):
        return optional_of(inner), "or_optional"
    if other.type.name != "optional" or not fits(other.type.parameters[0], inner, {}):
        return None, "or_optional"
    return optional_of(joined([inner, other.type.parameters[0]])), "or_optional"


def _unguarded(tree: Tree) -> tuple[Tree, Tree] | None:
    """`present ? optional.of(fact) : none` as its test and its fact."""
    if tree.op != "conditional" or tree.args[0].op not in ("present", "present_member"):
        return None
    test, some, _ = tree.args
    if some.op != "call" or some.name != "optional_of_any":
        return None
    return replace(test, type=BOOL), some.args[0]


def extreme(scope: Scope, node: ast.Call, check: Check) -> Tree | None:
    """`math.greatest(…)` and `math.least(…)`: numbers of any types, or one list of them."""
    target = node.target
    if node.name not in ("greatest", "least") or not isinstance(target, ast.Identifier):
        return None
    if target.name != "math" or "math" in scope.bound:
        return None
    args = [check(scope, arg) for arg in node.args]
    if not args:
        return scope.report("KP202", f"`math.{node.name}` takes at least 1 argument", node.span)
    items = args
    if len(args) == 1 and args[0].type.name == "list":
        items = []
        inner = args[0].type.parameters[0]
        if inner not in (*NUMBERS, DYN, ERROR) or (args[0].op == "list" and not args[0].args):
            return scope.report(
                "KP204", f"`math.{node.name}` needs numbers, these are {inner}", args[0].span
            )
        kind, operand = inner, args[0]
    else:
        kind = joined([item.type for item in items])
        operand = Tree(
            "list",
            list_of(kind),
            node.span,
            tuple(items),
            size=len(items),
            time=max(item.time for item in items),
        )
        if len(args) == 1 and kind == DYN:
            operand = args[0]
    for item in items:
        if item.type not in (*NUMBERS, DYN, ERROR):
            return scope.report(
                "KP204", f"`math.{node.name}` needs numbers, this is {item.type}", item.span
            )
    identity = "math_greatest" if node.name == "greatest" else "math_least"
    if operand.type.name == "list":
        identity += "_list"
    return Tree(
        "call",
        kind,
        node.span,
        (operand,),
        name=identity,
        time=operand.time,
        size=1,
        cost=1 + operand.size,
    )
