"""Conditions in a status.

Owns reading and replacing one of them, with the time of its last transition. Pure: the time is an
argument. Must not know which conditions there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]


def condition(status: Object, type_: str) -> Object | None:
    for each in status.get("conditions") or ():
        if each.get("type") == type_:
            found: Object = each
            return found
    return None


def with_condition(status: Object, type_: str, content: Object, now: str) -> Object:
    """The status with that condition, whose transition time moves only when its status does."""
    held = condition(status, type_)
    moved = held is None or held.get("status") != content["status"]
    transition = now if held is None or moved else held.get("lastTransitionTime", now)
    new = {"type": type_, "lastProbeTime": None, "lastTransitionTime": transition, **content}
    others = [each for each in status.get("conditions") or () if each.get("type") != type_]
    return {**status, "conditions": [*others, new]}
