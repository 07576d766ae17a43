"""Kubernetes quantities (`500m`, `1.5Gi`, `2e3`) as exact numbers."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

# The bounds on digits keep the numbers small.
_FORM: Final = re.compile(
    r"([+-]?(?:[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20}))"
    r"(?:[eE]([+-]?[0-9]{1,2})|([KMGTPE]i|[numkMGTPE]|))\Z"
)
_SCALES: Final = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{letter: Fraction(1000 ** (power + 1)) for power, letter in enumerate("kMGTPE")},
    **{f"{letter}i": Fraction(1024 ** (power + 1)) for power, letter in enumerate("KMGTPE")},
}


@lru_cache(maxsize=4096)
def read_quantity(text: str) -> Fraction | None:
    """In whole units (cores, bytes, pieces); None if it is no quantity."""
    found = _FORM.match(text)
    if found is None:
        return None
    number, exponent, suffix = found.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SCALES[suffix]
    return Fraction(number) * scale
