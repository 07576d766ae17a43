"""Why something cannot go on, as one line with a code and what to do about it.

Owns that form. Assumes texts that are one line each. Must not know any code.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Coded:
    """One line on what is wrong, one on what to do about it."""

    code: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" ({self.hint})" if self.hint else "")
