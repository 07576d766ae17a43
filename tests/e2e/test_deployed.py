"""`kpolicy run` as deploy/kustomize runs it: the arguments and environment of its Deployment, its
account, its roles and its fences; and nothing that the API server would refuse.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cluster.audit import AuditEvent, binds
from tests.cluster.build import ControlPlaneBinary
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.e2e import volumes
from tests.e2e.fenced import account_of_scheduler, kubeconfig_of_account
from tests.e2e.rendered import ACCOUNT, NAMESPACE, apply, of_kind, rendered
from tests.e2e.rights import CONFIG_MAP_WRITES, VOLUME_WRITES_ALLOWED, WRITES_ALLOWED_EVICTING
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster

OVERLAY = "second-scheduler"
PODS = 30
POLICY = f"/api/v1/namespaces/{NAMESPACE}/configmaps/kpolicy-policy"
STATUS = f"{POLICY}-status"
FORBIDDEN = {401, 403, 422}
# What is granted and not needed here, and what needs it.
UNUSED: Final = {
    ("get", "pods"): "settles a bind or an eviction without an answer",
    ("get", "persistentvolumes"): "settles a conflict of what is written to it",
    ("get", "persistentvolumeclaims"): "the same",
    ("get", "configmaps"): "the last good policy, at a start with a bad one",
    ("create", "configmaps"): "what the API server asks of a patch that creates",
    ("patch", "events.events.k8s.io"): "an event that comes again counts up",
    # tests/e2e/test_devices.py has pods with claims on devices.
    **{
        (verb, f"{resource}.resource.k8s.io"): "claims on devices"
        for resource, verbs in {
            "resourceclaims": ("get", "create", "patch", "delete"),
            "resourceclaims/status": ("patch",),
            "resourceclaims/binding": ("patch", "update"),
        }.items()
        for verb in verbs
    },
}
UNUSED_BEFORE_37: Final = {
    (verb, "devicetaintrules.resource.k8s.io"): "not served" for verb in ("list", "watch")
}


@pytest.fixture(scope="module")
def cluster(control_plane_binary: ControlPlaneBinary) -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        apply(plane, OVERLAY)
        plane.start_controller_manager(controllers=volumes.CONTROLLERS)
        plane.admin.create_nodes(4, each=named)
        volumes.create_classes(plane.admin)
        plane.admin.create_namespace("load")
        plane.admin.create(
            "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 9}
        )
        with account_of_scheduler(plane):
            yield plane


def named(index: int) -> dict[str, Any]:
    return {"labels": {"kubernetes.io/hostname": f"node-{index}"}}


@pytest.fixture(scope="module")
def scheduler(
    cluster: ControlPlane,
    control_plane_binary: ControlPlaneBinary,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SchedulerProcess]:
    (deployment,) = of_kind(rendered(control_plane_binary.path, OVERLAY), "Deployment")
    (container,) = deployment.document["spec"]["template"]["spec"]["containers"]
    folder = tmp_path_factory.mktemp("deployed")
    with SchedulerProcess(
        kubeconfig_of_account(cluster, folder),
        None,
        folder / "kpolicy.log",
        flags(container),
        environment=environment(container),
    ) as process:
        yield process


def flags(container: dict[str, Any]) -> list[str]:
    """But for the address, which tests choose."""
    verb, *arguments = (text.replace("$(POD_NAMESPACE)", NAMESPACE) for text in container["args"])
    assert verb == "run"
    chosen = ("--port=", "--bind-address=")
    kept = [text for text in arguments if not text.startswith(chosen)]
    assert len(kept) == len(arguments) - len(chosen)
    return kept


def environment(container: dict[str, Any]) -> dict[str, str]:
    """As kubelet fills it in."""
    fields = {"metadata.name": "kpolicy-0", "metadata.uid": "u", "metadata.namespace": NAMESPACE}
    values = {}
    for variable in container["env"]:
        path = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
        values[variable["name"]] = variable.get("value") or fields.get(path, "node-0")
    return values


def test_it_places_evicts_and_follows_its_policy(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    admin = cluster.admin
    admin.create_pods(PODS, namespace="load", scheduler_name="kpolicy")
    wait_for(lambda: len(admin.placements("load")) == PODS, "pods to be bound")

    admin.create_node("small", cpu="1", labels={"kind": "small"})
    chosen = {"nodeSelector": {"kind": "small"}}
    admin.create_pod("low", namespace="load", scheduler_name="kpolicy", cpu="900m", spec=chosen)
    wait_for(lambda: admin.placements("load").get("low") == "small", "the lesser pod to be bound")
    admin.create_pod(
        "urgent",
        namespace="load",
        scheduler_name="kpolicy",
        cpu="900m",
        spec={**chosen, "priorityClassName": "high"},
    )
    wait_for(lambda: admin.placements("load").get("urgent") == "small", "room to be made and used")
    assert not admin.exists("/api/v1/namespaces/load/pods/low")

    text = admin.get(POLICY)["data"]["policy.yaml"]
    admin.patch(POLICY, {"data": {"policy.yaml": text.replace("spec:", "spec:\n  tieBreak: name")}})
    wait_for(lambda: "Accepted" in json.dumps(admin.get(STATUS)["data"]), "the status to be told")
    before = scheduler.metric("kpolicy_policy_reload_total", result="loaded")
    admin.patch(POLICY, {"data": {"policy.yaml": text}})
    wait_for(
        lambda: scheduler.metric("kpolicy_policy_reload_total", result="loaded") > before,
        "the change to be in force",
    )


def test_it_has_volumes_bound(cluster: ControlPlane, scheduler: SchedulerProcess) -> None:
    admin = cluster.admin
    volumes.create_volume(admin, "disk", "node-1")
    volumes.wait_available(admin, "disk")
    volumes.create_claim(admin, "load", "own")
    volumes.create_claim(admin, "load", "new", volumes.MADE)
    admin.create_pod(
        "stateful", namespace="load", scheduler_name="kpolicy", spec=volumes.claimed("own", "new")
    )
    node = volumes.selected_node(admin, "load", "new")
    assert node == "node-1"
    volumes.provision(admin, "load", "new", node)
    wait_for(lambda: admin.placements("load").get("stateful") == node, "the pod with volumes")


def rights_granted(kubectl: Path) -> set[tuple[str, str]]:
    """Verb and resource, of all roles of the overlay."""
    found = set()
    for kind in ("ClusterRole", "Role"):
        for role in of_kind(rendered(kubectl, OVERLAY), kind):
            for rule in role.document["rules"]:
                for group, what, verb in product(
                    rule["apiGroups"], rule["resources"], rule["verbs"]
                ):
                    found.add((verb, f"{what}.{group}" if group else what))
    return found


def asked_by_account(cluster: ControlPlane) -> list[AuditEvent]:
    """Without the dry runs that waited for the fences."""
    return [
        event for event in cluster.audit_events() if event.user == ACCOUNT and not event.is_dry_run
    ]


def test_nothing_that_it_asked_was_refused_and_all_that_it_may_it_needs(
    cluster: ControlPlane, scheduler: SchedulerProcess, control_plane_binary: ControlPlaneBinary
) -> None:
    asked = asked_by_account(cluster)
    assert len(asked) > PODS
    assert [event.uri for event in asked if event.code in FORBIDDEN] == []
    writes = {(event.verb, event.what) for event in asked if event.writes}
    assert writes <= WRITES_ALLOWED_EVICTING | VOLUME_WRITES_ALLOWED | CONFIG_MAP_WRITES
    bound = [bind for bind in binds(asked) if bind.succeeded]
    assert len({bind.uid for bind in bound}) == len(bound) == PODS + 3
    assert scheduler.terminate() == 0
    asked = asked_by_account(cluster)
    used = {(event.verb, event.what) for event in asked}
    granted = rights_granted(control_plane_binary.path)
    assert len(granted) > 40
    unused = UNUSED | (UNUSED_BEFORE_37 if cluster.harness.minor < 37 else {})
    assert granted - used == unused.keys()
    (lease,) = [
        item
        for item in cluster.admin.list("/apis/coordination.k8s.io/v1/leases")
        if item["metadata"]["name"] == "kpolicy"
    ]
    assert lease["metadata"]["namespace"] == NAMESPACE
    assert lease["spec"]["holderIdentity"] == ""
