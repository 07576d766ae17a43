"""API objects from the short forms of a test, with defaults for what is not written; and JSON
Patch.

No two results share a mutable part.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from kpolicy.offline.limits import FIXTURE_DEPTH_MAX
from kpolicy.offline.policy_tests.document_model import (
    NamespaceEntry,
    NodeEntry,
    NodeForm,
    PatchOperation,
    PodForm,
    RunningPod,
)

Object = dict[str, Any]
F = TypeVar("F", NodeForm, PodForm)

ALLOCATABLE: Final = {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}
_HOSTNAME: Final = "kubernetes.io/hostname"
_IMAGE: Final = "registry.k8s.io/pause:3.10"
_IMAGE_BYTES: Final = 100 << 20


def node(entry: NodeEntry, fixtures: Mapping[str, NodeForm]) -> Object:
    """A ready node with four processors, unless it says otherwise."""
    labels: Object = {_HOSTNAME: entry.name}
    amounts: Object = dict(ALLOCATABLE)
    capacity: Object = {}
    conditions: Object = {"Ready": "True"}
    made: Object = {"metadata": {"name": entry.name}, "spec": {}, "status": {}}
    for form in _line(entry, fixtures):
        labels |= form.labels
        amounts |= {key: _quantity(value) for key, value in form.allocatable.items()}
        capacity |= {key: _quantity(value) for key, value in form.capacity.items()}
        conditions |= form.conditions
        _merge(made["metadata"], _without_empty(annotations=form.annotations))
        if form.taints is not None:
            made["spec"]["taints"] = [_taint(taint) for taint in form.taints]
        if form.unschedulable is not None:
            made["spec"]["unschedulable"] = form.unschedulable
        if form.images is not None:
            made["status"]["images"] = [
                {"names": [image], "sizeBytes": _IMAGE_BYTES} for image in form.images
            ]
        for part in ("metadata", "spec", "status"):
            _merge(made[part], getattr(form, part))
    status = {
        "allocatable": amounts,
        "capacity": {**amounts, **capacity},
        "conditions": [{"type": kind, "status": value} for kind, value in conditions.items()],
    }
    own = made["metadata"].get("labels", {})
    made["metadata"]["labels"] = {**labels, **own} if isinstance(own, dict) else own
    return {"apiVersion": "v1", "kind": "Node", **made, "status": _merge(status, made["status"])}


def pod(form: PodForm, fixtures: Mapping[str, PodForm], *, name: str, scheduler: str) -> Object:
    """A pending pod of one container. `name` and `scheduler` are for a form without them."""
    requests: Object = {}
    limits: Object = {}
    metadata: Object = {"name": name, "namespace": "default"}
    spec: Object = {"schedulerName": scheduler}
    for part in _line(form, fixtures):
        own = _without_empty(
            name=part.name,
            namespace=part.namespace,
            labels=part.labels,
            annotations=part.annotations,
        )
        _merge(metadata, own)
        requests |= {key: _quantity(value) for key, value in part.requests.items()}
        limits |= {key: _quantity(value) for key, value in part.limits.items()}
        _merge(
            spec,
            _without_empty(nodeSelector=part.node_selector, schedulerName=part.scheduler_name),
        )
        if part.priority is not None:
            spec["priority"] = part.priority
        if part.tolerations is not None:
            spec["tolerations"] = [_toleration(toleration) for toleration in part.tolerations]
        _merge(metadata, part.metadata)
        _merge(spec, part.spec)
    if not spec.get("containers"):
        spec["containers"] = [{"name": "main", "image": _IMAGE}]
    resources = _without_empty(requests=requests, limits=limits)
    first = spec["containers"][0] if isinstance(spec["containers"], list) else None
    # The engine refuses other forms.
    if resources and isinstance(first, dict):
        _merge(first, {"resources": resources})
    metadata.setdefault("uid", f"{metadata['namespace']}/{metadata['name']}")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def running(
    entry: RunningPod, fixtures: Mapping[str, PodForm], *, position: int, scheduler: str
) -> Iterator[Object]:
    """The pods of one entry, on their node."""
    for number in range(1, entry.count + 1):
        name = entry.name or f"running-{position}"
        if entry.count > 1:
            name = f"{name}-{number}"
        made = pod(entry, fixtures, name=name, scheduler=scheduler)
        metadata = made["metadata"]
        metadata["name"] = name
        metadata["uid"] = f"{metadata['namespace']}/{name}"
        made["spec"]["nodeName"] = entry.node
        made["status"] = {"phase": "Running"}
        yield made


def namespace(entry: NamespaceEntry) -> Object:
    metadata: Object = {"name": entry.name, "labels": dict(entry.labels)}
    if entry.annotations:
        metadata["annotations"] = dict(entry.annotations)
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _line(form: F, fixtures: Mapping[str, F]) -> list[F]:
    """The form and those it builds on, the farthest first."""
    line = [form]
    while (name := line[-1].from_) is not None and len(line) <= FIXTURE_DEPTH_MAX:
        parent = fixtures.get(name)
        if parent is None or parent in line:
            break
        line.append(parent)
    return line[::-1]


def _without_empty(**fields: Any) -> Object:
    return {name: value for name, value in fields.items() if value}


def _merge(base: Object, over: Mapping[str, Any]) -> Object:
    """Merges maps key by key; any other value replaces the old one."""
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            _merge(base[key], value)
        else:
            base[key] = copy.deepcopy(dict(value) if isinstance(value, Mapping) else value)
    return base


def _quantity(value: str | float) -> str:
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _taint(taint: str | Mapping[str, str]) -> Object:
    if not isinstance(taint, str):
        return dict(taint)
    named, _, effect = taint.rpartition(":")
    key, _, value = named.partition("=")
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def _toleration(toleration: str | Mapping[str, Any]) -> Object:
    """`key=value:Effect`; without a value any value, without an effect any effect."""
    if not isinstance(toleration, str):
        return dict(toleration)
    named, _, effect = toleration.partition(":")
    key, equals, value = named.partition("=")
    made: Object = {"key": key, "operator": "Equal" if equals else "Exists"}
    return made | ({"value": value} if equals else {}) | ({"effect": effect} if effect else {})


class _CannotError(Exception):
    """The operation does not fit the object."""


def patched(
    item: dict[str, Any], operations: Iterable[PatchOperation]
) -> tuple[dict[str, Any], int | None, str]:
    """The patched object; where that fails, the index of the operation and why."""
    result = copy.deepcopy(item)
    for index, operation in enumerate(operations):
        try:
            _apply(result, operation)
        except _CannotError as error:
            return result, index, str(error)
    return result, None, ""


def _apply(item: Any, operation: PatchOperation) -> None:
    if not operation.path.startswith("/"):
        raise _CannotError("a path begins with `/`")
    parts = [part.replace("~1", "/").replace("~0", "~") for part in operation.path[1:].split("/")]
    for part in parts[:-1]:
        item = _step(item, part)
    last = parts[-1]
    if operation.op == "add":
        _add(item, last, copy.deepcopy(operation.value))
        return
    _step(item, last)
    key = last if isinstance(item, dict) else int(last)
    if operation.op == "remove":
        del item[key]
    else:
        item[key] = copy.deepcopy(operation.value)


def _step(item: Any, part: str) -> Any:
    if isinstance(item, dict) and part in item:
        return item[part]
    if isinstance(item, list) and part.isdecimal() and int(part) < len(item):
        return item[int(part)]
    raise _CannotError(f"there is no `{part}` in the pod at that place")


def _add(item: Any, part: str, value: Any) -> None:
    if isinstance(item, dict):
        item[part] = value
    elif isinstance(item, list) and part == "-":
        item.append(value)
    elif isinstance(item, list) and part.isdecimal() and int(part) <= len(item):
        item.insert(int(part), value)
    else:
        raise _CannotError(f"`{part}` cannot be added at that place")
