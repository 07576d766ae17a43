"""R: which events cause another attempt for a parked pod, and which do not.

`tried_again` checks the event that woke the pod. `left_alone` checks that there was no further
attempt by the time when a plug proves that the scheduler has seen the event.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.policy_hash import policy_hash
from tests.e2e.scenarios.conftest import POLICY, play
from tests.e2e.scenarios.test_filters import TAINT, affinity, pod_terms, spread, with_app
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import Stage

pytestmark = pytest.mark.cluster

RELABEL = {"metadata": {"labels": {"changed": "yes"}}}


class TestR01RejectedByResources:
    @pytest.fixture(autouse=True)
    def parked(self, stage: Stage) -> None:
        stage.node("only", cpu="2", pods=2)
        stage.pod("first", cpu="1500m")
        stage.bound("first", "only")
        stage.pod("waits", cpu="1")
        stage.parked("waits", "1 Insufficient cpu")

    def test_r01_is_requeued_when_a_pod_on_a_node_is_deleted(self, stage: Stage) -> None:
        with stage.tried_again("AssignedPodDelete"):
            stage.delete_pod("first")
        stage.bound("waits", "only")

    def test_r01_is_requeued_when_a_node_is_added(self, stage: Stage) -> None:
        with stage.tried_again("NodeAdd"):
            stage.node("new", cpu="1")
        stage.bound("waits", "new")

    def test_r01_is_requeued_when_allocatable_grows(self, stage: Stage) -> None:
        with stage.tried_again("NodeUpdateNodeAllocatable"):
            stage.patch_node("only", {"status": {"allocatable": {"cpu": "3"}}}, status=True)
        stage.bound("waits", "only")

    def test_r01_is_requeued_when_a_pod_on_a_node_shrinks(self, stage: Stage) -> None:
        less = {"name": "main", "resources": {"requests": {"cpu": "500m"}}}
        with stage.tried_again("AssignedPodUpdatePodScaleDown"):
            stage.patch_pod("first", {"spec": {"containers": [less]}}, kind="strategic", sub=RESIZE)
        stage.bound("waits", "only")

    def test_r01_is_not_requeued_when_a_node_changes_without_more_room(self, stage: Stage) -> None:
        with stage.left_alone():
            stage.patch_node("only", RELABEL)
            stage.patch_node("only", {"status": {"allocatable": {"memory": "64Gi"}}}, status=True)

    def test_r01_is_not_requeued_when_allocatable_grows_too_little(self, stage: Stage) -> None:
        with stage.left_alone():
            stage.patch_node("only", {"status": {"allocatable": {"cpu": "900m"}}}, status=True)

    def test_r01_is_not_requeued_when_its_own_label_changes(self, stage: Stage) -> None:
        with stage.left_alone():
            stage.patch_pod("waits", RELABEL)

    def test_r01_is_not_requeued_when_a_node_without_room_is_added(self, stage: Stage) -> None:
        with stage.left_alone():
            stage.node("tiny", cpu="500m")

    def test_r01_is_not_requeued_when_an_unbound_pod_is_deleted(self, stage: Stage) -> None:
        stage.pod("other", scheduler_name="nobody")
        with stage.left_alone():
            stage.delete_pod("other")


RESIZE = "resize"


def test_r01_is_requeued_when_more_pods_are_allowed(stage: Stage) -> None:
    stage.node("only", pods=1)
    stage.pod("first")
    stage.bound("first", "only")
    stage.pod("waits")
    stage.parked("waits", "1 Too many pods")
    with stage.tried_again("NodeUpdateNodeAllocatable"):
        stage.patch_node("only", {"status": {"allocatable": {"pods": "2"}}}, status=True)
    stage.bound("waits", "only")


class TestR02RejectedByTaints:
    @pytest.fixture(autouse=True)
    def parked(self, stage: Stage) -> None:
        stage.node("only", taints=[TAINT])
        stage.pod("waits")
        stage.parked("waits", "1 node(s) had untolerated taint(s)")

    def test_r02_is_requeued_when_it_tolerates_more(self, stage: Stage) -> None:
        toleration = {"key": "a", "operator": "Exists", "effect": "NoSchedule"}
        # 1.37 has another word for it.
        whose = "UnschedulablePod" if stage.plane.harness.minor < 37 else "TargetPod"
        with stage.tried_again(f"{whose}UpdatePodToleration"):
            stage.patch_pod("waits", {"spec": {"tolerations": [toleration]}})
        stage.bound("waits", "only")

    def test_r02_is_requeued_when_the_taint_goes(self, stage: Stage) -> None:
        with stage.tried_again("NodeUpdateNodeTaint"):
            stage.patch_node("only", {"spec": {"taints": None}})
        stage.bound("waits", "only")

    def test_r02_is_requeued_when_a_node_without_taint_is_added(self, stage: Stage) -> None:
        with stage.tried_again("NodeAdd"):
            stage.node("new")
        stage.bound("waits", "new")

    def test_r02_is_not_requeued_when_another_tainted_node_is_added(self, stage: Stage) -> None:
        with stage.left_alone():
            stage.node("new", taints=[TAINT])

    def test_r02_is_not_requeued_when_the_taint_becomes_another(self, stage: Stage) -> None:
        with stage.left_alone():
            stage.patch_node("only", {"spec": {"taints": [{**TAINT, "value": "2"}]}})


class TestR03RejectedByNodeAffinity:
    @pytest.fixture(autouse=True)
    def parked(self, stage: Stage) -> None:
        stage.node("only", labels={"disk": "hdd"})
        stage.pod("waits", spec=affinity("disk", "In", "ssd"))
        stage.parked("waits", "1 node(s) didn't match Pod's node affinity/selector")

    def test_r03_is_requeued_when_the_nodes_label_becomes_right(self, stage: Stage) -> None:
        with stage.tried_again("NodeUpdateNodeLabel"):
            stage.patch_node("only", {"metadata": {"labels": {"disk": "ssd"}}})
        stage.bound("waits", "only")

    def test_r03_is_requeued_when_a_matching_node_is_added(self, stage: Stage) -> None:
        with stage.tried_again("NodeAdd"):
            stage.node("new", labels={"disk": "ssd"})
        stage.bound("waits", "new")

    def test_r03_is_not_requeued_when_the_verdict_stays(self, stage: Stage) -> None:
        with stage.left_alone():
            stage.patch_node("only", {"metadata": {"labels": {"disk": "tape"}}})

    def test_r03_is_not_requeued_when_another_node_is_added(self, stage: Stage) -> None:
        with stage.left_alone():
            stage.node("new", labels={"disk": "hdd"})


class TestR04RejectedByPodAffinity:
    @pytest.fixture(autouse=True)
    def parked(self, stage: Stage) -> None:
        stage.node("only", labels={"zone": "one"})
        stage.pod("web", labels={"app": "api"})
        stage.bound("web", "only")
        stage.pod("waits", spec=pod_terms("podAffinity", with_app("web")))
        stage.parked("waits", "1 node(s) didn't match pod affinity rules")

    def test_r04_is_requeued_when_a_pod_gets_the_label(self, stage: Stage) -> None:
        with stage.tried_again("AssignedPodUpdatePodLabel"):
            stage.patch_pod("web", {"metadata": {"labels": {"app": "web"}}})
        stage.bound("waits", "only")

    def test_r04_is_requeued_when_a_companion_is_placed(self, stage: Stage) -> None:
        with stage.tried_again("AssignedPodAdd"):
            stage.pod("companion", labels={"app": "web"})
        stage.bound("waits", "only")

    def test_r04_is_not_requeued_when_a_pod_gets_another_label(self, stage: Stage) -> None:
        with stage.left_alone():
            stage.patch_pod("web", {"metadata": {"labels": {"app": "database"}}})

    def test_r04_is_not_requeued_when_a_stranger_is_placed(self, stage: Stage) -> None:
        stage.pod("stranger", scheduler_name="nobody", labels={"app": "other"})
        with stage.left_alone():
            assert stage.admin.bind("stranger", "only", namespace=stage.namespace).status == 201


class TestR04RejectedByPodAntiAffinity:
    @pytest.fixture(autouse=True)
    def parked(self, stage: Stage) -> None:
        stage.node("only", labels={"zone": "one"})
        stage.pod("web", labels={"app": "web"})
        stage.bound("web", "only")
        stage.pod("waits", spec=pod_terms("podAntiAffinity", with_app("web")))
        stage.parked("waits", "1 node(s) didn't match pod anti-affinity rules")

    def test_r04_is_requeued_when_the_other_is_deleted(self, stage: Stage) -> None:
        with stage.tried_again("AssignedPodDelete"):
            stage.delete_pod("web")
        stage.bound("waits", "only")

    def test_r04_is_requeued_when_the_other_loses_its_label(self, stage: Stage) -> None:
        with stage.tried_again("AssignedPodUpdatePodLabel"):
            stage.patch_pod("web", {"metadata": {"labels": {"app": None}}})
        stage.bound("waits", "only")

    def test_r04_is_requeued_when_the_node_changes_its_zone(self, stage: Stage) -> None:
        stage.node("new", labels={"zone": "one"})
        stage.prove_seen()
        with stage.tried_again("NodeUpdateNodeLabel"):
            stage.patch_node("new", {"metadata": {"labels": {"zone": "two"}}})
        stage.bound("waits", "new")


class TestR05RejectedBySpread:
    @pytest.fixture(autouse=True)
    def parked(self, stage: Stage) -> None:
        """One pod in zone one; zone two is there, but tainted."""
        stage.node("a", labels={"zone": "one"})
        stage.pod("web", labels={"app": "web"})
        stage.bound("web", "a")
        stage.node("b", labels={"zone": "two"}, taints=[TAINT])
        stage.prove_seen()
        stage.pod("waits", labels={"app": "web"}, spec=spread())
        stage.parked("waits", "1 node(s) didn't match pod topology spread constraints")

    def test_r05_is_requeued_when_a_matching_pod_is_deleted(self, stage: Stage) -> None:
        # Spreading does not count pods that are being deleted. So the update that marks the pod as
        # deleted wakes the other already; kube-scheduler waits until the pod is gone.
        with stage.tried_again("AssignedPodUpdate"):
            stage.delete_pod("web")
        stage.bound("waits", "a")

    def test_r05_is_requeued_when_a_matching_pod_is_relabelled(self, stage: Stage) -> None:
        with stage.tried_again("AssignedPodUpdatePodLabel"):
            stage.patch_pod("web", {"metadata": {"labels": {"app": "api"}}})
        stage.bound("waits", "a")

    def test_r05_is_requeued_when_the_empty_domain_goes(self, stage: Stage) -> None:
        with stage.tried_again("NodeDelete"):
            stage.delete_node("b")
        stage.bound("waits", "a")

    def test_r05_is_requeued_when_a_node_gets_the_topology(self, stage: Stage) -> None:
        stage.node("c")
        stage.prove_seen()
        with stage.tried_again("NodeUpdateNodeLabel"):
            stage.patch_node("c", {"metadata": {"labels": {"zone": "two"}}})
        stage.bound("waits", "c")

    def test_r05_is_not_requeued_when_a_node_without_the_topology_comes(self, stage: Stage) -> None:
        with stage.left_alone():
            stage.node("c", taints=[TAINT])

    def test_r05_is_not_requeued_when_a_stranger_is_deleted(self, stage: Stage) -> None:
        stage.pod("stranger", labels={"app": "other"})
        stage.bound("stranger", "a")
        with stage.left_alone():
            stage.delete_pod("stranger")


def test_r08_an_idle_scheduler_serves_a_pod_that_still_backs_off(stage: Stage) -> None:
    """Five rejections make it back off for 10 s; it is tried at once all the same."""
    stage.node("only", cpu="1")
    stage.pod("waits", cpu="8")
    stage.parked("waits")
    for cpu in range(9, 14):  # large enough to wake it, tainted: it is rejected again
        with stage.tried_again("NodeAdd"):
            stage.node(f"n{cpu}", cpu=str(cpu), taints=[TAINT])
        wait_for(lambda: stage.scheduler.metric("scheduler_pending_pods") == PARKED, "it to park")
    early = stage.moves()["PopFromBackoffQ"]
    stage.patch_node("n9", {"spec": {"taints": None}})
    stage.bound("waits", "n9", timeout_s=8)
    assert stage.moves()["PopFromBackoffQ"] == early + 1


PARKED = 1


def test_r09_rejected_and_a_related_event_is_scheduled(stage: Stage) -> None:
    stage.node("only", unschedulable=True)
    stage.pod("waits")
    stage.parked("waits", "1 node(s) were unschedulable")
    stage.patch_node("only", {"spec": {"unschedulable": None}})
    stage.bound("waits", "only")


def test_r09_rejected_and_an_unrelated_event_stays(stage: Stage) -> None:
    stage.node("only", cpu="1")
    stage.pod("waits", cpu="2")
    stage.parked("waits", "1 Insufficient cpu")
    with stage.left_alone():
        stage.patch_node("only", RELABEL)
    stage.unbound("waits")


def test_r11_a_pod_that_fits_nowhere_delays_no_other_pod(stage: Stage) -> None:
    stage.node("only", cpu="4")
    stage.admin.create(
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {
            "metadata": {"name": stage.namespace},
            "value": 1000,
        },
    )
    first = {"priorityClassName": stage.namespace}
    for number in range(10):
        stage.pod(f"giant-{number}", cpu="64", spec=first)
    for number in range(10):
        stage.pod(f"small-{number}")
        stage.bound(f"small-{number}", "only")
        stage.patch_node("only", {"status": {"allocatable": {"cpu": f"{5 + number}"}}}, status=True)
    for number in range(10):
        stage.parked(f"giant-{number}")


RELOADING = "kpolicy-reloading"


@pytest.fixture
def reloading(scenario_plane: ControlPlane, tmp_path: Path) -> Iterator[tuple[Stage, Path]]:
    """A scheduler of this test's own, beside the other, whose policy can be changed."""
    policy = tmp_path / "policy.yaml"
    shutil.copyfile(POLICY.with_name("reloaded.yaml"), policy)
    flags = ("--no-leader-elect",)
    with SchedulerProcess(
        scenario_plane.kubeconfig(NORMAL), policy, tmp_path / "log", flags
    ) as process:
        for stage in play(scenario_plane, process, "r12", profile=RELOADING):
            yield stage, policy


def test_r12_a_changed_policy_wakes_what_it_parked(reloading: tuple[Stage, Path]) -> None:
    stage, policy = reloading
    stage.node("spot", labels={"spot": "yes"})
    stage.pod("waits")
    stage.parked("waits")
    stage.pod("larger", cpu="64")
    stage.parked("larger")
    changed = policy.with_suffix(".new")
    changed.write_text(policy.read_text().replace("'spot'", "'never'"))
    assert stage.recorded is not None
    stage.recorded.offer(policy_hash(changed.read_text()))
    changed.replace(policy)
    stage.bound("waits", "spot")
    stage.parked("larger", "Insufficient cpu")
