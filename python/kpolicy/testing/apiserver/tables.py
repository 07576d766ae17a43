"""Tables as kubectl prints them (meta.k8s.io/v1 Table): columns and cells by kind. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from math import inf
from typing import Any, Final

from kpolicy.api_times import NANOSECONDS
from kpolicy.testing.objects.object_views import object_as
from kpolicy.testing.objects.pod_admission import SCHEDULING_GATED, condition
from kpolicy.testing.objects.resource_types import Resource
from kpolicy.testing.objects.store import Record

Object = Mapping[str, Any]
Row = list[Any]

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
ROLE_LABEL_PREFIX: Final = "node-role.kubernetes.io/"


# Below so many seconds: the unit, and the smaller unit of the rest, if that matters.
_SECOND, _MINUTE, _HOUR, _DAY, _YEAR = (
    (1, "s"),
    (60, "m"),
    (3600, "h"),
    (86_400, "d"),
    (31_536_000, "y"),
)
_DURATIONS: Final = (
    (120, _SECOND, None),
    (600, _MINUTE, _SECOND),
    (3 * 3600, _MINUTE, None),
    (8 * 3600, _HOUR, _MINUTE),
    (48 * 3600, _HOUR, None),
    (8 * 86_400, _DAY, _HOUR),
    (2 * 31_536_000, _DAY, None),
    (8 * 31_536_000, _YEAR, _DAY),
    (inf, _YEAR, None),
)


def seconds_since(text: str | None, now_ns: int) -> float | None:
    """Return how long ago a `Time` or `MicroTime` was; None if the text is neither."""
    try:
        then = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return now_ns / NANOSECONDS - then.timestamp()


def age(text: str | None, now_ns: int) -> str:
    seconds = seconds_since(text, now_ns)
    return UNKNOWN if seconds is None else duration(seconds)


def duration(seconds: float) -> str:
    """Return a duration as kubectl shortens it: at most two units."""
    whole = max(int(seconds), 0)
    if int(seconds) < -1:
        return "<invalid>"
    _, (unit_s, unit), smaller = next(form for form in _DURATIONS if whole < form[0])
    rest = whole % unit_s // smaller[0] if smaller else 0
    return f"{whole // unit_s}{unit}" + (f"{rest}{smaller[1]}" if smaller and rest else "")


def _generic_row(object_: Object, now_ns: int) -> Row:
    return [object_["metadata"]["name"], _age(object_, now_ns)]


def _age(object_: Object, now_ns: int) -> str:
    return age(object_["metadata"].get("creationTimestamp"), now_ns)


def _namespace_row(namespace: Object, now_ns: int) -> Row:
    phase = (namespace.get("status") or {}).get("phase", "")
    return [namespace["metadata"]["name"], phase, _age(namespace, now_ns)]


def _pod_row(pod: Object, now_ns: int) -> Row:
    spec, status = pod["spec"], pod.get("status") or {}
    statuses = status.get("containerStatuses") or ()
    ready = sum(bool(container.get("ready")) for container in statuses)
    restarts = sum(container.get("restartCount", 0) for container in statuses)
    gates = [gate.get("conditionType") for gate in spec.get("readinessGates") or ()]
    passed = sum((condition(status, gate) or {}).get("status") == "True" for gate in gates)
    return [
        pod["metadata"]["name"],
        f"{ready}/{len(spec.get('containers') or ())}",
        pod_status(pod),
        str(restarts),
        _age(pod, now_ns),
        status.get("podIP") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        f"{passed}/{len(gates)}" if gates else NONE,
    ]


def pod_status(pod: Object) -> str:
    """Return the word in kubectl's STATUS column."""
    status = pod.get("status") or {}
    word = status.get("reason") or status.get("phase") or UNKNOWN
    scheduled = condition(status, "PodScheduled")
    if scheduled is not None and scheduled.get("reason") == SCHEDULING_GATED:
        word = SCHEDULING_GATED
    for container in reversed(status.get("containerStatuses") or ()):
        state = container.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason"):
            word = waiting["reason"]
        elif terminated.get("reason"):
            word = terminated["reason"]
        elif terminated:
            word = f"ExitCode:{terminated.get('exitCode', 0)}"
    if pod["metadata"].get("deletionTimestamp"):
        finished = status.get("phase") in ("Succeeded", "Failed")
        word = word if finished else "Terminating"
    return str(word)


def _node_row(node: Object, now_ns: int) -> Row:
    status = node.get("status") or {}
    information = status.get("nodeInfo") or {}
    return [
        node["metadata"]["name"],
        _node_status(node),
        _roles(node),
        _age(node, now_ns),
        information.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        information.get("osImage") or UNKNOWN,
        information.get("kernelVersion") or UNKNOWN,
        information.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(node: Object) -> str:
    ready = condition(node.get("status") or {}, "Ready")
    is_ready = ready is not None and ready.get("status") == "True"
    words = ["Ready" if is_ready else "NotReady" if ready is not None else "Unknown"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(node: Object) -> str:
    labels = node["metadata"].get("labels") or {}
    roles = {
        label.removeprefix(ROLE_LABEL_PREFIX)
        for label in labels
        if label.startswith(ROLE_LABEL_PREFIX)
    }
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    return ",".join(sorted(roles - {""})) or NONE


def _address(status: Object, type_: str) -> str:
    for address in status.get("addresses") or ():
        if address.get("type") == type_:
            return str(address.get("address") or NONE)
    return NONE


def _event_row(event: Object, now_ns: int) -> Row:
    involved, source = event.get("involvedObject") or {}, event.get("source") or {}
    series, count = event.get("series") or {}, event.get("count") or 1
    first = event.get("firstTimestamp") or event.get("eventTime")
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or first
    first_seen, last_seen = age(first, now_ns), age(last, now_ns)
    if series:
        count = series.get("count", count)
    if count > 1:
        last_seen = f"{last_seen} (x{count} over {age(first, now_ns)})"
    parts = (source.get("component") or event.get("reportingComponent"), source.get("host"))
    return [
        last_seen,
        event.get("type", ""),
        event.get("reason", ""),
        f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}",
        involved.get("fieldPath", ""),
        ", ".join(str(part) for part in parts if part),
        str(event.get("message", "")).strip(),
        first_seen,
        count,
        event["metadata"]["name"],
    ]


def _columns(*names: str, wide: tuple[str, ...] = ()) -> list[Object]:
    """Describe the columns; `wide` ones are shown with `-o wide` only."""
    return [
        {
            "name": name,
            "type": "string",
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": int(name in wide),
        }
        for name in names
    ]


_GENERIC: Final = (_columns("Name", "Age"), _generic_row)
_BY_KIND: Final[Mapping[str, tuple[list[Object], Callable[[Object, int], Row]]]] = {
    "Pod": (
        _columns(
            "Name",
            "Ready",
            "Status",
            "Restarts",
            "Age",
            "IP",
            "Node",
            "Nominated Node",
            "Readiness Gates",
            wide=("IP", "Node", "Nominated Node", "Readiness Gates"),
        ),
        _pod_row,
    ),
    "Node": (
        _columns(
            "Name",
            "Status",
            "Roles",
            "Age",
            "Version",
            "Internal-IP",
            "External-IP",
            "OS-Image",
            "Kernel-Version",
            "Container-Runtime",
            wide=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node_row,
    ),
    "Event": (
        _columns(
            "Last Seen",
            "Type",
            "Reason",
            "Object",
            "Subobject",
            "Source",
            "Message",
            "First Seen",
            "Count",
            "Name",
            wide=("Subobject", "Source", "First Seen", "Count", "Name"),
        ),
        _event_row,
    ),
    "Namespace": (_columns("Name", "Status", "Age"), _namespace_row),
}


KIND: Final = "Table"
API_VERSION: Final = "meta.k8s.io/v1"
INCLUDE_METADATA: Final = "Metadata"
INCLUDE_OBJECT: Final = "Object"
INCLUDE_NOTHING: Final = "None"


def table(
    resource: Resource,
    records: Iterable[Record],
    now_ns: int,
    *,
    metadata: Mapping[str, Any],
    include_object: str,
    with_columns: bool = True,
) -> dict[str, Any]:
    columns, row = _BY_KIND.get(resource.kind, _GENERIC)
    return {
        "kind": KIND,
        "apiVersion": API_VERSION,
        "metadata": dict(metadata),
        "columnDefinitions": columns if with_columns else [],
        "rows": [
            {
                "cells": row(record.object, now_ns),
                "object": _included(resource, record, include_object),
            }
            for record in records
        ],
    }


def _included(resource: Resource, record: Record, include_object: str) -> Object | None:
    if include_object == INCLUDE_NOTHING:
        return None
    if include_object == INCLUDE_OBJECT:
        return object_as(resource, record)
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": API_VERSION,
        "metadata": record.object["metadata"],
    }
