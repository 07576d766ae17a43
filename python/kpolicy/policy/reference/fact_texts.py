"""What each fact means, by the type and the member that the catalogue of facts has.

The examples are true sentences about the pod `default/web` and the node `ssd-1` of
`docs/reference/cluster.yaml`. `PATH` stands for what the member is of, where that differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kpolicy.policy.reference.texts import Text

ROOTS: Final[Mapping[str, Text]] = MappingProxyType(
    {
        "pod": Text("The pod that is to be placed.", "pod.name"),
        "node": Text("The node that is judged for the pod.", "node.name"),
        "cluster": Text("Sums over all nodes and all pods on them.", "cluster.nodeCount"),
        "namespaceObject": Text(
            "The namespace of the pod, as an object.", "namespaceObject.labels['team']"
        ),
        "victim": Text(
            "A pod of lower priority on the node, in `preemption.victims` only; it has the facts "
            "of `pod`.",
            "victim.priority < 100",
        ),
        "tenant": Text(
            "The tenant of the pod, in `spec.queue` only: its namespace, or all namespaces with "
            "the same value of the label that says so (`tenantLabel`, `--tenant-label`).",
            "tenant.name == 'default'",
        ),
        "queue": Text("The pod's wait in the queue, in `spec.queue` only.", "queue.attempts == 0"),
        "allocation": Text(
            "Devices that the node can give to the claims of the pod, in `devices.score` only.",
            "allocation.size == 1 ? 100 : 0",
        ),
        "now": Text(
            "The moment of the decision, which is recorded with it; a rule that reads it is asked "
            "again when its answer next changes.",
            "now.within('0 9 * * 1-5', duration('8h'))",
        ),
    }
)

_POD: Final = {
    "name": Text("The name of the pod.", "pod.name"),
    "namespace": Text("The name of the pod's namespace.", "pod.namespace == 'default'"),
    "uid": Text("The pod's unique id.", "pod.uid"),
    "labels": Text("The labels of the pod.", "pod.labels['app']"),
    "annotations": Text("The annotations of the pod.", "'example.com/owner' in pod.annotations"),
    "nodeSelector": Text("The pod's `spec.nodeSelector`.", "pod.nodeSelector['disk']"),
    "priority": Text("The pod's priority as a number; 0 if it has none.", "pod.priority >= 1000"),
    "priorityClassName": Text("The name of the pod's priority class.", "pod.priorityClassName"),
    "schedulerName": Text("The scheduler that the pod asks for.", "pod.schedulerName"),
    "serviceAccount": Text("The pod's service account.", "pod.serviceAccount"),
    "qosClass": Text(
        "The class of its quality of service: `Guaranteed`, `Burstable` or `BestEffort`.",
        "pod.qosClass != 'BestEffort'",
    ),
    "preemptionPolicy": Text(
        "`Never` if the pod must not evict others, otherwise `PreemptLowerPriority`.",
        "pod.preemptionPolicy == 'Never'",
    ),
    "claims": Text(
        "The pod's claims on devices (`spec.resourceClaims`); of the pending pod.",
        "pod.claims.size() == 0",
    ),
    "controller": Text(
        "The owner that controls the pod; absent for a pod without one.",
        "has(pod.controller.kind) && pod.controller.kind == 'ReplicaSet'",
    ),
    "disruptionBudgets": Text(
        "The disruption budgets that cover the pod; of the pending pod, and of a victim.",
        "pod.disruptionBudgets.all(budget, budget.disruptionsAllowed > 0)",
    ),
    "controllerReplicas": Text(
        "How many replicas the pod's controller wants; absent if it is unknown, and of the pending "
        "pod only.",
        "pod.controllerReplicas",
    ),
    "containers": Text(
        "The containers of the pod.", "pod.containers.exists(c, c.image.startsWith('web'))"
    ),
    "initContainers": Text("The init containers of the pod.", "pod.initContainers.size()"),
    "tolerations": Text("The tolerations of the pod.", "pod.tolerations.map(t, t.key)"),
    "hostNetwork": Text("Whether the pod uses the network of its node.", "!pod.hostNetwork"),
    "gpu": Text(
        "What the pod asks of shared GPUs, by its annotations `alibabacloud.com/gpu-count` and "
        "`alibabacloud.com/gpu-milli`.",
        "pod.gpu.count",
    ),
    "volumes": Text("The volumes of the pod.", "pod.volumes.claims.size()"),
    "images": Text("The images of all containers of the pod.", "pod.images"),
    "request": Text(
        "How much of a resource the pod requests, with init containers and overhead; cpu in "
        "thousandths, memory in bytes.",
        "pod.request('cpu') <= cpu('2')",
    ),
    "limit": Text(
        "The limit of a resource over all containers of the pod, in the units of `request`.",
        "pod.limit('memory')",
    ),
    "tolerates": Text(
        "Whether a toleration of the pod matches the taint.",
        "node.taints.all(taint, pod.tolerates(taint))",
    ),
    "metadata": Text(
        "The pod's metadata, with the fields of the API.", "pod.metadata.ownerReferences[0].kind"
    ),
    "spec": Text("The pod's spec, with the fields of the API.", "pod.spec.restartPolicy"),
    "status": Text("The pod's status, with the fields of the API.", "pod.status.phase"),
}

_NODE: Final = {
    "name": Text("The name of the node.", "node.name.startsWith('ssd-')"),
    "labels": Text("The labels of the node.", "node.labels['disk'] == 'ssd'"),
    "annotations": Text("The annotations of the node.", "node.annotations['example.com/rack']"),
    "taints": Text("The taints of the node.", "node.taints.map(taint, taint.key)"),
    "unschedulable": Text("Whether the node takes no new pods (cordoned).", "!node.unschedulable"),
    "ready": Text("Whether the node's condition `Ready` is `True`.", "node.ready"),
    "conditions": Text(
        "The conditions of the node: `True`, `False` or `Unknown` by their type.",
        "node.conditions['Ready'] == 'True'",
    ),
    "allocatable": Text(
        "How much of a resource the node has for pods; cpu in thousandths, memory in bytes.",
        "node.allocatable('cpu') >= cpu('4')",
    ),
    "capacity": Text(
        "How much of a resource the node has in all, in the units of `allocatable`.",
        "node.capacity('memory') == units('16Gi')",
    ),
    "requested": Text(
        "How much of a resource the pods on the node request together.",
        "node.requested('cpu')",
    ),
    "free": Text(
        "What is left of a resource: `allocatable` less `requested`.",
        "node.free('memory') - pod.request('memory')",
    ),
    "utilization": Text(
        "The part of a resource that is requested, from 0 to 1; 0 if the node has none.",
        "100.0 * (1.0 - node.utilization('cpu'))",
    ),
    "podCount": Text("How many pods are on the node.", "node.podCount < node.podLimit"),
    "podLimit": Text("How many pods the node takes.", "node.podLimit"),
    "devices": Text(
        "The devices that ResourceSlices of the node publish.",
        "node.devices.count('gpu.example.com')",
    ),
    "gpus": Text(
        "The GPUs of the node that pods can share, by the annotations of the pods on it.",
        "node.gpus.freeMilli",
    ),
    "pods": Text(
        "The pods on the node.", "node.pods.exists(other, other.labels[?'app'].orValue('') == 'db')"
    ),
    "hasImage": Text("Whether the image is on the node.", "node.hasImage('web:1')"),
    "domain": Text(
        "The nodes that have the same value of a label as the node, such as its zone; absent on "
        "nodes without the label.",
        "node.domain('zone').nodeCount",
    ),
    "fits": Text(
        "Whether the node has room for what the pod requests.", "node.fits(pod) ? 100 : 0"
    ),
    "metadata": Text(
        "The node's metadata, with the fields of the API.",
        "node.metadata.creationTimestamp < timestamp('2027-01-01T00:00:00Z')",
    ),
    "spec": Text("The node's spec, with the fields of the API.", "node.spec.providerID"),
    "status": Text(
        "The node's status, with the fields of the API.", "node.status.nodeInfo.kernelVersion"
    ),
}

_POD_SET: Final = {
    "count": Text(
        "How many of the pods a selector matches, in all namespaces or in those of a list.",
        "PATH.count(selector('app in (web, db)'))",
    ),
    "sum": Text(
        "How much of a resource the pods request together, all or those that a selector matches.",
        "PATH.sum('cpu', selector('app=db'))",
    ),
    "size": Text("How many pods there are.", "PATH.size()"),
    "sameController": Text(
        "How many of the pods have the controller of the pod; 0 for a pod without one.",
        "PATH.sameController(pod)",
    ),
}

_DOMAIN: Final = {
    "name": Text("The node's value of the label.", "node.domain('zone').name"),
    "nodeCount": Text("How many nodes the domain has.", "node.domain('zone').nodeCount > 1"),
    "pods": Text("The pods on the nodes of the domain.", "node.domain('zone').pods.size()"),
    "free": Text("What is left of a resource in the domain.", "node.domain('zone').free('cpu')"),
    "allocatable": Text(
        "How much of a resource the nodes of the domain have for pods.",
        "node.domain('zone').allocatable('cpu')",
    ),
}

_CLUSTER: Final = {
    "nodeCount": Text("How many nodes there are.", "cluster.nodeCount"),
    "podCount": Text("How many pods are on nodes.", "cluster.podCount"),
    "free": Text("What is left of a resource on all nodes.", "cluster.free('cpu')"),
    "allocatable": Text(
        "How much of a resource all nodes have for pods.", "cluster.allocatable('memory')"
    ),
    "domains": Text(
        "How many values a label has on all nodes, such as the number of zones.",
        "cluster.domains('zone')",
    ),
    "pods": Text("The pods on all nodes.", "cluster.pods.count(selector('app in (web, db)'))"),
}

_TENANT: Final = {
    "name": Text("The name of the tenant; empty for a namespace without the label.", "tenant.name"),
    "used": Text(
        "How much of a resource the tenant has: what its pods on nodes request, and those that are "
        "being placed.",
        "tenant.used('cpu') + pod.request('cpu') > cpu('100')",
    ),
    "asked": Text("How much of a resource its waiting pods request.", "tenant.asked('cpu')"),
    "othersUsed": Text(
        "How much of a resource all other tenants have together.", "tenant.othersUsed('memory')"
    ),
    "othersAsked": Text(
        "How much of a resource the waiting pods of all other tenants request.",
        "tenant.othersAsked('cpu') == 0",
    ),
    "share": Text(
        "Its dominant share, from 0 to 1: the largest part of any resource of the cluster that it "
        "has.",
        "tenant.share",
    ),
    "pods": Text("How many pods it has on nodes.", "tenant.pods < 100"),
    "waiting": Text("How many of its pods wait.", "tenant.waiting"),
}

_QUEUE: Final = {
    "age": Text(
        "For how many seconds the pod has waited since it could first be tried.", "queue.age > 600"
    ),
    "attempts": Text("How often the pod was tried.", "queue.attempts == 0"),
}

_NAMESPACE: Final = {
    "name": Text("The name of the namespace.", "namespaceObject.name"),
    "labels": Text("The labels of the namespace.", "namespaceObject.labels['team'] == 'shop'"),
    "annotations": Text(
        "The annotations of the namespace.", "namespaceObject.annotations.size() == 0"
    ),
    "metadata": Text(
        "The namespace's metadata, with the fields of the API.", "namespaceObject.metadata.name"
    ),
    "spec": Text(
        "The namespace's spec, with the fields of the API.", "has(namespaceObject.spec.finalizers)"
    ),
    "status": Text(
        "The namespace's status, with the fields of the API.", "namespaceObject.status.phase"
    ),
}

_TOLERATION: Final = {
    "key": Text("The key of the taints that it matches.", "pod.tolerations[0].key"),
    "operator": Text(
        "How the value is compared: `Equal` or `Exists`, and `Gt` or `Lt` in newer releases.",
        "pod.tolerations[0].operator == 'Equal'",
    ),
    "value": Text("The value that it compares.", "pod.tolerations[0].value"),
    "effect": Text("The effect of the taints that it matches.", "pod.tolerations[0].effect"),
    "tolerationSeconds": Text(
        "How long the pod may stay on a node with such a taint; absent if it is not said.",
        "has(pod.tolerations[0].tolerationSeconds)",
    ),
}

_CONTAINER: Final = {
    "name": Text("The name of the container.", "PATH[0].name"),
    "image": Text("The image of the container.", "PATH[0].image"),
    "ports": Text(
        "The ports of the container that are ports of the node too.",
        "PATH[0].ports.size()",
    ),
    "requests": Text(
        "What the container requests, by resource; cpu in thousandths.",
        "PATH[0].requests['cpu']",
    ),
    "limits": Text(
        "The limits of the container, by resource; cpu in thousandths.",
        "PATH[0].limits['memory']",
    ),
}

_PORT: Final = {
    "protocol": Text("The protocol: `TCP`, `UDP` or `SCTP`.", "PATH[0].protocol"),
    "hostIP": Text(
        "The address of the node to which the port is bound; `0.0.0.0` is every address.",
        "PATH[0].hostIP",
    ),
    "hostPort": Text(
        "The number of the port on the node.",
        "PATH.exists(port, port.hostPort == 8080)",
    ),
}

_ALLOCATION: Final = {
    "devices": Text(
        "The devices, in the order in which they were found. A rule that reads them is asked about "
        "each node by itself, because they have names.",
        "allocation.devices.exists(device, device.driver == 'gpu.example.com') ? 100 : 0",
    ),
    "size": Text("How many devices it has.", "100 / allocation.size"),
    "values": Text(
        "The values that the devices have of an attribute, named with its domain.",
        "allocation.values('gpu.example.com/model').exists(model, model == 'a') ? 100 : 0",
    ),
    "distinct": Text(
        "How many different values the devices have of an attribute; a device without it counts as "
        "one more.",
        "100 / allocation.distinct('resource.kubernetes.io/pcieRoot')",
    ),
    "all": Text("What the node would have if nothing were given.", "allocation.all.whole"),
    "before": Text("What others leave of it.", "allocation.before.whole"),
    "left": Text("What the allocation leaves of that.", "allocation.left.whole"),
}
_DEVICE_COUNTS: Final = {
    "whole": Text(
        "Counter sets and devices without counters of which nobody has anything.", "PATH.whole"
    ),
    "devices": Text(
        "Devices, partitions among them, of which each by itself can be given.", "PATH.devices"
    ),
}
_ALLOCATED_DEVICE: Final = {
    name: Text(meaning, f"PATH[0].{name}")
    for name, meaning in (
        ("claim", "The name of the claim that gets it."),
        ("request", "The request of the claim, with the chosen alternative: `gpu/large`."),
        ("deviceClass", "The DeviceClass that the request names."),
        ("driver", "The driver of the device."),
        ("pool", "The pool of the device."),
        ("device", "The name of the device in its pool."),
        ("attributes", "Its attributes by their names with domain, as `gpu.example.com/model`."),
        ("capacity", "Its capacities by their names with domain."),
        ("leftOfPool", "How many other devices of its pool can still be given."),
        (
            "leftOfPartition",
            "The share that is left of its counter sets, or of itself if it is given in shares.",
        ),
    )
}

# By the name of a type in the catalogue.
MEMBERS: Final[Mapping[str, Mapping[str, Text]]] = MappingProxyType(
    {
        "Pod": _POD,
        "Node": _NODE,
        "PodSet": _POD_SET,
        "Domain": _DOMAIN,
        "Cluster": _CLUSTER,
        "Namespace": _NAMESPACE,
        "Tenant": _TENANT,
        "Queue": _QUEUE,
        "Allocation": _ALLOCATION,
        "DeviceCounts": _DEVICE_COUNTS,
        "AllocatedDevice": _ALLOCATED_DEVICE,
        "Taint": {
            "key": Text("The key of the taint.", "node.taints[0].key"),
            "value": Text("The value of the taint.", "node.taints[0].value"),
            "effect": Text(
                "What the taint does: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.",
                "node.taints[0].effect",
            ),
        },
        "Toleration": _TOLERATION,
        "PodClaim": {
            "name": Text("The name of the entry in the pod's spec.", "PATH.map(c, c.name)"),
            "claim": Text(
                "The name of the ResourceClaim; empty while it is not made.",
                "PATH.exists(c, c.claim == '')",
            ),
            "deviceClasses": Text(
                "The DeviceClass of each request, and of each alternative of one.",
                "PATH.exists(c, 'gpu' in c.deviceClasses)",
            ),
            "allocated": Text(
                "Whether the claim has its devices already.", "PATH.all(c, c.allocated)"
            ),
        },
        "NodeDevices": {
            "count": Text(
                "How many devices of a driver the slices that name the node publish, partitions "
                "among them.",
                "node.devices.count('gpu.example.com') == 0",
            ),
            "free": Text(
                "How many of them no claim has anything of.",
                "node.devices.free('gpu.example.com') >= 1",
            ),
            "countOfClass": Text(
                "How many devices of these slices the selectors of a DeviceClass accept.",
                "node.devices.countOfClass('gpu') == 0",
            ),
            "freeOfClass": Text(
                "How many of them no claim has anything of.",
                "node.devices.freeOfClass('gpu') == 0",
            ),
            "countWith": Text(
                "How many devices of a driver have this value of an attribute. The value is "
                "written as text, also that of a number, a bool or a version; the domain of the "
                "attribute may be left out where it is the driver.",
                "node.devices.countWith('gpu.example.com', 'model', 'H100') == 0",
            ),
            "freeWith": Text(
                "How many of them no claim has anything of.",
                "node.devices.freeWith('gpu.example.com', 'model', 'H100') == 0",
            ),
        },
        "NodeGpus": {
            "count": Text(
                "How many GPUs the node has, by `alibabacloud.com/gpu-count` of its allocatable.",
                "node.gpus.count >= pod.gpu.count",
            ),
            "free": Text(
                "What is left of each GPU, in thousandths, by its number.",
                "node.gpus.free.all(left, left < 1000)",
            ),
            "freeMilli": Text(
                "What is left of all GPUs of the node, in thousandths.",
                "node.gpus.freeMilli - pod.gpu.count * pod.gpu.milli",
            ),
            "kinds": Text(
                "How many GPUs the pods on the node ask for, each number once; 0 is a part of one.",
                "node.gpus.kinds.all(kind, kind == 0)",
            ),
        },
        "PodGpu": {
            "count": Text(
                "How many GPUs the pod asks for, by its annotations; 0 if it asks for none.",
                "pod.gpu.count == 0",
            ),
            "milli": Text(
                "How many thousandths of each of them: 1000 is a whole one.",
                "pod.gpu.milli < 1000",
            ),
        },
        "Controller": {
            "kind": Text("The kind of the controller.", "pod.controller.kind"),
            "name": Text("The name of the controller.", "pod.controller.name"),
        },
        "DisruptionBudget": {
            "name": Text("The name of the budget.", "pod.disruptionBudgets.map(b, b.name)"),
            "disruptionsAllowed": Text(
                "How many pods the budget allows to be evicted now.",
                "pod.disruptionBudgets.map(b, b.disruptionsAllowed)",
            ),
        },
        "Container": _CONTAINER,
        "Port": _PORT,
        "Volumes": {
            "claims": Text(
                "The names of the claims that the pod's volumes name.", "pod.volumes.claims"
            ),
        },
    }
)
