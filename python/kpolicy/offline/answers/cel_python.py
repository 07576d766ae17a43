"""cel-python as a second evaluator of CEL: values in and out, and its known differences from ours.

cel-python and its parser are imported when something is evaluated, never before. A difference is
known if the specification says which of the two answers is right.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final, TypeAlias

from kpolicy.offline.answers.expression_values import Exact
from kpolicy.policy.cel import syntax

# Functions of the standard library that cel-python has under the same names.
FUNCTIONS: Final = frozenset(
    {
        "size",
        "contains",
        "startsWith",
        "endsWith",
        "matches",
        "bool",
        "bytes",
        "double",
        "duration",
        "int",
        "string",
        "timestamp",
        "uint",
        "getDate",
        "getDayOfMonth",
        "getDayOfWeek",
        "getDayOfYear",
        "getFullYear",
        "getHours",
        "getMilliseconds",
        "getMinutes",
        "getMonth",
        "getSeconds",
    }
)
MACROS: Final = frozenset({"all", "exists", "exists_one", "filter", "map"})


class NotInCelPythonError(Exception):
    """cel-python has no such value or syntax. Only the modules that compare see this error."""


# A value of CEL that compares as CEL does: the name of its type, and a plain value.
Typed: TypeAlias = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """A value in cel-python's types, or an error with its message."""

    value: Any = None
    error: str = ""

    @property
    def typed(self) -> Typed:
        return typed(self.value)

    def agrees_with(self, other: Answer) -> bool:
        """Two errors agree whatever their texts are, because the specification does not define the
        texts."""
        if self.error or other.error:
            return bool(self.error) and bool(other.error)
        return self.typed == other.typed

    def __str__(self) -> str:
        return f"the error `{self.error}`" if self.error else f"`{_shown(self.typed)}`"


@cache
def _environment() -> Any:
    import celpy  # noqa: PLC0415

    return celpy.Environment()


def evaluated(text: str, variables: Mapping[str, Any]) -> Answer:
    """The result of cel-python; raises `NotInCelPythonError` for syntax that it does not have."""
    from celpy.celparser import CELParseError  # noqa: PLC0415
    from celpy.evaluation import CELEvalError  # noqa: PLC0415

    try:
        program = _environment().program(_environment().compile(text))
    except CELParseError as error:
        raise NotInCelPythonError(str(error)) from error
    try:
        value = program.evaluate(dict(variables))
    except Exception as error:  # errors of evaluation are exceptions of many classes there
        return Answer(error=str(error.args[0] if error.args else error).splitlines()[0])
    return Answer(error=str(value)) if isinstance(value, CELEvalError) else Answer(value)


def in_cel_python(exact: Exact) -> Any:
    """A value in cel-python's types; raises `NotInCelPythonError` where it has none."""
    from celpy import celtypes  # noqa: PLC0415

    if isinstance(exact, list):
        return celtypes.ListType([in_cel_python(item) for item in exact])
    if not isinstance(exact, dict):
        plain = {bool: celtypes.BoolType, int: celtypes.IntType, str: celtypes.StringType}
        return None if exact is None else plain[type(exact)](exact)
    ((tag, body),) = exact.items()
    if tag == "map":
        return celtypes.MapType({in_cel_python(key): in_cel_python(value) for key, value in body})
    tagged: dict[str, Callable[[Any], Any]] = {
        "uint": celtypes.UintType,
        "double": lambda text: celtypes.DoubleType(float(text)),
        "bytes": lambda text: celtypes.BytesType(base64.b64decode(text)),
        "timestamp": celtypes.TimestampType,
        "duration": celtypes.DurationType,
    }
    if tag not in tagged:
        raise NotInCelPythonError(f"cel-python has no {tag}")
    return tagged[tag](body)


def typed(value: Any) -> Typed:
    """The type and the value; cel-python gives plain values of Python in some places."""
    from celpy import celtypes  # noqa: PLC0415

    # A class stands before those that it is derived from.
    forms: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
        ((bool, celtypes.BoolType), "bool", bool),
        (celtypes.UintType, "uint", int),
        (int, "int", int),
        (float, "double", lambda number: "NaN" if math.isnan(number) else float(number)),
        (str, "string", str),
        (bytes, "bytes", bytes),
        (list, "list", lambda items: tuple(map(typed, items))),
        (dict, "map", lambda pairs: frozenset((typed(k), typed(v)) for k, v in pairs.items())),
        (timedelta, "duration", lambda time: time.total_seconds()),
        (datetime, "timestamp", lambda time: time.timestamp()),
    )
    for classes, name, convert in forms:
        if isinstance(value, classes):
            return name, convert(value)
    return "null" if value is None else type(value).__name__, str(value)


def _shown(value: Typed) -> str:
    kind, body = value
    match kind:
        case "bool":
            return "true" if body else "false"
        case "uint":
            return f"{body}u"
        case "string" | "bytes":
            return repr(body)
        case "list":
            return f"[{', '.join(map(_shown, body))}]"
        case "map":
            pairs = sorted(f"{_shown(key)}: {_shown(item)}" for key, item in body)
            return f"{{{', '.join(pairs)}}}"
        case "duration":
            return f"duration('{body:g}s')"
        case "timestamp":
            return f"timestamp({body:g})"
    return "null" if kind == "null" else str(body)


# The known differences between the two.


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The smallest part of an expression that the two evaluate differently.

    `operands` are the values of its own operands, where they have one.
    """

    node: syntax.Expression
    text: str
    ours: Answer
    theirs: Answer
    operands: tuple[Typed, ...] = ()

    @property
    def calls(self) -> frozenset[str]:
        """The functions and operators in it: more than one for a macro only."""
        return _calls(self.node)


def _calls(node: syntax.Expression) -> frozenset[str]:
    own = node.name if isinstance(node, syntax.Call) else "_[_]"
    is_call = isinstance(node, syntax.Call | syntax.Index)
    return frozenset({own} if is_call else ()).union(*map(_calls, children(node)))


def children(node: syntax.Expression) -> list[syntax.Expression]:
    """The parts that a node consists of, in the order of the text."""
    match node:
        case syntax.Select(operand=operand):
            return [operand]
        case syntax.Index(operand=operand, index=index):
            return [operand, index]
        case syntax.ListLiteral(items=items):
            return list(items)
        case syntax.MapLiteral(entries=entries):
            return [part for entry in entries for part in (entry.key, entry.value)]
        case syntax.Call(target=target, args=args):
            return [*args] if target is None else [target, *args]
        case _:
            return []


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """`clause` is the part of the CEL specification that decides, and `follows` is the evaluator
    that follows it."""

    id: str
    summary: str
    clause: str
    applies: Callable[[Disagreement], bool]
    follows: str = "kpolicy"


_EQUALITY: Final = frozenset({"_==_", "_!=_", "_in_"})
_LOGIC: Final = frozenset({syntax.AND, syntax.OR})
_ORDER: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_TEXTS: Final = frozenset({"string", "bytes"})
_INT_END: Final = 2.0**63
_ZERO: Final = ("double", 0.0)


def _is_macro(found: Disagreement) -> bool:
    return isinstance(found.node, syntax.Call) and found.node.name in MACROS


def _has_operand(found: Disagreement, test: Callable[[Typed], bool]) -> bool:
    """Whether an operand is such a value; nothing is known of the operands inside a macro."""
    return _is_macro(found) or any(map(test, found.operands))


def _is_negative(value: Typed) -> bool:
    return value[0] == "int" and value[1] < 0


def _is_beyond_int(value: Typed) -> bool:
    return value[0] == "double" and value[1] != "NaN" and abs(value[1]) >= _INT_END


def _is_mixed(found: Disagreement) -> bool:
    kinds = {kind for value in found.operands for kind in _leaf_kinds(value)}
    return _is_macro(found) or len(kinds) > 1


def _leaf_kinds(value: Typed) -> set[str]:
    kind, body = value
    if kind == "map":
        return {leaf for pair in body for item in pair for leaf in _leaf_kinds(item)}
    return {leaf for item in body for leaf in _leaf_kinds(item)} if kind == "list" else {kind}


def _is_other_key(found: Disagreement) -> bool:
    """An index whose type is not that of the list's indices, or of all keys of the map."""
    match found.operands:
        case (("list", _), (kind, _)):
            return kind != "int"
        case (("map", pairs), (kind, _)):
            return {key[0] for key, _ in pairs} != {kind}
    return _is_macro(found)


KNOWN_DIFFERENCES: Final = (
    KnownDifference(
        "equality-of-types",
        "cel-python does not compare values of different types",
        "Equality: values of different types are unequal, and numbers are compared by value "
        "whatever their types (conformance: comparisons/eq_literal, fields/in, lists/in)",
        lambda compared: (
            bool(compared.theirs.error) and bool(compared.calls & _EQUALITY) and _is_mixed(compared)
        ),
    ),
    KnownDifference(
        "order-of-numbers",
        "cel-python does not order int, uint and double among each other",
        "Ordering: numbers are compared by value whatever their types "
        "(conformance: comparisons/lt_literal)",
        lambda compared: (
            bool(compared.calls & _ORDER)
            and _is_mixed(compared)
            and (bool(compared.theirs.error) or not _is_macro(compared))
        ),
    ),
    KnownDifference(
        "division-of-doubles",
        "in cel-python a double divided by zero is an error, or has another sign",
        "Numeric Values: doubles follow IEEE 754, and so does their division: infinity or NaN "
        "(conformance: fp_math/fp_math/divide_zero)",
        lambda compared: (
            "_/_" in compared.calls and _has_operand(compared, lambda value: value == _ZERO)
        ),
    ),
    KnownDifference(
        "negative-index",
        "cel-python counts a negative index from the end of the list",
        "List of Standard Definitions, _[_]: an index outside of the list is an error "
        "(conformance: lists/index/index_out_of_bounds)",
        lambda compared: (
            bool(compared.ours.error)
            and "_[_]" in compared.calls
            and _has_operand(compared, _is_negative)
        ),
    ),
    KnownDifference(
        "index-of-double",
        "cel-python takes no uint or double as the index of a list or the key of a map",
        "Equality: numbers are compared by value whatever their types "
        "(conformance: lists/index/zero_based_double, fields/map_fields)",
        lambda compared: "_[_]" in compared.calls and _is_other_key(compared),
    ),
    KnownDifference(
        "text-of-bool",
        "in cel-python `string(true)` is `True`",
        "List of Standard Definitions, string: the text of a bool is `true` or `false`",
        lambda compared: (
            "string" in compared.calls
            and _has_operand(compared, lambda value: value[0] == "bool")
            and any(word in str(compared.theirs) for word in ("True", "False"))
        ),
    ),
    KnownDifference(
        "int-of-double",
        "cel-python converts doubles at the ends of the range of int",
        "List of Standard Definitions, int: a double outside of the range is an error "
        "(conformance: conversions/int/double_int_min_range)",
        lambda compared: (
            bool(compared.ours.error)
            and "int" in compared.calls
            and _has_operand(compared, _is_beyond_int)
        ),
    ),
    KnownDifference(
        "contains-of-sum",
        "in cel-python the sum of two strings has no `contains`",
        "List of Standard Definitions, _+_ and contains: a sum of strings is a string "
        "(conformance: string/contains)",
        lambda compared: (
            bool(compared.theirs.error) and not compared.ours.error and "contains" in compared.calls
        ),
    ),
    KnownDifference(
        "errors-beside-logic",
        "in cel-python an error inside a macro is not ignored where `&&` or `||` should",
        "Logical Operators: an error is ignored where another operand decides the result "
        "(conformance: logic/AND, logic/OR, macros/exists)",
        lambda compared: (
            bool(compared.theirs.error)
            and not compared.ours.error
            and bool(compared.calls & _LOGIC)
        ),
    ),
    KnownDifference(
        "escapes",
        "cel-python does not know every escape, nor line feeds in strings of three quotes",
        "String and Bytes Values: escape sequences (conformance: parse/string_literals)",
        lambda compared: isinstance(compared.node, syntax.Literal) and compared.node.kind in _TEXTS,
    ),
    KnownDifference(
        "timestamp-of-int",
        "cel-python makes no timestamp of an int or of a timestamp",
        "List of Standard Definitions, timestamp: an int is seconds since the epoch "
        "(conformance: timestamps/timestamp_conversions, conversions/identity)",
        lambda compared: bool(compared.theirs.error) and "timestamp" in compared.calls,
    ),
    KnownDifference(
        "times",
        "cel-python keeps microseconds of times, and does not check the range of every result",
        "Timestamps and durations have nanoseconds and a range "
        "(conformance: timestamps/timestamp_range, timestamps/duration_range)",
        lambda compared: (
            not _is_macro(compared)
            and any(kind in ("timestamp", "duration") for kind, _ in compared.operands)
        ),
    ),
    KnownDifference(
        "long-durations",
        "kpolicy takes durations up to 292 years, as cel-go and so the API server does",
        "A duration has the range of google.protobuf.Duration, about 10,000 years",
        lambda compared: bool(compared.ours.error) and "duration" in compared.calls,
        follows="cel-python",
    ),
)


def known_difference(found: Disagreement) -> KnownDifference | None:
    return next((known for known in KNOWN_DIFFERENCES if known.applies(found)), None)
