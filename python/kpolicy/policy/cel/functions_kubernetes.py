"""Kubernetes' CEL libraries by their names there, and kpolicy's own functions."""

from __future__ import annotations

import re
from typing import Final

from kpolicy.policy.cel.overloads import GLOBAL, MEMBER, Family

_ORDER: Final = (("quantity", "quantity quantity", "bool"), ("semver", "semver semver", "bool"))
_COMBINED: Final = (
    ("quantity", "quantity quantity", "quantity"),
    ("int64", "quantity int", "quantity"),
)
_COMPARABLE: Final = ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration")

_QUANTITIES: Final = (
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

_TEST: Final = (("string", "string", "bool"),)
_OF_IP: Final = (("ip", "ip", "bool"),)
_OF_URL: Final = (("url", "url", "string"),)
_OF_SEMVER: Final = (("semver", "semver", "int"),)

_NETWORK: Final = (
    Family("ip", "ip", (("string", "string", "ip"),), GLOBAL, "text", checked="ip"),
    Family("is_ip", "isIP", _TEST, GLOBAL, "text"),
    Family("is_canonical_ip", "ip.isCanonical", _TEST, GLOBAL, "text", checked="ip"),
    Family("ip_family", "family", (("ip", "ip", "int"),), MEMBER),
    Family("is_unspecified", "isUnspecified", _OF_IP, MEMBER),
    Family("is_loopback", "isLoopback", _OF_IP, MEMBER),
    Family("is_link_local_multicast", "isLinkLocalMulticast", _OF_IP, MEMBER),
    Family("is_link_local_unicast", "isLinkLocalUnicast", _OF_IP, MEMBER),
    Family("is_global_unicast", "isGlobalUnicast", _OF_IP, MEMBER),
    Family("cidr", "cidr", (("string", "string", "cidr"),), GLOBAL, "text", checked="cidr"),
    Family("is_cidr", "isCIDR", _TEST, GLOBAL, "text"),
    Family(
        "contains_ip",
        "containsIP",
        (("ip", "cidr ip", "bool"), ("string", "cidr string", "bool")),
        MEMBER,
        "text",
    ),
    Family(
        "contains_cidr",
        "containsCIDR",
        (("cidr", "cidr cidr", "bool"), ("string", "cidr string", "bool")),
        MEMBER,
        "text",
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
        GLOBAL,
        "text",
        checked="semver",
    ),
    Family(
        "is_semver",
        "isSemver",
        (("string", "string", "bool"), ("string_bool", "string bool", "bool")),
        GLOBAL,
        "text",
    ),
    Family("major", "major", _OF_SEMVER, MEMBER),
    Family("minor", "minor", _OF_SEMVER, MEMBER),
    Family("patch", "patch", _OF_SEMVER, MEMBER),
)

_URL: Final = (
    Family("url", "url", (("string", "string", "url"),), GLOBAL, "text", checked="url"),
    Family("is_url", "isURL", _TEST, GLOBAL, "text"),
    Family("get_scheme", "getScheme", _OF_URL, MEMBER),
    Family("get_host", "getHost", _OF_URL, MEMBER),
    Family("get_hostname", "getHostname", _OF_URL, MEMBER),
    Family("get_port", "getPort", _OF_URL, MEMBER),
    Family("get_escaped_path", "getEscapedPath", _OF_URL, MEMBER),
    Family("get_query", "getQuery", (("url", "url", "map(string,list(string))"),), MEMBER, "text"),
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
    Family("format_named", "format.named", (("string", "string", "optional(format)"),)),
    Family(
        "format_validate",
        "validate",
        (("string", "format string", "optional(list(string))"),),
        MEMBER,
        "text",
    ),
    *map(_constant, FORMATS),
)

FAMILIES: Final[tuple[Family, ...]] = (
    *_QUANTITIES,
    *_NETWORK,
    *_SEMVER,
    *_URL,
    *_FORMAT,
)
