"""What a person is told about a row of the compiler's tables."""

from __future__ import annotations

from typing import NamedTuple


class Text(NamedTuple):
    """One sentence, and an expression that shows it."""

    meaning: str
    example: str
