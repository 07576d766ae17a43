"""What becomes of an object that is created or updated, whatever its kind.

Owns checks of `metadata`, defaults a scheduler depends on, and the split between an object and its
status. Pure: what else must be known (priority classes, the time) is an argument. Must not know the
store; pods have a module of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kpolicy.testing import failures, limits
from kpolicy.testing.failures import Failure
from kpolicy.testing.pod_admission import admit_pod, admit_pod_update
from kpolicy.testing.resources import NAMESPACES, NODES, PODS, Resource
from kpolicy.testing.shapes import check_shape

Object = Mapping[str, Any]

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
# Set by the server, whatever a client says.
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


def check_body(resource: Resource, body: object, namespace: str, name: str) -> Failure | None:
    """That a body is an object of this resource, and the one the path names."""
    if not isinstance(body, Mapping):
        return failures.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind})"
        )
    kind, version = body.get("kind") or resource.kind, body.get("apiVersion")
    if kind != resource.kind or (version or resource.api_version) != resource.api_version:
        return failures.bad_request(
            f'{kind} in version "{version}" cannot be handled as a {resource.kind}'
        )
    misshapen = check_shape(resource, body)
    if misshapen is not None:
        return misshapen
    metadata = body.get("metadata") or {}
    if namespace and (metadata.get("namespace") or namespace) != namespace:
        return failures.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    return _name_mismatch(metadata.get("name") or "", name) if name else None


def _name_mismatch(given: str, name: str) -> Failure | None:
    if not given:
        return failures.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if given != name:
        return failures.bad_request(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
        )
    return None


def admit_create(
    resource: Resource, body: Object, namespace: str, classes: Iterable[Object], now: str
) -> Object | Failure:
    given = body.get("metadata") or {}
    metadata = {
        key: value
        for key, value in given.items()
        if key not in _SYSTEM_METADATA and value is not None
    }
    problem = _name_problem(resource, metadata)
    if problem is not None:
        return problem
    if namespace:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    object_: Object = {**body, "metadata": metadata}
    if resource is PODS:
        return admit_pod(object_, classes, now)
    return _first_form(resource, object_)


def admit_update(resource: Resource, old: Object, new: Object) -> Object | Failure:
    """The object without its subresources was written."""
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
    """The status was written; labels and annotations go with it, as they do in a real cluster."""
    object_ = {**old, "metadata": _kept_metadata(old, new)}
    object_["status"] = new.get("status") or {}
    return object_


def _name_problem(resource: Resource, metadata: Object) -> Failure | None:
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if not name and not prefix:
        cause = failures.required("metadata.name", "name or generateName is required")
        return failures.invalid(resource, "", [cause])
    field, text = ("name", str(name)) if name else ("generateName", str(prefix))
    # What is generated goes on with a letter: a prefix may end in a dash, but not in a dot.
    candidate = text if name or not text.endswith("-") else f"{text}x"
    if len(candidate) <= limits.NAME_CHARACTERS_MAX and _SUBDOMAIN.fullmatch(candidate):
        return None
    cause = failures.not_valid(f"metadata.{field}", text, _SUBDOMAIN_RULE)
    return failures.invalid(resource, text, [cause])


def _kept_metadata(old: Object, new: Object) -> dict[str, Any]:
    held, given = old["metadata"], new.get("metadata") or {}
    metadata = {key: value for key, value in given.items() if key not in _SYSTEM_METADATA}
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
    """Allocatable is capacity unless said."""
    if status.get("capacity") and not status.get("allocatable"):
        return {**status, "allocatable": status["capacity"]}
    return status
