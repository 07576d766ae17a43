"""Which records of a journal the engine makes again without Python between them: lines of watches,
decisions and outcomes, which nearly all records are.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import Any, Final, TypeAlias

from kpolicy.journal.engine_calls import Effect, Frame
from kpolicy.object_kinds import OBJECT_KINDS
from kpolicy.offline.journal_replay.decided_pods import DECIDING, EXTENDED

# Classes and claims of devices bring selectors, which Python compiles.
_RESOURCES: Final = frozenset(kind.resource for kind in OBJECT_KINDS) - {
    "deviceclasses",
    "resourceclaims",
}

AtOnce: TypeAlias = tuple[Any, ...]


class Decisions(Enum):
    """What a replay does with recorded decisions."""

    MADE = "made again and compared"
    JUDGED = "an opinion is asked of the engine"
    READ = "read for the caller"


def at_once(chunk: bytes, frame: Frame, decisions: Decisions) -> AtOnce | None:
    """The call as `kpolicy.engine.read_calls` takes it, which reads the long arguments itself; None
    if it is one that Python makes, or none at all."""
    name, at_ns, start, middle, end = frame
    if frame.effect is Effect.DECIDES and decisions is not Decisions.MADE:
        if decisions is Decisions.READ:
            return None
        if name not in DECIDING:
            return "decided", False, at_ns, end, end
        return "decided", name in EXTENDED, at_ns, middle, end
    # Decisions are a list; the answer of another call is an exception.
    if middle < end and (name != "schedule" or not chunk.startswith(b"[", middle)):
        return None
    newline = chunk.find(b"\n", start, middle)
    if newline < 0:
        return None
    if name == "schedule":
        return (name, start, newline, middle, end) if middle < end else None
    if name == "settle":
        return name, start, newline
    try:
        arguments = json.loads(chunk[start:newline])
    except (ValueError, RecursionError):
        return None
    match name, arguments:
        case "watch", [str() as resource, None, int() as now_ns] if resource in _RESOURCES:
            return name, resource, newline + 1, middle, now_ns, at_ns
        case _, [int() as now_ns] if frame.effect is Effect.TIME:
            return "pass_time", now_ns
    return None
