"""The results of writing objects. Also checked on a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from kpolicy.testing import node, pod
from tests.unit.testing.client import APPLY, JSON_PATCH, MERGE, STRATEGIC
from tests.unit.testing.servers import Server


def create(server: Server, body: dict[str, Any]) -> dict[str, Any]:
    body["metadata"]["namespace"] = server.namespace
    reply = server.client.post(server.pods, body)
    assert reply.code == 201, reply.body
    return reply.json


def condition(object_: dict[str, Any], type_: str) -> dict[str, Any]:
    return next(
        condition for condition in object_["status"]["conditions"] if condition["type"] == type_
    )


def test_a_pod_gets_the_defaults_a_scheduler_depends_on(server: Server) -> None:
    limited = {"name": "limited", "image": "i", "resources": {"limits": {"cpu": "1"}}}
    body = {"metadata": {"name": "a"}, "spec": {"containers": [limited]}}
    made = create(server, body)
    spec = made["spec"]
    assert spec["schedulerName"] == "default-scheduler"
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert (spec["restartPolicy"], spec["terminationGracePeriodSeconds"]) == ("Always", 30)
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    keys = [
        (toleration["key"], toleration["tolerationSeconds"]) for toleration in spec["tolerations"]
    ]
    assert keys == [
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    ]
    assert made["status"] == {"phase": "Pending", "qosClass": "Burstable"}
    assert made["metadata"]["generation"] == 1
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"].endswith("Z")


def test_a_class_gives_its_priority(server: Server) -> None:
    made = create(server, pod("a", priority_class="system-cluster-critical"))
    assert made["spec"]["priority"] == 2_000_000_000


def test_host_ports_follow_the_host_network(server: Server) -> None:
    body = pod("a")
    body["spec"]["hostNetwork"] = True
    body["spec"]["containers"][0]["ports"] = [{"containerPort": 80}]
    port = create(server, body)["spec"]["containers"][0]["ports"][0]
    assert port == {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}


def test_a_gated_pod_says_so_until_it_is_bound(server: Server) -> None:
    made = create(server, pod("a", scheduling_gates=["example.com/wait"]))
    gated = condition(made, "PodScheduled")
    assert (gated["status"], gated["reason"]) == ("False", "SchedulingGated")
    path = f"{server.pods}/a"
    patch = {"spec": {"schedulingGates": [{"$patch": "delete", "name": "example.com/wait"}]}}
    freed = server.client.patch(path, patch, STRATEGIC)
    assert freed.code == 200
    assert not freed.json["spec"].get("schedulingGates")
    assert server.bind("a", "n1").code == 201
    scheduled = condition(server.client.get(path).json, "PodScheduled")
    assert scheduled["status"] == "True"
    assert "reason" not in scheduled


def test_a_binding_merges_its_annotations_and_sets_the_node(server: Server) -> None:
    body = create(server, pod("a", annotations={"kept": "1", "changed": "old"}))
    metadata = {"uid": body["metadata"]["uid"], "annotations": {"changed": "new", "added": "1"}}
    reply = server.bind("a", "nowhere", **metadata)
    assert (reply.code, reply.json["kind"], reply.json["status"]) == (201, "Status", "Success")
    bound = server.client.get(f"{server.pods}/a").json
    assert bound["spec"]["nodeName"] == "nowhere"
    assert bound["metadata"]["annotations"] == {"kept": "1", "changed": "new", "added": "1"}


def test_names_are_generated_and_differ(server: Server) -> None:
    names = set()
    for _ in range(3):
        body = pod("x")
        body["metadata"] = {"generateName": "web-"}
        names.add(create(server, body)["metadata"]["name"])
    assert len(names) == 3
    assert all(name.startswith("web-") and len(name) == len("web-") + 5 for name in names)


def test_a_write_that_changes_nothing_makes_no_revision(server: Server) -> None:
    made = create(server, pod("a", labels={"app": "web"}))
    reply = server.client.patch(f"{server.pods}/a", {"metadata": {"labels": {"app": "web"}}})
    assert reply.json["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_status_and_object_are_written_apart(server: Server) -> None:
    made = create(server, pod("a"))
    path = f"{server.pods}/a"
    made["metadata"]["labels"] = {"app": "web"}
    made["status"]["phase"] = "Running"
    put = server.client.put(path, made)
    assert (put.json["status"]["phase"], put.json["metadata"]["labels"]) == (
        "Pending",
        {"app": "web"},
    )
    running = put.json
    running["status"]["phase"] = "Running"
    running["spec"]["priority"] = 7
    status = server.client.put(f"{path}/status", running)
    assert status.code == 200, status.body
    assert (status.json["status"]["phase"], status.json["spec"]["priority"]) == ("Running", 0)


def test_conditions_merge_by_type(server: Server) -> None:
    create(server, pod("a"))
    path = f"{server.pods}/a/status"

    def patch(type_: str, reason: str) -> dict[str, Any]:
        condition = {"type": type_, "status": "False", "reason": reason}
        reply = server.client.patch(path, {"status": {"conditions": [condition]}}, STRATEGIC)
        assert reply.code == 200
        return reply.json

    patch("PodScheduled", "Unschedulable")
    patch("DisruptionTarget", "Other")
    last = patch("PodScheduled", "SchedulerError")
    found = [(condition["type"], condition["reason"]) for condition in last["status"]["conditions"]]
    assert found == [("DisruptionTarget", "Other"), ("PodScheduled", "SchedulerError")]


def test_a_new_element_of_a_merged_list_comes_first(server: Server) -> None:
    create(server, pod("a"))
    for type_ in ("first", "second", "third"):
        condition = {"type": type_, "status": "True"}
        body = {"status": {"conditions": [condition]}}
        assert server.client.patch(f"{server.pods}/a/status", body, STRATEGIC).code == 200
    conditions = server.client.get(f"{server.pods}/a").json["status"]["conditions"]
    assert [condition["type"] for condition in conditions] == ["third", "second", "first"]


@pytest.mark.parametrize(
    ("patch", "kind", "labels"),
    [
        ({"metadata": {"labels": {"b": "2"}}}, MERGE, {"a": "1", "b": "2"}),
        ({"metadata": {"labels": {"a": None}}}, MERGE, None),
        ({"metadata": {"labels": {"$patch": "replace", "c": "3"}}}, STRATEGIC, {"c": "3"}),
        (
            [{"op": "add", "path": "/metadata/labels/b", "value": "2"}],
            JSON_PATCH,
            {"a": "1", "b": "2"},
        ),
        (
            [{"op": "move", "from": "/metadata/labels/a", "path": "/metadata/labels/x~1y"}],
            JSON_PATCH,
            {"x/y": "1"},
        ),
        (
            [
                {"op": "test", "path": "/metadata/labels/a", "value": "1"},
                {"op": "replace", "path": "/metadata/labels/a", "value": "9"},
            ],
            JSON_PATCH,
            {"a": "9"},
        ),
    ],
)
def test_patches(server: Server, patch: object, kind: str, labels: dict[str, str] | None) -> None:
    create(server, pod("a", labels={"a": "1"}))
    reply = server.client.patch(f"{server.pods}/a", patch, kind)
    assert reply.code == 200, reply.body
    assert (reply.json["metadata"].get("labels") or None) == labels


def test_apply_creates_then_merges(server: Server) -> None:
    def apply(**labels: str) -> tuple[int, dict[str, Any]]:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "c", "labels": labels},
        }
        path = server.path("configmaps", "c")
        reply = server.client.patch(path, body, APPLY, fieldManager="tests", force="true")
        return reply.code, reply.json

    code, made = apply(a="1")
    assert (code, made["metadata"]["name"], made["metadata"]["labels"]) == (201, "c", {"a": "1"})
    code, merged = apply(a="2")
    assert (code, merged["metadata"]["labels"]) == (200, {"a": "2"})
    assert merged["metadata"]["uid"] == made["metadata"]["uid"]


def test_yaml_is_applied_too(server: Server) -> None:
    body = (
        b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  labels: {a: b}\ndata:\n  k: v\n"
    )
    path = server.path("configmaps", "c")
    reply = server.client.patch(path, body, APPLY, fieldManager="tests")
    assert (reply.code, reply.json["data"]) == (201, {"k": "v"})


def test_a_bound_pod_ends_gracefully(server: Server) -> None:
    create(server, pod("a"))
    path = f"{server.pods}/a"
    assert server.bind("a", "n1").code == 201
    marked = server.client.delete(path)
    assert (marked.code, marked.json["kind"]) == (200, "Pod")
    assert marked.json["metadata"]["deletionGracePeriodSeconds"] == 30
    assert server.client.get(path).json["metadata"]["deletionTimestamp"]
    sooner = server.client.delete(path, {"gracePeriodSeconds": 5})
    assert sooner.json["metadata"]["deletionGracePeriodSeconds"] == 5
    later = server.client.delete(path, {"gracePeriodSeconds": 20})
    assert later.json["metadata"]["deletionGracePeriodSeconds"] == 5
    assert server.client.delete(path, {"gracePeriodSeconds": 0}).code == 200
    assert server.client.get(path).code == 404


def test_a_pod_that_runs_nowhere_goes_at_once(server: Server) -> None:
    create(server, pod("a"))
    assert server.client.delete(f"{server.pods}/a").code == 200
    assert server.client.get(f"{server.pods}/a").code == 404


def test_a_finalizer_holds_an_object(server: Server) -> None:
    path = server.path("configmaps")
    body = {"metadata": {"name": "c", "finalizers": ["example.com/hold"]}}
    assert server.client.post(path, body).code == 201
    assert server.client.delete(f"{path}/c").code == 200
    held = server.client.get(f"{path}/c")
    assert held.json["metadata"]["deletionTimestamp"]
    freed = server.client.patch(f"{path}/c", {"metadata": {"finalizers": None}})
    assert freed.code == 200
    assert server.client.get(f"{path}/c").code == 404


def test_deleting_a_collection_takes_what_fits(server: Server) -> None:
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        create(server, pod(name, labels={"app": app}))
    reply = server.client.delete(server.pods, labelSelector="app=web")
    assert reply.code == 200
    assert server.client.get(server.pods).names == ["b"]


def test_an_event_reads_in_both_versions(server: Server) -> None:
    event = {
        "metadata": {"name": "a.1", "namespace": server.namespace},
        "involvedObject": {"kind": "Pod", "namespace": server.namespace, "name": "a"},
        "reason": "Scheduled",
        "message": "assigned",
        "type": "Normal",
        "count": 3,
        "source": {"component": "kpolicy"},
        "firstTimestamp": "2026-11-21T13:00:00Z",
    }
    assert server.client.post(server.path("events"), event).code == 201
    new = server.client.get(server.path("events", "a.1", group="events.k8s.io")).json
    assert (new["note"], new["regarding"]["name"]) == ("assigned", "a")
    assert (new["deprecatedCount"], new["deprecatedSource"]["component"]) == (3, "kpolicy")
    assert "message" not in new


def test_a_node_keeps_the_status_it_is_created_with(server: Server) -> None:
    body = node("made-by-test", cpu="8")
    del body["status"]["allocatable"]
    try:
        made = server.client.post("/api/v1/nodes", body)
        assert made.code == 201
        assert made.json["status"]["allocatable"]["cpu"] == "8"
        cordoned = server.client.patch(
            "/api/v1/nodes/made-by-test", {"spec": {"unschedulable": True}}
        )
        assert cordoned.json["status"]["allocatable"]["cpu"] == "8"
    finally:
        server.client.delete("/api/v1/nodes/made-by-test")
