"""Requests about pods and the answers of a real API server: create, bind, patch, put, delete."""

from __future__ import annotations

from typing import Any, Final

from tests.unit.testing.client import APPLY, JSON_PATCH, MERGE, PODS, STRATEGIC
from tests.unit.testing.exchanges import Step

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
OTHER_UID = "11111111-2222-4333-8444-555555555555"


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "kpolicy",
            "containers": [{"name": "main", "image": "pause"}],
            **spec,
        },
    }


def binding(name: str, node: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"kind": "Node", "name": node},
    }


POD_STEPS: Final = (
    Step("create pod a", "POST", PODS, pod("a"), keep="a", code=201),
    Step(
        "create it again",
        "POST",
        PODS,
        pod("a"),
        code=409,
        reason="AlreadyExists",
        message='pods "a" already exists',
    ),
    Step(
        "bad name",
        "POST",
        PODS,
        pod("A_b"),
        code=422,
        reason="Invalid",
        message=(
            'Pod "A_b" is invalid: metadata.name: Invalid value: "A_b": a '
            "lowercase RFC 1123 subdomain…"
        ),
    ),
    Step(
        "no name",
        "POST",
        PODS,
        {**pod("x"), "metadata": {}},
        code=422,
        reason="Invalid",
        message=(
            'Pod "" is invalid: metadata.name: Required value: name or generateName is required'
        ),
    ),
    Step(
        "generate name ending in dot",
        "POST",
        PODS,
        {**pod("x"), "metadata": {"generateName": "h."}},
        code=422,
        reason="Invalid",
        message='Pod "h.…',
    ),
    Step(
        "no containers",
        "POST",
        PODS,
        pod("x", containers=[]),
        code=422,
        reason="Invalid",
        message='Pod "x" is invalid: spec.containers: Required value',
    ),
    Step(
        "no container name",
        "POST",
        PODS,
        pod("x", containers=[{"image": "i"}]),
        code=422,
        reason="Invalid",
        message=('Pod "x" is invalid: spec.containers[0].name: Required value'),
    ),
    Step(
        "unknown class",
        "POST",
        PODS,
        pod("x", priorityClassName="nope"),
        code=403,
        reason="Forbidden",
        message=('pods "x" is forbidden: no PriorityClass with name nope was found'),
    ),
    Step(
        "priority against class",
        "POST",
        PODS,
        pod("x", priorityClassName="system-node-critical", priority=3),
        code=403,
        reason="Forbidden",
        message=(
            'pods "x" is forbidden: the integer value of priority (3) must '
            "not be provided in pod spec; priority admission controller "
            "computed 2000001000 from the given PriorityClass name"
        ),
    ),
    Step(
        "other namespace in body",
        "POST",
        PODS,
        {**pod("x"), "metadata": {"name": "x", "namespace": "other"}},
        code=400,
        reason="BadRequest",
        message=(
            "the namespace of the provided object does not match the namespace sent on the request"
        ),
    ),
    Step(
        "missing namespace",
        "POST",
        "/api/v1/namespaces/ghost/pods",
        {**pod("x"), "metadata": {"name": "x"}},
        code=404,
        reason="NotFound",
        message='namespaces "ghost" not found',
    ),
    Step(
        "wrong kind",
        "POST",
        PODS,
        {**pod("x"), "kind": "Node"},
        code=400,
        reason="BadRequest",
        message='Node in version "v1" cannot be handled as a Pod…',
    ),
    Step(
        "bad json",
        "POST",
        PODS,
        b"{",
        code=400,
        reason="BadRequest",
        message=(
            "the object provided is unrecognized (must be of type Pod): "
            "couldn't get version/kind; json parse error: …"
        ),
    ),
    Step(
        "not an object",
        "POST",
        PODS,
        b"[]",
        code=400,
        reason="BadRequest",
        message=("the object provided is unrecognized (must be of type Pod)…"),
    ),
    Step(
        "bad media",
        "POST",
        PODS,
        b"<a/>",
        kind="application/xml",
        code=415,
        reason="UnsupportedMediaType",
        message=(
            "the body of the request was in an unknown format - accepted "
            "media types include: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf"
        ),
    ),
    Step(
        "get missing",
        "GET",
        f"{PODS}/ghost",
        code=404,
        reason="NotFound",
        message='pods "ghost" not found',
    ),
    Step(
        "get missing lease",
        "GET",
        f"{LEASES}/ghost",
        code=404,
        reason="NotFound",
        message='leases.coordination.k8s.io "ghost" not found',
    ),
    Step(
        "unknown resource",
        "GET",
        "/api/v1/namespaces/default/gizmos",
        code=404,
        reason="NotFound",
        message="the server could not find the requested resource",
    ),
    Step(
        "unknown group", "GET", "/apis/gizmo.io/v1/gizmos", code=404, message="404 page not found…"
    ),
    Step(
        "method",
        "PUT",
        PODS,
        pod("a"),
        code=405,
        reason="MethodNotAllowed",
        message=("the server does not allow this method on the requested resource"),
    ),
    Step(
        "patch binding",
        "PATCH",
        f"{PODS}/a/binding",
        {},
        kind=MERGE,
        code=405,
        reason="MethodNotAllowed",
        message=("the server does not allow this method on the requested resource"),
    ),
    Step(
        "bind missing",
        "POST",
        f"{PODS}/ghost/binding",
        binding("ghost", "n1"),
        code=404,
        reason="NotFound",
        message='pods "ghost" not found',
    ),
    Step(
        "bind wrong uid",
        "POST",
        f"{PODS}/a/binding",
        binding("a", "n1", uid=OTHER_UID),
        code=409,
        reason="Conflict",
        message=(
            'Operation cannot be fulfilled on pods "a": StorageError: '
            "invalid object, Code: 4, Key: /registry/pods/default/a, "
            "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
            "UID in precondition: <uid>, UID in object meta: <uid>"
        ),
    ),
    Step(
        "bind stale rv",
        "POST",
        f"{PODS}/a/binding",
        binding("a", "n1", resourceVersion="1"),
        code=409,
        reason="Conflict",
        message=(
            'Operation cannot be fulfilled on pods "a": StorageError: '
            "invalid object, Code: 4, Key: /registry/pods/default/a, "
            "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
            "ResourceVersion in precondition: <revision>, ResourceVersion "
            "in object meta: <revision>"
        ),
    ),
    Step(
        "bind no target",
        "POST",
        f"{PODS}/a/binding",
        {**binding("a", ""), "target": {"kind": "Node"}},
        code=500,
        message="target.name: Required value",
    ),
    Step(
        "bind wrong target kind",
        "POST",
        f"{PODS}/a/binding",
        {**binding("a", "n"), "target": {"kind": "Pod", "name": "n"}},
        code=500,
        message=('target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"'),
    ),
    Step(
        "bind without a name",
        "POST",
        f"{PODS}/a/binding",
        {"target": {"name": "n1"}},
        code=400,
        reason="BadRequest",
        message="name in URL does not match name in Binding object",
    ),
    Step(
        "bind other name",
        "POST",
        f"{PODS}/a/binding",
        binding("b", "n1"),
        code=400,
        reason="BadRequest",
        message="name in URL does not match name in Binding object",
    ),
    Step(
        "bind",
        "POST",
        f"{PODS}/a/binding",
        lambda seen: binding("a", "n1", uid=seen["a"]["metadata"]["uid"], annotations={"x": "y"}),
        code=201,
    ),
    Step(
        "bind again",
        "POST",
        f"{PODS}/a/binding",
        binding("a", "n1"),
        code=409,
        reason="Conflict",
        message=(
            'Operation cannot be fulfilled on pods/binding "a": pod a is '
            'already assigned to node "n1"'
        ),
    ),
    Step(
        "bind elsewhere",
        "POST",
        f"{PODS}/a/binding",
        binding("a", "n2"),
        code=409,
        reason="Conflict",
        message=(
            'Operation cannot be fulfilled on pods/binding "a": pod a is '
            'already assigned to node "n1"'
        ),
    ),
    Step("get a", "GET", f"{PODS}/a", keep="a"),
    Step(
        "gated",
        "POST",
        PODS,
        pod("g", schedulingGates=[{"name": "example.com/g"}]),
        keep="g",
        code=201,
    ),
    Step(
        "bind gated",
        "POST",
        f"{PODS}/g/binding",
        binding("g", "n1"),
        code=409,
        reason="Conflict",
        message=(
            'Operation cannot be fulfilled on pods/binding "g": pod g has '
            "non-empty .spec.schedulingGates"
        ),
    ),
    Step(
        "add gate",
        "PATCH",
        f"{PODS}/g",
        {"spec": {"schedulingGates": [{"name": "example.com/h"}]}},
        kind=STRATEGIC,
        code=422,
        reason="Invalid",
        message=(
            'Pod "g" is invalid: spec.schedulingGates[0].name: Forbidden: '
            "only deletion is allowed, but found new scheduling gate "
            "'example.com/h'"
        ),
    ),
    Step("remove gate", "PATCH", f"{PODS}/g", {"spec": {"schedulingGates": None}}, kind=MERGE),
    Step(
        "patch nodeName bound",
        "PATCH",
        f"{PODS}/a",
        {"spec": {"nodeName": "n3"}},
        kind=MERGE,
        code=422,
        reason="Invalid",
        message=(
            'Pod "a" is invalid: spec: Forbidden: pod updates may not change fields other than…'
        ),
    ),
    Step(
        "patch nodeName unbound",
        "PATCH",
        f"{PODS}/g",
        {"spec": {"nodeName": "n3"}},
        kind=MERGE,
        code=422,
        reason="Invalid",
        message=(
            'Pod "g" is invalid: spec: Forbidden: pod updates may not change fields other than…'
        ),
    ),
    Step(
        "patch stale rv",
        "PATCH",
        f"{PODS}/g",
        {"metadata": {"resourceVersion": "1"}},
        kind=MERGE,
        code=409,
        reason="Conflict",
        message=(
            'Operation cannot be fulfilled on pods "g": the object has '
            "been modified; please apply your changes to the latest "
            "version and try again"
        ),
    ),
    Step(
        "patch other uid",
        "PATCH",
        f"{PODS}/g",
        {"metadata": {"uid": OTHER_UID}},
        kind=MERGE,
        code=422,
        reason="Invalid",
        message=('Pod "g" is invalid: metadata.uid: Invalid value: "<uid>": field is immutable'),
    ),
    Step(
        "patch other name",
        "PATCH",
        f"{PODS}/g",
        {"metadata": {"name": "zz"}},
        kind=MERGE,
        code=400,
        reason="BadRequest",
        message=("the name of the object (zz) does not match the name on the URL (g)"),
    ),
    Step(
        "patch missing",
        "PATCH",
        f"{PODS}/ghost",
        {},
        kind=MERGE,
        code=404,
        reason="NotFound",
        message='pods "ghost" not found',
    ),
    Step(
        "patch kind",
        "PATCH",
        f"{PODS}/g",
        {},
        kind="application/json",
        code=415,
        reason="UnsupportedMediaType",
        message="415: Unsupported Media Type",
    ),
    Step(
        "patch bad json",
        "PATCH",
        f"{PODS}/g",
        b"{",
        kind=MERGE,
        code=400,
        reason="BadRequest",
        message="error decoding patch: …",
        message_since_37="invalid JSON patch",
    ),
    Step(
        "json patch test failed",
        "PATCH",
        f"{PODS}/g",
        [{"op": "test", "path": "/metadata/name", "value": "q"}],
        kind=JSON_PATCH,
        code=422,
        reason="Invalid",
        message=("the server rejected our request due to an error in our request"),
    ),
    Step(
        "json patch no path",
        "PATCH",
        f"{PODS}/g",
        [{"op": "remove", "path": "/metadata/nope"}],
        kind=JSON_PATCH,
        code=422,
        reason="Invalid",
        message=("the server rejected our request due to an error in our request"),
    ),
    Step(
        "apply without manager",
        "PATCH",
        f"{PODS}/g",
        pod("g"),
        kind=APPLY,
        code=422,
        reason="Invalid",
        message=(
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: '
            "Required value: is required for apply patch"
        ),
    ),
    Step(
        "status labels",
        "PATCH",
        f"{PODS}/g/status",
        {
            "metadata": {"labels": {"app": "evil"}},
            "status": {
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
                ]
            },
        },
        kind=STRATEGIC,
    ),
    Step("remove toleration", "PATCH", f"{PODS}/g", {"spec": {"tolerations": []}}, kind=MERGE),
    Step(
        "put stale",
        "PUT",
        f"{PODS}/g",
        lambda seen: {**seen["g"]},
        code=409,
        reason="Conflict",
        message=(
            'Operation cannot be fulfilled on pods "g": the object has '
            "been modified; please apply your changes to the latest "
            "version and try again"
        ),
    ),
    Step(
        "put missing",
        "PUT",
        f"{PODS}/ghost",
        pod("ghost"),
        code=404,
        reason="NotFound",
        message='pods "ghost" not found',
    ),
    Step(
        "put other name",
        "PUT",
        f"{PODS}/g",
        pod("h"),
        code=400,
        reason="BadRequest",
        message=("the name of the object (h) does not match the name on the URL (g)"),
    ),
    Step(
        "put other uid",
        "PUT",
        f"{PODS}/g",
        {**pod("g"), "metadata": {"name": "g", "uid": OTHER_UID}},
        code=409,
        reason="Conflict",
        message=(
            'Operation cannot be fulfilled on pods "g": StorageError: '
            "invalid object, Code: 4, Key: /registry/pods/default/g, "
            "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
            "UID in precondition: <uid>, UID in object meta: <uid>"
        ),
    ),
    Step("delete bound", "DELETE", f"{PODS}/a"),
    Step(
        "bind deleting",
        "POST",
        f"{PODS}/a/binding",
        binding("a", "n1"),
        code=409,
        reason="Conflict",
        message=(
            'Operation cannot be fulfilled on pods/binding "a": pod a is '
            "being deleted, cannot be assigned to a host"
        ),
    ),
    Step(
        "delete wrong uid",
        "DELETE",
        f"{PODS}/a",
        {"preconditions": {"uid": OTHER_UID}},
        code=409,
        reason="Conflict",
        message=(
            'Operation cannot be fulfilled on Pod "a": the UID in the '
            "precondition (<uid>) does not match the UID in record "
            "(<uid>). The object might have been deleted and then recreated"
        ),
    ),
    Step("delete now", "DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0}),
    Step(
        "delete missing",
        "DELETE",
        f"{PODS}/a",
        code=404,
        reason="NotFound",
        message='pods "a" not found',
    ),
    Step("delete unbound", "DELETE", f"{PODS}/g"),
)
