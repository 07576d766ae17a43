"""What the parts of a regular expression take in the engine, at the most, in bytes.

Owns the figures: each is somewhat above what was measured, by repeating the part until the engine
refused the whole (its limit is a mebibyte). Must not know how patterns are written.
"""

from __future__ import annotations

from typing import Final

# The engine's limit, without what any pattern takes.
BYTES_MAX: Final = (1 << 20) - 4096

LOOK: Final = 40
GROUP: Final = 200
ALTERNATIVE: Final = 80
ANY: Final = 1_100
CLASS: Final = 100
# Letters, categories and scripts of all the world.
UNICODE_CLASS: Final = 60_000
PERL: Final = {
    "d": 5_500,
    "D": 13_500,
    "s": 800,
    "S": 2_200,
    "w": UNICODE_CLASS,
    "W": UNICODE_CLASS,
}

_BYTE: Final = 34
_REPEAT: Final = 120


def literal(character: str, is_folded: bool) -> int:
    """A character; folded it is all that differ from it in case."""
    if is_folded:
        return 250 if character.isascii() else 700
    return _BYTE * len(character.encode("utf-8", "replace"))


def member(low: str, high: str, is_folded: bool) -> int:
    """A range of characters in a class."""
    if high.isascii():
        return 350 if is_folded else 40
    if low == high:
        return 700
    return UNICODE_CLASS if is_folded else ANY


def negated() -> int:
    """What all that a class does not name takes more than what it names."""
    return ANY


def repeated(size: int, least: int, most: int | None) -> int:
    """`most` None: as often as there is."""
    if most is None:
        return max(least, 1) * size + _REPEAT
    return most * size + (most - least + 1) * _REPEAT
