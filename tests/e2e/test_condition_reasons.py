"""The reason of the condition `PodScheduled` on a real API server: `Unschedulable` where a new node
could help, so that autoscalers act, and `RejectedByPolicy` where none could."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.rights import RULES
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster

SPACE = "teams"
POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: teams}
spec:
  profiles: [{schedulerName: kpolicy}]
  predicates:
    - name: two-of-a-team
      expression: cluster.pods.count(selector('team=' + label(pod, 'team'))) < 2
      message: the team has its two pods
    - name: own-pool
      expression: label(node, 'pool') == label(pod, 'pool')
      message: node(s) of other pools
"""


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        plane.grant(NORMAL, RULES)
        plane.admin.create_namespace(SPACE)
        plane.admin.create_nodes(2, cpu="4", labels={"pool": "a"})
        yield plane


@pytest.fixture(scope="module")
def scheduler(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    folder = tmp_path_factory.mktemp("scheduler")
    policy = folder / "policy.yaml"
    policy.write_text(POLICY)
    flags = ("--log-format=json", "--no-leader-elect", "--scheduler-names=kpolicy")
    log = folder / "kpolicy.log"
    with SchedulerProcess(cluster.kubeconfig(NORMAL), policy, log, flags) as process:
        yield process


def create(cluster: ControlPlane, name: str, team: str, *, cpu: str, pool: str = "a") -> None:
    labels = {"team": team, "pool": pool}
    cluster.admin.create_pod(
        name, namespace=SPACE, scheduler_name="kpolicy", cpu=cpu, labels=labels
    )


def reason(cluster: ControlPlane, name: str) -> str:
    status = cluster.admin.pod(name, namespace=SPACE)["status"]
    found = (each for each in status.get("conditions", []) if each["type"] == "PodScheduled")
    return next((str(each.get("reason", "")) for each in found), "")


def has(cluster: ControlPlane, name: str, wanted: str) -> None:
    wait_for(lambda: reason(cluster, name) == wanted, f"{name} to be {wanted}", timeout_s=90)


def test_the_reason_says_whether_a_new_node_could_help(
    cluster: ControlPlane, scheduler: SchedulerProcess
) -> None:
    for name in ("first", "second"):
        create(cluster, name, "red", cpu="3")
    wait_for(lambda: len(cluster.admin.placements(SPACE)) == 2, "two pods on nodes", timeout_s=90)
    create(cluster, "third", "red", cpu="1")
    create(cluster, "no-room", "blue", cpu="3")
    create(cluster, "no-pool", "blue", cpu="1", pool="b")
    # Without room as well: the first rule that rejects is not the one that keeps it back.
    create(cluster, "third-without-room", "red", cpu="8")
    has(cluster, "third", "RejectedByPolicy")
    has(cluster, "no-room", "Unschedulable")
    has(cluster, "no-pool", "Unschedulable")
    has(cluster, "third-without-room", "RejectedByPolicy")

    # Once the team has one pod only, room is all that it lacks.
    cluster.admin.delete_pod("first", namespace=SPACE)
    wait_for(lambda: "third" in cluster.admin.placements(SPACE), "third on a node", timeout_s=90)
    cluster.admin.delete_pod("third", namespace=SPACE)
    has(cluster, "third-without-room", "Unschedulable")
