"""Attacks by the scheduler's own token on what its roles allow: the admission policies of
deploy/kustomize refuse them, and let through what the scheduler does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.build import ControlPlaneBinary
from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.e2e import devices, volumes
from tests.e2e.fenced import (
    FENCES,
    LOAD,
    Json,
    Write,
    account_of_scheduler,
    asked,
    event,
    events,
    kubeconfig_of_account,
    lease,
    leases,
    patch_status,
    patched,
)
from tests.e2e.rendered import NAMESPACE, apply
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster

PODS = f"/api/v1/namespaces/{LOAD}/pods"
CREATED, FORBIDDEN, INVALID = 201, 403, 422


def condition(*, status: str = "True", reason: str = "PreemptionByScheduler") -> Json:
    written = {"type": "DisruptionTarget", "status": status, "reason": reason}
    return {"status": {"conditions": [written]}}


PREEMPTED = condition()


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
        yield client


def delete(client: Client, pod: str, options: Json, namespace: str = LOAD) -> int | str:
    body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
    return asked(client, Write("DELETE", f"/api/v1/namespaces/{namespace}/pods/{pod}", body))


def of_uid(pod: Json, **options: Any) -> Json:
    return {"preconditions": {"uid": pod["metadata"]["uid"]}, **options}


def create_event(client: Client, body: Json) -> int | str:
    return asked(client, Write("POST", events(LOAD), body))


def create_lease(client: Client, name: str) -> int | str:
    return asked(client, Write("POST", leases(NAMESPACE), lease(name, NAMESPACE)))


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
    assert delete(account, "victim", of_uid(pod)) == "eviction-fence", "without the condition"
    foreign = condition(reason="EvictionByEvictionAPI")
    undone = condition(status="False")
    assert patch_status(account, "victim", foreign) == "status-fence"
    assert patch_status(account, "victim", undone) == "status-fence"
    for not_ours in (foreign, undone):
        assert patch_status(cluster.admin, "victim", not_ours) == 200
        assert delete(account, "victim", of_uid(pod)) == "eviction-fence", not_ours
    assert patch_status(account, "victim", PREEMPTED) == 200
    refused: list[Json] = [{}, *(of_uid(pod, gracePeriodSeconds=seconds) for seconds in (0, 1, 31))]
    answers = [delete(account, "victim", options) for options in refused]
    assert answers == ["eviction-fence"] * len(refused)
    assert delete(account, "victim", {"preconditions": {"uid": "another"}}) == 409
    assert "deletionTimestamp" not in cluster.admin.pod("victim", namespace=LOAD)["metadata"]
    assert delete(account, "victim", of_uid(pod)) == 200
    # It ends now, and its grace period cannot be taken away afterwards either.
    shortened = of_uid(pod, gracePeriodSeconds=1)
    assert delete(account, "victim", shortened) == "eviction-fence"
    left = cluster.admin.pod("victim", namespace=LOAD)["metadata"]
    assert left["deletionGracePeriodSeconds"] == 30


@pytest.mark.parametrize("grace_s", [0, 1, 600])
def test_a_preempted_pod_keeps_its_grace_period(
    cluster: ControlPlane, account: Client, grace_s: int
) -> None:
    name = f"with-grace-{grace_s}"
    spec = {"terminationGracePeriodSeconds": grace_s}
    pod = bound_pod(cluster.admin, name, spec=spec)
    assert patch_status(account, name, PREEMPTED) == 200
    assert delete(account, name, of_uid(pod)) == 200
    assert cluster.admin.exists(f"{PODS}/{name}") == (grace_s > 0)


def test_a_pod_without_a_kubelet_can_be_deleted_too(cluster: ControlPlane, account: Client) -> None:
    """A pod whose placement is only assumed has no node in the API yet; one that has ended has its
    node still. The API server deletes both at once."""
    cluster.admin.create_pod("assumed", namespace=LOAD, scheduler_name="kpolicy")
    bound_pod(cluster.admin, "ended")
    ended = {"status": {"phase": "Succeeded"}}
    assert patch_status(cluster.admin, "ended", ended) == 200
    for name in ("assumed", "ended"):
        assert patch_status(account, name, PREEMPTED) == 200, name
        assert delete(account, name, of_uid(cluster.admin.pod(name, namespace=LOAD))) == 200, name
        assert not cluster.admin.exists(f"{PODS}/{name}"), name


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
        assert patch_status(account, name, PREEMPTED, namespace) == "status-fence", name
        assert patch_status(admin, name, PREEMPTED, namespace) == 200
        assert delete(account, name, of_uid(pod), namespace) == "eviction-fence", name


def test_several_pods_cannot_be_deleted_at_once(cluster: ControlPlane, account: Client) -> None:
    assert asked(account, Write("DELETE", PODS, {})) == FORBIDDEN


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
    bound: Json = {"spec": {"claimRef": reference}}
    attacks: list[Json] = [
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"finalizers": ["example.com/hold"]}},
        {"metadata": {"annotations": {"example.com/x": "y"}}},
        {"spec": {"persistentVolumeReclaimPolicy": "Delete"}},
        {"spec": {"capacity": {"storage": "9Gi"}}},
        {"spec": {"storageClassName": "other"}},
        {"spec": {"claimRef": {**reference, "uid": None}}},
        {"spec": {"claimRef": {**reference, "kind": "Pod"}}},
        {"spec": {"claimRef": reference, "mountOptions": ["exec"]}},
    ]
    marked = {"metadata": {"annotations": {volumes.BOUND_BY_CONTROLLER: "yes"}}}
    attacks += [
        marked,
        {"metadata": {"annotations": {volumes.BOUND_BY_CONTROLLER: "no"}}, **bound},
    ]
    answers = [patched(account, path, attack) for attack in attacks]
    assert answers == ["volume-fence"] * len(attacks)
    assert patched(account, path, {**marked, **bound}) == 200
    taken_away: list[Json] = [
        {"spec": {"claimRef": None}},
        {"spec": {"claimRef": {"name": "other"}}},
        {"spec": {"claimRef": {"uid": "another"}}},
        {"metadata": {"annotations": {volumes.BOUND_BY_CONTROLLER: None}}},
    ]
    answers = [patched(account, path, attack) for attack in taken_away]
    assert answers == ["volume-fence"] * len(taken_away)
    assert patched(admin, path, {"metadata": {"labels": {"a": "b"}}}) == 200


def test_a_volume_that_its_user_gave_away_stays_the_users(
    cluster: ControlPlane, account: Client
) -> None:
    admin = cluster.admin
    own = {"namespace": LOAD, "name": "reserved"}
    volumes.create_volume(admin, "by-user", "node-0", claim=own)
    claim = volumes.create_claim(admin, LOAD, "reserved")
    path = f"{volumes.VOLUMES}/by-user"
    bound = {"spec": {"claimRef": {"uid": claim["metadata"]["uid"]}}}
    marked = {"metadata": {"annotations": {volumes.BOUND_BY_CONTROLLER: "yes"}}}
    other = {"spec": {"claimRef": {"name": "other", "uid": claim["metadata"]["uid"]}}}
    attacks: list[Json] = [marked, {**marked, **bound}, other]
    answers = [patched(account, path, attack) for attack in attacks]
    assert answers == ["volume-fence"] * len(attacks)
    assert patched(account, path, bound) == 200


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
    ]
    answers = [patched(account, path, attack) for attack in attacks]
    assert answers == ["claim-fence"] * len(attacks)
    assert patched(account, path, selecting("node-0")) == 200
    assert patched(account, path, selecting("node-0")) == 200
    assert patched(account, path, selecting("node-1")) == "claim-fence"
    assert patched(account, path, selecting(None)) == "claim-fence"


def test_of_a_claim_on_devices_only_its_reservation_can_be_written(
    cluster: ControlPlane, account: Client
) -> None:
    admin = cluster.admin
    devices.create_claim(admin, LOAD, "gpu")
    path = f"{devices.claims(LOAD)}/gpu"
    attacks: list[Json] = [
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"annotations": {"example.com/x": "y"}}},
        {"metadata": {"finalizers": ["example.com/mine"]}},
    ]
    answers = [patched(account, path, attack) for attack in attacks]
    assert answers == ["device-fence"] * len(attacks)
    assert asked(account, Write("DELETE", path, {})) == "device-fence"
    foreign = {"metadata": {"name": "foreign"}, "spec": devices.requests()}
    assert asked(account, Write("POST", devices.claims(LOAD), foreign)) == "device-fence"
    users = [{"resource": "pods", "name": name, "uid": name} for name in ("a", "b")]
    result = {
        "request": "gpus",
        "driver": devices.DRIVER,
        "pool": "node-0",
        "device": "gpu-0",
    }
    allocation = {"devices": {"results": [result]}}
    finalized = {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}}
    assert patched(account, path, finalized) == 200
    reserved = {"status": {"allocation": allocation, "reservedFor": users[:1]}}
    assert patched(
        account, f"{path}/status", {"status": {**reserved["status"], "reservedFor": users}}
    ) == ("device-fence"), "two at a time"
    assert patched(account, f"{path}/status", reserved) == 200
    assert patched(account, f"{path}/status", {"status": {"reservedFor": users}}) == 200
    nothing: Json = {"status": {"allocation": None, "reservedFor": None}}
    assert patched(account, f"{path}/status", nothing) == "device-fence", "several pods use it"
    assert patched(account, f"{path}/status", {"status": {"reservedFor": users[:1]}}) == 200
    assert patched(account, f"{path}/status", nothing) == 200


def test_events_are_written_in_its_own_name_only(cluster: ControlPlane, account: Client) -> None:
    attacks = [
        event("a", LOAD, reportingController="kubelet"),
        event("b", LOAD, reportingController="default-scheduler"),
        event("c", LOAD, metadata={"name": "c.1", "namespace": LOAD, "finalizers": ["a.b/c"]}),
        event("d", LOAD, metadata={"name": "d.1", "namespace": LOAD, "labels": {"a": "b"}}),
    ]
    answers = [create_event(account, attack) for attack in attacks]
    assert answers == ["event-fence"] * len(attacks)
    assert create_event(account, event("own", LOAD)) == CREATED
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}
    own = f"{events(LOAD)}/own.1"
    assert patched(account, own, series) == 200
    hold = {"metadata": {"finalizers": ["example.com/hold"]}}
    assert patched(account, own, hold) == "event-fence"
    # The API server itself lets nobody change the rest of an event.
    lies: list[Json] = [
        {"note": "a lie"},
        {"reason": "Preempted"},
        {"type": "Warning"},
        {"regarding": {"name": "another"}},
        {"reportingInstance": "another"},
    ]
    assert [patched(cluster.admin, own, lie) for lie in lies] == [INVALID] * len(lies)
    foreign = event("foreign", LOAD, reportingController="kubelet")
    assert create_event(cluster.admin, foreign) == CREATED
    assert patched(account, f"{events(LOAD)}/foreign.1", series) == "event-fence"


def test_no_lease_can_be_created_but_its_own(cluster: ControlPlane, account: Client) -> None:
    assert create_lease(account, "kube-controller-manager") == "lease-fence"
    assert create_lease(account, "kpolicy") == CREATED
    cluster.admin.delete(f"{leases(NAMESPACE)}/kpolicy")


def test_a_preemption_that_a_fence_refuses_changes_neither_pod(
    cluster: ControlPlane, account: Client, tmp_path: Path
) -> None:
    """The scheduler itself, for a pod that kube-scheduler would make room for; then it goes on."""
    admin, chosen = cluster.admin, {"nodeSelector": {"kind": "full"}}
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: ours}\n"
        "spec: {extends: kube-scheduler-default, profiles: [{schedulerName: kpolicy}]}\n"
    )
    admin.create_node("full", cpu="1", labels={"kind": "full"})
    critical = {**chosen, "priorityClassName": "system-cluster-critical", "nodeName": "full"}
    admin.create_pod("critical", namespace=LOAD, cpu="900m", spec=critical)
    urgent = {**chosen, "priorityClassName": "system-node-critical"}
    admin.create_pod("urgent", namespace=LOAD, scheduler_name="kpolicy", cpu="900m", spec=urgent)

    def message() -> str:
        found = admin.pod("urgent", namespace=LOAD)["status"].get("conditions", [])
        text = next((entry["message"] for entry in found if entry["type"] == "PodScheduled"), "")
        return text if "kpolicy-status-fence" in text else ""

    with SchedulerProcess(
        kubeconfig_of_account(cluster, tmp_path),
        policy,
        tmp_path / "kpolicy.log",
        [f"--lease-namespace={NAMESPACE}"],
    ):
        text = wait_for(message, "the condition to quote the refusal")
        assert "may not preempt system-critical and static pods" in text
        admin.create_pod("ordinary", namespace=LOAD, scheduler_name="kpolicy")
        wait_for(lambda: "ordinary" in admin.placements(LOAD), "another pod to be bound")
    left = admin.pod("critical", namespace=LOAD)
    assert "deletionTimestamp" not in left["metadata"]
    assert "DisruptionTarget" not in {
        entry["type"] for entry in left["status"].get("conditions", [])
    }
    assert "urgent" not in admin.placements(LOAD)
