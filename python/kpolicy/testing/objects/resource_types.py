"""The table of resources that are served: it drives routing, storage, discovery and selectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kpolicy.object_kinds import OBJECT_KINDS

FieldPath = tuple[str, ...]

OBJECT_VERBS: Final = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)

_METADATA_FIELDS: Final[Mapping[str, FieldPath]] = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    # subresources besides the object itself; `status` separates what a write may change
    subresources: tuple[str, ...] = ()
    # field selectors: label in requests -> path in the stored object
    fields: Mapping[str, FieldPath] = field(default_factory=dict)
    # Two versions of one resource share storage: the name of the resource that is stored.
    stored_as: str = ""
    api_version: str = field(init=False)
    qualified: str = field(init=False)  # as in messages: `deployments.apps`
    storage: str = field(init=False)
    head: bytes = field(init=False)  # how each of its objects starts in JSON

    def __post_init__(self) -> None:
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        qualified = f"{self.plural}.{self.group}" if self.group else self.plural
        head = f'{{"kind":"{self.kind}","apiVersion":"{api_version}",'
        for name, value in (
            ("api_version", api_version),
            ("qualified", qualified),
            ("storage", self.stored_as or qualified),
            ("head", head.encode()),
            ("fields", {**_METADATA_FIELDS, **self.fields}),
        ):
            object.__setattr__(self, name, value)

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources


def _at(*paths: str) -> dict[str, FieldPath]:
    return {path: tuple(path.split(".")) for path in paths}


_POD_FIELDS: Final = _at(
    "spec.nodeName",
    "spec.schedulerName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
_EVENT_FIELDS: Final = {
    **_at(
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "type",
    ),
    "source": ("source", "component"),
}
# The same events, as events.k8s.io/v1 names them; the stored object is the core one.
_NEW_EVENT_FIELDS: Final = {
    name.replace("involvedObject", "regarding").replace("Component", "Controller"): path
    for name, path in _EVENT_FIELDS.items()
}
_STATUS: Final = ("status",)
_STORAGE_GROUP: Final = "storage.k8s.io"

_DESCRIBED: Final[tuple[Resource, ...]] = (
    Resource("", "v1", "configmaps", "configmap", "ConfigMap", True, ("cm",)),
    Resource("", "v1", "events", "event", "Event", True, ("ev",), fields=_EVENT_FIELDS),
    Resource(
        "",
        "v1",
        "namespaces",
        "namespace",
        "Namespace",
        False,
        ("ns",),
        subresources=_STATUS,
        fields=_at("status.phase"),
    ),
    Resource(
        "",
        "v1",
        "nodes",
        "node",
        "Node",
        False,
        ("no",),
        subresources=_STATUS,
        fields=_at("spec.unschedulable"),
    ),
    Resource(
        "",
        "v1",
        "persistentvolumeclaims",
        "persistentvolumeclaim",
        "PersistentVolumeClaim",
        True,
        ("pvc",),
        subresources=_STATUS,
    ),
    Resource(
        "",
        "v1",
        "persistentvolumes",
        "persistentvolume",
        "PersistentVolume",
        False,
        ("pv",),
        subresources=_STATUS,
    ),
    Resource(
        "",
        "v1",
        "pods",
        "pod",
        "Pod",
        True,
        ("po",),
        ("all",),
        subresources=("status", "binding"),
        fields=_POD_FIELDS,
    ),
    Resource(
        "",
        "v1",
        "replicationcontrollers",
        "replicationcontroller",
        "ReplicationController",
        True,
        ("rc",),
        ("all",),
        subresources=_STATUS,
    ),
    Resource(
        "",
        "v1",
        "services",
        "service",
        "Service",
        True,
        ("svc",),
        ("all",),
        subresources=_STATUS,
        fields=_at("spec.clusterIP", "spec.type"),
    ),
    Resource(
        "apps",
        "v1",
        "deployments",
        "deployment",
        "Deployment",
        True,
        ("deploy",),
        ("all",),
        subresources=_STATUS,
    ),
    Resource(
        "apps",
        "v1",
        "replicasets",
        "replicaset",
        "ReplicaSet",
        True,
        ("rs",),
        ("all",),
        subresources=_STATUS,
    ),
    Resource(
        "apps",
        "v1",
        "statefulsets",
        "statefulset",
        "StatefulSet",
        True,
        ("sts",),
        ("all",),
        subresources=_STATUS,
    ),
    Resource("coordination.k8s.io", "v1", "leases", "lease", "Lease", True),
    Resource(
        "events.k8s.io",
        "v1",
        "events",
        "event",
        "Event",
        True,
        ("ev",),
        fields=_NEW_EVENT_FIELDS,
        stored_as="events",
    ),
    Resource(
        "policy",
        "v1",
        "poddisruptionbudgets",
        "poddisruptionbudget",
        "PodDisruptionBudget",
        True,
        ("pdb",),
        subresources=_STATUS,
    ),
    Resource(
        "scheduling.k8s.io",
        "v1",
        "priorityclasses",
        "priorityclass",
        "PriorityClass",
        False,
        ("pc",),
    ),
    Resource(_STORAGE_GROUP, "v1", "csidrivers", "csidriver", "CSIDriver", False),
    Resource(_STORAGE_GROUP, "v1", "csinodes", "csinode", "CSINode", False),
    Resource(
        _STORAGE_GROUP,
        "v1",
        "csistoragecapacities",
        "csistoragecapacity",
        "CSIStorageCapacity",
        True,
    ),
    Resource(
        _STORAGE_GROUP,
        "v1",
        "storageclasses",
        "storageclass",
        "StorageClass",
        False,
        ("sc",),
    ),
    Resource(
        _STORAGE_GROUP,
        "v1",
        "volumeattachments",
        "volumeattachment",
        "VolumeAttachment",
        False,
        subresources=_STATUS,
    ),
)

# What the engine reads is served, also where nothing else is known of a kind.
RESOURCES: Final[tuple[Resource, ...]] = (
    *_DESCRIBED,
    *(
        Resource(
            kind.group,
            kind.version,
            kind.resource,
            kind.name.lower(),
            kind.name,
            kind.namespaced,
            subresources=_STATUS,
        )
        for kind in OBJECT_KINDS
        if (kind.group, kind.name) not in {(known.group, known.kind) for known in _DESCRIBED}
    ),
)

BY_PATH: Final[Mapping[tuple[str, str, str], Resource]] = {
    (resource.group, resource.version, resource.plural): resource for resource in RESOURCES
}
BY_KIND: Final[Mapping[tuple[str, str], Resource]] = {
    (resource.api_version, resource.kind): resource for resource in RESOURCES
}

PODS: Final = BY_PATH["", "v1", "pods"]
NODES: Final = BY_PATH["", "v1", "nodes"]
NAMESPACES: Final = BY_PATH["", "v1", "namespaces"]
EVENTS: Final = BY_PATH["", "v1", "events"]
NEW_EVENTS: Final = BY_PATH["events.k8s.io", "v1", "events"]
PRIORITY_CLASSES: Final = BY_PATH["scheduling.k8s.io", "v1", "priorityclasses"]
