"""Selecting and indexing: facts by their paths, fields, entries of maps, optionals.

Owns how a path becomes a fact. A member of a fact is a fact again (`node.domain(k).pods.count(s)`
is one read), an entry of a map fact too, and a variable that holds a step of such a path is that
step; on values of loops members are asked of the object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from kpolicy.diagnostics import Span
from kpolicy.policy.nearest import suggestion

from . import ast
from .catalogue import API_ROOTS, resource_unit
from .catalogue_rows import Member, ObjectType
from .scope import Scope, no_clock
from .tree import Tree
from .types import BOOL, DYN, ERROR, NUMBERS, Type, fits, optional_of

Check: TypeAlias = Callable[[Scope, ast.Expression], Tree]


def step(tree: Tree) -> Tree:
    """What a path goes on from: the fact itself, where `tree` uses a variable that holds one.

    Its arguments are cited where the variable is used, as offsets in the text of the variable mean
    nothing here. With a loop inside they stay there: its slots are numbered for that text.
    """
    if tree.op != "variable":
        return tree
    inner = step(tree.args[0])
    if inner.op != "fact" or any(map(_has_slots, inner.args)):
        return tree
    return replace(inner, span=tree.span, args=tuple(_cited(arg, tree.span) for arg in inner.args))


def _has_slots(tree: Tree) -> bool:
    return bool(tree.slots) or any(map(_has_slots, tree.args))


def _cited(tree: Tree, span: Span) -> Tree:
    if tree.op == "variable":
        return replace(tree, span=span)
    return replace(tree, span=span, args=tuple(_cited(arg, span) for arg in tree.args))


def map_step(tree: Tree) -> Tree:
    """The same for a map, whose entries are facts only if the map is one of those facts."""
    inner = step(tree)
    return inner if inner.column_entries else tree


def select(scope: Scope, node: ast.Select, check: Check) -> Tree:
    """`operand.name` and `operand.?name`."""
    operand = check(scope, node.operand)
    return field_of(scope, operand, node)


def field_of(scope: Scope, operand: Tree, node: ast.Select) -> Tree:
    """The field of an operand that is checked already."""
    kind = operand.type
    if kind == ERROR:
        return Tree("constant", ERROR, node.span)
    described = scope.environment.catalogue.object_type(kind)
    if described is not None:
        return _member_field(scope, operand, described, node)
    if kind.name == "optional" or node.optional:
        return _optional_field(scope, operand, node)
    if kind.name == "map":
        return entry(scope, operand, _text(node.name, node.name_span), node.span)
    if kind == DYN:
        return _field(operand, node, DYN)
    return scope.report(
        "KP205", f"{kind} has no fields, so no `{node.name}`", node.name_span, _field_hint(kind)
    )


def _field_hint(kind: Type) -> str:
    return "a list is indexed: `list[0]`" if kind.name == "list" else ""


def _text(value: str, span: Span) -> Tree:
    return Tree("constant", Type("string"), span, value=value, size=len(value), cost=0)


def _field(operand: Tree, node: ast.Select, kind: Type) -> Tree:
    return Tree(
        "field", kind, node.span, (operand,), name=node.name, time=operand.time, size=operand.size
    )


def _optional_field(scope: Scope, operand: Tree, node: ast.Select) -> Tree:
    operand = map_step(operand)
    inner = operand.type.parameters[0] if operand.type.name == "optional" else operand.type
    if inner.name == "map":
        value = inner.parameters[1]
    elif inner in (DYN, ERROR):
        value = DYN
    else:
        described = scope.environment.catalogue.object_type(inner)
        member = described.members.get(node.name) if described else None
        if member is None:
            return scope.report("KP205", f"{inner} has no field `{node.name}`", node.name_span)
        value = member.result
    if operand.op == "fact" and operand.column_entries:
        key = _text(node.name, node.name_span)
        return _optional_entry(operand, key, node.span)
    kind = value if value.name == "optional" else optional_of(value)
    return Tree(
        "optional_field",
        kind,
        node.span,
        (operand,),
        name=node.name,
        time=operand.time,
        size=operand.size,
    )


def _member_field(scope: Scope, operand: Tree, described: ObjectType, node: ast.Select) -> Tree:
    member = described.members.get(node.name)
    if member is None:
        return no_member(scope, described, node.name, node.name_span)
    if member.method:
        return scope.report(
            "KP205", f"`{node.name}` is a function", node.name_span, f"write `{node.name}(…)`"
        )
    if member.by_api_path and not (operand.op == "fact" and operand.name in API_ROOTS):
        return scope.report(
            "KP201",
            f"`{node.name}` is not kept of this {described.name}",
            node.name_span,
            f"by API path {', '.join(sorted(API_ROOTS))} are read; here the short facts are",
        )
    plain = described.record and operand.op != "fact"
    if plain and node.optional:
        return Tree(
            "optional_field",
            optional_of(member.result),
            node.span,
            (operand,),
            name=node.name,
            time=operand.time,
        )
    tree = _field(operand, node, member.result) if plain else asked(operand, member, node.name, ())
    tree = replace(tree, span=node.span, size=member.size)
    if node.optional:
        return _guarded(tree, node.span)
    return tree


def no_member(scope: Scope, described: ObjectType, name: str, span: Span) -> Tree:
    hint = suggestion(name, described.members) or no_clock(name)
    return scope.report("KP201", f"a {described.name} has no `{name}`", span, hint)


def asked(operand: Tree, member: Member, name: str, args: tuple[Tree, ...]) -> Tree:
    """The member of an object: a longer path if the object is a fact, else asked of the object."""
    operand = step(operand)
    time = max([operand.time, member.time, *(arg.time for arg in args)])
    kind = member.result
    if member.unit_by_resource and args and isinstance(args[0].value, str):
        kind = kind.with_unit(resource_unit(args[0].value))
    fact = operand.op == "fact"
    return Tree(
        "fact" if fact else "member",
        kind,
        operand.span,
        (*operand.args, *args) if fact else (operand, *args),
        name=f"{operand.name}.{name}" if fact else name,
        time=time,
        size=member.size,
        cost=member.cost,
        column=member.column if fact else "",
        column_entries=member.entries,
        entry_size=member.entry_size,
    )


def method(
    scope: Scope, operand: Tree, described: ObjectType, node: ast.Call, check: Check
) -> Tree:
    """`operand.name(args)` of the catalogue."""
    member = described.members[node.name]
    args = tuple(check(scope, arg) for arg in node.args)
    if not member.method:
        return scope.report(
            "KP202", f"`{node.name}` takes no arguments", node.span, f"write `.{node.name}`"
        )
    if member.of_root:
        if len(args) == 1 and args[0].op == "fact" and args[0].name == member.of_root:
            return replace(asked(operand, member, node.name, ()), span=node.span)
        return scope.report(
            "KP204", f"`{node.name}` is asked with `{member.of_root}` only", node.span
        )
    least = len(member.params) - member.optional
    if not least <= len(args) <= len(member.params):
        plural = "argument" if len(member.params) == 1 else "arguments"
        wanted = str(least) if not member.optional else f"{least} to {len(member.params)}"
        return scope.report(
            "KP202",
            f"`{node.name}` takes {wanted} {plural}, not {len(args)}",
            node.span,
        )
    for arg, param in zip(args, member.params, strict=False):
        if not fits(arg.type, param, {}):
            scope.report("KP204", f"`{node.name}` needs {param}, this is {arg.type}", arg.span)
    return replace(asked(operand, member, node.name, args), span=node.span)


def _guarded(tree: Tree, span: Span) -> Tree:
    """A fact as an optional: empty where it is absent."""
    op = "present" if tree.op == "fact" else "present_member"
    kind = optional_of(tree.type)
    some = Tree("call", kind, span, (tree,), name="optional_of_any", time=tree.time, size=tree.size)
    none = Tree("call", kind, span, (), name="optional_none_any")
    test = replace(tree, op=op, type=BOOL, span=span)
    return Tree("conditional", kind, span, (test, some, none), time=tree.time, size=tree.size)


def present(scope: Scope, tree: Tree, span: Span) -> Tree | None:
    """Whether what `tree` reads is there; `None` when that cannot be asked of it."""
    ops = {"fact": "present", "member": "present_member", "field": "has", "optional_field": "has"}
    op = ops.get(tree.op)
    if op is None:
        return None
    return replace(tree, op=op, type=BOOL, span=span, size=1, optional=())


def entry(scope: Scope, operand: Tree, key: Tree, span: Span) -> Tree:
    """An entry of a map: a fact of its own where the catalogue says so."""
    operand = map_step(operand)
    key_type, value = operand.type.parameters
    _key_fits(scope, key, key_type)
    if operand.op in ("fact", "member") and operand.column_entries:
        return replace(
            operand,
            type=value,
            span=span,
            args=(*operand.args, key),
            name=f"{operand.name}[]",
            time=max(operand.time, key.time),
            size=operand.entry_size,
            column_entries=False,
        )
    if key.op == "constant" and isinstance(key.value, str):
        return Tree(
            "field",
            value,
            span,
            (operand,),
            name=key.value,
            time=operand.time,
            size=operand.size,
        )
    return Tree(
        "call",
        value,
        span,
        (operand, key),
        name="index_map",
        time=max(operand.time, key.time),
        size=operand.size,
    )


def _key_fits(scope: Scope, key: Tree, expected: Type) -> None:
    numbers = key.type in NUMBERS and expected in NUMBERS
    if not numbers and not fits(key.type, expected, {}):
        scope.report("KP204", f"the keys are {expected}, this is {key.type}", key.span)


def _optional_entry(operand: Tree, key: Tree, span: Span) -> Tree:
    value = operand.type.parameters[1]
    fact = replace(
        operand,
        type=value,
        span=span,
        args=(*operand.args, key),
        name=f"{operand.name}[]",
        time=max(operand.time, key.time),
        column_entries=False,
    )
    return _guarded(fact, span)


def index(scope: Scope, node: ast.Index, check: Check) -> Tree:
    """`operand[index]` and `operand[?index]`."""
    operand, key = check(scope, node.operand), check(scope, node.index)
    kind = operand.type
    if kind == ERROR:
        return Tree("constant", ERROR, node.span)
    if node.optional or kind.name == "optional":
        return _optional_index(scope, operand, key, node)
    if kind.name == "map":
        return entry(scope, operand, key, node.span)
    if kind.name == "list" or kind == DYN:
        if kind.name == "list" and key.type not in (*NUMBERS, DYN, ERROR):
            scope.report("KP204", f"a list is indexed by int, this is {key.type}", key.span)
        name = "index_list" if kind.name == "list" else "index"
        value = kind.parameters[0] if kind.name == "list" else DYN
        return Tree(
            "call",
            value,
            node.span,
            (operand, key),
            name=name,
            time=max(operand.time, key.time),
            size=operand.size,
        )
    hint = ""
    if scope.environment.catalogue.object_type(kind):
        hint = "name the member: `.labels['…']`"
    return scope.report("KP204", f"{kind} cannot be indexed", node.span, hint)


def _optional_index(scope: Scope, operand: Tree, key: Tree, node: ast.Index) -> Tree:
    operand = map_step(operand)
    inner = operand.type.parameters[0] if operand.type.name == "optional" else operand.type
    if inner.name == "map":
        _key_fits(scope, key, inner.parameters[0])
        value = inner.parameters[1]
        if operand.op in ("fact", "member") and operand.column_entries:
            return _optional_entry(operand, key, node.span)
    elif inner.name == "list":
        value = inner.parameters[0]
    elif inner in (DYN, ERROR):
        value = DYN
    else:
        return scope.report("KP204", f"{inner} cannot be indexed", node.span)
    return Tree(
        "call",
        optional_of(value),
        node.span,
        (operand, key),
        name="optional_index",
        time=max(operand.time, key.time),
        size=operand.size,
    )
