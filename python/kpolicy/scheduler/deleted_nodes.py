"""Which nodes a watch says were deleted.

Owns that one reading of its lines: of a line that speaks of no deletion no word is read. Pure.
"""

from __future__ import annotations

import json

_WORD = b'"DELETED"'


def deleted_in(lines: bytes) -> frozenset[str]:
    if _WORD not in lines:
        return frozenset()
    names = (_deleted(line) for line in lines.splitlines() if _WORD in line)
    return frozenset(name for name in names if name)


def _deleted(line: bytes) -> str:
    """Empty for what cannot be read: the engine names it."""
    try:
        event = json.loads(line)
        return str(event["object"]["metadata"]["name"]) if event["type"] == "DELETED" else ""
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
