"""Where cel-go, as Kubernetes has it, and the data of the CEL specification disagree: kpolicy
follows Kubernetes, and these cases of the data fail. docs/cel-differences.md shows the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Decision:
    expression: str
    kubernetes: str
    specification: str
    # The ids of the cases of the data that fail for it.
    cases: tuple[str, ...] = ()


def _format(*names: str) -> tuple[str, ...]:
    return tuple(f"string_ext/format/{name}" for name in names)


DECISIONS: Final = (
    Decision(
        "`duration('90.5s').getMilliseconds()`",
        "90500: the whole duration",
        # The case declares a message, and is left out for it.
        "500: the part below a second, which the specification calls deprecated",
    ),
    Decision(
        "`'%e'.format([1234.5])`",
        "`1.234500×10⁰³`: version 2 of the string library writes English, and takes the precision "
        "for the width of the whole",
        "`1.234500e+03`",
        _format(
            "scientific notation formatting clause",
            "scientific notation formatting clause in a string variable",
            "default precision for scientific notation",
            "dyntype support for scientific notation",
        ),
    ),
    Decision(
        "`'%f'.format([1234.5])`",
        "`1,234.500000`: English, too",
        # The data have no number of more than three figures.
        "`1234.500000`",
    ),
    Decision(
        "`'%f %e'.format([1.0 / 0.0, 0.0 / 0.0])`",
        "`∞    NaN`",
        "`Infinity NaN`",
        _format(
            "positive infinity support for fixed-point",
            "negative infinity support for fixed-point",
            "NaN support for scientific notation",
            "positive infinity support for scientific notation",
            "negative infinity support for scientific notation",
        ),
    ),
    Decision(
        "`'%f'.format([1])`, `'%e'.format([1])`",
        "errors: both take doubles only",
        "`1.000000`, `1.000000e+00`",
        _format(
            "default precision for fixed-point clause with int",
            "default precision for fixed-point clause with uint",
            "default precision for scientific notation with int",
            "default precision for scientific notation with uint",
        ),
    ),
    Decision(
        "`'%d'.format([1.0 / 0.0])`",
        "an error: it takes whole numbers only",
        "`Infinity`",
        _format(
            "NaN support for decimal",
            "positive infinity support for decimal",
            "negative infinity support for decimal",
        ),
    ),
    Decision(
        "`'%s'.format([['a', 1.5]])`, `'%s'.format([{'a': 1}])`",
        '`["a", 1.500000]`, `{"a":1}`: inside lists and maps values are literals of CEL',
        "`[a, 1.5]`, `{a: 1}`",
        _format(
            "list support for string",
            "map support for string",
            "map support (all key types)",
            "dyntype support for lists",
            "dyntype support for maps",
            "dyntype NaN/infinity support",
        ),
    ),
    Decision(
        "`'tacocat'.indexOf('a', 30)`",
        "-1: nothing is found beyond the end",
        "an error",
        (
            "string_ext/value_errors/indexof_out_of_range",
            "string_ext/value_errors/lastindexof_out_of_range",
        ),
    ),
    Decision(
        "`ip('::ffff:a00:1')`",
        "an error: IPv4 inside IPv6, however it is written",
        "the IPv4 address that it maps",
        (
            "network_ext/ipv4/ipv4_equals_ipv6",
            "network_ext/ipv4/ipv4_not_equals_ipv6",
        ),
    ),
)
FAILING: Final = frozenset(case for decision in DECISIONS for case in decision.cases)
