"""An eviction: what is sent, what can come of it, and how the API server's answers are read.

Owns `Eviction`, the outcomes, both bodies and the reading of answers. Pure. Must not know
connections, retries, or for whom room is made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import TypeAlias

from kpolicy.cluster.timestamps import api_time

_NOT_FOUND = 404
# How the API server says that the uid is another: of a deletion in two ways, and of a patch.
_OTHER_UID = (
    (409, "UID in precondition"),
    (409, "UID in the precondition"),
    (422, "metadata.uid: Invalid value"),
)


@dataclass(frozen=True, slots=True)
class Eviction:
    """`uid` makes it hold for this very pod and not for one recreated under its name. `message` is
    what the pod's condition says of the reason."""

    namespace: str
    name: str
    uid: str
    message: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Evicted:
    """The API server has deleted it, or begun to: its time to end runs."""


@dataclass(frozen=True, slots=True)
class AlreadyGone:
    """It does not exist any more; what has its name is another pod."""


@dataclass(frozen=True, slots=True)
class AlreadyLeaving:
    """Somebody else was sooner: its time to end is not ours to set, and runs."""


@dataclass(frozen=True, slots=True)
class NotEvicted:
    """Refused, or given up after tries; `code` 0: no answer, so that it may have been written."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class EvictionFenced:
    """Not sent: we may no longer be the leader."""


EvictionOutcome: TypeAlias = Evicted | AlreadyGone | AlreadyLeaving | NotEvicted | EvictionFenced


def disruption_body(eviction: Eviction, now_ns: int, generation: int) -> bytes:
    """The condition that kube-scheduler writes first, so that what owns the pod knows why it ends.
    The uid makes the API server refuse it for another pod of that name; the generation is its."""
    text = encode_basestring_ascii
    return (
        f'{{"metadata":{{"uid":{text(eviction.uid)}}},"status":{{"conditions":['
        '{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler",'
        f'"message":{text(eviction.message)},"lastTransitionTime":"{api_time(now_ns)}",'
        f'"observedGeneration":{generation}}}]}}}}'
    ).encode("ascii")


def deletion_body(eviction: Eviction) -> bytes:
    """With the pod's own grace period. The uid is the only precondition: a resource version would
    make every heartbeat of the pod's kubelet a conflict."""
    return (
        '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":'
        f"{encode_basestring_ascii(eviction.uid)}}}}}"
    ).encode("ascii")


@dataclass(frozen=True, slots=True)
class PodEnding:
    uid: str
    is_ending: bool


def pod_ending(body: bytes) -> PodEnding | None:
    """Which pod an answer shows, and whether its deletion has begun; None: it shows no pod."""
    try:
        metadata = json.loads(body)["metadata"]
        return PodEnding(str(metadata["uid"]), bool(metadata.get("deletionTimestamp")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def is_of_api(body: bytes) -> bool:
    """A pod, or a Status; not what a proxy says in the API server's stead."""
    try:
        return bool(json.loads(body)["kind"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def is_of_another(code: int, message: str) -> bool:
    """Whether a refusal says that this very pod is not there."""
    return code == _NOT_FOUND or any(
        code == own_code and text in message for own_code, text in _OTHER_UID
    )
