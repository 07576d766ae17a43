"""Resource versions, compared.

Owns the order of them. Kubernetes allows comparing them as integers since 1.35 (KEP-5504), and has
always written integers; text that is not one cannot be ordered, and the newest seen is taken.
"""

from __future__ import annotations

_DIGITS_MAX = 20  # they are unsigned 64 bit


def is_older(version: str, than: str) -> bool:
    """Whether `version` is certainly older; empty or not numeric is never certain."""
    left, right = _number(version), _number(than)
    return left is not None and right is not None and left < right


def newer_of(seen: str, reported: str) -> str:
    """What to resume from: never goes back, and nothing reported changes nothing."""
    return seen if not reported or is_older(reported, seen) else reported


def _number(version: str) -> int | None:
    digits = version.isascii() and version.isdigit() and len(version) <= _DIGITS_MAX
    return int(version) if digits else None
