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
_OUTCOMES: Final = frozenset({0, 1, 2})

AtOnce: TypeAlias = tuple[Any, ...]


class Decisions(Enum):
    """What a replay does with recorded decisions."""

    MADE = "made again and compared"
    JUDGED = "an opinion is asked of the engine"
    READ = "read for the caller"


def at_once(chunk: bytes, frame: Frame, decisions: Decisions) -> AtOnce | None:
    """The call as `kpolicy.engine.read_calls` takes it; None if it is one that Python makes, or
    none at all."""
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
    try:
        arguments = json.loads(chunk[start:newline]) if newline >= 0 else None
    except (ValueError, RecursionError):
        return None
    match name, arguments:
        case "watch", [str() as resource, None, int() as now_ns] if resource in _RESOURCES:
            call: AtOnce = (name, resource, newline + 1, middle, now_ns, at_ns)
        case "schedule", [list() as uids, int() as now_ns] if _are_texts(uids) and middle < end:
            call = (name, uids, now_ns, middle, end)
        case "settle", [list() as outcomes, int() as now_ns] if _are_outcomes(outcomes):
            call = (name, list(map(tuple, outcomes)), now_ns)
        case _, [int() as now_ns] if frame.effect is Effect.TIME:
            call = ("pass_time", now_ns)
        case _:
            return None
    return call


def _are_texts(uids: list[Any]) -> bool:
    return set(map(type, uids)) <= {str}


def _are_outcomes(outcomes: list[Any]) -> bool:
    return all(
        isinstance(each, list) and list(map(type, each)) == [str, int] and each[1] in _OUTCOMES
        for each in outcomes
    )
