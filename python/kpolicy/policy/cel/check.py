"""Syntax tree to checked tree.

`Checker` walks the syntax, and hands the checked operands on to the modules that know members,
calls and macros. It reports what is wrong and goes on, so that one run finds everything. The depth
of the syntax tree bounds its recursion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from kpolicy.policy.cel import calls, macros, members, syntax
from kpolicy.policy.cel.scope import Scope, identifier, namespaced, qualified, untyped
from kpolicy.policy.cel.sizes import Size, larger, largest, of_constant
from kpolicy.policy.cel.tree import (
    And,
    Bind,
    Conditional,
    Constant,
    Fact,
    Has,
    Loop,
    NewList,
    NewMap,
    Or,
    Reported,
    Slot,
    Tree,
    latest,
)
from kpolicy.policy.cel.types import (
    BOOL,
    DYN,
    ERROR,
    NULL,
    Type,
    fits,
    joined,
    list_of,
    map_of,
    optional_of,
)
from kpolicy.quick_dataclass import dataclass

_COMPARE: Final = "compare it, for example `!= 0`"
_KEY_TYPES: Final = frozenset({"bool", "int", "uint", "string", "dyn", "error"})


@dataclass(frozen=True, slots=True)
class Checker:
    """Checks one expression in `scope`; parts that were reported have the type `error`."""

    scope: Scope

    def check(self, node: syntax.Expression) -> Tree:
        match node:
            case syntax.Literal():
                return _literal(node)
            case syntax.Identifier():
                return identifier(self.scope, node)
            case syntax.Select():
                named = qualified(self.scope, node)
                return named or members.field_of(self.scope, self.check(node.operand), node)
            case syntax.Index():
                operand, key = self.check(node.operand), self.check(node.index)
                return members.index(self.scope, operand, key, node)
            case syntax.ListLiteral():
                return self._list(node)
            case syntax.MapLiteral():
                return self._map(node)
            case syntax.Call():
                return self._operation(node)
            case _:
                assert_never(node)

    def _all(self, nodes: Sequence[syntax.Expression]) -> list[Tree]:
        return [self.check(node) for node in nodes]

    # Literals and operators.

    def _list(self, node: syntax.ListLiteral) -> Tree:
        items = self._all(node.items)
        kinds = self._item_types(items, node.optional)
        return NewList(
            tuple(items),
            _indices(node.optional),
            type=list_of(joined(kinds)),
            span=node.span,
            time=latest(items),
            size=Size(len(items), largest(item.size for item in items)),
        )

    def _map(self, node: syntax.MapLiteral) -> Tree:
        keys = self._all([entry.key for entry in node.entries])
        values = self._all([entry.value for entry in node.entries])
        flags = [entry.optional for entry in node.entries]
        for key in keys:
            if key.type.name not in _KEY_TYPES:
                self.scope.report("KP204", f"a key of a map cannot be {key.type}", key.span)
        kinds = self._item_types(values, flags)
        args = tuple(tree for entry in zip(keys, values, strict=True) for tree in entry)
        return NewMap(
            args,
            _indices(flags),
            type=map_of(joined([key.type for key in keys]), joined(kinds)),
            span=node.span,
            time=latest(args),
            size=Size(
                len(keys),
                largest(value.size for value in values),
                largest(key.size for key in keys).length,
            ),
        )

    def _item_types(self, items: Sequence[Tree], flags: Sequence[bool]) -> list[Type]:
        """The types of the items, and what is inside of those that are marked as optional."""
        return [self._inside(i) if flag else i.type for i, flag in zip(items, flags, strict=True)]

    def _inside(self, tree: Tree) -> Type:
        if tree.type.name == "optional":
            return tree.type.parameters[0]
        if tree.type not in (DYN, ERROR):
            message = f"`?` needs an optional, this is {tree.type}"
            self.scope.report("KP204", message, tree.span, "leave out the `?`")
        return DYN

    def _operation(self, node: syntax.Call) -> Tree:
        match node.name:
            case syntax.AND | syntax.OR:
                mark, kind = ("&&", And) if node.name == syntax.AND else ("||", Or)
                args = [self._as_bool(arg, f"`{mark}` needs bool") for arg in self._all(node.args)]
                return kind(tuple(args), type=BOOL, span=node.span, time=latest(args))
            case syntax.CONDITIONAL:
                return self._conditional(node)
        return self._macro(node) or self._call(node)

    def _as_bool(
        self, tree: Tree, need: str, advice: str = "compare it, for example `!= 0`"
    ) -> Tree:
        if fits(tree.type, BOOL, {}):
            return tree
        hint = advice if tree.type.name in ("int", "uint") else ""
        self.scope.report("KP204", f"{need}, this is {tree.type}", tree.span, hint)
        return untyped(tree)

    def _conditional(self, node: syntax.Call) -> Tree:
        test, yes, no = self._all(node.args)
        test = self._as_bool(test, "the condition before `?` needs bool")
        kind = joined([yes.type, no.type])
        if kind == DYN and DYN not in (yes.type, no.type):
            if {yes.type.name, no.type.name} <= {"optional", "null"}:
                kind = optional_of(DYN)
            else:
                self.scope.warn(
                    "KP208",
                    f"the branches are {yes.type} and {no.type}: the type is only known at run "
                    "time",
                    node.span,
                    "make both of one type",
                )
        return Conditional(
            test,
            yes,
            no,
            type=kind,
            span=node.span,
            time=latest((test, yes, no)),
            size=larger(yes.size, no.size),
        )

    # Macros.

    def _macro(self, node: syntax.Call) -> Tree | None:
        """The tree that a macro stands for; None if the call is no macro."""
        count = len(node.args)
        if node.target is None:
            return self._has(node) if node.name == "has" and count == 1 else None
        if node.name == "bind" and count == 3 and _is_named(node.target, "cel"):
            return self._bind(node)
        shape = macros.LOOPS.get((node.name, count))
        return None if shape is None else self._loop(node, node.target, shape)

    def _has(self, node: syntax.Call) -> Tree:
        (arg,) = node.args
        if not isinstance(arg, syntax.Select):
            return self.scope.report(
                "KP204", "`has` needs a field: `has(a.b)`", arg.span, "for a key: `'k' in m`"
            )
        operand = self.check(arg.operand)
        if operand.type.name == "map" and members.entries_of(operand) is None:
            return Has(operand, arg.name, type=BOOL, span=node.span, time=operand.time)
        tree = members.field_of(self.scope, operand, arg)
        if tree.type == ERROR:
            return Reported(type=BOOL, span=node.span)
        if isinstance(tree, Conditional):
            # An optional selection of a fact: it has a value when the fact is present.
            return tree.test
        there = members.present(tree, node.span)
        return there or self.scope.report("KP204", "`has` cannot be asked of this", arg.span)

    def _bind(self, node: syntax.Call) -> Tree:
        name = self._variable_name(node.args[0])
        value = self.check(node.args[1])
        fact = members.as_fact(value)
        described = self.scope.environment.catalogue.object_type(fact.type)
        if isinstance(fact, Fact) and described is not None and not described.record:
            # An object is not a value by itself: the body reads the facts that its paths end in.
            return self._within({name: fact}, node.args[2])
        slot = self.scope.new_slot()
        bound = Slot(slot, type=value.type, span=node.span, time=value.time, size=value.size)
        body = self._within({name: bound}, node.args[2])
        return Bind(
            value,
            body,
            slot,
            type=body.type,
            span=node.span,
            time=max(value.time, body.time),
            size=body.size,
        )

    def _loop(self, node: syntax.Call, target: syntax.Expression, shape: macros.Shape) -> Tree:
        over = self.check(target)
        kinds = macros.variable_types(over.type, shape)
        if kinds is None:
            return self.scope.report(
                "KP204",
                f"`{node.name}` runs over a list or a map, this is {over.type}",
                target.span,
            )
        variables = [self._variable_name(arg) for arg in node.args[: shape.variables]]
        if len(set(variables)) < len(variables):
            message = f"`{variables[0]}` names both variables"
            self.scope.report("KP204", message, node.args[1].span)
        slots = tuple(self.scope.new_slot() for _ in variables)
        sizes = macros.variable_sizes(over, shape)
        bound = {
            name: Slot(slot, type=kind, span=node.span, time=over.time, size=size)
            for name, kind, slot, size in zip(variables, kinds, slots, sizes, strict=True)
        }
        body = [self._within(bound, arg) for arg in node.args[shape.variables :]]
        tests = macros.tests_of(shape, len(body))
        need = f"`{node.name}` needs a bool here"
        body[:tests] = [self._as_bool(operand, need, "") for operand in body[:tests]]
        return Loop(
            shape.kind,
            over,
            tuple(body),
            slots,
            type=macros.result_type(self.scope, shape, over, kinds, body[-1]),
            span=node.span,
            time=latest((over, *body)),
            size=macros.result_size(shape, over, sizes, body[-1]),
        )

    def _variable_name(self, node: syntax.Expression) -> str:
        if isinstance(node, syntax.Identifier) and not node.absolute:
            return node.name
        self.scope.report("KP204", "the name of a variable is expected here", node.span)
        return ""

    def _within(self, bound: Mapping[str, Slot | Fact], body: syntax.Expression) -> Tree:
        with self.scope.binding(bound):
            return self.check(body)

    # Calls.

    def _call(self, node: syntax.Call) -> Tree:
        if node.target is None:
            return self._global_call(node)
        is_math = _is_named(node.target, "math") and "math" not in self.scope.bound
        if is_math and node.name in ("greatest", "least"):
            return macros.extreme(self.scope, node, tuple(self._all(node.args)))
        name = namespaced(self.scope, node)
        if calls.candidates_of(name, False):
            return calls.resolved(self.scope, node, name, self._all(node.args), False)
        return self._method_call(node, self.check(node.target))

    def _global_call(self, node: syntax.Call) -> Tree:
        if node.name == "label":
            if len(node.args) != 2:
                return self._wrong_count(node, "2 arguments")
            owner, key = self._all(node.args)
            return macros.label(self.scope, node.span, owner, key)
        args = self._all(node.args)
        there = macros.contained(self.scope, node.span, *args) if node.name == "_in_" else None
        return there or calls.resolved(self.scope, node, node.name, args, False)

    def _method_call(self, node: syntax.Call, receiver: Tree) -> Tree:
        if receiver.type == ERROR:
            self._all(node.args)
            return Reported(type=ERROR, span=node.span)
        described = self.scope.environment.catalogue.object_type(receiver.type)
        if described is not None and node.name in described.members:
            args = tuple(self._all(node.args))
            return members.method(self.scope, receiver, described, node, args)
        if node.name in ("or", "orValue") and receiver.type.name in ("optional", "dyn"):
            if len(node.args) != 1:
                return self._wrong_count(node, "1 argument")
            return macros.fallback(self.scope, receiver, node, self.check(node.args[0]))
        operands = [receiver, *self._all(node.args)]
        if described is not None and not calls.candidates_of(node.name, True):
            return members.no_member(self.scope, described, node.name, node.name_span)
        return calls.resolved(self.scope, node, node.name, operands, True)

    def _wrong_count(self, node: syntax.Call, wanted: str) -> Tree:
        return self.scope.report(
            "KP202", f"`{node.name}` takes {wanted}, not {len(node.args)}", node.span
        )


def _literal(node: syntax.Literal) -> Tree:
    kind = NULL if node.kind == "null" else Type(node.kind)
    return Constant(node.value, type=kind, span=node.span, size=of_constant(node.value))


def _indices(flags: Sequence[bool]) -> tuple[int, ...]:
    return tuple(at for at, flag in enumerate(flags) if flag)


def _is_named(node: syntax.Expression, name: str) -> bool:
    return isinstance(node, syntax.Identifier) and node.name == name
