"""The form of a row in the tables of functions, and the rows of CEL's standard library."""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias

from kpolicy.policy.cel.types import Type, parse_type
from kpolicy.quick_dataclass import dataclass

# Suffix of the overload id, types of the operands, type of the result. Types have no spaces.
Row: TypeAlias = tuple[str, str, str]

GLOBAL: Final = (False,)
MEMBER: Final = (True,)
BOTH: Final = (False, True)


@dataclass(frozen=True, slots=True)
class Family:
    """Overloads of one function that the engine implements together.

    `cost` names the way of charging in `call_costs`. `parses` is set where a value is read from a
    text, or written as one.
    `pattern` is the index of the operand that is a regular expression, `checked` the operand whose
    constant is checked while compiling, by the name of the check.
    """

    id: str
    function: str
    rows: tuple[Row, ...]
    styles: tuple[bool, ...] = GLOBAL
    cost: str = "unit"
    parses: bool = False
    pattern: int | None = None
    checked: str = ""


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature. `params` include the receiver of a method."""

    id: str
    function: str
    member: bool
    params: tuple[Type, ...]
    result: Type
    family: Family


@cache
def _parsed(text: str) -> Type:
    kind = parse_type(text)
    assert kind is not None, text
    return kind


def overloads_of(family: Family) -> list[Overload]:
    def made(suffix: str, params: str, result: str, member: bool) -> Overload:
        types = tuple(_parsed(param) for param in params.split())
        identity = f"{family.id}_{suffix}"
        return Overload(identity, family.function, member, types, _parsed(result), family)

    return [made(*row, member) for row in family.rows for member in family.styles]


_ORDERED: Final = (
    ("int64", "int int", "bool"),
    ("uint64", "uint uint", "bool"),
    ("double", "double double", "bool"),
    ("number", "number number", "bool"),
    ("string", "string string", "bool"),
    ("bytes", "bytes bytes", "bool"),
    ("bool", "bool bool", "bool"),
    ("timestamp", "timestamp timestamp", "bool"),
    ("duration", "duration duration", "bool"),
)
_ARITHMETIC: Final = (
    ("int64", "int int", "int"),
    ("uint64", "uint uint", "uint"),
    ("double", "double double", "double"),
)
_TEST: Final = (("string", "string string", "bool"),)
_FROM_TIME: Final = (
    ("timestamp", "timestamp", "int"),
    ("timestamp_zone", "timestamp string", "int"),
)
_FROM_BOTH: Final = (*_FROM_TIME, ("duration", "duration", "int"))

FAMILIES: Final = (
    Family(
        "add",
        "_+_",
        (
            *_ARITHMETIC,
            ("string", "string string", "string"),
            ("bytes", "bytes bytes", "bytes"),
            ("list", "list(A) list(A)", "list(A)"),
            ("timestamp_duration", "timestamp duration", "timestamp"),
            ("duration_timestamp", "duration timestamp", "timestamp"),
            ("duration", "duration duration", "duration"),
        ),
        cost="add",
    ),
    Family(
        "subtract",
        "_-_",
        (
            *_ARITHMETIC,
            ("timestamp", "timestamp timestamp", "duration"),
            ("timestamp_duration", "timestamp duration", "timestamp"),
            ("duration", "duration duration", "duration"),
        ),
    ),
    Family("multiply", "_*_", _ARITHMETIC),
    Family("divide", "_/_", _ARITHMETIC),
    Family("modulo", "_%_", (("int64", "int int", "int"), ("uint64", "uint uint", "uint"))),
    Family("negate", "-_", (("int64", "int", "int"), ("double", "double", "double"))),
    Family("not", "!_", (("bool", "bool", "bool"),)),
    Family("equals", "_==_", (("any", "A B", "bool"),), cost="same"),
    Family("not_equals", "_!=_", (("any", "A B", "bool"),), cost="same"),
    Family("less", "_<_", _ORDERED, cost="order"),
    Family("less_equals", "_<=_", _ORDERED, cost="order"),
    Family("greater", "_>_", _ORDERED, cost="order"),
    Family("greater_equals", "_>=_", _ORDERED, cost="order"),
    Family("in", "_in_", (("list", "A list(A)", "bool"), ("map", "A map(A,B)", "bool")), cost="in"),
    Family(
        "size",
        "size",
        (
            ("string", "string", "int"),
            ("bytes", "bytes", "int"),
            ("list", "list(A)", "int"),
            ("map", "map(A,B)", "int"),
        ),
        BOTH,
        cost="size",
    ),
    Family(
        "to_int",
        "int",
        (
            ("int64", "int", "int"),
            ("uint64", "uint", "int"),
            ("double", "double", "int"),
            ("string", "string", "int"),
            ("timestamp", "timestamp", "int"),
            ("duration", "duration", "int"),
        ),
        parses=True,
    ),
    Family(
        "to_uint",
        "uint",
        (
            ("uint64", "uint", "uint"),
            ("int64", "int", "uint"),
            ("double", "double", "uint"),
            ("string", "string", "uint"),
        ),
        parses=True,
    ),
    Family(
        "to_double",
        "double",
        (
            ("double", "double", "double"),
            ("int64", "int", "double"),
            ("uint64", "uint", "double"),
            ("string", "string", "double"),
        ),
        parses=True,
    ),
    Family(
        "to_string",
        "string",
        (
            ("string", "string", "string"),
            ("bool", "bool", "string"),
            ("int64", "int", "string"),
            ("uint64", "uint", "string"),
            ("double", "double", "string"),
            ("bytes", "bytes", "string"),
            ("timestamp", "timestamp", "string"),
            ("duration", "duration", "string"),
            ("quantity", "quantity", "string"),
            ("ip", "ip", "string"),
            ("cidr", "cidr", "string"),
        ),
        cost="to string",
        parses=True,
    ),
    Family(
        "to_bytes",
        "bytes",
        (("bytes", "bytes", "bytes"), ("string", "string", "bytes")),
        cost="first text",
        parses=True,
    ),
    Family(
        "to_bool", "bool", (("bool", "bool", "bool"), ("string", "string", "bool")), parses=True
    ),
    Family(
        "to_timestamp",
        "timestamp",
        (
            ("timestamp", "timestamp", "timestamp"),
            ("string", "string", "timestamp"),
            ("int64", "int", "timestamp"),
        ),
        parses=True,
        checked="timestamp",
    ),
    Family(
        "to_duration",
        "duration",
        (("duration", "duration", "duration"), ("string", "string", "duration")),
        parses=True,
        checked="duration",
    ),
    Family("to_dyn", "dyn", (("any", "A", "dyn"),)),
    Family("type_of", "type", (("any", "A", "type"),)),
    Family("contains", "contains", _TEST, MEMBER, cost="texts"),
    Family("starts_with", "startsWith", _TEST, MEMBER, cost="texts"),
    Family("ends_with", "endsWith", _TEST, MEMBER, cost="texts"),
    Family("matches", "matches", _TEST, BOTH, cost="pattern", pattern=1, checked="pattern"),
    Family("get_full_year", "getFullYear", _FROM_TIME, MEMBER, parses=True),
    Family("get_month", "getMonth", _FROM_TIME, MEMBER, parses=True),
    Family("get_date", "getDate", _FROM_TIME, MEMBER, parses=True),
    Family("get_day_of_month", "getDayOfMonth", _FROM_TIME, MEMBER, parses=True),
    Family("get_day_of_week", "getDayOfWeek", _FROM_TIME, MEMBER, parses=True),
    Family("get_day_of_year", "getDayOfYear", _FROM_TIME, MEMBER, parses=True),
    Family("get_hours", "getHours", _FROM_BOTH, MEMBER, parses=True),
    Family("get_minutes", "getMinutes", _FROM_BOTH, MEMBER, parses=True),
    Family("get_seconds", "getSeconds", _FROM_BOTH, MEMBER, parses=True),
    Family("get_milliseconds", "getMilliseconds", _FROM_BOTH, MEMBER, parses=True),
)
