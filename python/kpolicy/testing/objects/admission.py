"""Admission of an object: the shape of its fields, its metadata, and its defaults. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from kpolicy.testing import limits
from kpolicy.testing.objects import failures
from kpolicy.testing.objects.pod_admission import admit_pod, admit_pod_update
from kpolicy.testing.objects.resource_types import NAMESPACES, NODES, PODS, Resource

Object = Mapping[str, Any]

# The shape of a value: a type, an object with fields, a list of a shape in brackets, or in
# parentheses what an object holds under any key. Fields that are not named may be anything.
_Shape: TypeAlias = "type | Mapping[str, _Shape] | list[_Shape] | tuple[_Shape]"


def _fields(shape: _Shape, *names: str) -> dict[str, _Shape]:
    return dict.fromkeys(names, shape)


_LISTED: Final[list[_Shape]] = [{}]
_COMMON: Final[Mapping[str, _Shape]] = {
    "metadata": {
        **_fields(str, "name", "generateName", "namespace", "uid", "resourceVersion"),
        **_fields(str, "creationTimestamp", "deletionTimestamp"),
        **_fields((str,), "labels", "annotations"),
        "finalizers": [str],
        **_fields(_LISTED, "ownerReferences", "managedFields"),
    },
    "spec": {},
    "status": _fields(_LISTED, "conditions", "containerStatuses", "addresses"),
}
_CONTAINERS: Final[list[_Shape]] = [
    {
        "resources": _fields({}, "requests", "limits"),
        **_fields(str, "name", "image"),
        **_fields(_LISTED, "ports", "env"),
    }
]
_SHAPES: Final[Mapping[str, Mapping[str, _Shape]]] = {
    "Pod": {
        **_COMMON,
        "spec": {
            **_fields(str, "nodeName", "schedulerName", "priorityClassName", "preemptionPolicy"),
            **_fields(_LISTED, "tolerations", "schedulingGates", "readinessGates"),
            **_fields(_LISTED, "topologySpreadConstraints", "volumes"),
            "priority": int,
            **_fields(_CONTAINERS, "containers", "initContainers"),
        },
    },
    "Event": {
        **_COMMON,
        **_fields(str, "message", "note", "reason", "action", "type"),
        **_fields(str, "reportingInstance", "reportingComponent", "reportingController"),
        **_fields(str, "eventTime", "firstTimestamp", "lastTimestamp"),
        **_fields({}, "involvedObject", "regarding", "source", "deprecatedSource", "series"),
    },
}


def check_shape(resource: Resource, object_: Object) -> None:
    if path := _misshapen(object_, _SHAPES.get(resource.kind, _COMMON), ""):
        raise failures.bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a '
            f"{resource.kind}: json: cannot unmarshal the value of field {path}"
        )


def _misshapen(value: Any, shape: _Shape, path: str) -> str:
    """Return the path of the first part that is not of its shape; empty if all are."""
    if isinstance(shape, type):
        return "" if isinstance(value, shape) and not isinstance(value, bool) else path
    is_right_kind: bool = isinstance(value, list if isinstance(shape, list) else Mapping)
    if not is_right_kind:
        return path
    parts: Iterable[tuple[Any, _Shape, str]]
    if isinstance(shape, list):
        parts = ((element, shape[0], f"{path}[{at}]") for at, element in enumerate(value))
    elif isinstance(shape, tuple):
        parts = ((element, shape[0], f"{path}.{key}") for key, element in value.items())
    else:  # null is as good as an absent field
        parts = (
            (value[field], inner, f"{path}.{field}".removeprefix("."))
            for field, inner in shape.items()
            if value.get(field) is not None
        )
    return next(filter(None, (_misshapen(*part) for part in parts)), "")


_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
# set by the server, whatever a client sends
_SYSTEM_METADATA: Final = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)

_SPEC_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Deployment": {"replicas": 1},
    "ReplicaSet": {"replicas": 1},
    "StatefulSet": {"replicas": 1},
    "ReplicationController": {"replicas": 1},
    "PersistentVolumeClaim": {"volumeMode": "Filesystem"},
    "PersistentVolume": {"volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain"},
    "Service": {"type": "ClusterIP", "sessionAffinity": "None"},
}
_TOP_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "StorageClass": {"volumeBindingMode": "Immediate", "reclaimPolicy": "Delete"},
    "CSIDriver": {"spec": {}},
}
_STATUS_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Namespace": {"phase": "Active"},
    "PersistentVolumeClaim": {"phase": "Pending"},
    "PersistentVolume": {"phase": "Pending"},
}


def check_body(resource: Resource, body: object, namespace: str, name: str) -> Object:
    """Return a body that is an object of this resource, and the one that the path names."""
    if not isinstance(body, Mapping):
        raise failures.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind})"
        )
    kind, version = body.get("kind") or resource.kind, body.get("apiVersion")
    if kind != resource.kind or (version or resource.api_version) != resource.api_version:
        raise failures.bad_request(
            f'{kind} in version "{version}" cannot be handled as a {resource.kind}'
        )
    check_shape(resource, body)
    metadata = body.get("metadata") or {}
    if namespace and (metadata.get("namespace") or namespace) != namespace:
        raise failures.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    sent = metadata.get("name")
    if name and not sent:
        raise failures.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name and sent != name:
        raise failures.bad_request(
            f"the name of the object ({sent}) does not match the name on the URL ({name})"
        )
    return body


def admit_create(
    resource: Resource, body: Object, namespace: str, classes: Iterable[Object], now: str
) -> Object:
    sent = body.get("metadata") or {}
    metadata = {
        key: value
        for key, value in sent.items()
        if key not in _SYSTEM_METADATA and value is not None
    }
    _check_name(resource, metadata)
    if namespace:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    object_: Object = {**body, "metadata": metadata}
    if resource is PODS:
        return admit_pod(object_, classes, now)
    return _first_form(resource, object_)


def admit_update(resource: Resource, old: Object, new: Object) -> Object:
    """Admit an update of the object without its subresources."""
    object_ = {**new, "metadata": _kept_metadata(old, new)}
    if resource is PODS:
        return admit_pod_update(old, object_)
    object_ = _defaulted(resource, object_)
    if resource.has_status:
        object_.pop("status", None)
        if "status" in old:
            object_["status"] = old["status"]
    if "generation" in old["metadata"]:
        changed = object_.get("spec") != old.get("spec")
        object_["metadata"]["generation"] = old["metadata"]["generation"] + changed
    return object_


def admit_status_update(old: Object, new: Object) -> Object:
    """Admit an update of the status. Labels and annotations change too, as in a real cluster."""
    return {**old, "metadata": _kept_metadata(old, new), "status": new.get("status") or {}}


def _check_name(resource: Resource, metadata: Object) -> None:
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if not name and not prefix:
        cause = failures.required("metadata.name", "name or generateName is required")
        raise failures.invalid(resource, "", [cause])
    field, text = ("name", str(name)) if name else ("generateName", str(prefix))
    # A generated name continues with a letter: the prefix may end in a dash, but not in a dot.
    candidate = text if name or not text.endswith("-") else f"{text}x"
    if len(candidate) > limits.NAME_CHARACTERS_MAX or not _SUBDOMAIN.fullmatch(candidate):
        cause = failures.not_valid(f"metadata.{field}", text, _SUBDOMAIN_RULE)
        raise failures.invalid(resource, text, [cause])


def _kept_metadata(old: Object, new: Object) -> dict[str, Any]:
    held, sent = old["metadata"], new.get("metadata") or {}
    metadata = {key: value for key, value in sent.items() if key not in _SYSTEM_METADATA}
    for key in (*_SYSTEM_METADATA, "name", "namespace", "generateName"):
        if key in held:
            metadata[key] = held[key]
        else:
            metadata.pop(key, None)
    return metadata


def _defaulted(resource: Resource, object_: Object) -> dict[str, Any]:
    full = {**_TOP_DEFAULTS.get(resource.kind, {}), **object_}
    if resource.kind in _SPEC_DEFAULTS:
        full["spec"] = {**_SPEC_DEFAULTS[resource.kind], **(object_.get("spec") or {})}
    return full


def _first_form(resource: Resource, object_: Object) -> Object:
    full = _defaulted(resource, object_)
    if resource is NODES:
        full["spec"] = object_.get("spec") or {}
        full["status"] = _node_status(object_.get("status") or {})
    elif resource.has_status:
        full["status"] = dict(_STATUS_DEFAULTS.get(resource.kind, {}))
        if "spec" in full and resource is not NAMESPACES:
            full["metadata"] = {**full["metadata"], "generation": 1}
    if resource is NAMESPACES:
        name = full["metadata"].get("name")
        labels = {**(full["metadata"].get("labels") or {}), "kubernetes.io/metadata.name": name}
        full["metadata"] = {**full["metadata"], "labels": labels}
        full["spec"] = {"finalizers": ["kubernetes"]}
    return full


def _node_status(status: Object) -> Object:
    """Return the status of a node; allocatable defaults to capacity."""
    if status.get("capacity") and not status.get("allocatable"):
        return {**status, "allocatable": status["capacity"]}
    return status
