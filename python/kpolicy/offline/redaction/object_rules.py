"""Which fields redaction keeps or replaces in pods and in other kinds of objects.

The rules cover the fields that the engine reads. Annotations are dropped, except for the few that a
rule reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kpolicy.object_kinds import OBJECT_KINDS
from kpolicy.offline.redaction.device_rules import DEVICE_KINDS
from kpolicy.offline.redaction.field_rules import (
    Place,
    Rule,
    amounts,
    asked_labels,
    claim,
    fields,
    flag,
    image,
    kept,
    labels,
    list_of,
    located,
    members,
    name,
    node_selector,
    node_term,
    selector,
    taint,
    text,
    uid,
    volume,
    word_of,
)

# Addresses of host ports that mean all addresses, or this machine.
_ADDRESSES: Final = ("0.0.0.0", "127.0.0.1", "::", "::1")  # noqa: S104  compared, never bound
_PRIORITY_CLASSES: Final = ("system-cluster-critical", "system-node-critical")

_DURING = "DuringSchedulingIgnoredDuringExecution"
_pod_term = fields(
    labelSelector=selector,
    namespaces=list_of(name),
    namespaceSelector=selector,
    topologyKey=kept,
    matchLabelKeys=list_of(kept),
    mismatchLabelKeys=list_of(kept),
)
_pod_affinity = members(
    {
        f"required{_DURING}": list_of(_pod_term),
        f"preferred{_DURING}": list_of(fields(weight=kept, podAffinityTerm=_pod_term)),
    }
)
_affinity = fields(
    nodeAffinity=members(
        {
            f"required{_DURING}": node_selector,
            f"preferred{_DURING}": list_of(fields(weight=kept, preference=node_term)),
        }
    ),
    podAffinity=_pod_affinity,
    podAntiAffinity=_pod_affinity,
)
_spread = fields(
    maxSkew=kept,
    topologyKey=kept,
    whenUnsatisfiable=kept,
    labelSelector=selector,
    matchLabelKeys=list_of(kept),
    minDomains=kept,
    nodeAffinityPolicy=kept,
    nodeTaintsPolicy=kept,
)
_resources = fields(requests=amounts, limits=amounts)
_port = fields(containerPort=kept, hostPort=kept, hostIP=word_of(*_ADDRESSES), protocol=kept)
_container = fields(
    name=name,
    image=image,
    resources=_resources,
    ports=list_of(_port),
    restartPolicy=kept,
    restartPolicyRules=list_of(fields(action=kept)),
)


_azure_disk = fields(diskName=volume, diskURI=volume, kind=kept)
_by_id = fields(volumeID=volume)
in_tree: Final[dict[str, Rule]] = {
    "gcePersistentDisk": fields(pdName=name, readOnly=kept),
    "awsElasticBlockStore": _by_id,
    "azureDisk": _azure_disk,
    "azureFile": fields(shareName=name),
    "cinder": _by_id,
    "vsphereVolume": fields(volumePath=volume),
    "portworxVolume": _by_id,
}
_volume = members(
    {
        "name": name,
        "persistentVolumeClaim": fields(claimName=claim, readOnly=kept),
        "ephemeral": flag,
        "csi": fields(driver=kept),
        "rbd": fields(monitors=list_of(name), pool=word_of("rbd"), image=name, readOnly=kept),
        "iscsi": fields(iqn=name, readOnly=kept),
        "image": fields(reference=image),
        **in_tree,
    }
)
_spec = fields(
    nodeName=name,
    schedulerName=kept,  # policies have a profile for each name
    priority=kept,
    priorityClassName=word_of(*_PRIORITY_CLASSES),
    preemptionPolicy=kept,
    schedulingGates=list_of(fields(name=name)),
    nodeSelector=labels,
    affinity=_affinity,
    tolerations=list_of(taint),
    topologySpreadConstraints=list_of(_spread),
    containers=list_of(_container),
    initContainers=list_of(_container),
    overhead=amounts,
    resources=_resources,
    volumes=list_of(_volume),
    resourceClaims=list_of(
        fields(name=name, resourceClaimName=name, resourceClaimTemplateName=name)
    ),
    schedulingGroup=fields(podGroupName=name),
    hostNetwork=kept,
    hostUsers=kept,
    serviceAccountName=name,
)
_condition = fields(type=kept, status=kept, reason=kept)
_container_status = fields(name=name, resources=_resources, allocatedResources=amounts)
# Conditions that the engine reads. Other conditions may contain any text.
_CONDITIONS: Final = frozenset({"DisruptionTarget", "PodResizePending", "PodScheduled"})


def _conditions(place: Place, value: Any) -> Any:
    if not isinstance(value, list):
        return kept(place, value)
    return [
        _condition(place, condition)
        for condition in value
        if isinstance(condition, dict) and condition.get("type") in _CONDITIONS
    ]


_status = fields(
    phase=kept,
    startTime=kept,
    nominatedNodeName=name,
    conditions=_conditions,
    containerStatuses=list_of(_container_status),
    initContainerStatuses=list_of(_container_status),
    resources=_resources,
    allocatedResources=amounts,
    resourceClaimStatuses=list_of(fields(name=name, resourceClaimName=name)),
)
POD: Final[Mapping[str, Rule]] = {"spec": _spec, "status": _status}


# Kinds and groups of owners that Kubernetes defines. Others may have any name.
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
    "resource.kubernetes.io/extended-resource-claim": kept,
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
        ownerReferences=list_of(_owner),
        finalizers=list_of(word_of("resource.kubernetes.io/delete-protection")),
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
        "accessModes": list_of(kept),
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
    accessModes=list_of(kept),
    resources=fields(requests=amounts),
    selector=selector,
    volumeAttributesClassName=name,
)
_node = {
    "spec": fields(unschedulable=kept, taints=list_of(taint)),
    "status": fields(
        allocatable=amounts,
        capacity=amounts,
        conditions=list_of(fields(type=kept, status=kept)),
        images=list_of(fields(names=list_of(image), sizeBytes=kept)),
        declaredFeatures=list_of(kept),
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
_controller = {"spec": fields(selector=selector, replicas=kept)}
_topology = fields(matchLabelExpressions=list_of(located))
_KINDS: Final[Mapping[str, Mapping[str, Rule]]] = {
    "Pod": POD,
    "Node": _node,
    "Namespace": {},
    "Service": {"spec": fields(selector=labels)},
    "ReplicationController": {"spec": fields(selector=asked_labels, replicas=kept)},
    "ReplicaSet": _controller,
    "StatefulSet": _controller,
    "PodDisruptionBudget": _selecting
    | {"status": fields(disruptionsAllowed=kept, disruptedPods=_pods_by_name)},
    "PersistentVolume": {"spec": _volume_spec, "status": fields(phase=kept)},
    "PersistentVolumeClaim": {"spec": _claim_spec, "status": fields(phase=kept)},
    "StorageClass": {
        "provisioner": kept,  # a driver's name, as those of CSINode and CSIDriver
        "volumeBindingMode": kept,
        "allowedTopologies": list_of(_topology),
    },
    "CSINode": {
        "spec": fields(drivers=list_of(fields(name=kept, allocatable=fields(count=kept)))),
    },
    "CSIDriver": {"spec": fields(storageCapacity=kept)},
    "CSIStorageCapacity": {
        "storageClassName": name,
        "nodeTopology": selector,
        "capacity": kept,
        "maximumVolumeSize": kept,
    },
    "VolumeAttachment": {"spec": fields(attacher=kept, nodeName=name, source=_source)},
    **DEVICE_KINDS,
}
_NAMED: Final[Mapping[str, Rule]] = {
    "CSIDriver": kept,
    # A pod may ask for its devices by an extended resource, whose name stays.
    "DeviceClass": kept,
    "PersistentVolumeClaim": claim,
}
# Of a kind without rules of its own, only the metadata is kept.
KINDS: Final[Mapping[str, Rule]] = {
    kind.name: members(
        {
            "apiVersion": kept,
            "kind": kept,
            "metadata": _metadata(_NAMED.get(kind.name, name)),
            **_KINDS.get(kind.name, {}),
        }
    )
    for kind in OBJECT_KINDS
}
