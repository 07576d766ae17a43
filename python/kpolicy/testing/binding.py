"""What the binding subresource does to a pod.

Owns clause for clause what the API server's binding storage does: refusals and their texts, node
name, annotations and labels merged, the PodScheduled condition. Pure. Deliberately guards neither
capacity nor that the node exists: the API server does not either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kpolicy.testing import failures
from kpolicy.testing.conditions import with_condition
from kpolicy.testing.failures import Failure
from kpolicy.testing.resources import PODS, Resource
from kpolicy.testing.shapes import check_shape

Object = Mapping[str, Any]

# Bindings are never stored; the resource only lends its names to refusals.
BINDINGS = Resource("", "v1", "bindings", "binding", "Binding", namespaced=True)


def check_binding(binding: Object, name: str) -> Failure | None:
    """What is wrong with a binding before its pod is looked at."""
    metadata, target = binding.get("metadata") or {}, binding.get("target") or {}
    if not isinstance(metadata, Mapping) or not isinstance(target, Mapping):
        return failures.bad_request("metadata and target of a Binding must be objects")
    problem = check_shape(BINDINGS, {"metadata": metadata})
    if problem is not None:
        return problem
    if metadata.get("name") != name:
        return failures.bad_request("name in URL does not match name in Binding object")
    # These two really come as 500 without a reason: nothing wraps the error on its way out.
    if target.get("kind") not in (None, "", "Node"):
        text = f'target.kind: Unsupported value: "{target["kind"]}"'
        return Failure(500, "", f'{text}: supported values: "Node", "<empty>"')
    if not target.get("name"):
        return Failure(500, "", "target.name: Required value")
    return None


def bound(pod: Object, binding: Object, now: str) -> Object | Failure:
    name, spec = pod["metadata"]["name"], pod["spec"]
    refusal = ""
    if pod["metadata"].get("deletionTimestamp"):
        refusal = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        refusal = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        refusal = f"pod {name} has non-empty .spec.schedulingGates"
    if refusal:
        return failures.conflict(PODS, name, refusal, subresource="binding")
    metadata = dict(pod["metadata"])
    given = binding.get("metadata") or {}
    for field in ("annotations", "labels"):
        if given.get(field):
            metadata[field] = {**(metadata.get(field) or {}), **given[field]}
    return {
        **pod,
        "metadata": metadata,
        "spec": {**spec, "nodeName": binding["target"]["name"]},
        "status": with_condition(pod.get("status", {}), "PodScheduled", {"status": "True"}, now),
    }
