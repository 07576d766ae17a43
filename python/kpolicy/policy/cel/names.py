"""Names without an operand: what an identifier or a dotted name such as `params.zone` refers to."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kpolicy.policy.nearest import suggestion

from . import ast
from .catalogue_rows import Time
from .scope import Scope, no_clock
from .tree import Constant, Fact, Reported, Tree, Variable
from .types import ERROR, TYPE, Type

# Names of types that are values, as in `type(x) == int`.
_TYPE_NAMES: Final = frozenset(
    {
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "type",
        "null_type",
        "optional_type",
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "net.IP",
        "net.CIDR",
        "kubernetes.Quantity",
        "kubernetes.Semver",
        "kubernetes.URL",
        "kubernetes.NamedFormat",
    }
)


def identifier(scope: Scope, node: ast.Identifier) -> Tree:
    name = node.name
    bound = scope.bound.get(name)
    if bound is not None and not node.absolute:
        return replace(bound, span=node.span)
    environment = scope.environment
    if name in environment.inputs:
        return _input(scope, name, node)
    if name in environment.roots:
        root = environment.catalogue.roots[name]
        return Fact((), name=name, type=Type(root.type), span=node.span, time=root.time)
    if name in _TYPE_NAMES:
        return Constant(name, type=TYPE, span=node.span, cost=0)
    return _unknown(scope, node)


def qualified(scope: Scope, node: ast.Select) -> Tree | None:
    """What a dotted name stands for as a whole: an input, a parameter, a variable, a type."""
    names, first = _dotted(node)
    if first is None or (first.name in scope.bound and not first.absolute):
        return None
    environment = scope.environment
    name = ".".join(names)
    if name in environment.inputs:
        return _input(scope, name, node)
    if name in _TYPE_NAMES:
        return Constant(name, type=TYPE, span=node.span, cost=0)
    if len(names) != 2 or first.name in environment.inputs:
        return None
    if first.name == "params":
        return _parameter(scope, node)
    return _variable(scope, node) if first.name == "variables" else None


def namespaced(scope: Scope, node: ast.Call) -> str:
    """The name of a call such as `math.ceil(…)`; empty if its receiver is a value."""
    if node.target is None:
        return ""
    names, first = _dotted(node.target)
    if first is None or first.name in scope.bound:
        return ""
    return ".".join([*names, node.name])


def _dotted(node: ast.Expression) -> tuple[list[str], ast.Identifier | None]:
    """The names of `a.b.c` and its first identifier; None when it is not names all through."""
    names: list[str] = []
    while isinstance(node, ast.Select) and not node.optional:
        names.append(node.name)
        node = node.operand
    if not isinstance(node, ast.Identifier):
        return [], None
    return [node.name, *reversed(names)], node


def _input(scope: Scope, name: str, node: ast.Expression) -> Tree:
    return Fact((), name=name, type=scope.environment.inputs[name], span=node.span, time=Time.POD)


def _parameter(scope: Scope, node: ast.Select) -> Tree:
    known = scope.environment.params
    found = known.get(node.name)
    if found is None:
        hint = suggestion(node.name, known)
        return scope.report("KP201", f"there is no parameter `{node.name}`", node.name_span, hint)
    name = f"params.{node.name}"
    if found.value is None:
        return Fact((), name=name, type=found.type, span=node.span, time=Time.PARAMS)
    size = len(found.value) if isinstance(found.value, str | list | tuple | dict) else 1
    return Constant(found.value, name, type=found.type, span=node.span, size=size, cost=0)


def _variable(scope: Scope, node: ast.Select) -> Tree:
    known = scope.environment.variables
    found = known.get(node.name)
    if found is None:
        hint = suggestion(node.name, known) or "variables see only those above them"
        return scope.report("KP201", f"there is no variable `{node.name}`", node.name_span, hint)
    if found.tree is None:
        scope.is_poisoned = True
        return Reported(type=ERROR, span=node.span)
    value = found.tree
    scope.variable_levels = max(scope.variable_levels, found.variable_levels + 1)
    return Variable(
        node.name,
        value,
        type=value.type,
        span=node.span,
        time=value.time,
        size=value.size,
        cost=0,
    )


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
