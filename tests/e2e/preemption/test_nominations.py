"""Claims to nodes on a real API server: rows P of the catalogue about `status.nominatedNodeName`.

Claims of our own, and those that others wrote before the pod was looked at.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.preemption_stage import GRACE_S, POLICY, Stage
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster


# --- TestNominatedNode (5; the one that fails before its bind is a unit test) --------------------


def test_p09_nominated_node_a_higher_pod_preempts_once_more(stage: Stage) -> None:
    stage.node(cpu="5")
    low = [f"low-{at}" for at in range(1, 5)]
    for name in low:
        stage.pod(name, "low", "1", grace_s=GRACE_S)
        stage.wait_bound(name)
    stage.pod("medium", "medium", "3")
    stage.wait_nominated("medium")
    stage.pod("high", "high", "4")
    stage.wait_nominated("high")
    stage.wait_nominated("medium", "")
    wait_for(lambda: len(stage.deleted()) == 3, "two and one more to be evicted: a core is free")
    stage.end(*low)
    stage.wait_bound("high")
    stage.wait_unschedulable("medium")
    assert stage.nomination("medium") == ""
    stage.assert_deleted(*stage.deleted())


def test_p09_nominated_node_a_higher_pod_needs_no_preemption(stage: Stage) -> None:
    stage.node(cpu="2")
    stage.pod("low", "low", "1", on="node", grace_s=GRACE_S)
    stage.pod("medium", "medium", "2")
    stage.wait_nominated("medium")
    stage.wait_evicted("low")
    stage.pod("high", "high", "1")
    stage.wait_bound("high")
    stage.end("low")
    stage.wait_nominated("medium", "")
    stage.wait_unschedulable("medium")
    stage.assert_deleted("low")


def test_p09_nominated_node_is_deleted_and_there_is_none_left(stage: Stage) -> None:
    stage.node(cpu="1")
    stage.pod("low", "low", "1", on="node", grace_s=GRACE_S)
    stage.pod("medium", "medium", "1")
    stage.wait_nominated("medium")
    stage.wait_evicted("low")
    stage.delete_node()
    stage.end("low")
    stage.wait_nominated("medium", "")
    stage.wait_unschedulable("medium", "no nodes available to schedule pods")
    stage.assert_deleted("low")


def test_p09_nominated_node_is_deleted_and_no_other_will_do(stage: Stage) -> None:
    stage.node("tainted", "1", taints=({"key": "t", "value": "x", "effect": "NoSchedule"},))
    stage.node(cpu="1")
    stage.pod("low", "low", "1", on="node", grace_s=GRACE_S)
    stage.pod("medium", "medium", "1")
    stage.wait_nominated("medium")
    stage.wait_evicted("low")
    stage.delete_node()
    stage.end("low")
    stage.wait_nominated("medium", "")
    stage.wait_unschedulable("medium", "0/1 nodes are available: 1 node(s) had untolerated taint")
    stage.assert_deleted("low")


# --- TestPreferNominatedNode (2) -----------------------------------------------------------------


def test_p10_prefer_nominated_node_where_it_has_room(stage: Stage) -> None:
    """It is the fuller one, which no score would choose."""
    stage.node("node-1")
    stage.node("node-2")
    stage.pod("other", "high", "100m", on="node-1")
    stage.nominated_pod("preemptor", "high", "300m", "node-1")
    stage.wait_bound("preemptor", "node-1")
    stage.assert_deleted()


def test_p10_prefer_nominated_node_that_has_no_room(stage: Stage) -> None:
    stage.node("node-1")
    stage.node("node-2")
    stage.pod("low-pod", "low", "100m", on="node-1")
    stage.nominated_pod("preemptor", "high", "500m", "node-1")
    stage.wait_bound("preemptor", "node-2")
    stage.assert_deleted()


# --- TestPreemptionAndNominatedNodeNameScenarios (5) ---------------------------------------------


def test_p11_scenario_basic_preemption_sets_it(stage: Stage) -> None:
    stage.node(cpu="4")
    stage.pod("victim", "low", "4", on="node", grace_s=GRACE_S)
    stage.pod("preemptor", "high", "2")
    stage.wait_nominated("preemptor")
    stage.wait_evicted("victim")
    stage.end("victim")
    stage.wait_bound("preemptor")
    stage.assert_deleted("victim")


def test_p11_scenario_preemption_overwrites_it(stage: Stage) -> None:
    """One victim there is fewer than two here."""
    stage.node(cpu="4")
    stage.node("node2", "4")
    for name in ("victim-1", "victim-2"):
        stage.pod(name, "low", "2", on="node")
    stage.pod("victim-3", "low", "3", on="node2", grace_s=GRACE_S)
    stage.nominated_pod("preemptor", "high", "4", "node")
    stage.wait_nominated("preemptor", "node2")
    stage.wait_evicted("victim-3")
    stage.end("victim-3")
    stage.wait_bound("preemptor", "node2")
    stage.assert_deleted("victim-3")


def test_p11_scenario_it_is_ignored_of_a_pod_that_cannot_fit(stage: Stage) -> None:
    stage.node(cpu="4")
    stage.nominated_pod("exceeds", "low", "5", "node")
    stage.pod("fits", "low", "3")
    stage.wait_bound("fits")
    stage.wait_nominated("exceeds", "")
    stage.assert_deleted()


def test_p11_scenario_it_is_ignored_of_a_lower_pod(stage: Stage) -> None:
    stage.node(cpu="4")
    gates = [{"name": "wait"}]
    stage.pod("low-priority", "low", "4", schedulingGates=gates)
    stage.nominate("low-priority", "node")
    stage.pod("high-priority", "high", "4")
    stage.wait_bound("high-priority")
    stage.ungate("low-priority")
    stage.wait_unschedulable("low-priority")
    # Lifting the gates was a change of the spec.
    wait_for(
        lambda: stage.condition("low-priority")["observedGeneration"] == 2, "it to be observed"
    )
    stage.wait_nominated("low-priority", "")
    stage.assert_deleted()


def test_p11_scenario_it_is_cleared_by_the_bind(stage: Stage) -> None:
    stage.node(cpu="4")
    stage.nominated_pod("pod", "low", "4", "node")
    stage.wait_bound("pod")
    assert stage.nomination("pod") == ""
    stage.assert_deleted()


# --- ours ----------------------------------------------------------------------------------------


def test_p12_the_claim_of_another_is_respected(stage: Stage) -> None:
    """Room that somebody nominated an equal pod to is not given away, though that pod waits."""
    stage.node(cpu="4")
    stage.pod("first", "medium", "4", schedulingGates=[{"name": "wait"}])
    stage.nominate("first", "node")
    stage.pod("second", "medium", "4")
    stage.wait_unschedulable("second", "0/1 nodes are available: 1 Insufficient cpu")
    stage.ungate("first")
    stage.wait_bound("first")
    stage.assert_deleted()


def test_p13_a_restart_finds_the_claim(
    cluster: ControlPlane, tmp_path: Path, scheduler: SchedulerProcess
) -> None:
    """Evicted by one, waited for by the next: nobody else goes, and nobody slips in."""
    stage = Stage(cluster)
    stage.open()
    stage.node()
    for name in ("victim", "bystander"):
        stage.pod(name, "low", "200m", on="node", grace_s=GRACE_S)
    stage.pod("preemptor", "high", "300m")
    stage.wait_nominated("preemptor")
    wait_for(lambda: len(stage.deleted()) == 1, "the victim to be evicted")
    (victim,) = stage.deleted()
    assert scheduler.terminate() == 0, scheduler.tail()
    log = tmp_path / "kpolicy.log"
    with SchedulerProcess(cluster.kubeconfig(NORMAL), POLICY, log) as second:
        stage.pod("medium", "medium", "300m")
        stage.wait_unschedulable("medium")
        stage.end(victim)
        stage.wait_bound("preemptor")
        stage.wait_unschedulable("medium")
        stage.assert_deleted(victim)
        assert second.terminate() == 0, second.tail()
