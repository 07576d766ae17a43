"""Kubernetes quantities (`100m`, `1.5Gi`) as exact numbers. It shares no code with kpolicy."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

_FORM: Final = re.compile(r"([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+)|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])?)\Z")
_SUFFIXES: Final = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}


@lru_cache(maxsize=4096)
def quantity(text: str) -> Fraction:
    match = _FORM.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity")
    digits, exponent, suffix = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SUFFIXES[suffix or ""]
    return Fraction(digits) * scale
