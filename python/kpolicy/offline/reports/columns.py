"""Text in columns, counts in order, and amounts of resources as people write them.

Amounts are rounded: bytes in powers of 1,024, cores with at most one decimal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_OF_BYTES: Final = ("memory", "ephemeral-storage", "hugepages-", "storage")


def columns(
    rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), indent: str = "", gap: str = "  "
) -> list[str]:
    """One line a row; the columns at the positions `right` are aligned to the right."""
    widths = [
        max(len(row[position]) for row in rows if position < len(row))
        for position in range(max(map(len, rows), default=0))
    ]
    lines = []
    for row in rows:
        cells = (
            cell.rjust(width) if position in right else cell.ljust(width)
            for position, (cell, width) in enumerate(zip(row, widths, strict=False))
        )
        lines.append((indent + gap.join(cells)).rstrip())
    return lines


def largest_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names and counts; equal counts in the order of names."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def counted(number: int, singular: str, plural: str = "") -> str:
    """`1 node`, `1,000 nodes`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def listed(names: Sequence[str], shown_max: int) -> str:
    """The first few, and how many more."""
    shown = ", ".join(names[:shown_max])
    return shown if len(names) <= shown_max else f"{shown} and {len(names) - shown_max:,} more"


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
