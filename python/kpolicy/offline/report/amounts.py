"""Amounts of resources as people write them.

Owns units and rounding: bytes in powers of 1,024, cores with a decimal where there is one. Must not
be used where exactness matters.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_OF_BYTES: Final = ("memory", "ephemeral-storage", "hugepages-", "storage")


def amount(resource: str, value: Fraction) -> str:
    if resource.startswith(_OF_BYTES):
        return bytes_of(value)
    return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):,.1f}"


def bytes_of(value: Fraction | int) -> str:
    left, unit = float(value), 0
    while abs(left) >= 1024 and unit < len(_UNITS) - 1:
        left, unit = left / 1024, unit + 1
    digits = 0 if unit == 0 or left >= 100 or left == int(left) else 1
    return f"{left:,.{digits}f}{_UNITS[unit]}"


def percent(share: float) -> str:
    return f"{100 * share:.1f}%"
