"""Edge values of every type, in our JSON form: empty, negative, huge, not a number, of all planes
of Unicode, malformed.
"""

from __future__ import annotations

import base64
from typing import Any, Final

from tests.kubernetes_cel.function_texts import (
    CIDR_TEXTS,
    FORMAT_NAMES,
    IP_TEXTS,
    QUANTITY_TEXTS,
    SEMVER_TEXTS,
    TEXTS_OF,
    URL_TEXTS,
)

_HUGE: Final = 2**63 - 1


def _tagged(tag: str, *bodies: Any) -> tuple[dict[str, Any], ...]:
    return tuple({tag: body} for body in bodies)


_LONG: Final = "x" * 70

TEXTS: Final = (
    "",
    "a",
    "Abc",
    "ä€𝄞",
    " a\t\u00a0",
    "a,b,,c",
    "aaa",
    "\n\"'\\`\x07\u2028",
    "İß",
    "٣ſ",
    _LONG,
)
INTS: Final = (0, 1, -1, 2, 3, 63, 64, 1_000_000, 2**53 + 1, _HUGE, -_HUGE - 1)
UINTS: Final = _tagged("uint", 0, 1, 2, 63, 64, 2**53 + 1, 2**63, 2**64 - 1)
DOUBLES: Final = _tagged(
    "double",
    *("0.0", "-0.0", "1.0", "-1.0", "0.5", "-0.5", "1.5", "2.5", "1e6", "1e-7", "123456.789"),
    *("1e15", "1e21", "1e22", "9007199254740993", "9223372036854775807", "-9223372036854775808"),
    *("18446744073709551615", "5e-324", "1e308", "-1e308", "0.1", "1e-5", "100000.0"),
    *("NaN", "Infinity", "-Infinity"),
)
BYTES: Final = _tagged(
    "bytes",
    *(base64.b64encode(each).decode() for each in (b"", b"a", b"abc", b"\xff\x00", "ä€".encode())),
)
TIMESTAMPS: Final = _tagged(
    "timestamp",
    *("1970-01-01T00:00:00Z", "2026-02-28T23:59:59.123456789Z", "2024-02-29T12:30:00.5Z"),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.001Z"),
    "2026-07-01T00:00:00Z",
)
DURATIONS: Final = _tagged(
    "duration",
    *("0s", "1s", "-1s", "90.5s", "-90.5s", "0.000000001s", "-0.001999s", "3661.001s"),
    *("9223372036.854775807s", "-9223372036.854775808s"),
)

# By the name of a type, without its parameters.
VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "null": (None,),
    "bool": (False, True),
    "int": INTS,
    "uint": UINTS,
    "double": DOUBLES,
    "string": TEXTS,
    "bytes": BYTES,
    "timestamp": TIMESTAMPS,
    "duration": DURATIONS,
    "quantity": _tagged("quantity", *QUANTITY_TEXTS),
    "ip": _tagged("ip", *IP_TEXTS),
    "cidr": _tagged("cidr", *CIDR_TEXTS),
    "url": _tagged("url", *URL_TEXTS),
    "semver": _tagged("semver", *SEMVER_TEXTS),
    "format": _tagged("format", *FORMAT_NAMES),
}
# The types that a parameter of an overload, such as the items of a list, takes in turn.
ITEMS: Final = ("int", "double", "string", "duration", "dyn")


def values_of(kind: str, function: str = "") -> tuple[Any, ...]:
    """Edge values of a type, for an operand of that function."""
    if kind == "string":
        return tuple(dict.fromkeys((*TEXTS_OF.get(function, ()), *TEXTS)))
    if kind == "dyn":
        return ANYTHING
    head, _, rest = kind.partition("(")
    if head == "list":
        return _lists(rest.removesuffix(")"), function)
    if head == "optional":
        items = values_of(rest.removesuffix(")"))
        return ({"optional": []}, *({"optional": [item]} for item in items[:4]))
    if head == "map":
        key, _, item = rest.removesuffix(")").partition(",")
        keys, items = values_of(key)[:3], values_of(item.strip())
        return (
            {"map": []},
            {"map": [[keys[0], items[0]]]},
            {"map": [list(pair) for pair in zip(keys, items[-3:], strict=False)]},
        )
    return VALUES[kind]


def _lists(item: str, function: str) -> tuple[Any, ...]:
    items = values_of(item, "")
    if item == "dyn":
        nan = {"double": "NaN"}
        some: tuple[Any, ...] = (
            [1, {"uint": 1}, {"double": "1.0"}],
            [{"double": "1.0"}, 1],
            [nan, 1],
            [1, nan],
            [1, "a"],
            ["a", None],
            [None],
            [[1], [2, [3]]],
            [{"map": [["a", 1]]}, {"map": [["a", {"double": "1.0"}]]}],
            [True, False],
            [*_tagged("quantity", "1", "1000m")],
        )
        single = tuple([value] for value in ANYTHING) if function == "format" else ()
        return ([], *some, *single)
    if item.startswith("list("):
        return ([], [[]], [list(items[-1])], [list(items[0]), list(items[-1])])
    if item.startswith("optional("):
        return ([], list(items), [items[0]])
    return (
        [],
        [items[0]],
        [items[1], items[0]],
        [items[0], items[1], items[1]],
        list(items),
        list(items[::-1]),
        [items[-1], items[0]],
        [items[0], items[-1]],
    )


# One or more of every type, for operands whose type is known only while evaluating.
ANYTHING: Final[tuple[Any, ...]] = (
    *(None, False, True, 0, 1, -7, _HUGE, *UINTS[:2], *_tagged("uint", 2**64 - 1)),
    *_tagged("double", "0.0", "-0.0", "1.0", "-0.5", "1e6", "1e-7", "NaN", "Infinity", "-Infinity"),
    *("", "a", "1", "ä€𝄞", *_tagged("bytes", "", "YQ==", "/w==")),
    *(
        [],
        [1],
        ["a"],
        [1, "a"],
        [[1]],
        {"map": []},
        {"map": [["a", 1]]},
        {"map": [[1, "b"], [True, 2]]},
    ),
    *(TIMESTAMPS[0], TIMESTAMPS[1], DURATIONS[0], DURATIONS[3]),
    *({"optional": []}, {"optional": [1]}),
    *_tagged("quantity", "0", "1", "500m", "1Gi", "1024Mi"),
    *_tagged("ip", "10.0.0.1", "::1"),
    *_tagged("cidr", "10.0.0.0/8", "2001:db8::/32"),
    *_tagged("url", "https://example.com:80/p?k=v", "/p"),
    *_tagged("semver", "1.2.3", "1.2.3-rc.1"),
    *_tagged("format", "uri", "labelValue"),
)
