"""Selecting and indexing: members of objects, fields and entries of maps, items of lists.

A member of a fact is a fact again (`node.domain(k).pods.count(s)` is one read), and so is an entry
of a map fact. A policy variable that holds such a fact is that fact. On the value of a loop, the
member is asked of the object.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kpolicy.diagnostics import Span, suggestion
from kpolicy.policy.cel import syntax
from kpolicy.policy.cel.call_costs import of_index
from kpolicy.policy.cel.call_sizes import size_of_call
from kpolicy.policy.cel.facts import API_ROOTS, PENDING, Member, ObjectType, resource_unit
from kpolicy.policy.cel.familiar_words import CLOCK, for_member
from kpolicy.policy.cel.scope import Scope, clock_hint
from kpolicy.policy.cel.sizes import Size, larger, of_constant, of_member
from kpolicy.policy.cel.tree import (
    Bind,
    Call,
    Conditional,
    Constant,
    Fact,
    Field,
    Has,
    Loop,
    MemberRead,
    OptionalField,
    Present,
    Read,
    Reported,
    Slot,
    Tree,
    Variable,
    at_span,
    latest,
    text_of,
)
from kpolicy.policy.cel.types import (
    BOOL,
    DYN,
    ERROR,
    NUMBERS,
    STRING,
    TIMESTAMP,
    Type,
    fits,
    optional_of,
)

# An object with more members is not listed in a hint.
_MEMBERS_SHOWN_MAX: Final = 6


def as_fact(tree: Tree) -> Tree:
    """The fact that a path goes on from, where `tree` is a variable that holds one.

    The arguments of the fact get the span of the variable's use, as their own spans are offsets in
    the variable's text. A fact with a loop in its arguments stays where it is: slots are numbered
    for one text.
    """
    if not isinstance(tree, Variable):
        return tree
    value = as_fact(tree.value)
    if not isinstance(value, Fact) or any(map(_has_slots, value.args)):
        return tree
    return at_span(value, tree.span)


def _has_slots(tree: Tree) -> bool:
    return isinstance(tree, Slot | Loop | Bind) or any(map(_has_slots, tree.operands))


def as_map_fact(tree: Tree) -> Tree:
    """As for a list, but for a map, and only if the entries of the map are facts of their own."""
    return entries_of(as_fact(tree)) or tree


def entries_of(tree: Tree) -> Read | None:
    """The tree, if it is a map whose entries are facts of their own."""
    return tree if isinstance(tree, Read) and tree.has_entries else None


def field_of(scope: Scope, operand: Tree, node: syntax.Select) -> Tree:
    """`operand.name` and `operand.?name`."""
    kind = operand.type
    if kind == ERROR:
        return Reported(type=ERROR, span=node.span)
    described = scope.environment.catalogue.object_type(kind)
    if described is not None:
        return _member_field(scope, operand, described, node)
    if kind.name == "optional" or node.optional:
        return _optional_field(scope, operand, node)
    if kind.name == "map":
        return entry(scope, operand, _text(node.name, node.name_span), node.span)
    if kind == DYN:
        return _field(operand, node, DYN, larger(operand.size, operand.size.inside))
    hint = "a list is indexed: `list[0]`" if kind.name == "list" else ""
    hint = CLOCK.get(node.name, "") if kind == TIMESTAMP else hint
    return scope.report("KP205", f"{kind} has no fields, so no `{node.name}`", node.name_span, hint)


def _text(value: str, span: Span) -> Tree:
    return Constant(value, type=STRING, span=span, size=of_constant(value))


def _field(operand: Tree, node: syntax.Select, kind: Type, size: Size) -> Tree:
    return Field(operand, node.name, type=kind, span=node.span, time=operand.time, size=size)


def _optional_field(scope: Scope, operand: Tree, node: syntax.Select) -> Tree:
    operand = as_map_fact(operand)
    inner = _inside_optional(operand.type)
    described = scope.environment.catalogue.object_type(inner)
    member = described.members.get(node.name) if described else None
    if inner.name != "map" and inner not in (DYN, ERROR) and member is None:
        return scope.report("KP205", f"{inner} has no field `{node.name}`", node.name_span)
    if isinstance(operand, Fact) and operand.has_entries:
        return _optional_entry(operand, _text(node.name, node.name_span), node.span)
    value = member.result if member else inner.parameters[1] if inner.parameters else DYN
    kind = value if value.name == "optional" else optional_of(value)
    inside = larger(operand.size.inside, operand.size.inside.inside)
    size = Size(1, of_member(member) if member else inside)
    return OptionalField(
        operand, node.name, type=kind, span=node.span, time=operand.time, size=size
    )


def _inside_optional(kind: Type) -> Type:
    return kind.parameters[0] if kind.name == "optional" else kind


def _member_field(scope: Scope, operand: Tree, described: ObjectType, node: syntax.Select) -> Tree:
    member = described.members.get(node.name)
    if member is None:
        return no_member(scope, described, node.name, node.name_span)
    if member.method:
        return scope.report(
            "KP205", f"`{node.name}` is a function", node.name_span, f"write `{node.name}(…)`"
        )
    if member.by_api_path and not (isinstance(operand, Fact) and operand.name in API_ROOTS):
        return scope.report(
            "KP201",
            f"`{node.name}` is not kept of this {described.name}",
            node.name_span,
            f"by API path {', '.join(sorted(API_ROOTS))} are read; here the short facts are",
        )
    if member.told_of and not (isinstance(operand, Fact) and operand.name in member.told_of):
        known = " and ".join(f"`{root}`" for root in member.told_of)
        also = ", the pod that waits" if member.told_of == (PENDING,) else ""
        return scope.report(
            "KP201",
            f"`{node.name}` is not known of this {described.name}",
            node.name_span,
            f"it is known of {known} only{also}",
        )
    if described.record and not isinstance(operand, Fact):
        if not node.optional:
            return _field(operand, node, member.result, of_member(member))
        kind, size = optional_of(member.result), Size(1, of_member(member))
        return OptionalField(
            operand, node.name, type=kind, span=node.span, time=operand.time, size=size
        )
    read = replace(member_of(operand, member, node.name, ()), span=node.span)
    return _as_optional(read, node.span) if node.optional else read


def no_member(scope: Scope, described: ObjectType, name: str, span: Span) -> Tree:
    hint = (
        for_member(name, described.name)
        or suggestion(name, described.members)
        or clock_hint(name)
        or _all_members(described)
    )
    return scope.report("KP201", f"a {described.name} has no `{name}`", span, hint)


def _all_members(described: ObjectType) -> str:
    """Of a small object, such as a domain."""
    if len(described.members) > _MEMBERS_SHOWN_MAX:
        return ""
    return f"it has {described.shown(_MEMBERS_SHOWN_MAX)}"


def member_of(operand: Tree, member: Member, name: str, args: tuple[Tree, ...]) -> Read:
    """The member of an object: a longer path if the object is a fact, else asked of the object."""
    operand = as_fact(operand)
    resource = text_of(args[0]) if member.unit_by_resource and args else None
    kind = member.result if resource is None else member.result.with_unit(resource_unit(resource))
    time = max(operand.time, member.time, latest(args))
    if isinstance(operand, Fact):
        return Fact(
            (*operand.args, *args),
            name=f"{operand.name}.{name}",
            type=kind,
            span=operand.span,
            time=time,
            size=of_member(member),
            cost=member.cost,
            column=member.column,
            has_entries=member.entries,
            reads_absent=member.reads_absent,
        )
    return MemberRead(
        (operand, *args),
        name=name,
        type=kind,
        span=operand.span,
        time=time,
        size=of_member(member),
        cost=member.cost,
        has_entries=member.entries,
    )


def method(
    scope: Scope, operand: Tree, described: ObjectType, node: syntax.Call, args: tuple[Tree, ...]
) -> Tree:
    """`operand.name(args)` of the catalogue."""
    member = described.members[node.name]
    if not member.method:
        return scope.report(
            "KP202", f"`{node.name}` takes no arguments", node.span, f"write `.{node.name}`"
        )
    if member.of_root:
        root = args[0] if len(args) == 1 else None
        if isinstance(root, Fact) and root.name == member.of_root:
            return replace(member_of(operand, member, node.name, ()), span=node.span)
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
            f"it is called as `{_called(node.name, member)}`",
        )
    wrong = [
        scope.report(
            "KP204", f"`{node.name}` needs {param}, this is {arg.type}", arg.span, _argument(param)
        )
        for arg, param in zip(args, member.params, strict=False)
        if not fits(arg.type, param, {})
    ]
    return (
        wrong[0] if wrong else replace(member_of(operand, member, node.name, args), span=node.span)
    )


def _called(name: str, member: Member) -> str:
    """As `kpolicy rule` shows it: arguments that may be left out with a question mark."""
    least = len(member.params) - member.optional
    words = [f"{param}{'?' * (at >= least)}" for at, param in enumerate(member.params)]
    return f"{name}({', '.join(words)})"


def _argument(param: Type) -> str:
    return "write `selector('app=web')`" if param.name == "selector" else ""


def present(tree: Tree, span: Span) -> Tree | None:
    """Whether what `tree` reads is there; None when that cannot be asked of it."""
    if isinstance(tree, Read):
        return Present(tree, type=BOOL, span=span, time=tree.time)
    if isinstance(tree, Field | OptionalField):
        return Has(tree.operand, tree.name, type=BOOL, span=span, time=tree.time)
    return None


def entry(scope: Scope, operand: Tree, key: Tree, span: Span) -> Tree:
    """An entry of a map: a fact of its own where the catalogue says so."""
    operand = as_map_fact(operand)
    key_type, value = operand.type.parameters
    _check_key(scope, key, key_type)
    entries = entries_of(operand)
    if entries is not None:
        return entry_of(entries, key, span)
    name = text_of(key)
    if name is not None:
        return Field(
            operand, name, type=value, span=span, time=operand.time, size=operand.size.inside
        )
    return _index("index_map", value, operand, key, span)


def entry_of(entries: Read, key: Tree, span: Span) -> Read:
    """The entry of a map whose entries are facts of their own."""
    return replace(
        entries,
        type=entries.type.parameters[1],
        span=span,
        args=(*entries.args, key),
        name=f"{entries.name}[]",
        time=max(entries.time, key.time),
        size=entries.size.inside,
        has_entries=False,
    )


def _check_key(scope: Scope, key: Tree, expected: Type) -> None:
    if not {key.type, expected} <= {*NUMBERS} and not fits(key.type, expected, {}):
        scope.report("KP204", f"the keys are {expected}, this is {key.type}", key.span)


def _optional_entry(entries: Read, key: Tree, span: Span) -> Tree:
    return _as_optional(entry_of(entries, key, span), span)


def _as_optional(read: Read, span: Span) -> Tree:
    """A fact as an optional: `present ? optional.of(fact) : optional.none()`."""
    kind, size = optional_of(read.type), Size(1, read.size)
    return Conditional(
        Present(read, type=BOOL, span=span, time=read.time),
        Call("optional_of_any", (read,), type=kind, span=span, time=read.time, size=size),
        Call("optional_none_any", (), type=kind, span=span),
        type=kind,
        span=span,
        time=read.time,
        size=size,
    )


def index(scope: Scope, operand: Tree, key: Tree, node: syntax.Index) -> Tree:
    """`operand[key]` and `operand[?key]`."""
    kind = operand.type
    if kind == ERROR:
        return Reported(type=ERROR, span=node.span)
    if node.optional or kind.name == "optional":
        return _optional_index(scope, operand, key, node)
    if kind.name == "map":
        return entry(scope, operand, key, node.span)
    if kind == DYN:
        return _index("index", DYN, operand, key, node.span)
    if kind.name == "list":
        if key.type not in (*NUMBERS, DYN, ERROR):
            scope.report("KP204", f"a list is indexed by int, this is {key.type}", key.span)
        return _index("index_list", kind.parameters[0], operand, key, node.span)
    is_object = scope.environment.catalogue.object_type(kind) is not None
    hint = "name the member: `.labels['…']`" if is_object else ""
    return scope.report("KP204", f"{kind} cannot be indexed", node.span, hint)


def _optional_index(scope: Scope, operand: Tree, key: Tree, node: syntax.Index) -> Tree:
    operand = as_map_fact(operand)
    inner = _inside_optional(operand.type)
    if inner.name == "map":
        _check_key(scope, key, inner.parameters[0])
        entries = entries_of(operand)
        if entries is not None:
            return _optional_entry(entries, key, node.span)
        value = inner.parameters[1]
    elif inner.name == "list":
        value = inner.parameters[0]
    elif inner in (DYN, ERROR):
        value = DYN
    else:
        return scope.report("KP204", f"{inner} cannot be indexed", node.span)
    return _index("optional_index", optional_of(value), operand, key, node.span)


def _index(overload: str, kind: Type, operand: Tree, key: Tree, span: Span) -> Tree:
    time = max(operand.time, key.time)
    args = [operand, key]
    return Call(
        overload,
        (operand, key),
        type=kind,
        span=span,
        time=time,
        size=size_of_call(overload.removesuffix("_list").removesuffix("_map"), args),
        cost=of_index(args),
    )
