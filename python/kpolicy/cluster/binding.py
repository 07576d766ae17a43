"""A bind: what is sent, what can come of it, and how the API server's words are read.

Owns `Binding`, the outcomes, the body and the reading of 409s. Pure. Must not know connections or
retries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii
from typing import TypeAlias
from urllib.parse import quote

from kpolicy.cluster.failure import Failure


@dataclass(frozen=True, slots=True)
class Binding:
    """`uid` makes it hold for this very pod and not for one recreated under its name.
    `annotations` are merged into the pod by the API server, in the same write."""

    namespace: str
    name: str
    uid: str
    node: str
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bound:
    """The API server has written it now."""


@dataclass(frozen=True, slots=True)
class AlreadyOurs:
    """The pod is on our node: an earlier try, or a twin of ours, had written it."""


@dataclass(frozen=True, slots=True)
class TakenByOther:
    node: str


@dataclass(frozen=True, slots=True)
class Gone:
    """The pod does not exist any more, is being deleted, or is another one of that name."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """The pod changed (gates, version): what we decided on is no longer so."""

    message: str


@dataclass(frozen=True, slots=True)
class Refused:
    """401, 403, 400, 422, 413: repeating it would not help."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """It may have been written, or be written yet. A read that begins after `until_ns` (monotonic)
    and shows the pod on no node tells that it was not. It may be sent so often again."""

    failure: Failure
    until_ns: int
    sends_left: int = 0


@dataclass(frozen=True, slots=True)
class Overloaded:
    """Not written, for a server that is busy, failing or away."""

    retry_after_s: float
    message: str


@dataclass(frozen=True, slots=True)
class Fenced:
    """Not sent: we may no longer be the leader."""


@dataclass(frozen=True, slots=True)
class Declined:
    """Someone else was to bind it, and did not."""

    message: str


@dataclass(frozen=True, slots=True)
class PodUnreadable:
    """The pod could not be read, or what was read is no pod."""


SettledOutcome: TypeAlias = (
    Bound | AlreadyOurs | TakenByOther | Gone | Conflict | Refused | Overloaded | Fenced | Declined
)
BindOutcome: TypeAlias = SettledOutcome | Unknown

_ASSIGNED = re.compile(r'is already assigned to node "([^"]*)"')
_DELETING = re.compile(r"is being deleted")
_OTHER_UID = re.compile(r"UID in precondition")
_SAFE_NAME = re.compile(r"[a-z0-9.-]+\Z")


def pod_path(namespace: str, name: str) -> str:
    # Names of the API are safe as they are; what is not a name must still not become a path.
    if not (_SAFE_NAME.match(namespace) and _SAFE_NAME.match(name)):
        namespace, name = quote(namespace, safe=""), quote(name, safe="")
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def binding_body(binding: Binding) -> bytes:
    """The Binding as JSON, written directly: no dictionaries on the way of every pod."""
    text = encode_basestring_ascii
    annotations = ""
    if binding.annotations:
        pairs = ",".join(f"{text(key)}:{text(value)}" for key, value in binding.annotations.items())
        annotations = f',"annotations":{{{pairs}}}'
    return (
        '{"apiVersion":"v1","kind":"Binding","metadata":{"name":'
        f'{text(binding.name)},"namespace":{text(binding.namespace)},"uid":{text(binding.uid)}'
        f'{annotations}}},"target":{{"apiVersion":"v1","kind":"Node","name":{text(binding.node)}}}}}'
    ).encode("ascii")


def conflict_outcome(binding: Binding, message: str) -> BindOutcome:
    """What a 409 means; kubernetes gives every reason the same code and reason."""
    if assigned := _ASSIGNED.search(message):
        node = assigned[1]
        return AlreadyOurs() if node == binding.node else TakenByOther(node)
    if _DELETING.search(message) or _OTHER_UID.search(message):
        return Gone()
    return Conflict(message)


def seen_on(binding: Binding, pod: bytes) -> SettledOutcome | PodUnreadable | None:
    """What the pod of that name, as the API server has it, tells of a bind whose answer was lost;
    None: it is on no node as yet."""
    try:
        document = json.loads(pod)
        metadata, spec = document["metadata"], document.get("spec", {})
        uid, is_ending = str(metadata["uid"]), bool(metadata.get("deletionTimestamp"))
        node = str(spec.get("nodeName") or "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return PodUnreadable()
    if uid != binding.uid:
        return Gone()
    if node:
        return AlreadyOurs() if node == binding.node else TakenByOther(node)
    return Gone() if is_ending else None
