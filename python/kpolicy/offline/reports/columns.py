"""Text in columns, counts in order, and amounts of resources as people write them.

Amounts are rounded: bytes in powers of 1,024, cores with at most one decimal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from textwrap import wrap
from typing import Final

_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
# The least columns in which the text of a last column is folded.
_FOLDED_MIN: Final = 24
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


def folded(line: str, width: int) -> list[str]:
    """The line in at most `width` columns: the text of its last column goes on below where that
    begins, or a little to the right of the line where it begins too far on the right."""
    if len(line) <= width:
        return [line]
    lead = len(line) - len(line.lstrip())
    gap = line.rfind("  ", lead)
    begin = gap + 2 if gap > 0 else lead
    head, last = line[:begin], line[begin:]
    if width - begin >= _FOLDED_MIN:
        first, *rest = wrap(last, width - begin, break_long_words=False, break_on_hyphens=False)
        return [head + first, *(" " * begin + part for part in rest)]
    below = " " * (lead + 4)
    return [
        *wrap(head.rstrip(), width, subsequent_indent=below, break_long_words=False),
        *wrap(last, width, initial_indent=below, subsequent_indent=below, break_long_words=False),
    ]


def largest_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names and counts; equal counts in the order of names."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def counted(number: int, singular: str, plural: str = "") -> str:
    """`1 node`, `1,000 nodes`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def counts_of_names(counts: Mapping[str, int]) -> str:
    """`3 of blue, 1,000 of green`, in the order of names."""
    return ", ".join(f"{count:,} of {name}" for name, count in sorted(counts.items()))


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
