"""Kubernetes' CEL libraries by their names there, and kpolicy's own functions."""

from __future__ import annotations

from typing import Final

from .rows import MEMBER, Family

_ORDER: Final = (("quantity", "quantity quantity", "bool"), ("semver", "semver semver", "bool"))
_COMBINED: Final = (
    ("quantity", "quantity quantity", "quantity"),
    ("int64", "quantity int", "quantity"),
)
_COMPARABLE: Final = ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration")

FAMILIES: Final = (
    Family("quantity", "quantity", (("string", "string", "quantity"),), checked="quantity"),
    Family("is_quantity", "isQuantity", (("string", "string", "bool"),)),
    Family("sign", "sign", (("quantity", "quantity", "int"),), MEMBER),
    Family("is_integer", "isInteger", (("quantity", "quantity", "bool"),), MEMBER),
    Family("as_integer", "asInteger", (("quantity", "quantity", "int"),), MEMBER),
    Family(
        "as_approximate_float", "asApproximateFloat", (("quantity", "quantity", "double"),), MEMBER
    ),
    Family("quantity_add", "add", _COMBINED, MEMBER),
    Family("quantity_sub", "sub", _COMBINED, MEMBER),
    Family("is_greater_than", "isGreaterThan", _ORDER, MEMBER),
    Family("is_less_than", "isLessThan", _ORDER, MEMBER),
    Family(
        "compare_to",
        "compareTo",
        (("quantity", "quantity quantity", "int"), ("semver", "semver semver", "int")),
        MEMBER,
    ),
    Family("cpu", "cpu", (("string", "string", "int"),), checked="quantity"),
    Family("units", "units", (("string", "string", "int"),), checked="quantity"),
    Family("ratio", "ratio", (("number", "number number", "double"),)),
    Family(
        "clamp",
        "clamp",
        (("int64", "int int int", "int"), ("double", "number number number", "double")),
    ),
    Family("linear", "linear", (("number", "number number number number number", "double"),)),
    Family("step", "step", (("number", "number list(list(dyn))", "double"),), cost="items"),
    Family(
        "selector",
        "selector",
        (("string", "string", "selector"), ("map", "map(string,string)", "selector")),
        cost="text",
        checked="selector",
    ),
    Family(
        "selector_matches",
        "matches",
        (("map", "selector map(string,string)", "bool"),),
        MEMBER,
        "items",
    ),
)
