"""The thin path on a real API server: from a policy file to bound pods, seen from outside."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.audit import binds
from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.rights import RULES, WRITES_ALLOWED
from tests.e2e.scheduler_process import KPOLICY, SchedulerProcess

pytestmark = pytest.mark.cluster

POLICY = Path(__file__).parent / "policies" / "thin.yaml"
PODS = 200
PLAIN, FAST, TAINTED, SPOT, CORDONED = 8, 4, 3, 3, 2
TAINT = ({"key": "dedicated", "value": "other", "effect": "NoSchedule"},)


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    """A control plane of this module's own: its audit log holds this module's writes only."""
    with ControlPlane() as control_plane:
        control_plane.grant(NORMAL, RULES)
        admin = control_plane.admin
        admin.create_nodes(PLAIN, prefix="plain")
        admin.create_nodes(FAST, prefix="fast", labels={"disk": "ssd"})
        admin.create_nodes(TAINTED, prefix="tainted", taints=TAINT)
        admin.create_nodes(SPOT, prefix="spot", labels={"lifecycle": "spot", "disk": "ssd"})
        admin.create_nodes(CORDONED, prefix="cordoned", unschedulable=True)
        assert len(admin.list("/api/v1/nodes")) == 20
        yield control_plane


@pytest.fixture(scope="module")
def scheduler(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    log = tmp_path_factory.mktemp("scheduler") / "kpolicy.log"
    with SchedulerProcess(cluster.kubeconfig(NORMAL), POLICY, log) as process:
        yield process


@pytest.fixture(scope="module")
def placements(cluster: ControlPlane, scheduler: SchedulerProcess) -> dict[str, str]:
    admin = cluster.admin
    admin.create_namespace("load")
    admin.create_pods(PODS, namespace="load", scheduler_name="kpolicy")
    admin.create_pod("stranger", namespace="load", scheduler_name="someone-else")
    admin.create_pod("giant", namespace="load", scheduler_name="kpolicy", cpu="64")
    wait_for(lambda: len(admin.placements("load")) == PODS, f"{PODS} pods to be bound")
    return admin.placements("load")


def condition(admin: Client, pod: str) -> dict[str, str]:
    for found in admin.pod(pod, namespace="load")["status"].get("conditions", []):
        if found["type"] == "PodScheduled":
            return dict(found)
    return {}


def events(admin: Client, pod: str) -> list[dict[str, Any]]:
    return [
        event
        for event in admin.list("/apis/events.k8s.io/v1/namespaces/load/events")
        if event["regarding"]["name"] == pod
    ]


def test_every_pod_is_bound_and_none_where_the_policy_forbids(
    placements: dict[str, str],
) -> None:
    assert len(placements) == PODS
    assert set(placements) == {f"pod-{index}" for index in range(PODS)}
    # prefer-ssd weighs more than any difference in LeastAllocated, and spot nodes have ssd too:
    # it is no-spot that keeps pods off them.
    pods = Counter(placements.values())
    assert set(pods) == {f"fast-{index}" for index in range(FAST)}
    # LeastAllocated spreads them; five pods of 256Mi are within one point of 128Gi, and tie.
    assert max(pods.values()) - min(pods.values()) <= 10


def test_a_bound_pod_says_by_which_policy(
    cluster: ControlPlane, scheduler: SchedulerProcess, placements: dict[str, str]
) -> None:
    annotations = cluster.admin.pod("pod-0", namespace="load")["metadata"]["annotations"]
    policy_hash = annotations["kpolicy.dev/policy-hash"]
    assert policy_hash in scheduler.get("/configz")
    printed = subprocess.run([KPOLICY, "hash", POLICY], capture_output=True, text=True, check=True)
    assert printed.stdout == f"{policy_hash}\n"
    assert int(annotations["kpolicy.dev/snapshot-rv"]) > 0
    assert annotations["kpolicy.dev/decision-id"]
    # Events have a budget of their own and follow the binds.
    wait_for(lambda: events(cluster.admin, "pod-0"), "the Scheduled event")
    (event,) = events(cluster.admin, "pod-0")
    assert (event["reason"], event["type"], event["action"]) == ("Scheduled", "Normal", "Binding")
    assert event["note"] == f"Successfully assigned load/pod-0 to {placements['pod-0']}"
    assert event["reportingController"] == "kpolicy"


def test_a_pod_that_fits_nowhere_says_why(
    cluster: ControlPlane, placements: dict[str, str]
) -> None:
    admin = cluster.admin
    wait_for(
        lambda: condition(admin, "giant").get("reason") == "Unschedulable",
        "the condition of the giant",
    )
    found = condition(admin, "giant")
    assert found["status"] == "False"
    filtered = found["message"].split(". ")[0].removesuffix(".")
    assert filtered.startswith("0/20 nodes are available: ")
    assert sorted(filtered.removeprefix("0/20 nodes are available: ").split(", ")) == sorted(
        [
            "15 Insufficient cpu",
            "2 node(s) were unschedulable",
            "3 node(s) had untolerated taint(s)",
        ]
    )
    wait_for(lambda: events(admin, "giant"), "the FailedScheduling event")
    event = events(admin, "giant")[0]
    assert (event["reason"], event["type"]) == ("FailedScheduling", "Warning")
    assert event["note"] == found["message"]


def test_a_node_that_fits_wakes_the_pod(cluster: ControlPlane, placements: dict[str, str]) -> None:
    admin = cluster.admin
    admin.create_node("huge-0", cpu="96")
    wait_for(lambda: admin.placements("load").get("giant") == "huge-0", "the giant to be bound")


def test_another_schedulers_pod_is_never_touched(
    cluster: ControlPlane, placements: dict[str, str]
) -> None:
    assert condition(cluster.admin, "stranger") == {}
    assert events(cluster.admin, "stranger") == []


def test_what_is_measured_is_what_happened(
    scheduler: SchedulerProcess, placements: dict[str, str]
) -> None:
    wait_for(
        lambda: scheduler.metric("scheduler_schedule_attempts_total", result="scheduled") > PODS,
        "the giant's attempt to be counted",
    )
    assert scheduler.metric("scheduler_schedule_attempts_total", result="scheduled") == PODS + 1
    assert scheduler.metric("scheduler_schedule_attempts_total", result="unschedulable") >= 1
    assert scheduler.metric("scheduler_pending_pods") == 0
    assert scheduler.metric("scheduler_cache_size", type="nodes") == 21
    wait_for(
        lambda: scheduler.metric("scheduler_cache_size", type="assumed_pods") == 0,
        "every reservation to end",
    )
    assert "ok" in scheduler.get("/healthz")


def test_it_stops_cleanly_and_wrote_only_what_it_may(
    cluster: ControlPlane, scheduler: SchedulerProcess, placements: dict[str, str]
) -> None:
    assert scheduler.terminate() == 0, scheduler.tail()
    ours = [event for event in cluster.audit_events() if event.user == NORMAL and event.writes]
    assert len(ours) > 2 * PODS
    assert {(event.verb, event.what) for event in ours} <= WRITES_ALLOWED
    assert [event for event in ours if event.code == 403] == []
    bound = Counter(bind.pod for bind in binds(ours) if bind.succeeded)
    assert bound == Counter([*placements, "giant"])
    (lease,) = cluster.admin.list(
        "/apis/coordination.k8s.io/v1/leases", fields="metadata.name=kpolicy"
    )
    assert not lease["spec"].get("holderIdentity"), "the lease was released"
