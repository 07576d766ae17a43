"""What is kept of each kind of object.

Owns the rules for metadata and for kinds other than pods. Annotations are dropped but for the few
that a rule reads. Must not know how they are applied to a whole cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kpolicy.offline.redaction.fields import (
    Place,
    Rule,
    amounts,
    asked_labels,
    claim,
    each,
    fields,
    image,
    kept,
    labels,
    located,
    members,
    name,
    node_selector,
    selector,
    taint,
    text,
    uid,
    volume,
)
from kpolicy.offline.redaction.pods import POD, in_tree

# Owners of these kinds and groups are Kubernetes' own; others' words may be anyone's.
_OWNERS: Final = frozenset(
    {
        "CronJob",
        "DaemonSet",
        "Deployment",
        "Job",
        "Node",
        "Pod",
        "ReplicaSet",
        "ReplicationController",
        "StatefulSet",
    }
)
_GROUPS: Final = frozenset({"apps", "batch", "extensions"})
ANNOTATIONS_KEPT: Final[Mapping[str, Rule]] = {
    "pv.kubernetes.io/bind-completed": kept,
    "pv.kubernetes.io/bound-by-controller": kept,
    "storage.alpha.kubernetes.io/migrated-plugins": kept,
    "volume.beta.kubernetes.io/storage-class": name,
    "volume.kubernetes.io/selected-node": name,
}


def _owner_kind(place: Place, kind: str) -> str:
    return kind if kind in _OWNERS else place.words.name(kind)


def _owner_version(place: Place, version: str) -> str:
    group, slash, number = version.rpartition("/")
    own = not slash or group in _GROUPS or group.endswith(".k8s.io")
    return version if own else f"{place.words.name(group)}/{number}"


_owner = fields(
    apiVersion=text(_owner_version),
    kind=text(_owner_kind),
    name=name,
    uid=uid,
    controller=kept,
)


def _metadata(named: Rule) -> Rule:
    return fields(
        name=named,
        namespace=name,
        uid=uid,
        resourceVersion=kept,
        creationTimestamp=kept,
        deletionTimestamp=kept,
        labels=labels,
        annotations=members(ANNOTATIONS_KEPT),
        ownerReferences=each(_owner),
    )


def _claim_of_volume(place: Place, value: Any) -> Any:
    """A claim's name is looked up in the namespace that stands beside it."""
    if not isinstance(value, dict):
        return kept(place, value)
    beside = value.get("namespace")
    there = Place(place.words, beside if isinstance(beside, str) else "", place.claims)
    return fields(namespace=name, name=claim, uid=uid)(there, value)


def _pods_by_name(place: Place, value: Any) -> Any:
    if not isinstance(value, dict):
        return kept(place, value)
    return {place.words.name(pod): kept(place, time) for pod, time in value.items()}


_csi = fields(driver=kept, volumeHandle=volume)
_volume_spec = members(
    {
        "capacity": amounts,
        "storageClassName": name,
        "volumeMode": kept,
        "accessModes": each(kept),
        "volumeAttributesClassName": name,
        "claimRef": _claim_of_volume,
        "nodeAffinity": fields(required=node_selector),
        "csi": _csi,
        **in_tree,
    }
)
_claim_spec = fields(
    volumeName=name,
    storageClassName=name,
    volumeMode=kept,
    accessModes=each(kept),
    resources=fields(requests=amounts),
    selector=selector,
    volumeAttributesClassName=name,
)
_node = {
    "spec": fields(unschedulable=kept, taints=each(taint)),
    "status": fields(
        allocatable=amounts,
        capacity=amounts,
        conditions=each(fields(type=kept, status=kept)),
        images=each(fields(names=each(image), sizeBytes=kept)),
        declaredFeatures=each(kept),
        nodeInfo=fields(
            kubeletVersion=kept,
            kernelVersion=kept,
            osImage=kept,
            containerRuntimeVersion=kept,
            architecture=kept,
            operatingSystem=kept,
        ),
    ),
}
_source = fields(persistentVolumeName=name, inlineVolumeSpec=fields(csi=_csi))
_selecting = {"spec": fields(selector=selector)}
_mapped = {"spec": fields(selector=asked_labels)}
_topology = fields(matchLabelExpressions=each(located))
_KINDS: Final[Mapping[str, Mapping[str, Rule]]] = {
    "Pod": POD,
    "Node": _node,
    "Namespace": {},
    "Service": {"spec": fields(selector=labels)},
    "ReplicationController": _mapped,
    "ReplicaSet": _selecting,
    "StatefulSet": _selecting,
    "PodDisruptionBudget": _selecting
    | {"status": fields(disruptionsAllowed=kept, disruptedPods=_pods_by_name)},
    "PersistentVolume": {"spec": _volume_spec, "status": fields(phase=kept)},
    "PersistentVolumeClaim": {"spec": _claim_spec, "status": fields(phase=kept)},
    "StorageClass": {
        "provisioner": kept,  # a driver's name, as those of CSINode and CSIDriver
        "volumeBindingMode": kept,
        "allowedTopologies": each(_topology),
    },
    "CSINode": {
        "spec": fields(drivers=each(fields(name=kept, allocatable=fields(count=kept)))),
    },
    "CSIDriver": {"spec": fields(storageCapacity=kept)},
    "CSIStorageCapacity": {
        "storageClassName": name,
        "nodeTopology": selector,
        "capacity": kept,
        "maximumVolumeSize": kept,
    },
    "VolumeAttachment": {"spec": fields(attacher=kept, nodeName=name, source=_source)},
}
_NAMED: Final[Mapping[str, Rule]] = {"CSIDriver": kept, "PersistentVolumeClaim": claim}
KINDS: Final[Mapping[str, Rule]] = {
    kind: members(
        {"apiVersion": kept, "kind": kept, "metadata": _metadata(_NAMED.get(kind, name)), **rules}
    )
    for kind, rules in _KINDS.items()
}
