"""Where kpolicy means to differ from Kubernetes' CEL, with the reason. The page
docs/cel-differences.md shows this table.

A difference holds for the pairs of answers that its test picks. One that no longer occurs fails the
tests, and so does a pair that no difference explains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.policy.cel.re2_patterns import refusal
from tests.kubernetes_cel.comparison import Pair, meets_nan

# `Local`, and names that a release of IANA's data made other names of cities.
_ZONES: Final = frozenset(("Local", "EST", "CET", "PST8PDT"))
_KUBERNETES_TYPES: Final = ("quantity", "ip", "cidr", "url", "semver", "format")


@dataclass(frozen=True, slots=True)
class Difference:
    id: str
    kpolicy: str
    kubernetes: str
    why: str
    explains: Callable[[Pair], bool]


def difference_of(pair: Pair) -> Difference | None:
    return next((each for each in DIFFERENCES if each.explains(pair)), None)


def _their_error(pair: Pair, *parts: str) -> bool:
    return "value" in pair.ours and any(part in _their_text(pair) for part in parts)


def _their_text(pair: Pair) -> str:
    return str(pair.theirs.get("error", pair.theirs.get("refused", "")))


def _calls(pair: Pair, *names: str) -> bool:
    return any(f"{name}(" in pair.question.expression for name in names)


def _row(pair: Pair, tag: str) -> list[Any]:
    """The values of that type among the variables."""
    return [
        value[tag] for value in pair.row.values() if isinstance(value, Mapping) and tag in value
    ]


def _texts(pair: Pair) -> list[str]:
    return [value for value in pair.row.values() if isinstance(value, str)]


def _is_of_unequal_types(pair: Pair) -> bool:
    has_one = any(_row(pair, tag) for tag in _KUBERNETES_TYPES)
    is_equality = any(f" {sign} " in pair.question.expression for sign in ("==", "!="))
    return has_one and is_equality and _their_error(pair, "no such overload")


def _is_order_of_nan(pair: Pair) -> bool:
    """An error of theirs may hide behind another one, in `a && b` or `a || b`."""
    is_error = "value" in pair.ours and "error" in pair.theirs
    return is_error and ("NaN values cannot be ordered" in _their_text(pair) or meets_nan(pair))


def _is_constant_that_fails(pair: Pair) -> bool:
    if "refused" in pair.ours:
        return "value" in pair.theirs and " such as " in pair.ours["refused"]
    failures = ("type conversion error", "integer overflow", "invalid timestamp argument")
    return "refused" in pair.theirs and _their_error(pair, *failures)


def _has_items_of_any_type(pair: Pair) -> bool:
    is_reversed = re.search(r"dyn\(.*\)\.reverse\(\)", pair.question.expression) is not None
    texts = ("no such overload: ", "found no matching overload for", "*types.Err")
    is_sum_of_nothing = _calls(pair, "sum") and (
        pair.ours.get("value") == 0 and pair.theirs.get("value") in ({"double": "0"}, {"uint": "0"})
    )
    return is_reversed and (is_sum_of_nothing or _their_error(pair, *texts))


def _has_refused_pattern(pair: Pair) -> bool:
    pattern = pair.row.get("y")
    has_pattern = _calls(pair, "matches", "find", "findAll") and isinstance(pattern, str)
    return has_pattern and refusal(str(pattern)) != ""


def _has_long_fraction(pair: Pair) -> bool:
    precisions = [found for text in _texts(pair) for found in re.findall(r"%\.(\d+)", text)]
    return _calls(pair, "format") and any(int(precision) > 255 for precision in precisions)


def _is_huge_quantity(pair: Pair) -> bool:
    texts = (*_texts(pair), *_row(pair, "quantity"))
    names = ("quantity", "asApproximateFloat", "add", "sub", "compareTo")
    is_asked = _calls(pair, *names, "isLessThan", "isGreaterThan")
    return is_asked and any(_exponent(text) > 28 for text in texts)


def _exponent(text: str) -> int:
    _, mark, power = text.lower().partition("e")
    return int(power) if mark and power.lstrip("+").isdecimal() else 0


def _is_form_of_go(pair: Pair) -> bool:
    has_form = any("_" in text or text.startswith("0x") for text in _texts(pair))
    return _calls(pair, "double") and has_form and "value" in pair.theirs


DIFFERENCES: Final = (
    Difference(
        "order-of-nan",
        "`0.0 / 0.0 < 1.0` is false",
        "an error",
        "IEEE 754 and other implementations of CEL give false, and a rule should not fail for a "
        "ratio that has no value. Where a whole list is put in order, NaN is an error here too.",
        _is_order_of_nan,
    ),
    Difference(
        "sorting-nan",
        "`sort` and `sortBy` of a list with NaN are errors",
        "some order, which depends on where NaN stands",
        "An order that rests on chance is no answer.",
        lambda pair: (
            _calls(pair, "sort", "sortBy") and "NaN values" in str(pair.ours.get("error", ""))
        ),
    ),
    Difference(
        "equality-of-types",
        "`dyn(quantity('1')) == 'a'` is false",
        "an error, for quantities, addresses, ranges, URLs, versions and formats",
        "The CEL specification: values of different types are unequal. So they are in "
        "Kubernetes, too, for all other types.",
        _is_of_unequal_types,
    ),
    Difference(
        "keys-that-cannot-be",
        "`dyn(b'a') in {'a': 1}` is false",
        "an internal error, for bytes and formats",
        "It is a failure of the map, not a rule of the language.",
        lambda pair: _their_error(pair, "unhashable type"),
    ),
    Difference(
        "sorting-errors",
        "`x.map(v, int(v)).sortBy(v, v).size() == 1 && y` is false for `['a']` and false: the "
        "error of the left side does not count",
        "an internal error",
        "It is a failure of `sortBy`, not a rule of the language.",
        lambda pair: _calls(pair, "sortBy") and _their_error(pair, "internal error: interface"),
    ),
    Difference(
        "texts-of-quantities",
        "`string(quantity('1500m'))` is `1.5`",
        "refused",
        "Messages of a policy have to name amounts.",
        lambda pair: (
            _calls(pair, "string")
            and bool(_row(pair, "quantity"))
            and _their_error(pair, "no such overload: string", "overload for 'string'")
        ),
    ),
    Difference(
        "method-sign",
        "`quantity('-1').sign()` is -1, and so is `sign(quantity('-1'))`",
        "only `sign(quantity('-1'))`",
        "The documentation of Kubernetes has the method.",
        lambda pair: ".sign()" in pair.question.expression and _their_error(pair, "'sign'"),
    ),
    Difference(
        "reverse-of-text",
        "`'abc'.reverse()` is `cba`",
        "refused",
        "It is in version 3 of CEL's string library, and Kubernetes has version 2.",
        lambda pair: _their_error(pair, "'reverse' applied to", "reverse(string)"),
    ),
    Difference(
        "types-of-lists",
        "`[1].flatten()`, and `sum()` of an empty list of strings, are allowed",
        "refused for the types of the items",
        "Both give what the same call gives for a list of unknown type.",
        lambda pair: _their_error(
            pair, "no matching overload for 'flatten'", "no matching overload for 'sum'"
        ),
    ),
    Difference(
        "items-of-any-type",
        "`dyn([1]).reverse().map(x, string(x))` is `['1']`; "
        "`dyn([]).reverse().sortBy(x, -x).sum()` is the int 0",
        "an error, or refused: its checker takes `x` for the first type that `string` takes; "
        "the double 0",
        "The type of the items is not known before they are there.",
        _has_items_of_any_type,
    ),
    Difference(
        "index-of-lists",
        "`[1][0u]` is 1",
        "refused; `[1][dyn(0u)]` is 1",
        "Both indices mean the same item.",
        lambda pair: _their_error(pair, "no matching overload for '_[_]'"),
    ),
    Difference(
        "constants-that-fail",
        "`true ? 1 : int('a')` is 1, and `true ? 1 : quantity('a').asInteger()` is refused",
        "the first is refused, the second is 1",
        "Each evaluates other constants while compiling. kpolicy reports texts that can never be "
        "read (KP207); a part that is not reached is no error in CEL.",
        _is_constant_that_fails,
    ),
    Difference(
        "cost-of-depth",
        "`flatten(depth)` is charged for the lists that it takes apart",
        "it is charged for the depth that is asked for, and stops at the cost limit",
        "The costs of kpolicy are its own: they bound the time of a decision.",
        lambda pair: _calls(pair, "flatten") and _their_error(pair, "cost limit exceeded"),
    ),
    Difference(
        "forms-of-doubles",
        "`double('1_000')` and `double('0x1p-2')` are errors",
        "1000 and 0.25",
        "They are forms of numbers in Go programs. Neither CEL nor the API has them.",
        _is_form_of_go,
    ),
    Difference(
        "patterns",
        "patterns of RE2 that kpolicy's checker refuses, such as `\\Qa\\E`, `a{,2}`",
        "allowed; others, such as `a**`, are errors",
        "In a policy a pattern is constant, and the checker reports these with a reason "
        "(KP207). Only `kpolicy eval` meets them while evaluating.",
        _has_refused_pattern,
    ),
    Difference(
        "zones",
        "the zones are those of the release of IANA's data that kpolicy has; `Local` is unknown",
        "`Local` and the data of zones are those of the API server's machine; the past of `EST`, "
        "`CET` and such names may differ",
        "No result of a policy depends on the machine.",
        lambda pair: ".get" in pair.question.expression and bool(_ZONES & set(_texts(pair))),
    ),
    Difference(
        "figures-of-format",
        "a precision of `format` is at most 1000",
        "the precision is taken modulo 256, and is no precision at all when it is longer",
        "The length of a text that a rule makes is bounded, and what is asked for is given.",
        _has_long_fraction,
    ),
    Difference(
        "huge-quantities",
        "quantities are exact up to 10^28, and then capped",
        "exact at any size; `quantity('1e2147483647')` takes minutes",
        "No amount of a resource is near, and the time to read a text must rest on its length.",
        _is_huge_quantity,
    ),
    Difference(
        "subtracting-the-smallest-int",
        "`quantity('1k').sub(-9223372036854775808)` is the difference",
        "it has the wrong sign",
        "The negative of the smallest int overflows there.",
        lambda pair: _calls(pair, "sub") and -(2**63) in pair.row.values(),
    ),
    Difference(
        "parts-of-versions",
        "`major()` of a version beyond the range of int is an error",
        "a negative number",
        "It is an overflow there.",
        lambda pair: _calls(pair, "major", "minor", "patch") and bool(_row(pair, "semver")),
    ),
    Difference(
        "mixed-lists",
        "`[1, 'a']` and `{'a': 1, 'b': 'c'}` are allowed",
        "refused, and so is `math.greatest(dyn(1), 2u, 3)`; `[dyn(1), dyn('a')]` is allowed",
        "CEL allows them, and `step(x, [[10, 0.5], …])` mixes ints and doubles.",
        lambda pair: _their_error(pair, "expected type '"),
    ),
)
