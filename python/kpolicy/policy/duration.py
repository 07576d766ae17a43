"""A length of time as policies write it: `5s`, and in legacy files a number of nanoseconds.

Owns the one way in which equal lengths are written alike. Must not know whose they are.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_NANOSECONDS: Final = re.compile(r"([0-9]+)ns\Z")


def in_largest_unit(written: str) -> str:
    """`5000000000ns` as `5s`."""
    match = _NANOSECONDS.match(written)
    if match is None:
        return written
    nanoseconds = Decimal(match.group(1))
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if nanoseconds >= size and nanoseconds % (size // 1000) == 0:
            return f"{(nanoseconds / size).normalize():f}{unit}"
    return written
