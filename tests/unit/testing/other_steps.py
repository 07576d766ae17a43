"""Requests about leases, events, config maps and parameters of list and watch, and the answers of a
real API server.
"""

from __future__ import annotations

from typing import Any, Final

from tests.unit.testing.client import APPLY, JSON_PATCH, MERGE, PODS
from tests.unit.testing.exchanges import Step
from tests.unit.testing.pod_steps import pod

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "eventTime": "2026-11-21T13:00:00.000000Z",
        "reportingController": "kpolicy",
        "reportingInstance": "kpolicy-0",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": "assigned",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "a"},
        **fields,
    }


def config_map(name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **fields}


def lease(name: str, holder: str, revision: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    if revision:
        metadata["resourceVersion"] = revision
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15},
    }


OTHER_STEPS: Final = (
    Step("lease create", "POST", LEASES, lease("l", "me"), keep="l", code=201),
    Step(
        "lease put without rv",
        "PUT",
        f"{LEASES}/l",
        lease("l", "you"),
        code=422,
        reason="Invalid",
        message=(
            'leases.coordination.k8s.io "l" is invalid: '
            "metadata.resourceVersion: Invalid value: 0: must be specified "
            "for an update"
        ),
    ),
    Step(
        "lease put stale",
        "PUT",
        f"{LEASES}/l",
        lease("l", "you", "1"),
        code=409,
        reason="Conflict",
        message=(
            "Operation cannot be fulfilled on leases.coordination.k8s.io "
            '"l": the object has been modified; please apply your changes '
            "to the latest version and try again"
        ),
    ),
    Step(
        "lease put",
        "PUT",
        f"{LEASES}/l",
        lambda seen: lease("l", "you", seen["l"]["metadata"]["resourceVersion"]),
    ),
    Step("lease put creates", "PUT", f"{LEASES}/m", lease("m", "you"), code=201),
    Step("lease delete", "DELETE", f"{LEASES}/l"),
    Step("lease delete m", "DELETE", f"{LEASES}/m"),
    Step("event", "POST", EVENTS, event("a.1"), code=201),
    Step(
        "event without time",
        "POST",
        EVENTS,
        event("a.2", eventTime=None),
        code=422,
        reason="Invalid",
        message='Event "a.2" is invalid: eventTime: Required value',
    ),
    Step("event note 1024", "POST", EVENTS, event("a.3", note="x" * 1024), code=201),
    Step(
        "event note 1025",
        "POST",
        EVENTS,
        event("a.4", note="x" * 1025),
        code=422,
        reason="Invalid",
        message=(
            'Event "a.4" is invalid: message: Invalid value: "": can have at most 1024 characters'
        ),
    ),
    Step(
        "event empty",
        "POST",
        EVENTS,
        event("a.5", reason="", action="", reportingController="", reportingInstance="", type=""),
        code=422,
        reason="Invalid",
        message=('Event "a.5" is invalid: [reportingController: Required value, reporting…'),
    ),
    Step(
        "event long",
        "POST",
        EVENTS,
        event("a.5", reason="x" * 129, action="y" * 129, reportingInstance="z" * 129),
        code=422,
        reason="Invalid",
        message=(
            'Event "a.5" is invalid: [reportingInstance: Invalid value: '
            '"": can have at most 128 characters, action: Invalid value: '
            '"": can have at most 128 characters, reason: Invalid value: '
            '"": can have at most 128 characters]'
        ),
    ),
    Step(
        "events patch",
        "PATCH",
        f"{EVENTS}/a.1",
        {"series": {"count": 2, "lastObservedTime": "2026-11-21T13:00:01.000000Z"}},
        kind=MERGE,
    ),
    Step("delete events", "DELETE", EVENTS),
    Step("cm", "POST", CONFIG_MAPS, config_map("c", data={"a": "b"}), code=201),
    Step("cm dry", "POST", CONFIG_MAPS, config_map("d"), query={"dryRun": "All"}, code=201),
    Step(
        "cm dry missing",
        "GET",
        f"{CONFIG_MAPS}/d",
        code=404,
        reason="NotFound",
        message='configmaps "d" not found',
    ),
    Step(
        "cm dry bad",
        "POST",
        CONFIG_MAPS,
        config_map("d"),
        query={"dryRun": "Some"},
        code=422,
        reason="Invalid",
        message=(
            'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported '
            'value: ["Some"]: supported values: "All"'
        ),
    ),
    Step(
        "cm put without name",
        "PUT",
        f"{CONFIG_MAPS}/c",
        {"metadata": {}},
        code=400,
        reason="BadRequest",
        message="the name of the object (c based on URL) was undeterminable: name must be provided",
    ),
    Step(
        "cm patched nameless",
        "PATCH",
        f"{CONFIG_MAPS}/c",
        {"metadata": {"name": None}},
        kind=MERGE,
        code=400,
        reason="BadRequest",
        message="the name of the object (c based on URL) was undeterminable: name must be provided",
    ),
    Step(
        "cm patched away",
        "PATCH",
        f"{CONFIG_MAPS}/c",
        {"metadata": None},
        kind=MERGE,
        code=400,
        reason="BadRequest",
        message="the name of the object (c based on URL) was undeterminable: name must be provided",
    ),
    Step(
        "cm moved",
        "PATCH",
        f"{CONFIG_MAPS}/c",
        {"metadata": {"namespace": "kube-system"}},
        kind=MERGE,
        code=400,
        reason="BadRequest",
        message="the namespace of the provided object does not match…",
    ),
    Step(
        "cm applied nameless",
        "PATCH",
        f"{CONFIG_MAPS}/c",
        {"apiVersion": "v1", "kind": "ConfigMap"},
        kind=APPLY,
        query={"fieldManager": "t"},
    ),
    Step(
        "cm applied nameless anew",
        "PATCH",
        f"{CONFIG_MAPS}/fresh",
        {"apiVersion": "v1", "kind": "ConfigMap"},
        kind=APPLY,
        query={"fieldManager": "t"},
        code=400,
        reason="BadRequest",
        message="the name of the object (fresh based on URL) was undeterminable…",
    ),
    Step(
        "cm applied without version",
        "PATCH",
        f"{CONFIG_MAPS}/c",
        {"kind": "ConfigMap", "metadata": {"name": "c"}},
        kind=APPLY,
        query={"fieldManager": "t"},
        code=400,
        reason="BadRequest",
        message="invalid object type: /, Kind=ConfigMap",
    ),
    Step(
        "cm list as merge patch",
        "PATCH",
        f"{CONFIG_MAPS}/c",
        [],
        kind=MERGE,
        code=400,
        reason="BadRequest",
        message="error decoding patch: …",
    ),
    Step(
        "cm object as JSON patch",
        "PATCH",
        f"{CONFIG_MAPS}/c",
        {},
        kind=JSON_PATCH,
        code=400,
        reason="BadRequest",
        message="error decoding patch: …",
    ),
    Step(
        "cm label of a wrong type",
        "POST",
        CONFIG_MAPS,
        config_map("e", metadata={"name": "e", "labels": {"a": 1}}),
        code=400,
        reason="BadRequest",
        message='ConfigMap in version "v1" cannot be handled as a ConfigMap: json:…',
    ),
    Step(
        "cm metadata of a wrong type",
        "POST",
        CONFIG_MAPS,
        config_map("e", metadata=[]),
        code=400,
        reason="BadRequest",
        message='ConfigMap in version "v1" cannot be handled as a ConfigMap: json:…',
    ),
    Step(
        "empty object",
        "POST",
        CONFIG_MAPS,
        {},
        code=422,
        reason="Invalid",
        message='ConfigMap "" is invalid: metadata.name: Required value…',
    ),
    Step("list of a namespace that is not", "GET", "/api/v1/namespaces/ghost/pods"),
    Step(
        "nodes of a namespace",
        "GET",
        "/api/v1/namespaces/default/nodes",
        code=404,
        reason="NotFound",
        message="the server could not find the requested resource",
    ),
    Step(
        "pod of no namespace",
        "GET",
        "/api/v1/pods/x",
        code=404,
        reason="NotFound",
        message="the server could not find the requested resource",
    ),
    Step(
        "unknown subresource",
        "GET",
        f"{PODS}/x/nope",
        code=404,
        reason="NotFound",
        message="the server could not find the requested resource",
    ),
    Step("unknown path", "GET", "/nope", code=404, message="404 page not found…"),
    Step(
        "post to a document",
        "POST",
        "/version",
        {},
        code=405,
        reason="MethodNotAllowed",
        message="the server does not allow this method on the requested resource",
    ),
    Step("health", "GET", "/healthz"),
    Step("cm delete", "DELETE", f"{CONFIG_MAPS}/c"),
    Step(
        "list bad field",
        "GET",
        PODS,
        query={"fieldSelector": "spec.nope=a"},
        code=400,
        reason="BadRequest",
        message="field label not supported: spec.nope",
    ),
    Step(
        "list bad field 2",
        "GET",
        PODS,
        query={"fieldSelector": "spec.nodeName"},
        code=400,
        reason="BadRequest",
        message=("invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'"),
    ),
    Step(
        "list bad label",
        "GET",
        PODS,
        query={"labelSelector": "a in"},
        code=400,
        reason="BadRequest",
        message="unable to parse requirement: found '…",
    ),
    Step(
        "list rv too large",
        "GET",
        PODS,
        query={"resourceVersion": "999999999"},
        code=504,
        reason="Timeout",
        message=("Timeout: Too large resource version: <revision>, current: <revision>"),
    ),
    Step(
        "list bad rv",
        "GET",
        PODS,
        query={"resourceVersion": "abc"},
        code=400,
        reason="BadRequest",
        message=(
            "invalid resource version: resourceVersion: Invalid value: "
            '"abc": strconv.ParseUint: parsing "abc": invalid syntax'
        ),
    ),
    Step(
        "list match no rv",
        "GET",
        PODS,
        query={"resourceVersionMatch": "Exact"},
        code=422,
        reason="Invalid",
        message=(
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: '
            "Forbidden: resourceVersionMatch is forbidden unless "
            "resourceVersion is provided"
        ),
    ),
    Step(
        "list exact 0",
        "GET",
        PODS,
        query={"resourceVersionMatch": "Exact", "resourceVersion": "0"},
        code=422,
        reason="Invalid",
        message=(
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: '
            'Forbidden: resourceVersionMatch "exact" is forbidden for '
            'resourceVersion "0"'
        ),
    ),
    Step(
        "list match bad",
        "GET",
        PODS,
        query={"resourceVersionMatch": "Nope", "resourceVersion": "1"},
        code=422,
        reason="Invalid",
        message=(
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: '
            'Unsupported value: "Nope": supported values: "Exact", '
            '"NotOlderThan", ""'
        ),
    ),
    Step(
        "list continue bad",
        "GET",
        PODS,
        query={"continue": "nope"},
        code=400,
        reason="BadRequest",
        message="invalid continue token: continue key is not valid…",
    ),
    Step(
        "list continue+rv",
        "GET",
        PODS,
        query={
            "continue": "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
            "resourceVersion": "5",
        },
        code=400,
        reason="BadRequest",
        message=("specifying resource version is not allowed when using continue"),
    ),
    Step(
        "list bad limit",
        "GET",
        PODS,
        query={"limit": "x"},
        code=400,
        reason="BadRequest",
        message='strconv.ParseInt: parsing "x": invalid syntax',
    ),
    Step(
        "watch initial no match",
        "GET",
        PODS,
        query={"watch": "1", "sendInitialEvents": "true", "timeoutSeconds": "1"},
        code=422,
        reason="Invalid",
        message=(
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: '
            "Forbidden: sendInitialEvents requires setting "
            "resourceVersionMatch to NotOlderThan"
        ),
    ),
    Step(
        "watch match no initial",
        "GET",
        PODS,
        query={
            "watch": "1",
            "resourceVersionMatch": "NotOlderThan",
            "resourceVersion": "1",
            "timeoutSeconds": "1",
        },
        code=422,
        reason="Invalid",
        message=(
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: '
            "Forbidden: resourceVersionMatch is forbidden for watch unless "
            "sendInitialEvents is provided"
        ),
    ),
    Step(
        "list initial",
        "GET",
        PODS,
        query={"sendInitialEvents": "true"},
        code=422,
        reason="Invalid",
        message=(
            'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: '
            "Forbidden: sendInitialEvents is forbidden for list"
        ),
    ),
    Step(
        "delete ns default",
        "DELETE",
        "/api/v1/namespaces/default",
        code=403,
        reason="Forbidden",
        message=('namespaces "default" is forbidden: this namespace may not be deleted'),
    ),
    Step(
        "get ns ghost",
        "GET",
        "/api/v1/namespaces/ghost",
        code=404,
        reason="NotFound",
        message='namespaces "ghost" not found',
    ),
    Step(
        "collection all ns",
        "DELETE",
        "/api/v1/pods",
        code=405,
        reason="MethodNotAllowed",
        message=("the server does not allow this method on the requested resource"),
    ),
    Step(
        "post all ns",
        "POST",
        "/api/v1/pods",
        {**pod("x"), "metadata": {"name": "x"}},
        code=405,
        reason="MethodNotAllowed",
        message=("the server does not allow this method on the requested resource"),
    ),
)
