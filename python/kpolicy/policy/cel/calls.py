"""Calls of functions and operators: the table of all overloads, and the choice among them.

Reports a call that no overload fits. Operands of type `dyn` leave the choice to the engine, by the
name of the family. The engine has the same overload ids; a conformance test compares the tables.
"""

from __future__ import annotations

from functools import reduce
from types import MappingProxyType
from typing import Final

from kpolicy.diagnostics import Hint, Note, suggestion
from kpolicy.policy.cel import functions_libraries, functions_standard, syntax
from kpolicy.policy.cel.call_costs import of_call
from kpolicy.policy.cel.call_sizes import size_of_call
from kpolicy.policy.cel.constants import check_constant
from kpolicy.policy.cel.facts import resource_unit
from kpolicy.policy.cel.familiar_words import FUNCTIONS
from kpolicy.policy.cel.functions_standard import Family, Overload, overloads_of
from kpolicy.policy.cel.scope import Scope, clock_hint
from kpolicy.policy.cel.sizes import larger
from kpolicy.policy.cel.tree import Call, Reported, Tree, latest, text_of
from kpolicy.policy.cel.types import (
    BOOL,
    ERROR,
    NULL,
    NUMBERS,
    Type,
    fits,
    has_dyn,
    joined,
    substituted,
)

FAMILIES: Final[tuple[Family, ...]] = (
    *functions_standard.FAMILIES,
    *functions_libraries.FAMILIES,
)

_BY_NAME: Final[dict[tuple[str, bool], list[Overload]]] = {}
for _family in FAMILIES:
    for _overload in overloads_of(_family):
        _BY_NAME.setdefault((_overload.function, _overload.member), []).append(_overload)

BY_NAME: Final = MappingProxyType({key: tuple(value) for key, value in _BY_NAME.items()})
NAMES: Final = frozenset(name for name, _ in BY_NAME if name[0].isalpha())


def candidates_of(function: str, member: bool) -> tuple[Overload, ...]:
    return BY_NAME.get((function, member), ())


def signatures() -> list[str]:
    """A line for each overload, `id(operands) result`, in the engine's words: heads of types."""
    lines = {
        f"{overload.id}({' '.join(map(_head, overload.params))}) {_head(overload.result)}"
        for overloads in BY_NAME.values()
        for overload in overloads
    }
    return sorted(lines)


def _head(kind: Type) -> str:
    return "dyn" if kind.is_parameter or kind.name == "number" else kind.name


_SYMBOLS: Final = {
    "_==_": "==",
    "_!=_": "!=",
    "_<_": "<",
    "_<=_": "<=",
    "_>_": ">",
    "_>=_": ">=",
    "_+_": "+",
    "_-_": "-",
    "_*_": "*",
    "_/_": "/",
    "_%_": "%",
    "_in_": "in",
    "!_": "!",
    "-_": "-",
}
_SAME_UNITS: Final = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "_+_", "_-_", "ratio")


def resolved(scope: Scope, node: syntax.Call, name: str, args: list[Tree], member: bool) -> Tree:
    candidates = candidates_of(name, member)
    if not candidates:
        return _unknown(scope, node, name, args, member)
    if any(arg.type == ERROR for arg in args):
        # The error is reported already. A result that is surely bool helps to find further errors.
        is_bool = {overload.result for overload in candidates} == {BOOL}
        return Reported(type=BOOL if is_bool else ERROR, span=node.span)
    by_count = [overload for overload in candidates if len(overload.params) == len(args)]
    if not by_count:
        return _wrong_count(scope, node, candidates, len(args), member)
    found = [
        (overload, bound)
        for overload in by_count
        if (bound := _matched(overload, args)) is not None
    ]
    if not found:
        return _no_overload(scope, node, args, by_count)
    _compare_units(scope, node, name, args)
    overload, bound = found[0]
    families = {overload.family.id: overload.family}
    if len(found) == 1 or not any(has_dyn(arg.type) for arg in args):
        identity, result = overload.id, substituted(overload.result, bound)
    else:
        # The engine chooses the overload at run time. The last family of a function knows the
        # operands of the others too.
        families = {overload.family.id: overload.family for overload, _ in found}
        identity = list(families)[-1]
        result = joined([substituted(overload.result, bound) for overload, bound in found])
    if name in ("_==_", "_!=_"):
        _never_equal(scope, node, args, name)
    result = _with_unit(result, name, args)
    call = Call(
        identity,
        tuple(args),
        type=result,
        span=node.span,
        time=latest(args),
        size=reduce(larger, (size_of_call(name, args) for name in families)),
        cost=max(of_call(family, args) for family in families.values()),
    )
    return check_constant(scope, overload.family, call)


def _matched(overload: Overload, args: list[Tree]) -> dict[str, Type] | None:
    bound: dict[str, Type] = {}
    for arg, param in zip(args, overload.params, strict=True):
        if not fits(arg.type, param, bound) and not _numeric_member(overload, arg, param, bound):
            return None
    return bound


def _numeric_member(overload: Overload, arg: Tree, param: Type, bound: dict[str, Type]) -> bool:
    """`1.0 in [1]`: numbers are compared by value, whatever their types."""
    if overload.family.id != "in" or not param.parameters or not arg.type.parameters:
        return False
    item = bound.get("A")
    return arg.type.name == param.name and item in NUMBERS and arg.type.parameters[0] in NUMBERS


def _with_unit(result: Type, name: str, args: list[Tree]) -> Type:
    if name == "cpu":
        return result.with_unit(resource_unit("cpu"))
    units = {arg.type.unit for arg in args if arg.type.unit}
    is_scaled = name in ("_*_", "_/_", "_%_") and not args[-1].type.unit
    keeps = is_scaled or name in ("_+_", "_-_", "-_", "clamp")
    return result.with_unit(units.pop()) if keeps and len(units) == 1 else result


def _compare_units(scope: Scope, node: syntax.Call, name: str, args: list[Tree]) -> None:
    if name not in _SAME_UNITS or len(args) != 2:
        return
    a, b = args[0].type.unit, args[1].type.unit
    if a and b and a != b:
        scope.warn(
            "KP321",
            f"the units differ: {a} and {b}",
            node.span,
            notes=(Note(a, args[0].span), Note(b, args[1].span)),
        )


def _never_equal(scope: Scope, node: syntax.Call, args: list[Tree], name: str) -> None:
    a, b = args[0].type, args[1].type
    if a in NUMBERS and b in NUMBERS:
        return
    if NULL in (a, b) and not {a.name, b.name} & _NEVER_NULL:
        return
    if not fits(a, b, {}) and not fits(b, a, {}) and a.name != b.name:
        always = "false" if name == "_==_" else "true"
        hint = _PRESENCE if NULL in (a, b) else ""
        scope.warn("KP206", f"{a} never equals {b}: this is always {always}", node.span, hint)


# An object that is read by API path may be null, such values are not.
_NEVER_NULL: Final = frozenset(
    ("string", "bytes", "bool", "int", "uint", "double", "list", "map", "timestamp", "duration")
)
_PRESENCE: Final = "whether there is one: `'key' in m` for a key, `has(a.b)` for a field"


def _unknown(scope: Scope, node: syntax.Call, name: str, args: list[Tree], member: bool) -> Tree:
    if candidates_of(name, not member):
        form = f"`{name}(x)`" if member else f"`x.{name}(…)`"
        return scope.report("KP201", f"`{name}` is not called like this", node.name_span, form)
    shown = f"no function `{name}` of {args[0].type}" if member else f"no function `{name}`"
    hint = FUNCTIONS.get(name) or suggestion(name, NAMES) or clock_hint(name)
    return scope.report("KP201", f"there is {shown}", node.name_span, hint)


def _wrong_count(
    scope: Scope, node: syntax.Call, candidates: tuple[Overload, ...], count: int, member: bool
) -> Tree:
    counts = sorted({len(overload.params) - member for overload in candidates})
    wanted = " or ".join(map(str, counts)) + (" argument" if counts == [1] else " arguments")
    return scope.report("KP202", f"`{node.name}` takes {wanted}, not {count - member}", node.span)


def _no_overload(
    scope: Scope, node: syntax.Call, args: list[Tree], candidates: list[Overload]
) -> Tree:
    shown = _SYMBOLS.get(node.name, node.name)
    notes = tuple(Note(str(arg.type), arg.span) for arg in args)
    hint = _overload_hint(args, node)
    if node.name in ("_<_", "_<=_", "_>_", "_>=_"):
        message = f"`{shown}` needs two numbers or two strings; {_sides(args)}"
    elif node.name in _SYMBOLS and len(args) == 2:
        message = f"`{shown}` does not go with these types; {_sides(args)}"
    elif len(args) == 1:
        message = f"`{shown}` does not take {args[0].type}"
    else:
        message = f"`{shown}` does not take ({', '.join(str(arg.type) for arg in args)})"
        if len(candidates) == 1:
            wanted = ", ".join(map(str, candidates[0].params))
            hint = hint or f"it takes ({wanted})"
    return scope.report("KP204", message, node.name_span, hint, notes=notes)


def _sides(args: list[Tree]) -> str:
    return f"left is {args[0].type}, right is {args[1].type}"


def _overload_hint(args: list[Tree], node: syntax.Call) -> Hint | str:
    if len(args) != 2:
        return ""
    a, b = args
    text, other = (a, b) if a.type.name == "string" else (b, a)
    if text.type.name == "string" and node.name == "_+_":
        return "write `string(…)` around the other operand"
    value = text_of(text)
    if value is not None and other.type.name == "int":
        # `'500m'` as `cpu('500m')`, `'5'` as `5`.
        called = f"{'cpu' if other.type.unit == 'milli-cpu' else 'units'}('{value}')"
        number = str(int(value)) if value.isascii() and value.isdecimal() else called
        return Hint(f"write `{number}`", number, text.span)
    if a.type.name == b.type.name == "quantity":
        return f"write `a.compareTo(b) {_SYMBOLS[node.name]} 0`" if node.name in _SYMBOLS else ""
    if "quantity" in (a.type.name, b.type.name) and (a.type.unit or b.type.unit):
        return "amounts of resources are numbers: write `units('2Gi')`, or `cpu('500m')`"
    if text.type.name == "string" and other.type.name in ("int", "uint", "double"):
        called = other.type.name
        return f"write `{called}(…)` around the string, or a string on both sides"
    if {a.type.name, b.type.name} == {"int", "double"}:
        return "write `double(…)` around the int"
    if {a.type.name, b.type.name} == {"int", "uint"}:
        return "write `int(…)` around the uint"
    return ""
