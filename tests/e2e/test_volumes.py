"""Volumes of pods that wait for their first consumer, on a real API server (F-08, Q-08).

The controller that binds volumes is the real one; the provisioner is played by the test. The
scheduler writes through the admission policies of deploy/kustomize.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.audit import AuditEvent, binds
from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e import volumes
from tests.e2e.fenced import OF_DEVICES, fenced
from tests.e2e.judged import Judged, judged_run
from tests.e2e.rights import VOLUME_RULES, VOLUME_WRITES_ALLOWED
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.volumes import BOUND_BY_CONTROLLER, LOCAL, MADE, claimed, claims
from tests.invariants.recording import Recording

pytestmark = pytest.mark.cluster

POLICY = Path(__file__).parent / "policies" / "volumes.yaml"
NODES = ("node-0", "node-1", "node-2")
PREFIX = 'running PreBind plugin "VolumeBinding": binding volumes: '


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as control_plane:
        control_plane.grant(NORMAL, VOLUME_RULES)
        control_plane.start_controller_manager(controllers=volumes.CONTROLLERS)
        control_plane.admin.create_nodes(len(NODES))
        volumes.create_classes(control_plane.admin)
        with fenced(control_plane, NORMAL, ("hasty",), without=OF_DEVICES):
            yield control_plane


@pytest.fixture(scope="module")
def scheduler(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    log = tmp_path_factory.mktemp("scheduler") / "kpolicy.log"
    with SchedulerProcess(
        cluster.kubeconfig(NORMAL), POLICY, log, ["--log-level=debug"]
    ) as process:
        yield process


@pytest.fixture(autouse=True)
def recorded(cluster: ControlPlane, scheduler: SchedulerProcess) -> Iterator[Recording]:
    """Every test of this file is judged by the invariants."""
    how = Judged(frozenset({"kpolicy", "hasty"}), binds_volumes=True, unjudged=frozenset({"hasty"}))
    with judged_run(cluster, scheduler, how) as running:
        yield running


@pytest.fixture
def admin(cluster: ControlPlane, scheduler: SchedulerProcess) -> Client:
    return cluster.admin


@pytest.fixture
def namespace(admin: Client, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).replace("_", "-").removeprefix("test-")[:50].strip("-")
    admin.create_namespace(name)
    return name


def create_pod(
    admin: Client, namespace: str, name: str, *claims: str, scheduler: str = "kpolicy"
) -> str:
    pod = admin.create_pod(
        name, namespace=namespace, scheduler_name=scheduler, spec=claimed(*claims)
    )
    return str(pod["metadata"]["uid"])


def wait_bound(admin: Client, namespace: str, *pods: str) -> dict[str, str]:
    wait_for(lambda: set(pods) <= set(admin.placements(namespace)), f"{pods} to be bound")
    return admin.placements(namespace)


def nomination(admin: Client, namespace: str, pod: str) -> str:
    return str(admin.pod(pod, namespace=namespace)["status"].get("nominatedNodeName", ""))


def status_writes(cluster: ControlPlane, namespace: str) -> list[AuditEvent]:
    return [
        event
        for event in cluster.audit_events()
        if event.user == NORMAL and event.what == "pods/status" and event.namespace == namespace
    ]


def condition(admin: Client, namespace: str, pod: str) -> volumes.Json:
    """The pod's condition PodScheduled; empty if there is none."""
    found = admin.pod(pod, namespace=namespace)["status"].get("conditions", [])
    return next((entry for entry in found if entry["type"] == "PodScheduled"), {})


def wait_for_condition(
    admin: Client, namespace: str, pod: str, reason: str, with_text: str = ""
) -> str:
    """Waits until the pod's condition has this reason and text; returns its message."""

    def message() -> str:
        found = condition(admin, namespace, pod)
        is_there = found.get("reason") == reason and with_text in found["message"]
        return str(found["message"]) if is_there else ""

    return wait_for(message, f"{pod} to be told {reason}")


def wait_settled(scheduler: SchedulerProcess) -> None:
    wait_for(
        lambda: (
            scheduler.metric("kpolicy_reservations_open") == 0
            and scheduler.metric("scheduler_cache_size", type="assumed_pods") == 0
        ),
        "every reservation to end",
    )
    assert scheduler.metric("kpolicy_pods_awaiting_volumes") == 0
    assert scheduler.metric("kpolicy_engine_size", what="objectsPromised") == 0


def test_f08_a_volume_that_waits_is_bound_before_its_pod(
    admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    volumes.create_volume(admin, "static", "node-1")
    volumes.wait_available(admin, "static")
    claim = volumes.create_claim(admin, namespace, "data")
    create_pod(admin, namespace, "pod", "data")
    assert wait_bound(admin, namespace, "pod") == {"pod": "node-1"}
    volume = admin.get(f"{volumes.VOLUMES}/static")
    assert volume["metadata"]["annotations"][BOUND_BY_CONTROLLER] == "yes"
    reference = volume["spec"]["claimRef"]
    assert reference["uid"] == claim["metadata"]["uid"]
    assert (reference["kind"], reference["apiVersion"]) == ("PersistentVolumeClaim", "v1")
    assert volumes.phases(admin, namespace, ["data"]) == ["Bound"]
    wait_settled(scheduler)


def test_f08_a_volume_that_its_user_bound_stays_the_users(
    admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    own = {"namespace": namespace, "name": "data"}
    volumes.create_volume(admin, "by-user", "node-2", claim=own)
    volumes.create_claim(admin, namespace, "data")
    create_pod(admin, namespace, "pod", "data")
    assert wait_bound(admin, namespace, "pod") == {"pod": "node-2"}
    volume = admin.get(f"{volumes.VOLUMES}/by-user")
    assert BOUND_BY_CONTROLLER not in volume["metadata"].get("annotations", {})
    wait_settled(scheduler)


def test_f08_a_slow_provisioner_holds_up_its_own_pods_only(
    admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    slow = [f"slow-{number}" for number in range(12)]
    for name in slow:
        volumes.create_claim(admin, namespace, name, MADE)
        create_pod(admin, namespace, name, name)
    wait_for(
        lambda: scheduler.metric("kpolicy_pods_awaiting_volumes") == len(slow),
        "all of them to wait for their volumes",
    )
    quick = admin.create_pods(100, namespace=namespace, prefix="quick", scheduler_name="kpolicy")
    placements = wait_bound(admin, namespace, *quick)
    assert set(placements) == set(quick), "a pod was bound before its volume"
    assert scheduler.metric("kpolicy_binds_in_flight") == 0
    nodes = {name: volumes.selected_node(admin, namespace, name) for name in slow}
    for name, node in nodes.items():
        volumes.provision(admin, namespace, name, node)
    placements = wait_bound(admin, namespace, *slow)
    assert {name: placements[name] for name in slow} == nodes
    wait_settled(scheduler)


def test_f08_a_volume_is_promised_to_one_claim(
    admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    volumes.create_volume(admin, "only", "node-0")
    volumes.wait_available(admin, "only")
    for name in ("a", "b"):
        volumes.create_claim(admin, namespace, name)
    for name in ("a", "b"):
        create_pod(admin, namespace, name, name)
    wait_for(lambda: admin.placements(namespace), "one of the two to be bound")
    (bound,) = admin.placements(namespace)
    other = "b" if bound == "a" else "a"
    message = wait_for_condition(admin, namespace, other, "Unschedulable")
    assert "3 node(s) didn't find available persistent volumes to bind" in message
    volumes.create_volume(admin, "second", "node-2")
    assert wait_bound(admin, namespace, other)[other] == "node-2"
    wait_settled(scheduler)


def test_f08_what_the_provisioner_refuses_is_tried_again(
    admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    volumes.create_claim(admin, namespace, "data", MADE)
    create_pod(admin, namespace, "pod", "data")
    volumes.selected_node(admin, namespace, "data")
    volumes.refuse(admin, namespace, "data")
    message = wait_for_condition(admin, namespace, "pod", "SchedulerError")
    assert message == PREFIX + 'provisioning failed for PVC "data"'
    node = volumes.selected_node(admin, namespace, "data")
    volumes.provision(admin, namespace, "data", node)
    assert wait_bound(admin, namespace, "pod") == {"pod": node}
    wait_settled(scheduler)


def test_f08_it_says_what_kube_scheduler_says(
    cluster: ControlPlane, admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    cluster.start_scheduler()
    messages = {}
    for name, served_by in (("theirs", "default-scheduler"), ("ours", "kpolicy")):
        volumes.create_claim(admin, namespace, name, MADE)
        create_pod(admin, namespace, name, name, scheduler=served_by)
        node = volumes.selected_node(admin, namespace, name)
        volumes.refuse(admin, namespace, name)
        refused = wait_for_condition(admin, namespace, name, "SchedulerError").replace(name, "NAME")
        observed = condition(admin, namespace, name)["observedGeneration"]
        node = volumes.selected_node(admin, namespace, name)
        expected = nomination(admin, namespace, name) == node
        elsewhere = next(other for other in NODES if other != node)
        volumes.provision(admin, namespace, name, elsewhere)
        astray = wait_for_condition(admin, namespace, name, "SchedulerError", with_text="affinity")
        uid = admin.get(f"{claims(namespace)}/{name}")["metadata"]["uid"]
        left = nomination(admin, namespace, name)
        messages[name] = [refused, astray.replace(uid, "UID").replace(node, "NODE"), left]
        assert (observed, expected) == (1, True), name
        admin.delete_pod(name, namespace=namespace)  # it would be tried for ever
    assert messages["ours"] == messages["theirs"]
    assert len(messages["ours"]) == 3


def test_f08_waiting_ends_when_the_policy_says(
    admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    volumes.create_claim(admin, namespace, "data", MADE)
    create_pod(admin, namespace, "pod", "data", scheduler="hasty")
    message = wait_for_condition(admin, namespace, "pod", "SchedulerError")
    assert message == PREFIX + "context deadline exceeded"
    # The claim names its node still, and the next attempt finds it there.
    node = volumes.selected_node(admin, namespace, "data")
    volumes.provision(admin, namespace, "data", node)
    assert wait_bound(admin, namespace, "pod") == {"pod": node}
    wait_settled(scheduler)


def test_f08_pods_that_share_a_claim_are_bound_together(
    admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    volumes.create_claim(admin, namespace, "data", MADE)
    for name in ("one", "two"):
        create_pod(admin, namespace, name, "data")
    node = volumes.selected_node(admin, namespace, "data")
    wait_for(lambda: scheduler.metric("kpolicy_pods_awaiting_volumes") == 2, "both to wait")
    volumes.provision(admin, namespace, "data", node)
    assert wait_bound(admin, namespace, "one", "two") == {"one": node, "two": node}
    wait_settled(scheduler)


def test_f08_a_recreated_pod_waits_again(
    cluster: ControlPlane, admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    volumes.create_claim(admin, namespace, "data", MADE)
    create_pod(admin, namespace, "pod", "data")
    node = volumes.selected_node(admin, namespace, "data")
    admin.delete_pod("pod", namespace=namespace)
    wait_for(
        lambda: scheduler.metric("kpolicy_reservations_open") == 0, "the first one to be let go"
    )
    second = create_pod(admin, namespace, "pod", "data")
    volumes.provision(admin, namespace, "data", node)
    assert wait_bound(admin, namespace, "pod") == {"pod": node}
    sent = wait_for(lambda: binds(cluster.audit_events(), namespace), "the bind in the audit log")
    assert [(bind.uid, bind.succeeded) for bind in sent] == [(second, True)]
    wait_settled(scheduler)


def test_f08_a_recreated_claim_is_another_claim(
    admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    volumes.create_claim(admin, namespace, "data", MADE)
    create_pod(admin, namespace, "pod", "data")
    volumes.selected_node(admin, namespace, "data")
    path = f"{claims(namespace)}/data"
    admin.patch(path, {"metadata": {"finalizers": None}})
    admin.delete(path)
    message = wait_for_condition(admin, namespace, "pod", "SchedulerError")
    missing = f'persistentvolumeclaims "{namespace}/data" not found'
    assert message == f"{PREFIX}failed to check provisioning pvc: {missing}"
    volumes.create_claim(admin, namespace, "data", MADE)
    node = volumes.selected_node(admin, namespace, "data")
    volumes.provision(admin, namespace, "data", node)
    assert wait_bound(admin, namespace, "pod") == {"pod": node}
    wait_settled(scheduler)


def test_f08_two_claims_of_one_pod_are_both_waited_for(
    admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    volumes.create_volume(admin, "beside", "node-1")
    volumes.wait_available(admin, "beside")
    volumes.create_claim(admin, namespace, "data", LOCAL)
    volumes.create_claim(admin, namespace, "logs", MADE)
    create_pod(admin, namespace, "pod", "data", "logs")
    assert volumes.selected_node(admin, namespace, "logs") == "node-1"
    wait_for(
        lambda: volumes.phases(admin, namespace, ["data", "logs"]) == ["Bound", "Pending"],
        "the first claim to be bound",
    )
    assert admin.placements(namespace) == {}
    volumes.provision(admin, namespace, "logs", "node-1")
    assert wait_bound(admin, namespace, "pod") == {"pod": "node-1"}
    wait_settled(scheduler)


def test_f08_the_node_is_nominated_before_volumes_are_written(
    cluster: ControlPlane, admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    admin.create_pod("quick", namespace=namespace, scheduler_name="kpolicy")
    wait_bound(admin, namespace, "quick")
    volumes.create_claim(admin, namespace, "data", MADE)
    create_pod(admin, namespace, "pod", "data")
    node = volumes.selected_node(admin, namespace, "data")
    assert nomination(admin, namespace, "pod") == node
    (write,) = status_writes(cluster, namespace)
    assert (write.name, write.code) == ("pod", 200), "a pod that is bound at once has no nomination"
    assert (write.request or {})["status"] == {"nominatedNodeName": node}
    (selected,) = [
        event
        for event in cluster.audit_events()
        if event.user == NORMAL
        and event.what == "persistentvolumeclaims"
        and (event.verb, event.namespace) == ("patch", namespace)
    ]
    assert write.answered_at <= selected.received_at
    volumes.provision(admin, namespace, "data", node)
    assert wait_bound(admin, namespace, "pod")["pod"] == node
    assert nomination(admin, namespace, "pod") == "", "the bind has cleared the nomination"
    wait_settled(scheduler)


def test_f08_a_nomination_without_a_bind_is_withdrawn(
    admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    volumes.create_claim(admin, namespace, "data", MADE)
    create_pod(admin, namespace, "pod", "data")
    for _ in range(2):  # the same failure twice: what is told the second time is no news but this
        node = volumes.selected_node(admin, namespace, "data")
        assert nomination(admin, namespace, "pod") == node
        volumes.refuse(admin, namespace, "data")
        wait_for(lambda: not nomination(admin, namespace, "pod"), "the nomination to end")
        wait_for_condition(
            admin, namespace, "pod", "SchedulerError", with_text="provisioning failed"
        )
    volumes.provision(
        admin, namespace, "data", node := volumes.selected_node(admin, namespace, "data")
    )
    assert wait_bound(admin, namespace, "pod") == {"pod": node}
    wait_settled(scheduler)


def test_f08_a_node_that_goes_while_its_volume_is_made_gets_no_pod(
    cluster: ControlPlane, admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    """The node is deleted after the decision. The API server itself would accept the bind."""
    for name in ("late-0", "late-1"):
        admin.create_node(name, labels={"pool": "late"})
    volumes.create_claim(admin, namespace, "data", MADE)
    admin.create_pod(
        "pod",
        namespace=namespace,
        scheduler_name="kpolicy",
        spec={"nodeSelector": {"pool": "late"}, **claimed("data")},
    )
    gone = volumes.selected_node(admin, namespace, "data")
    (left,) = {"late-0", "late-1"} - {gone}
    wait_for(lambda: scheduler.metric("kpolicy_pods_awaiting_volumes") == 1, "the pod to wait")
    admin.delete(f"/api/v1/nodes/{gone}")
    wait_for_condition(admin, namespace, "pod", "SchedulerError", with_text=gone)
    volumes.refuse(admin, namespace, "data")  # as provisioners do when there is no such node
    wait_for(lambda: volumes.selected_node(admin, namespace, "data") == left, "the other node")
    volumes.provision(admin, namespace, "data", left)
    assert wait_bound(admin, namespace, "pod") == {"pod": left}
    sent = wait_for(lambda: binds(cluster.audit_events(), namespace), "the bind in the audit log")
    assert [(bind.node, bind.succeeded) for bind in sent] == [(left, True)]
    admin.delete_pod("pod", namespace=namespace)
    admin.delete(f"/api/v1/nodes/{left}")
    wait_settled(scheduler)


def test_f08_a_restart_finds_the_nominated_node(
    admin: Client, scheduler: SchedulerProcess, namespace: str
) -> None:
    """Killed while the volume is made. A pod that comes before it in the queue finds no room."""
    large = {"nodeSelector": {"kubernetes.io/hostname": "node-1"}}
    admin.create_pod(
        "older",
        namespace=namespace,
        scheduler_name="kpolicy",
        cpu="20",
        spec={**large, "schedulingGates": [{"name": "wait"}]},
    )
    volumes.create_claim(admin, namespace, "data", MADE)
    admin.create_pod(
        "pod",
        namespace=namespace,
        scheduler_name="kpolicy",
        cpu="20",
        spec={**large, **claimed("data")},
    )
    assert volumes.selected_node(admin, namespace, "data") == "node-1"
    scheduler.kill()
    remove = [{"op": "remove", "path": "/spec/schedulingGates"}]
    admin.patch(f"/api/v1/namespaces/{namespace}/pods/older", remove, kind="json")
    scheduler.start()
    scheduler.wait_ready()
    wait_for_condition(admin, namespace, "older", "Unschedulable", with_text="1 Insufficient cpu")
    assert nomination(admin, namespace, "pod") == "node-1"
    volumes.provision(admin, namespace, "data", "node-1")
    assert wait_bound(admin, namespace, "pod") == {"pod": "node-1"}
    assert admin.placements(namespace) == {"pod": "node-1"}
    admin.delete_pod("older", namespace=namespace)
    admin.delete_pod("pod", namespace=namespace)
    wait_settled(scheduler)


def test_f08_it_wrote_only_what_it_may(
    cluster: ControlPlane, admin: Client, scheduler: SchedulerProcess
) -> None:
    assert scheduler.terminate() == 0, scheduler.tail()
    ours = [event for event in cluster.audit_events() if event.user == NORMAL and event.writes]
    assert len(ours) > 100
    assert {(event.verb, event.what) for event in ours} <= VOLUME_WRITES_ALLOWED
    assert [event for event in ours if event.code == 403] == []
