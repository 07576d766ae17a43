"""That an object has the shape its readers count on, so that none of them can stumble.

Owns the types of the fields that this package reads: an API server refuses what does not fit its
schema, and so do we, as far as it matters here. Pure. Must not know what values mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kpolicy.testing.failures import Failure, bad_request
from kpolicy.testing.resources import PODS, Resource

_TEXTS: Final = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
)
_POD_LISTS: Final = (
    "containers",
    "initContainers",
    "tolerations",
    "schedulingGates",
    "readinessGates",
    "topologySpreadConstraints",
    "volumes",
)
_POD_TEXTS: Final = ("nodeName", "schedulerName", "priorityClassName", "preemptionPolicy")
_STATUS_LISTS: Final = ("conditions", "containerStatuses", "addresses")
_EVENT_OBJECTS: Final = ("involvedObject", "regarding", "source", "deprecatedSource", "series")
_EVENT_TEXTS: Final = (
    "message",
    "note",
    "reason",
    "action",
    "type",
    "reportingInstance",
    "reportingComponent",
    "reportingController",
    "eventTime",
    "firstTimestamp",
    "lastTimestamp",
)


def check_shape(resource: Resource, object_: Mapping[str, Any]) -> Failure | None:
    path = _misshapen(resource, object_)
    if not path:
        return None
    return bad_request(
        f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
        f"json: cannot unmarshal the value of field {path}"
    )


def _misshapen(resource: Resource, object_: Mapping[str, Any]) -> str:
    """The path of the first field of a wrong type; empty when there is none."""
    for path in ("metadata", "spec", "status"):
        if not isinstance(object_.get(path, {}), Mapping | None):
            return path
    metadata, spec = object_.get("metadata") or {}, object_.get("spec") or {}
    status = object_.get("status") or {}
    found = _wrong_metadata(metadata)
    if not found:
        found = _wrong_lists(status, "status", _STATUS_LISTS)
    if found or resource.kind not in ("Pod", "Event"):
        return found
    if resource is PODS:
        return _wrong_pod(spec)
    return _wrong_texts(object_, "", _EVENT_TEXTS) or next(
        (field for field in _EVENT_OBJECTS if not isinstance(object_.get(field) or {}, Mapping)),
        "",
    )


def _wrong_metadata(metadata: Mapping[str, Any]) -> str:
    found = _wrong_texts(metadata, "metadata.", _TEXTS)
    if found:
        return found
    for field in ("labels", "annotations"):
        value = metadata.get(field) or {}
        texts = isinstance(value, Mapping) and all(isinstance(each, str) for each in value.values())
        if not texts:
            return f"metadata.{field}"
    finalizers = metadata.get("finalizers") or []
    if not isinstance(finalizers, list) or not all(isinstance(each, str) for each in finalizers):
        return "metadata.finalizers"
    return _wrong_lists(metadata, "metadata", ("ownerReferences", "managedFields"))


def _wrong_pod(spec: Mapping[str, Any]) -> str:
    found = _wrong_texts(spec, "spec.", _POD_TEXTS) or _wrong_lists(spec, "spec", _POD_LISTS)
    if found:
        return found
    priority = spec.get("priority")
    if priority is not None and (isinstance(priority, bool) or not isinstance(priority, int)):
        return "spec.priority"
    for field in ("containers", "initContainers"):
        for at, container in enumerate(spec.get(field) or ()):
            path = f"spec.{field}[{at}]"
            resources = container.get("resources") or {}
            if not isinstance(resources, Mapping):
                return f"{path}.resources"
            for amounts in ("requests", "limits"):
                if not isinstance(resources.get(amounts) or {}, Mapping):
                    return f"{path}.resources.{amounts}"
            found = _wrong_texts(container, f"{path}.", ("name", "image"))
            found = found or _wrong_lists(container, path, ("ports", "env"))
            if found:
                return found
    return ""


def _wrong_texts(object_: Mapping[str, Any], prefix: str, fields: tuple[str, ...]) -> str:
    for field in fields:
        value = object_.get(field)
        if value is not None and not isinstance(value, str):
            return f"{prefix}{field}"
    return ""


def _wrong_lists(object_: Mapping[str, Any], path: str, fields: tuple[str, ...]) -> str:
    """Lists of objects."""
    for field in fields:
        value = object_.get(field) or []
        if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
            return f"{path}.{field}"
    return ""
