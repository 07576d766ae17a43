"""Syntax tree to checked tree.

Owns the walk, names, literals and conditions; members, calls and macros have modules of their own.
Reports what is wrong and goes on, so that one run finds everything. Recursion is bounded by the
depth of the syntax tree.
"""

from __future__ import annotations

from dataclasses import replace

from kpolicy.policy.nearest import suggestion

from . import ast, calls, macros, members
from .catalogue_rows import Time
from .scope import Scope, no_clock
from .tree import Tree
from .types import (
    BOOL,
    DYN,
    ERROR,
    NULL,
    TYPE,
    Type,
    fits,
    joined,
    list_of,
    map_of,
    optional_of,
)

# Names of types as values, by what the engine calls them.
_TYPE_NAMES = {
    "bool": "bool",
    "int": "int",
    "uint": "uint",
    "double": "double",
    "string": "string",
    "bytes": "bytes",
    "list": "list",
    "map": "map",
    "type": "type",
    "null_type": "null_type",
    "optional_type": "optional_type",
    "google.protobuf.Timestamp": "google.protobuf.Timestamp",
    "google.protobuf.Duration": "google.protobuf.Duration",
    "net.IP": "net.IP",
    "net.CIDR": "net.CIDR",
    "kubernetes.Quantity": "kubernetes.Quantity",
    "kubernetes.Semver": "kubernetes.Semver",
    "kubernetes.URL": "kubernetes.URL",
    "kubernetes.NamedFormat": "kubernetes.NamedFormat",
}
_KINDS = {kind: Type(kind) for kind in ("bool", "int", "uint", "double", "string", "bytes")}


def check(scope: Scope, node: ast.Expression) -> Tree:
    """The checked tree; parts that were reported have the type `error`."""
    if isinstance(node, ast.Literal):
        return _literal(node)
    if isinstance(node, ast.Identifier):
        return _identifier(scope, node)
    if isinstance(node, ast.Select):
        named = qualified(scope, node)
        return named if named is not None else members.select(scope, node, check)
    if isinstance(node, ast.Index):
        return members.index(scope, node, check)
    if isinstance(node, ast.ListLiteral):
        return _list(scope, node)
    if isinstance(node, ast.MapLiteral):
        return _map(scope, node)
    return _call(scope, node)


def _literal(node: ast.Literal) -> Tree:
    size = len(node.value) if isinstance(node.value, str | bytes) else 1
    kind = NULL if node.kind == "null" else _KINDS[node.kind]
    return Tree("constant", kind, node.span, value=node.value, size=size, cost=0)


def dotted(node: ast.Expression) -> str:
    """`a.b.c` as one name; empty when it is not names all through."""
    names: list[str] = []
    while isinstance(node, ast.Select) and not node.optional:
        names.append(node.name)
        node = node.operand
    if not isinstance(node, ast.Identifier):
        return ""
    return ".".join([node.name, *reversed(names)])


def qualified(scope: Scope, node: ast.Select) -> Tree | None:
    """What a dotted name stands for as a whole: an input, a parameter, a variable, a type."""
    name = dotted(node)
    root = name.split(".", 1)[0]
    if not name or (root in scope.bound and not _absolute(node)):
        return None
    environment = scope.environment
    if name in environment.inputs:
        return _input(scope, name, node)
    if name in _TYPE_NAMES:
        return Tree("constant", TYPE, node.span, value=_TYPE_NAMES[name], cost=0)
    if name.count(".") != 1:
        return None
    if root == "params" and "params" not in environment.inputs:
        return _parameter(scope, node)
    if root == "variables" and "variables" not in environment.inputs:
        return _variable(scope, node)
    return None


def _absolute(node: ast.Expression) -> bool:
    while isinstance(node, ast.Select):
        node = node.operand
    return isinstance(node, ast.Identifier) and node.absolute


def _input(scope: Scope, name: str, node: ast.Expression) -> Tree:
    return Tree("fact", scope.environment.inputs[name], node.span, name=name, time=Time.POD)


def _parameter(scope: Scope, node: ast.Select) -> Tree:
    known = scope.environment.params
    found = known.get(node.name)
    if found is None:
        hint = suggestion(node.name, known)
        return scope.report("KP201", f"there is no parameter `{node.name}`", node.name_span, hint)
    if found.value is not None:
        size = len(found.value) if isinstance(found.value, str | list | tuple | dict) else 1
        name = f"params.{node.name}"
        return Tree(
            "constant", found.type, node.span, value=found.value, size=size, cost=0, name=name
        )
    return Tree("fact", found.type, node.span, name=f"params.{node.name}", time=Time.PARAMS)


def _variable(scope: Scope, node: ast.Select) -> Tree:
    known = scope.environment.variables
    found = known.get(node.name)
    if found is None:
        hint = suggestion(node.name, known) or "variables see only those above them"
        return scope.report("KP201", f"there is no variable `{node.name}`", node.name_span, hint)
    if found.tree is None:
        scope.poisoned = True
        return Tree("constant", ERROR, node.span)
    inner = found.tree
    scope.variable_levels = max(scope.variable_levels, found.variable_levels + 1)
    return Tree(
        "variable",
        inner.type,
        node.span,
        (inner,),
        name=node.name,
        time=inner.time,
        size=inner.size,
        cost=0,
    )


def _identifier(scope: Scope, node: ast.Identifier) -> Tree:
    name = node.name
    if name in scope.bound and not node.absolute:
        bound = scope.bound[name]
        if bound.op == "fact":
            return replace(bound, span=node.span)
        return Tree(
            "slot", bound.type, node.span, slots=bound.slots, time=bound.time, size=bound.size
        )
    environment = scope.environment
    if name in environment.inputs:
        return _input(scope, name, node)
    if name in environment.roots:
        root = environment.catalogue.roots[name]
        return Tree("fact", Type(root.type), node.span, name=name, time=root.time)
    if name in _TYPE_NAMES:
        return Tree("constant", TYPE, node.span, value=_TYPE_NAMES[name], cost=0)
    return _unknown(scope, node)


def _unknown(scope: Scope, node: ast.Identifier) -> Tree:
    environment = scope.environment
    name = node.name
    if name in ("params", "variables"):
        return scope.report(
            "KP205", f"`{name}` is no value by itself", node.span, f"write `{name}.NAME`"
        )
    if name in environment.catalogue.roots:
        roots = ", ".join(f"`{root}`" for root in environment.roots)
        return scope.report("KP201", f"`{name}` is not known here", node.span, f"here: {roots}")
    known = [*environment.roots, *environment.inputs, *scope.bound, "params", "variables"]
    hint = suggestion(name, known) or no_clock(name)
    return scope.report("KP201", f"there is nothing called `{name}`", node.span, hint)


def _list(scope: Scope, node: ast.ListLiteral) -> Tree:
    items = [check(scope, item) for item in node.items]
    kinds: list[Type] = []
    for item, optional in zip(items, node.optional, strict=True):
        kinds.append(_inside(scope, item) if optional else item.type)
    return Tree(
        "list",
        list_of(joined(kinds)),
        node.span,
        tuple(items),
        optional=tuple(at for at, flag in enumerate(node.optional) if flag),
        time=latest(items),
        size=len(items),
        cost=10,
    )


def _inside(scope: Scope, tree: Tree) -> Type:
    """The type inside an optional item of a literal."""
    if tree.type.name == "optional":
        return tree.type.parameters[0]
    if tree.type not in (DYN, ERROR):
        scope.report(
            "KP204", f"`?` needs an optional, this is {tree.type}", tree.span, "leave out the `?`"
        )
    return DYN


def _map(scope: Scope, node: ast.MapLiteral) -> Tree:
    keys = [check(scope, entry.key) for entry in node.entries]
    values = [check(scope, entry.value) for entry in node.entries]
    flags = [entry.optional for entry in node.entries]
    for key in keys:
        if key.type.name not in ("bool", "int", "uint", "string", "dyn", "error"):
            scope.report("KP204", f"a key of a map cannot be {key.type}", key.span)
    kinds = [
        _inside(scope, value) if flag else value.type
        for value, flag in zip(values, flags, strict=True)
    ]
    flat = [tree for pair in zip(keys, values, strict=True) for tree in pair]
    return Tree(
        "map",
        map_of(joined([key.type for key in keys]), joined(kinds)),
        node.span,
        tuple(flat),
        optional=tuple(at for at, flag in enumerate(flags) if flag),
        time=latest(flat),
        size=len(keys),
        cost=30,
    )


def latest(trees: list[Tree]) -> Time:
    return max((tree.time for tree in trees), default=Time.CONST)


def _call(scope: Scope, node: ast.Call) -> Tree:
    if node.name in (ast.AND, ast.OR):
        return _connective(scope, node)
    if node.name == ast.CONDITIONAL:
        return _conditional(scope, node)
    expanded = macros.expand(scope, node, check)
    if expanded is not None:
        return expanded
    return calls.call(scope, node, check)


def _must_be_bool(scope: Scope, tree: Tree, what: str) -> Tree:
    if fits(tree.type, BOOL, {}):
        return tree
    hint = "compare it, for example `!= 0`" if tree.type.name in ("int", "uint") else ""
    scope.report("KP204", f"{what} needs bool, this is {tree.type}", tree.span, hint)
    return scope.untyped(tree)


def _connective(scope: Scope, node: ast.Call) -> Tree:
    mark = "&&" if node.name == ast.AND else "||"
    args = [_must_be_bool(scope, check(scope, arg), f"`{mark}`") for arg in node.args]
    op = "and" if node.name == ast.AND else "or"
    return Tree(op, BOOL, node.span, tuple(args), time=latest(args))


def _conditional(scope: Scope, node: ast.Call) -> Tree:
    condition, yes, no = (check(scope, arg) for arg in node.args)
    condition = _must_be_bool(scope, condition, "the condition before `?`")
    kind = joined([yes.type, no.type])
    if kind == DYN and DYN not in (yes.type, no.type):
        if {yes.type.name, no.type.name} <= {"optional", "null"}:
            kind = optional_of(DYN)
        else:
            scope.warn(
                "KP208",
                f"the branches are {yes.type} and {no.type}: the type is only known at run time",
                node.span,
                "make both of one type",
            )
    return Tree(
        "conditional",
        kind,
        node.span,
        (condition, yes, no),
        time=latest([condition, yes, no]),
        size=max(yes.size, no.size),
    )
