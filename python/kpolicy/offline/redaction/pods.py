"""What is kept of a pod.

Owns the rules for its fields, which are those that the engine reads. Must not know other kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kpolicy.offline.redaction.fields import (
    Place,
    Rule,
    amounts,
    claim,
    each,
    fields,
    flag,
    image,
    kept,
    labels,
    members,
    name,
    node_selector,
    node_term,
    selector,
    taint,
    volume,
    word_of,
)

# Of a container's host ports: addresses that mean all, or this machine.
_ADDRESSES: Final = ("0.0.0.0", "127.0.0.1", "::", "::1")  # noqa: S104  compared, never bound
_PRIORITY_CLASSES: Final = ("system-cluster-critical", "system-node-critical")

_DURING = "DuringSchedulingIgnoredDuringExecution"
_pod_term = fields(
    labelSelector=selector,
    namespaces=each(name),
    namespaceSelector=selector,
    topologyKey=kept,
    matchLabelKeys=each(kept),
    mismatchLabelKeys=each(kept),
)
_pod_affinity = members(
    {
        f"required{_DURING}": each(_pod_term),
        f"preferred{_DURING}": each(fields(weight=kept, podAffinityTerm=_pod_term)),
    }
)
_affinity = fields(
    nodeAffinity=members(
        {
            f"required{_DURING}": node_selector,
            f"preferred{_DURING}": each(fields(weight=kept, preference=node_term)),
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
    matchLabelKeys=each(kept),
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
    ports=each(_port),
    restartPolicy=kept,
    restartPolicyRules=each(fields(action=kept)),
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
        "rbd": fields(monitors=each(name), pool=word_of("rbd"), image=name, readOnly=kept),
        "iscsi": fields(iqn=name, readOnly=kept),
        "image": fields(reference=image),
        **in_tree,
    }
)
_spec = fields(
    nodeName=name,
    schedulerName=kept,  # policies and their profiles go by it
    priority=kept,
    priorityClassName=word_of(*_PRIORITY_CLASSES),
    preemptionPolicy=kept,
    schedulingGates=each(fields(name=name)),
    nodeSelector=labels,
    affinity=_affinity,
    tolerations=each(taint),
    topologySpreadConstraints=each(_spread),
    containers=each(_container),
    initContainers=each(_container),
    overhead=amounts,
    resources=_resources,
    volumes=each(_volume),
    resourceClaims=each(fields(name=name)),
    schedulingGroup=fields(podGroupName=name),
    hostNetwork=kept,
    hostUsers=kept,
    serviceAccountName=name,
)
_condition = fields(type=kept, status=kept, reason=kept)
_container_status = fields(name=name, resources=_resources, allocatedResources=amounts)
# Conditions that the engine reads; others may carry anyone's words.
_CONDITIONS: Final = frozenset({"DisruptionTarget", "PodResizePending", "PodScheduled"})


def _conditions(place: Place, value: Any) -> Any:
    if not isinstance(value, list):
        return kept(place, value)
    return [
        _condition(place, one)
        for one in value
        if isinstance(one, dict) and one.get("type") in _CONDITIONS
    ]


_status = fields(
    phase=kept,
    startTime=kept,
    nominatedNodeName=name,
    conditions=_conditions,
    containerStatuses=each(_container_status),
    initContainerStatuses=each(_container_status),
    resources=_resources,
    allocatedResources=amounts,
)
POD: Final[Mapping[str, Rule]] = {"spec": _spec, "status": _status}
