"""Preemption on a real API server: rows P of the catalogue, by the names of kube-scheduler's tests.

The audit log says who was deleted: the victims decided, each once, by uid, and nobody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.cluster.audit import AuditEvent
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.preemption_stage import GRACE_S, Stage
from tests.e2e.rights import WRITES_ALLOWED_EVICTING
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster

AWAITED = "not eligible due to a terminating pod on the nominated node."


# --- TestPreemption (6) --------------------------------------------------------------------------


def test_p01_preemption_basic(stage: Stage, scheduler: SchedulerProcess) -> None:
    attempts = scheduler.metric("scheduler_preemption_attempts_total")
    victims = scheduler.metric("scheduler_preemption_victims_sum")
    stage.node()
    stage.pod("victim", "low", "400m", on="node")
    stage.pod("preemptor", "high", "300m")
    stage.wait_bound("preemptor")
    stage.assert_deleted("victim")
    (condition,) = stage.written_conditions("victim")
    assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")
    assert condition["message"] == "kpolicy: preempting to accommodate a higher priority pod"
    assert condition["observedGeneration"] == 1
    wait_for(lambda: stage.events("Preempted"), "the event on the victim")
    (event,) = stage.events("Preempted")
    assert event["note"] == f"Preempted by pod {stage.uids['preemptor']} on node node"
    assert (event["type"], event["action"]) == ("Normal", "Preempting")
    assert event["reportingController"] == "kpolicy"
    assert event["regarding"]["uid"] == stage.uids["victim"]
    assert event["related"]["uid"] == stage.uids["preemptor"]
    assert scheduler.metric("scheduler_preemption_attempts_total") == attempts + 1
    assert scheduler.metric("scheduler_preemption_victims_sum") == victims + 1


def test_p01_preemption_with_filter(stage: Stage) -> None:
    stage.node()
    stage.pod("victim", "low", on="node", scheduler="one-each")
    stage.pod("preemptor", "high", scheduler="one-each")
    stage.wait_bound("preemptor")
    stage.assert_deleted("victim")


def test_p01_preemption_with_pre_filter(stage: Stage) -> None:
    """A rule that is prepared for the pod, and follows victims that are taken away."""
    port = [{"containerPort": 80, "hostPort": 8080}]
    containers = [{"name": "main", "image": "none", "ports": port}]
    stage.node()
    stage.pod("bystander", "low", on="node")
    stage.pod("victim", "low", on="node", containers=containers)
    stage.pod("preemptor", "high", containers=containers)
    stage.wait_bound("preemptor")
    stage.assert_deleted("victim")


def test_p01_preemption_with_unresolvable_filter(stage: Stage) -> None:
    stage.node()
    stage.pod("victim", "low", on="node", scheduler="one-each-for-good")
    stage.pod("preemptor", "high", scheduler="one-each-for-good")
    stage.wait_unschedulable("preemptor", "Preemption is not helpful for scheduling")
    assert stage.nomination("preemptor") == ""
    stage.assert_deleted()


def against(*apps: str) -> dict[str, Any]:
    terms = [
        {"labelSelector": {"matchLabels": {"pod": app}}, "topologyKey": "kubernetes.io/hostname"}
        for app in apps
    ]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


@pytest.mark.parametrize(
    ("other", "evicted"), [("low", ("pod-0", "pod-1")), ("high", ())], ids=["met", "not met"]
)
def test_p01_preemption_for_anti_affinity(
    stage: Stage, other: str, evicted: tuple[str, ...]
) -> None:
    stage.node()
    stage.pod("pod-0", "medium", on="node", labels={"pod": "p0"})
    stage.pod("pod-1", other, on="node", labels={"pod": "p1"}, affinity=against("preemptor"))
    stage.pod("preemptor", "high", labels={"pod": "preemptor"}, affinity=against("p0"))
    if evicted:
        stage.wait_bound("preemptor")
    else:
        stage.wait_unschedulable("preemptor", "preemption: 0/1 nodes are available")
    stage.assert_deleted(*evicted)


# --- TestNonPreemption, TestDisablePreemption ----------------------------------------------------


@pytest.mark.parametrize("priority", ["high", "high-never"])
def test_p02_non_preemption(stage: Stage, priority: str) -> None:
    stage.node()
    stage.pod("victim", "low", "400m")
    stage.wait_bound("victim")
    stage.pod("preemptor", priority, "300m")
    if priority == "high-never":
        stage.wait_unschedulable("preemptor", "not eligible due to preemptionPolicy=Never.")
        assert stage.nomination("preemptor") == ""
        stage.assert_deleted()
    else:
        stage.wait_bound("preemptor")
        stage.assert_deleted("victim")


def test_p03_disable_preemption(stage: Stage) -> None:
    stage.node()
    stage.pod("victim", "low", "400m", on="node")
    stage.pod("preemptor", "high", "300m", scheduler="never")
    stage.wait_unschedulable("preemptor", "0/1 nodes are available: 1 Insufficient cpu.")
    assert stage.nomination("preemptor") == ""
    stage.assert_deleted()


# --- TestPreemptionStarvation, TestPreemptionRaces -----------------------------------------------


def test_p04_preemption_starvation(stage: Stage) -> None:
    stage.node()
    running = [f"rpod-{at}" for at in range(5)]
    pending = [f"ppod-{at}" for at in range(5)]
    for name in running:
        stage.pod(name, "medium")
    for name in running:
        stage.wait_bound(name)
    for name in pending:
        stage.pod(name, "medium")
    for name in pending:
        stage.wait_unschedulable(name)
    stage.pod("preemptor", "high", "300m")
    stage.wait_bound("preemptor")
    assert {stage.node_of(name) for name in pending} == {""}
    gone = [name for name in running if stage.seen(name) is None]
    assert len(gone) == 3
    stage.assert_deleted(*gone)


@pytest.mark.parametrize("repetition", range(3))
def test_p05_preemption_races(stage: Stage, repetition: int) -> None:
    """kubernetes#72124: nobody slips into the room while it is made."""
    stage.node(cpu="5")
    for at in range(2):
        stage.pod(f"rpod-{at}", "medium")
        stage.wait_bound(f"rpod-{at}")
    stage.pod("preemptor", "high", "4900m")
    others = [f"ppod-{at}" for at in range(20)]
    for name in others:
        stage.pod(name, "medium")
    stage.wait_bound("preemptor")
    for name in others:
        stage.wait_unschedulable(name)
    assert {stage.node_of(name) for name in others} == {""}
    gone = [name for name in ("rpod-0", "rpod-1") if stage.seen(name) is None]
    assert len(gone) == 1
    stage.assert_deleted(*gone)


# --- TestPDBInPreemption (3) ---------------------------------------------------------------------


def test_p06_pdb_a_pod_beyond_no_budget_goes_despite_its_higher_priority(stage: Stage) -> None:
    stage.node("node-1")
    for name in ("low-pod1", "low-pod2"):
        stage.pod(name, "low", on="node-1", labels={"foo": "bar"})
    stage.pod("mid-pod3", "medium", on="node-1")
    stage.budget("pdb-1", {"foo": "bar"}, allowed=0)
    stage.pod("preemptor", "high", "300m")
    stage.wait_bound("preemptor", "node-1")
    stage.assert_deleted("mid-pod3")


def test_p06_pdb_a_node_without_violations_is_preferred(stage: Stage) -> None:
    stage.node("node-1")
    stage.node("node-2")
    stage.pod("low-pod1", "low", on="node-1", labels={"foo": "bar"})
    stage.pod("mid-pod2", "medium", on="node-2")
    stage.budget("pdb-1", {"foo": "bar"}, allowed=0)
    stage.pod("preemptor", "high", "500m")
    stage.wait_bound("preemptor", "node-2")
    stage.assert_deleted("mid-pod2")


def test_p06_pdb_a_node_with_fewer_violations_is_preferred(stage: Stage) -> None:
    first, two = {"foo1": "bar"}, {"foo2": "bar"}
    pods: list[tuple[str, str, str, Mapping[str, str]]] = [
        ("low-pod1", "low", "node-1", first),
        ("mid-pod1", "medium", "node-1", {}),
        ("low-pod2", "low", "node-2", two),
        ("mid-pod2", "medium", "node-2", two),
        ("low-pod4", "low", "node-3", two),
        ("low-pod5", "low", "node-3", two),
        ("low-pod6", "low", "node-3", two),
    ]
    for name in ("node-1", "node-2", "node-3"):
        stage.node(name)
    for name, priority, on, labels in pods:
        stage.pod(name, priority, on=on, labels=labels)
    stage.budget("pdb-1", first, allowed=0)
    stage.budget("pdb-2", two, allowed=3)
    stage.pod("preemptor", "high", "500m")
    stage.wait_bound("preemptor", "node-3")
    stage.assert_deleted("low-pod4", "low-pod5", "low-pod6")


# --- TestReadWriteOncePodPreemption (4) ----------------------------------------------------------


def uses(*claims: str) -> list[dict[str, Any]]:
    return [
        {"name": f"volume-{claim}", "persistentVolumeClaim": {"claimName": claim}}
        for claim in claims
    ]


@pytest.mark.parametrize(
    ("victims", "wanted", "reason"),
    [
        ({"victim": ("one",)}, ("one",), ""),
        ({"victim-1": ("one",), "victim-2": ("two",)}, ("one", "two"), ""),
        ({"victim": ("one", "two")}, ("one", "two"), ""),
    ],
    ids=["single pod", "two pods", "single pod with two volumes"],
)
def test_p07_read_write_once_pod(
    stage: Stage, victims: Mapping[str, tuple[str, ...]], wanted: tuple[str, ...], reason: str
) -> None:
    stage.node(cpu="4")
    for claim in ("one", "two"):
        stage.claim(claim)
    for name, claims in victims.items():
        stage.pod(name, "low", on="node", volumes=uses(*claims))
    stage.pod("preemptor", "high", volumes=uses(*wanted))
    stage.wait_bound("preemptor")
    stage.assert_deleted(*victims)


def test_p07_read_write_once_pod_of_a_higher_pod_stays(stage: Stage) -> None:
    stage.node(cpu="4")
    for claim in ("one", "two"):
        stage.claim(claim)
    stage.pod("no-victim", "high", on="node", volumes=uses("one"))
    stage.pod("victim", "low", on="node", volumes=uses("two"))
    stage.pod("preemptor", "medium", volumes=uses("one", "two"))
    stage.wait_unschedulable("preemptor", "preemption: 0/1 nodes are available")
    stage.assert_deleted()


# --- TestAsyncPreemption: what does not need the API calls held up (those: unit tests) -----------


def test_p08_async_preemption_waits_for_victims_that_end_in_their_time(stage: Stage) -> None:
    stage.node()
    stage.pod("victim", "low", "400m", on="node", grace_s=GRACE_S)
    stage.pod("preemptor", "high", "300m")
    stage.wait_evicted("victim")
    stage.wait_nominated("preemptor")
    assert stage.condition("victim", "DisruptionTarget")["reason"] == "PreemptionByScheduler"
    # What wakes it meanwhile does not make it evict once more.
    stage.node("fenced", taints=({"key": "dedicated", "value": "x", "effect": "NoSchedule"},))
    stage.wait_unschedulable("preemptor", AWAITED)
    assert stage.nomination("preemptor") == "node"
    stage.end("victim")
    stage.wait_bound("preemptor")
    stage.assert_deleted("victim")


def test_p08_async_preemption_a_lower_pod_does_not_take_the_place(stage: Stage) -> None:
    stage.node()
    stage.pod("victim", "low", "500m", on="node", grace_s=GRACE_S)
    stage.pod("preemptor", "high", "500m")
    stage.wait_nominated("preemptor")
    stage.pod("middle", "medium", "500m")
    stage.wait_unschedulable("middle")
    stage.end("victim")
    stage.wait_bound("preemptor")
    stage.wait_unschedulable("middle")
    assert stage.node_of("middle") == ""
    stage.assert_deleted("victim")


def test_p08_async_preemption_a_lower_pod_takes_what_is_left_of_a_big_node(stage: Stage) -> None:
    stage.node(cpu="4")
    for name in ("victim-1", "victim-2"):
        stage.pod(name, "low", "2", on="node", grace_s=GRACE_S)
    stage.pod("preemptor", "high", "2")
    stage.wait_nominated("preemptor")
    stage.pod("middle", "medium", "2")
    stage.wait_nominated("middle")
    stage.wait_evicted("victim-1", "victim-2")
    stage.end("victim-1", "victim-2")
    stage.wait_bound("preemptor")
    stage.wait_bound("middle")
    stage.assert_deleted("victim-1", "victim-2")


def test_p08_a_preemptor_that_is_deleted_gives_the_place_back(stage: Stage) -> None:
    stage.node()
    stage.pod("victim", "low", "500m", on="node", grace_s=GRACE_S)
    stage.pod("preemptor", "high", "500m")
    stage.wait_nominated("preemptor")
    stage.wait_evicted("victim")
    stage.pod("middle", "medium", "500m")
    stage.wait_unschedulable("middle")
    stage.end("preemptor", "victim")
    stage.wait_bound("middle")
    stage.assert_deleted("victim")


# --- what kube-scheduler has no words for --------------------------------------------------------


def test_p14_a_pod_that_the_policy_spares_stays(stage: Stage) -> None:
    stage.node()
    stage.pod("spared", "low", "200m", on="node", labels={"keep": "yes"})
    stage.pod("victim", "medium", "200m", on="node")
    stage.pod("preemptor", "high", "300m", scheduler="sparing")
    stage.wait_bound("preemptor")
    stage.assert_deleted("victim")


def test_p14_no_pod_is_evicted_where_the_policy_protects_all(stage: Stage) -> None:
    stage.node()
    stage.pod("spared", "low", "400m", on="node", labels={"keep": "yes"})
    stage.pod("preemptor", "high", "300m", scheduler="sparing")
    stage.wait_unschedulable("preemptor", "1 No preemption victims found for incoming pod.")
    assert stage.nomination("preemptor") == ""
    stage.assert_deleted()


def test_p14_the_policy_says_what_decides_between_nodes(stage: Stage) -> None:
    stage.node("two-of-little")
    stage.node("one-of-much")
    for name in ("little-0", "little-1"):
        stage.pod(name, "low", "200m", on="two-of-little")
    stage.pod("much", "medium", "400m", on="one-of-much")
    stage.pod("preemptor", "high", "450m", scheduler="sparing")
    stage.wait_bound("preemptor", to="one-of-much")
    stage.assert_deleted("much")


# --- all of them ---------------------------------------------------------------------------------


def test_p00_no_other_object_was_written(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    evicted = scheduler.metric("kpolicy_evictions_total", outcome="Evicted")

    def written() -> list[AuditEvent]:
        return [event for event in cluster.audit_events() if event.user == NORMAL and event.writes]

    # The log is written after the answer.
    wait_for(
        lambda: len([event for event in written() if event.verb == "delete"]) >= evicted,
        "every eviction in the audit log",
    )
    ours = written()
    assert {(event.verb, event.what) for event in ours} <= WRITES_ALLOWED_EVICTING
    deletes = [event for event in ours if event.verb == "delete"]
    assert deletes, "under xdist, the cases of this worker"
    assert all((event.request or {}).get("preconditions", {}).get("uid") for event in deletes)
    assert [event for event in ours if event.code == 403] == []
    assert len(deletes) == evicted
    wait_for(
        lambda: scheduler.metric("scheduler_cache_size", type="assumed_pods") == 0,
        "every reservation to end",
    )
    assert scheduler.metric("kpolicy_preemptions_under_way") == 0
    assert scheduler.terminate() == 0, scheduler.tail()
