"""Kubernetes quantities as exact numbers.

Owns the reading of `500m`, `1Gi`, `2e3`. Assumes text as an API server has accepted it. Must not
know what is measured.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

_FORM: Final = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]{1,3})|([KMGTPE]i|[numkMGTPE]|))\Z"
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
def quantity(written: str | float) -> Fraction:
    """In whole units (cores, bytes, pieces); 0 for what is no quantity."""
    found = _FORM.match(str(written).strip())
    if found is None:
        return Fraction(0)
    number, exponent, suffix = found.groups()
    scale = Fraction(10) ** int(exponent[1:]) if exponent else _SCALES[suffix or ""]
    return Fraction(number) * scale
