"""The functions of CEL's extension libraries, of Kubernetes' CEL libraries, and of kpolicy."""

from __future__ import annotations

import re
from typing import Final

from kpolicy.policy.cel.functions_standard import BOTH, MEMBER, Family

_SETS: Final = (("list", "list(A) list(A)", "bool"),)
_STRING_TO_STRING: Final = (("string", "string", "string"),)
_FIND: Final = (("string", "string string", "int"), ("string_int64", "string string int", "int"))
_ROUND: Final = (("double", "double", "double"),)
_TEST: Final = (("double", "double", "bool"),)
_SIGNED: Final = (
    ("int64", "int", "int"),
    ("uint64", "uint", "uint"),
    ("double", "double", "double"),
)
_BITS: Final = (("int64", "int int", "int"), ("uint64", "uint uint", "uint"))
_SHIFT: Final = (("int64", "int int", "int"), ("uint64", "uint int", "uint"))

_OPTIONALS: Final = (
    Family("optional_of", "optional.of", (("any", "A", "optional(A)"),)),
    Family("optional_none", "optional.none", (("any", "", "optional(A)"),)),
    Family("optional_of_non_zero", "optional.ofNonZeroValue", (("any", "A", "optional(A)"),)),
    Family("has_value", "hasValue", (("optional", "optional(A)", "bool"),), MEMBER),
    Family("optional_value", "value", (("optional", "optional(A)", "A"),), MEMBER),
    Family(
        "optional_unwrap",
        "optional.unwrap",
        (("list", "list(optional(A))", "list(A)"),),
        cost="items",
    ),
    Family(
        "optional_unwrap",
        "unwrapOpt",
        (("list", "list(optional(A))", "list(A)"),),
        MEMBER,
        cost="items",
    ),
)

_STRINGS: Final = (
    Family("char_at", "charAt", (("string", "string int", "string"),), MEMBER, cost="first text"),
    Family("index_of", "indexOf", _FIND, MEMBER, cost="search text"),
    Family("last_index_of", "lastIndexOf", _FIND, MEMBER, cost="search text"),
    Family(
        "join",
        "join",
        (("list", "list(string)", "string"), ("list_string", "list(string) string", "string")),
        MEMBER,
        cost="join",
    ),
    Family("lower_ascii", "lowerAscii", _STRING_TO_STRING, MEMBER, cost="first text"),
    Family("upper_ascii", "upperAscii", _STRING_TO_STRING, MEMBER, cost="first text"),
    Family(
        "replace",
        "replace",
        (
            ("string", "string string string", "string"),
            ("string_int64", "string string string int", "string"),
        ),
        MEMBER,
        cost="replace",
    ),
    Family(
        "split",
        "split",
        (
            ("string", "string string", "list(string)"),
            ("string_int64", "string string int", "list(string)"),
        ),
        MEMBER,
        cost="split",
    ),
    Family(
        "substring",
        "substring",
        (("int64", "string int", "string"), ("int64_int64", "string int int", "string")),
        MEMBER,
        cost="first text",
    ),
    Family("trim", "trim", _STRING_TO_STRING, MEMBER, cost="first text"),
    Family("string_reverse", "reverse", _STRING_TO_STRING, MEMBER, cost="first text"),
    Family("quote", "strings.quote", _STRING_TO_STRING, cost="first text"),
    Family(
        "format",
        "format",
        (("list", "string list(dyn)", "string"),),
        MEMBER,
        cost="format",
        parses=True,
    ),
    Family("base64_encode", "base64.encode", (("bytes", "bytes", "string"),), cost="first text"),
    Family(
        "base64_decode",
        "base64.decode",
        (("string", "string", "bytes"),),
        cost="first text",
        parses=True,
    ),
)

_LISTS: Final = (
    Family("is_sorted", "isSorted", (("list", "list(A)", "bool"),), MEMBER, cost="items"),
    # The sum of an empty list is a zero of the type of its items.
    Family("sum_uint", "sum", (("list", "list(uint)", "uint"),), MEMBER, cost="items"),
    Family("sum_double", "sum", (("list", "list(double)", "double"),), MEMBER, cost="items"),
    Family("sum_duration", "sum", (("list", "list(duration)", "duration"),), MEMBER, cost="items"),
    Family("sum", "sum", (("list", "list(A)", "A"),), MEMBER, cost="items"),
    Family("list_min", "min", (("list", "list(A)", "A"),), MEMBER, cost="items"),
    Family("list_max", "max", (("list", "list(A)", "A"),), MEMBER, cost="items"),
    Family(
        "list_index_of", "indexOf", (("list", "list(A) A", "int"),), MEMBER, cost="search items"
    ),
    Family(
        "list_last_index_of",
        "lastIndexOf",
        (("list", "list(A) A", "int"),),
        MEMBER,
        cost="search items",
    ),
    Family("includes", "includes", (("list", "list(A) A", "bool"),), MEMBER, cost="search items"),
    Family("distinct", "distinct", (("list", "list(A)", "list(A)"),), MEMBER, cost="distinct"),
    Family(
        "flatten",
        "flatten",
        (("list", "list(A)", "list(dyn)"), ("list_depth", "list(A) int", "list(dyn)")),
        MEMBER,
        cost="flatten",
    ),
    Family("lists_range", "lists.range", (("int64", "int", "list(int)"),), cost="range"),
    Family("list_reverse", "reverse", (("list", "list(A)", "list(A)"),), MEMBER, cost="items"),
    Family("slice", "slice", (("list", "list(A) int int", "list(A)"),), MEMBER, cost="items"),
    Family("sort", "sort", (("list", "list(A)", "list(A)"),), MEMBER, cost="sort"),
    Family("list_first", "first", (("list", "list(A)", "optional(A)"),), MEMBER, cost="items"),
    Family("list_last", "last", (("list", "list(A)", "optional(A)"),), MEMBER, cost="items"),
    Family("sets_contains", "sets.contains", _SETS, cost="sets"),
    Family("sets_equivalent", "sets.equivalent", _SETS, cost="sets"),
    Family("sets_intersects", "sets.intersects", _SETS, cost="sets"),
)

_REGEX: Final = (
    Family(
        "find",
        "find",
        (("string", "string string", "string"),),
        MEMBER,
        cost="find",
        pattern=1,
        checked="pattern",
    ),
    Family(
        "find_all",
        "findAll",
        (
            ("string", "string string", "list(string)"),
            ("string_limit", "string string int", "list(string)"),
        ),
        MEMBER,
        cost="find all",
        pattern=1,
        checked="pattern",
    ),
)

_MATH: Final = (
    # Any number of arguments: the checker makes a list of them.
    Family("math_greatest", "math.@greatest", (("list", "list(A)", "A"),), cost="items"),
    Family("math_least", "math.@least", (("list", "list(A)", "A"),), cost="items"),
    Family("math_ceil", "math.ceil", _ROUND),
    Family("math_floor", "math.floor", _ROUND),
    Family("math_round", "math.round", _ROUND),
    Family("math_trunc", "math.trunc", _ROUND),
    Family("math_abs", "math.abs", _SIGNED),
    Family("math_sign", "math.sign", _SIGNED),
    Family("math_is_nan", "math.isNaN", _TEST),
    Family("math_is_inf", "math.isInf", _TEST),
    Family("math_is_finite", "math.isFinite", _TEST),
    Family("math_bit_or", "math.bitOr", _BITS),
    Family("math_bit_and", "math.bitAnd", _BITS),
    Family("math_bit_xor", "math.bitXor", _BITS),
    Family("math_bit_not", "math.bitNot", (("int64", "int", "int"), ("uint64", "uint", "uint"))),
    Family("math_bit_shift_left", "math.bitShiftLeft", _SHIFT),
    Family("math_bit_shift_right", "math.bitShiftRight", _SHIFT),
    Family(
        "math_sqrt",
        "math.sqrt",
        (("double", "double", "double"), ("int64", "int", "double"), ("uint64", "uint", "double")),
    ),
)


_ORDER: Final = (("quantity", "quantity quantity", "bool"), ("semver", "semver semver", "bool"))
_COMBINED: Final = (
    ("quantity", "quantity quantity", "quantity"),
    ("int64", "quantity int", "quantity"),
)
_COMPARABLE: Final = ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration")

_QUANTITIES: Final = (
    Family(
        "quantity", "quantity", (("string", "string", "quantity"),), parses=True, checked="quantity"
    ),
    Family("is_quantity", "isQuantity", (("string", "string", "bool"),), parses=True),
    # Kubernetes documents the method, and has the function.
    Family("sign", "sign", (("quantity", "quantity", "int"),), BOTH),
    Family("is_integer", "isInteger", (("quantity", "quantity", "bool"),), MEMBER),
    Family("as_integer", "asInteger", (("quantity", "quantity", "int"),), MEMBER),
    Family(
        "as_approximate_float", "asApproximateFloat", (("quantity", "quantity", "double"),), MEMBER
    ),
    Family("quantity_add", "add", _COMBINED, MEMBER, parses=True),
    Family("quantity_sub", "sub", _COMBINED, MEMBER, parses=True),
    Family("is_greater_than", "isGreaterThan", _ORDER, MEMBER),
    Family("is_less_than", "isLessThan", _ORDER, MEMBER),
    Family(
        "compare_to",
        "compareTo",
        (("quantity", "quantity quantity", "int"), ("semver", "semver semver", "int")),
        MEMBER,
    ),
    Family("cpu", "cpu", (("string", "string", "int"),), parses=True, checked="amount"),
    Family("units", "units", (("string", "string", "int"),), parses=True, checked="amount"),
    Family(
        "within",
        "within",
        (
            ("timestamp_duration", "timestamp string duration", "bool"),
            ("timestamp_duration_zone", "timestamp string duration string", "bool"),
        ),
        MEMBER,
        cost="window",
        parses=True,
        checked="window",
    ),
    Family("ratio", "ratio", (("number", "number number", "double"),)),
    Family(
        "clamp",
        "clamp",
        (("int64", "int int int", "int"), ("double", "number number number", "double")),
    ),
    Family("linear", "linear", (("number", "number number number number number", "double"),)),
    Family("step", "step", (("number", "number list(list(dyn))", "double"),), cost="all items"),
    Family(
        "selector",
        "selector",
        (("string", "string", "selector"), ("map", "map(string,string)", "selector")),
        cost="selector",
        parses=True,
        checked="selector",
    ),
    Family(
        "selector_matches",
        "matches",
        (("map", "selector map(string,string)", "bool"),),
        MEMBER,
        cost="items",
    ),
)

_TEXT_TEST: Final = (("string", "string", "bool"),)
_OF_IP: Final = (("ip", "ip", "bool"),)
_OF_URL: Final = (("url", "url", "string"),)
_OF_SEMVER: Final = (("semver", "semver", "int"),)

_NETWORK: Final = (
    Family("ip", "ip", (("string", "string", "ip"),), cost="first text", parses=True, checked="ip"),
    Family("is_ip", "isIP", _TEXT_TEST, cost="first text", parses=True),
    Family(
        "is_canonical_ip",
        "ip.isCanonical",
        _TEXT_TEST,
        cost="first text",
        parses=True,
        checked="ip",
    ),
    Family("ip_family", "family", (("ip", "ip", "int"),), MEMBER),
    Family("is_unspecified", "isUnspecified", _OF_IP, MEMBER),
    Family("is_loopback", "isLoopback", _OF_IP, MEMBER),
    Family("is_link_local_multicast", "isLinkLocalMulticast", _OF_IP, MEMBER),
    Family("is_link_local_unicast", "isLinkLocalUnicast", _OF_IP, MEMBER),
    Family("is_global_unicast", "isGlobalUnicast", _OF_IP, MEMBER),
    Family(
        "cidr",
        "cidr",
        (("string", "string", "cidr"),),
        cost="first text",
        parses=True,
        checked="cidr",
    ),
    Family("is_cidr", "isCIDR", _TEXT_TEST, cost="first text", parses=True),
    Family(
        "contains_ip",
        "containsIP",
        (("ip", "cidr ip", "bool"), ("string", "cidr string", "bool")),
        MEMBER,
        cost="last text",
        parses=True,
    ),
    Family(
        "contains_cidr",
        "containsCIDR",
        (("cidr", "cidr cidr", "bool"), ("string", "cidr string", "bool")),
        MEMBER,
        cost="last text",
        parses=True,
    ),
    Family("cidr_ip", "ip", (("cidr", "cidr", "ip"),), MEMBER),
    Family("masked", "masked", (("cidr", "cidr", "cidr"),), MEMBER),
    Family("prefix_length", "prefixLength", (("cidr", "cidr", "int"),), MEMBER),
)

_SEMVER: Final = (
    Family(
        "semver",
        "semver",
        (("string", "string", "semver"), ("string_bool", "string bool", "semver")),
        cost="first text",
        parses=True,
        checked="semver",
    ),
    Family(
        "is_semver",
        "isSemver",
        (("string", "string", "bool"), ("string_bool", "string bool", "bool")),
        cost="first text",
        parses=True,
    ),
    Family("major", "major", _OF_SEMVER, MEMBER),
    Family("minor", "minor", _OF_SEMVER, MEMBER),
    Family("patch", "patch", _OF_SEMVER, MEMBER),
)

_URL: Final = (
    Family(
        "url", "url", (("string", "string", "url"),), cost="first text", parses=True, checked="url"
    ),
    Family("is_url", "isURL", _TEXT_TEST, cost="first text", parses=True),
    Family("get_scheme", "getScheme", _OF_URL, MEMBER, parses=True),
    Family("get_host", "getHost", _OF_URL, MEMBER, parses=True),
    Family("get_hostname", "getHostname", _OF_URL, MEMBER, parses=True),
    Family("get_port", "getPort", _OF_URL, MEMBER, parses=True),
    Family("get_escaped_path", "getEscapedPath", _OF_URL, MEMBER, parses=True),
    Family(
        "get_query",
        "getQuery",
        (("url", "url", "map(string,list(string))"),),
        MEMBER,
        cost="first text",
        parses=True,
    ),
)

FORMATS: Final = (
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
)


def _constant(name: str) -> Family:
    """`format.NAME()`."""
    snake = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
    return Family(f"format_{snake}", f"format.{name}", (("any", "", "format"),))


_FORMAT: Final = (
    Family(
        "format_named", "format.named", (("string", "string", "optional(format)"),), parses=True
    ),
    Family(
        "format_validate",
        "validate",
        (("string", "format string", "optional(list(string))"),),
        MEMBER,
        cost="last text",
        parses=True,
    ),
    *map(_constant, FORMATS),
)

FAMILIES: Final[tuple[Family, ...]] = (
    *_OPTIONALS,
    *_STRINGS,
    *_LISTS,
    *_REGEX,
    *_MATH,
    *_QUANTITIES,
    *_NETWORK,
    *_SEMVER,
    *_URL,
    *_FORMAT,
)
