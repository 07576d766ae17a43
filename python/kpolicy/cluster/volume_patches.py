"""What is written of volumes and claims before a pod is bound, and how their answers are read.

Owns the two patches and what an object that changed meanwhile means for each. Pure. Each holds for
one object (its uid) as it was read (its resourceVersion); else the API server refuses it. Must not
know connections or retries.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol
from urllib.parse import quote

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"

_FREE_PHASES: Final = frozenset({"", "Pending", "Available"})


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """One object as it was read last."""

    name: str
    uid: str
    version: str


class VolumePatch(Protocol):
    """One write. `seen` reads the object after a conflict or a lost answer: the version that says
    what we wanted, the patch to send now, or None where it is not ours to write any more."""

    @property
    def path(self) -> str: ...
    def body(self) -> bytes: ...
    def seen(self, document: dict[str, Any]) -> str | VolumePatch | None: ...


@dataclass(frozen=True, slots=True)
class BindVolume:
    """A volume is to name its claim. `mark`: and to say that no user bound it."""

    volume: ObjectVersion
    namespace: str
    claim: ObjectVersion
    mark: bool

    @property
    def path(self) -> str:
        return f"/api/v1/persistentvolumes/{quote(self.volume.name, safe='')}"

    def body(self) -> bytes:
        metadata = _metadata(self.volume)
        if self.mark:
            metadata["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
        reference = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": self.namespace,
            "name": self.claim.name,
            "uid": self.claim.uid,
            "resourceVersion": self.claim.version,
        }
        return _json({"metadata": metadata, "spec": {"claimRef": reference}})

    def seen(self, document: dict[str, Any]) -> str | VolumePatch | None:
        now = _seen(self.volume, document)
        if now is None:
            return None
        held = document.get("spec", {}).get("claimRef")
        if held is None:
            is_free = document.get("status", {}).get("phase", "") in _FREE_PHASES
            return replace(self, volume=now) if is_free else None
        if (held.get("namespace"), held.get("name")) != (self.namespace, self.claim.name):
            return None
        if held.get("uid") == self.claim.uid:
            return now.version
        return None if held.get("uid") else replace(self, volume=now)


@dataclass(frozen=True, slots=True)
class SelectNode:
    """A claim is to name the node on which it is to be provisioned."""

    namespace: str
    claim: ObjectVersion
    node: str

    @property
    def path(self) -> str:
        namespace = quote(self.namespace, safe="")
        name = quote(self.claim.name, safe="")
        return f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"

    def body(self) -> bytes:
        metadata = _metadata(self.claim)
        metadata["annotations"] = {SELECTED_NODE: self.node}
        return _json({"metadata": metadata})

    def seen(self, document: dict[str, Any]) -> str | VolumePatch | None:
        now = _seen(self.claim, document)
        if now is None:
            return None
        selected = (document["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        if selected == self.node:
            return now.version
        is_free = selected is None and not document.get("spec", {}).get("volumeName")
        return replace(self, claim=now) if is_free else None


def _metadata(read: ObjectVersion) -> dict[str, Any]:
    return {"uid": read.uid, "resourceVersion": read.version}


def _seen(read: ObjectVersion, document: dict[str, Any]) -> ObjectVersion | None:
    """The same object as it is now; None where it is another one, or on its way out."""
    metadata = document["metadata"]
    if metadata.get("uid") != read.uid or metadata.get("deletionTimestamp"):
        return None
    return replace(read, version=str(metadata["resourceVersion"]))


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
