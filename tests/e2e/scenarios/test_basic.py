"""S: basic scheduling, and living beside other schedulers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.audit import binds
from tests.cluster.users import NORMAL
from tests.e2e.stage import PROFILE, Stage

pytestmark = pytest.mark.cluster

TAINT = {"key": "dedicated", "value": "other", "effect": "NoSchedule"}
GATES = {"schedulingGates": [{"name": "example.com/wait"}]}
NO_GATES: dict[str, Any] = {"spec": {"schedulingGates": []}}


def test_s01_cordoned_node_gets_nothing(stage: Stage) -> None:
    stage.node("only", unschedulable=True)
    stage.pod("waits")
    assert "1 node(s) were unschedulable" in stage.parked("waits")
    stage.unbound("waits")
    with stage.tried_again("NodeUpdateNodeTaint"):
        stage.patch_node("only", {"spec": {"unschedulable": None}})
    stage.bound("waits", "only")


def test_s02_pod_of_an_absent_scheduler_waits_for_it(stage: Stage) -> None:
    stage.node("only")
    stage.pod("theirs", scheduler_name="default-scheduler")
    stage.pod("ours")
    stage.bound("ours", "only")
    stage.unbound("theirs")
    assert stage.condition("theirs") == {}, "pods of other schedulers must not change"
    other = stage.plane.start_scheduler()
    try:
        stage.bound("theirs", "only")
    finally:
        other.kill()


def test_s03_each_profile_reports_under_its_name_and_strangers_are_left_alone(
    stage: Stage,
) -> None:
    stage.node("only")
    for profile in (PROFILE, "kpolicy-plug"):
        stage.pod(f"of-{profile}", scheduler_name=profile)
        stage.bound(f"of-{profile}", "only")
        event = stage.the_event(f"of-{profile}", "Scheduled")
        assert event["reportingController"] == profile
    stage.pod("stranger", scheduler_name="nobody")
    stage.unbound("stranger")
    assert stage.condition("stranger") == {}
    assert stage.events("stranger") == []


def test_s04_allocatable_decides_and_not_capacity(stage: Stage) -> None:
    stage.node("small", cpu="4")
    stage.patch_node("small", {"status": {"allocatable": {"cpu": "1"}}}, status=True)
    stage.prove_seen()
    stage.pod("two", cpu="2")
    assert "1 Insufficient cpu" in stage.parked("two")
    stage.delete_node("small")
    stage.node("silent", cpu="4")
    stage.patch_node("silent", {"status": {"allocatable": None}}, status=True)
    stage.bound("two", "silent")


def test_s05_pods_bound_by_others_fill_the_node(stage: Stage) -> None:
    stage.node("only", cpu="1")
    stage.pod("theirs", scheduler_name="other", cpu="600m")
    assert stage.admin.bind("theirs", "only", namespace=stage.namespace).status == 201
    stage.prove_seen()
    stage.pod("ours", cpu="600m")
    assert "1 Insufficient cpu" in stage.parked("ours")
    nowhere = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchFields": [
                            {"key": "metadata.name", "operator": "In", "values": ["never-was"]}
                        ]
                    }
                ]
            }
        }
    }
    stage.pod("lost", spec={"affinity": nowhere})
    stage.parked("lost")
    with stage.tried_again("AssignedPodDelete"):
        stage.delete_pod("theirs")
    stage.bound("ours", "only")


def test_s06_a_tainted_node_is_no_help_until_its_taint_goes(stage: Stage) -> None:
    stage.node("full", cpu="1")
    stage.pod("first", cpu="900m")
    stage.bound("first", "full")
    stage.pod("second", cpu="900m")
    stage.parked("second", "Insufficient cpu")
    with stage.tried_again("NodeAdd"):  # it was the room that lacked, and there is some now
        stage.node("tainted", cpu="1", taints=[TAINT])
    stage.parked("second", "1 node(s) had untolerated taint(s)")
    stage.unbound("second")
    with stage.tried_again("NodeUpdateNodeTaint"):
        stage.patch_node("tainted", {"spec": {"taints": None}})
    stage.bound("second", "tainted")


def test_s09_binds_name_the_pod_by_uid(stage: Stage) -> None:
    stage.node("only")
    uid = stage.pod("ours")["metadata"]["uid"]
    stage.pod("theirs", scheduler_name="other")
    stage.bound("ours", "only")
    wrong = stage.admin.bind("theirs", "only", namespace=stage.namespace, uid=uid)
    assert wrong.status == 409
    assert stage.placements() == {"ours": "only"}
    (sent,) = [
        bind for bind in binds(stage.plane.audit_events(), stage.namespace) if bind.user == NORMAL
    ]
    assert (sent.pod, sent.uid, sent.node, sent.code) == ("ours", uid, "only", 201)


def test_s10_label_and_taint_changed_in_one_update_wake_the_pod(stage: Stage) -> None:
    stage.node("only", taints=[TAINT])
    stage.pod("waits", spec={"nodeSelector": {"disk": "ssd"}})
    stage.parked("waits")
    stage.patch_node("only", {"metadata": {"labels": {"disk": "ssd"}}, "spec": {"taints": None}})
    stage.bound("waits", "only")


def test_s11_gated_pods_wait_for_their_gates(stage: Stage) -> None:
    stage.node("only", cpu="1")
    stage.pod("gated", cpu="800m", spec=GATES)
    with stage.left_alone():
        stage.patch_pod("gated", {"metadata": {"labels": {"changed": "yes"}}})
    assert stage.condition("gated")["reason"] == "SchedulingGated", (
        "the condition is the API server's own"
    )
    stage.pod("full", cpu="800m")
    stage.bound("full", "only")
    stage.patch_pod("gated", NO_GATES)
    stage.parked("gated", "Insufficient cpu")
    stage.delete_pod("full")
    stage.bound("gated", "only")


def test_s11_a_gate_removed_after_room_was_made_lets_the_pod_in(stage: Stage) -> None:
    stage.node("only", cpu="1")
    stage.pod("full", cpu="800m")
    stage.bound("full", "only")
    stage.pod("gated", cpu="800m", spec=GATES)
    stage.prove_seen()
    with stage.left_alone():
        stage.delete_pod("full")
    stage.patch_pod("gated", NO_GATES)
    stage.bound("gated", "only")


def test_s13_two_gates_are_two_gates(stage: Stage) -> None:
    stage.node("only")
    two = [{"name": "example.com/one"}, {"name": "example.com/two"}]
    stage.pod("gated", spec={"schedulingGates": two})
    with stage.left_alone():
        stage.patch_pod("gated", {"spec": {"schedulingGates": two[1:]}})
    stage.unbound("gated")
    stage.patch_pod("gated", NO_GATES)
    stage.bound("gated", "only")


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [
        ("main", "main", False),
        ("main", "init", True),
        ("main", "sidecar", False),
        ("sidecar", "sidecar", False),
        ("main-udp", "main", True),
    ],
)
def test_s08_host_ports_conflict_across_kinds_of_containers(
    stage: Stage, first: str, second: str, fits: bool
) -> None:
    stage.node("only")
    stage.pod("first", spec=_with_host_port(first))
    stage.bound("first", "only")
    stage.pod("second", spec=_with_host_port(second))
    if fits:
        stage.bound("second", "only")
    else:
        stage.parked("second", "1 node(s) didn't have free ports")


def _with_host_port(kind: str) -> dict[str, object]:
    protocol = "UDP" if kind.endswith("udp") else "TCP"
    ports = [{"containerPort": 80, "hostPort": 8080, "protocol": protocol}]
    main = {"name": "main", "image": "none"}
    with_port = {"name": "port", "image": "none", "ports": ports}
    if kind.startswith("main"):
        return {"containers": [{**with_port, "name": "main"}]}
    if kind == "sidecar":
        with_port = {**with_port, "restartPolicy": "Always"}
    return {"containers": [main], "initContainers": [with_port]}
