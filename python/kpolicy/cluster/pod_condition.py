"""What a pod's status says about scheduling: PodScheduled=False, and the nominated node.

Owns `PodCondition`, the bodies of the patches, and what is read of their answers. Pure. Must not
know when or how often anything is written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from json.encoder import encode_basestring_ascii
from typing import Final

from kpolicy.cluster.timestamps import api_time

# Pods are created with it, and only changes of their spec count it up: gates that are lifted, say.
FIRST_GENERATION: Final = 1


class ConditionReason(StrEnum):
    UNSCHEDULABLE = "Unschedulable"  # the cluster has no place for it now
    SCHEDULER_ERROR = "SchedulerError"  # we failed


@dataclass(frozen=True, slots=True)
class PodCondition:
    """`nominated_node`: None leaves it as it is, empty clears it."""

    namespace: str
    name: str
    uid: str
    reason: ConditionReason
    message: str
    nominated_node: str | None = None


def condition_body(condition: PodCondition, transition_ns: int | None, generation: int) -> bytes:
    """The uid makes the API server refuse it for another pod of the same name. `generation` is that
    of the pod as we saw it; 0: not known."""
    text = encode_basestring_ascii
    since = "" if transition_ns is None else f',"lastTransitionTime":"{api_time(transition_ns)}"'
    observed = f',"observedGeneration":{generation}' if generation else ""
    nominated = ""
    if condition.nominated_node is not None:
        nominated = f',"nominatedNodeName":{_node(condition.nominated_node)}'
    return (
        f'{{"metadata":{{"uid":{text(condition.uid)}}},"status":{{"conditions":['
        f'{{"type":"PodScheduled","status":"False","reason":"{condition.reason}",'
        f'"message":{text(condition.message)}{since}{observed}}}]{nominated}}}}}'
    ).encode("ascii")


def nomination_body(uid: str, node: str) -> bytes:
    """The nomination alone; an empty node clears it."""
    of_pod = f'"metadata":{{"uid":{encode_basestring_ascii(uid)}}}'
    return f'{{{of_pod},"status":{{"nominatedNodeName":{_node(node)}}}}}'.encode("ascii")


def generation_of(body: bytes) -> int:
    """Of the pod in an answer; 0 from an API server that does not count them, or for no pod."""
    try:
        return int(json.loads(body)["metadata"].get("generation") or 0)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return 0


def _node(name: str) -> str:
    return encode_basestring_ascii(name) if name else "null"
