"""Attacks by the scheduler's own token on what its roles allow: the admission policies of
deploy/kustomize refuse them, and let through what the scheduler does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.build import ControlPlaneBinary
from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.e2e import volumes
from tests.e2e.fenced import LOAD, REFUSED, Json, account_of_scheduler, patch_status, patched
from tests.e2e.rendered import DEPLOY, NAMESPACE, apply

pytestmark = pytest.mark.cluster

FENCES = DEPLOY / "components/admission-fences"
PODS = f"/api/v1/namespaces/{LOAD}/pods"
EVENTS = f"/apis/events.k8s.io/v1/namespaces/{LOAD}/events"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
PREEMPTED = {
    "status": {
        "conditions": [
            {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        ]
    }
}
FORBIDDEN = 403
CREATED = 201


@pytest.fixture(scope="module")
def cluster(control_plane_binary: ControlPlaneBinary) -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        apply(plane, "second-scheduler")
        plane.admin.create_node("node-0")
        plane.admin.create_namespace(LOAD)
        volumes.create_classes(plane.admin)
        yield plane


@pytest.fixture(scope="module")
def account(cluster: ControlPlane) -> Iterator[Client]:
    with account_of_scheduler(cluster) as client:
        patch = {"metadata": {"labels": {"a": "b"}}}
        volumes.create_volume(cluster.admin, "sentinel", "node-0")
        # The API server takes up one policy after the other.
        volume = f"{volumes.VOLUMES}/sentinel"
        wait_for(lambda: patched(client, volume, patch) == REFUSED, "the volume fence")
        volumes.create_claim(cluster.admin, LOAD, "sentinel")
        claim = f"{volumes.claims(LOAD)}/sentinel"
        wait_for(lambda: patched(client, claim, patch) == REFUSED, "the claim fence")
        wait_for(lambda: delete(client, "sentinel", {}) == REFUSED, "the eviction fence")
        event = {**event_of("sentinel"), "reportingController": "kubelet"}
        wait_for(lambda: create(client, EVENTS, event) == REFUSED, "the event fence")
        wait_for(lambda: create(client, LEASES, lease("other")) == REFUSED, "the lease fence")
        yield client


def create(client: Client, path: str, body: Json) -> int:
    return client.request("POST", path, body).status


def delete(client: Client, pod: str, options: Json, namespace: str = LOAD) -> int:
    body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
    return client.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{pod}", body).status


def of_uid(pod: Json, **options: Any) -> Json:
    return {"preconditions": {"uid": pod["metadata"]["uid"]}, **options}


def event_of(name: str, **fields: Any) -> Json:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.1", "namespace": LOAD},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "kpolicy",
        "reportingInstance": "kpolicy-0",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {"kind": "Pod", "namespace": LOAD, "name": name},
        "note": "a note",
        "type": "Normal",
        **fields,
    }


def lease(name: str) -> Json:
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {}}


def bound_pod(admin: Client, name: str, namespace: str = LOAD, **fields: Any) -> Json:
    """A pod of another scheduler on a node: preemption deletes such pods too."""
    spec = {"nodeName": "node-0", **fields.pop("spec", {})}
    return admin.create_pod(
        name, namespace=namespace, scheduler_name="someone-else", spec=spec, **fields
    )


def test_only_a_preempted_pod_can_be_deleted_with_its_uid_and_its_grace(
    cluster: ControlPlane, account: Client
) -> None:
    pod = bound_pod(cluster.admin, "victim", spec={"terminationGracePeriodSeconds": 30})
    assert delete(account, "victim", of_uid(pod)) == REFUSED, "without the condition"
    foreign = {
        "status": {
            "conditions": [
                {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
            ]
        }
    }
    assert patch_status(account, "victim", foreign) == REFUSED
    assert patch_status(cluster.admin, "victim", foreign) == 200
    assert delete(account, "victim", of_uid(pod)) == REFUSED, "another's condition"
    assert patch_status(account, "victim", PREEMPTED) == 200
    refused: list[Json] = [{}, of_uid(pod, gracePeriodSeconds=0), of_uid(pod, gracePeriodSeconds=1)]
    assert [delete(account, "victim", options) for options in refused] == [REFUSED] * 3
    wrong = {"preconditions": {"uid": "another"}}
    assert delete(account, "victim", wrong) in {409, REFUSED}
    assert "deletionTimestamp" not in cluster.admin.pod("victim", namespace=LOAD)["metadata"]
    assert delete(account, "victim", of_uid(pod)) == 200


def test_a_pod_without_a_node_can_be_deleted_too(cluster: ControlPlane, account: Client) -> None:
    """A pod whose placement is only assumed has no node in the API yet."""
    pod = cluster.admin.create_pod("assumed", namespace=LOAD, scheduler_name="kpolicy")
    assert patch_status(account, "assumed", PREEMPTED) == 200
    assert delete(account, "assumed", of_uid(pod)) == 200
    assert not cluster.admin.exists(f"{PODS}/assumed")


def test_system_critical_and_static_pods_are_out_of_reach(
    cluster: ControlPlane, account: Client
) -> None:
    admin = cluster.admin
    mirror = {"kubernetes.io/config.mirror": "x"}
    pods = [
        bound_pod(admin, "node-critical", spec={"priorityClassName": "system-node-critical"}),
        bound_pod(admin, "cluster-critical", spec={"priorityClassName": "system-cluster-critical"}),
        bound_pod(
            admin, "dns", "kube-system", spec={"priorityClassName": "system-cluster-critical"}
        ),
        admin.create(
            PODS,
            {
                "metadata": {"name": "static", "annotations": mirror},
                "spec": {
                    "nodeName": "node-0",
                    "containers": [{"name": "main", "image": "static"}],
                },
            },
        ),
    ]
    for pod in pods:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        assert patch_status(account, name, PREEMPTED, namespace) == REFUSED, name
        assert patch_status(admin, name, PREEMPTED, namespace) == 200
        assert delete(account, name, of_uid(pod), namespace) == REFUSED, name


def test_several_pods_cannot_be_deleted_at_once(cluster: ControlPlane, account: Client) -> None:
    assert account.request("DELETE", PODS, {}).status == FORBIDDEN


def test_of_a_volume_only_its_claim_can_be_written(cluster: ControlPlane, account: Client) -> None:
    admin = cluster.admin
    volumes.create_volume(admin, "disk", "node-0")
    claim = volumes.create_claim(admin, LOAD, "data")
    path = f"{volumes.VOLUMES}/disk"
    reference = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": LOAD,
        "name": "data",
        "uid": claim["metadata"]["uid"],
    }
    attacks: list[Json] = [
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"finalizers": ["example.com/hold"]}},
        {"metadata": {"annotations": {"example.com/x": "y"}}},
        {"spec": {"persistentVolumeReclaimPolicy": "Delete"}},
        {"spec": {"capacity": {"storage": "9Gi"}}},
        {"spec": {"storageClassName": "other"}},
        {"spec": {"claimRef": {**reference, "uid": None}}},
        {"spec": {"claimRef": reference, "mountOptions": ["exec"]}},
    ]
    assert [patched(account, path, attack) for attack in attacks] == [REFUSED] * len(attacks)
    marked = {"metadata": {"annotations": {volumes.BOUND_BY_CONTROLLER: "yes"}}}
    assert patched(account, path, {**marked, "spec": {"claimRef": reference}}) == 200
    taken_away: list[Json] = [
        {"spec": {"claimRef": None}},
        {"spec": {"claimRef": {"name": "other"}}},
        {"spec": {"claimRef": {"uid": "another"}}},
    ]
    assert [patched(account, path, attack) for attack in taken_away] == [REFUSED] * 3
    assert patched(admin, path, {"metadata": {"labels": {"a": "b"}}}) == 200


def test_the_volume_fence_knows_every_field_of_a_volume(cluster: ControlPlane) -> None:
    found = cluster.admin.get("/openapi/v3/api/v1")["components"]["schemas"]
    known = set(found["io.k8s.api.core.v1.PersistentVolumeSpec"]["properties"])
    assert len(known) >= 25
    fence = (FENCES / "volume-fence.yaml").read_text()
    compared = re.findall(r"object\.spec\.\?(\w+) ==\s+oldObject\.spec\.\?\1\b", fence)
    assert set(compared) == known - {"claimRef"}


def test_of_a_claim_only_the_selected_node_can_be_written_and_once(
    cluster: ControlPlane, account: Client
) -> None:
    admin = cluster.admin
    volumes.create_claim(admin, LOAD, "new", volumes.MADE)
    path = f"{volumes.claims(LOAD)}/new"

    def selecting(node: str | None) -> Json:
        return {"metadata": {"annotations": {volumes.SELECTED_NODE: node}}}

    attacks: list[Json] = [
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"finalizers": []}},
        {"metadata": {"annotations": {"example.com/x": "y"}}},
        {"spec": {"volumeName": "disk"}},
        {"spec": {"resources": {"requests": {"storage": "9Gi"}}}},
    ]
    assert [patched(account, path, attack) for attack in attacks] == [REFUSED] * len(attacks)
    assert patched(account, path, selecting("node-0")) == 200
    assert patched(account, path, selecting("node-0")) == 200
    assert patched(account, path, selecting("node-1")) == REFUSED
    assert patched(account, path, selecting(None)) == REFUSED


def test_events_are_written_in_its_own_name_only(cluster: ControlPlane, account: Client) -> None:
    attacks = [
        event_of("a", reportingController="kubelet"),
        event_of("b", reportingController="default-scheduler"),
        event_of("c", metadata={"name": "c.1", "namespace": LOAD, "finalizers": ["a.b/c"]}),
        event_of("d", metadata={"name": "d.1", "namespace": LOAD, "labels": {"a": "b"}}),
    ]
    assert [create(account, EVENTS, attack) for attack in attacks] == [REFUSED] * len(attacks)
    assert create(account, EVENTS, event_of("own")) == CREATED
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}
    assert patched(account, f"{EVENTS}/own.1", series) == 200
    assert patched(account, f"{EVENTS}/own.1", {"note": "a lie"}) == REFUSED
    foreign = event_of("foreign", reportingController="kubelet")
    assert create(cluster.admin, EVENTS, foreign) == CREATED
    assert patched(account, f"{EVENTS}/foreign.1", series) == REFUSED
    adopted = {**series, "reportingController": "kpolicy"}
    assert patched(account, f"{EVENTS}/foreign.1", adopted) == REFUSED


def test_no_lease_can_be_created_but_its_own(cluster: ControlPlane, account: Client) -> None:
    assert create(account, LEASES, lease("kube-controller-manager")) == REFUSED
    assert create(account, LEASES, lease("kpolicy")) == CREATED
    cluster.admin.delete(f"{LEASES}/kpolicy")
