"""One value against what is expected of it.

Owns when a text, a number or a name fits, and how what was expected is said. Must not know where
the value comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from kpolicy.offline.testing.model import NumberRange, OneOf, TextPattern

# Scores are shown, and compared, to this precision.
_DIGITS: Final = 6


def text_fits(expected: str | TextPattern, got: str) -> bool:
    if isinstance(expected, str):
        return got == expected
    if expected.matches is not None:
        return re.fullmatch(expected.matches, got) is not None
    return expected.contains is not None and expected.contains in got


def text_shown(expected: str | TextPattern) -> str:
    if isinstance(expected, str):
        return expected
    if expected.matches is not None:
        return f"matches {expected.matches}"
    return f"contains {expected.contains}"


def text_hint(expected: str | TextPattern, got: str) -> str:
    """How far the two agree, or that a pattern is meant for a part."""
    if isinstance(expected, str):
        same = next(
            (i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b),
            min(len(expected), len(got)),
        )
        return f"they differ from character {same + 1} on" if same else ""
    if expected.matches is not None and re.match(expected.matches, got):
        return "it matches the beginning; a pattern is for the whole text, so add `.*`"
    if expected.matches is not None and re.search(expected.matches, got):
        return "it matches a part; a pattern is for the whole text, so put `.*` around it"
    return ""


def number_fits(expected: float | NumberRange, got: float) -> bool:
    if not isinstance(expected, NumberRange):
        return round(float(expected) - got, _DIGITS) == 0
    low, high = expected.between or (None, None)
    bounds = (
        all(got >= bound for bound in (low, expected.at_least) if bound is not None),
        all(got <= bound for bound in (high, expected.at_most) if bound is not None),
    )
    return all(bounds)


def number_shown(expected: float | NumberRange) -> str:
    if not isinstance(expected, NumberRange):
        return plain_number(expected)
    said = []
    if expected.between is not None:
        low, high = expected.between
        said.append(f"between {plain_number(low)} and {plain_number(high)}")
    if expected.at_least is not None:
        said.append(f"at least {plain_number(expected.at_least)}")
    if expected.at_most is not None:
        said.append(f"at most {plain_number(expected.at_most)}")
    return ", ".join(said)


def plain_number(value: float) -> str:
    """`12`, `12.5`: no zeros that say nothing."""
    return str(int(value)) if float(value).is_integer() else f"{value:.{_DIGITS}g}"


def name_fits(expected: str | OneOf, got: str) -> bool:
    return got == expected if isinstance(expected, str) else got in expected.one_of


def name_shown(expected: str | OneOf) -> str:
    return expected if isinstance(expected, str) else f"one of {', '.join(expected.one_of)}"


def names_shown(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
