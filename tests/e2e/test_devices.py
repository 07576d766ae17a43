"""Claims on devices on a real API server, from pending to bound (F-08).

The controller that makes claims from templates is the real one; the driver, which publishes slices,
is played by the test. The scheduler writes through the admission policies of deploy/kustomize.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e import devices
from tests.e2e.fenced import OF_VOLUMES, fenced
from tests.e2e.rights import DEVICE_RULES, DEVICE_WRITES_ALLOWED
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster

POLICY = Path(__file__).parent / "policies" / "devices.yaml"
NODES = ("node-0", "node-1")
DEVICES = 2  # of each node


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as control_plane:
        control_plane.grant(NORMAL, DEVICE_RULES)
        control_plane.start_controller_manager(controllers=devices.CONTROLLERS)
        control_plane.admin.create_nodes(len(NODES))
        devices.create_class(control_plane.admin)
        for node in NODES:
            devices.publish(control_plane.admin, node, DEVICES)
        with fenced(control_plane, NORMAL, (), without=OF_VOLUMES):
            yield control_plane


@pytest.fixture(scope="module")
def scheduler(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    log = tmp_path_factory.mktemp("scheduler") / "kpolicy.log"
    with SchedulerProcess(cluster.kubeconfig(NORMAL), POLICY, log) as process:
        yield process


@pytest.fixture
def admin(cluster: ControlPlane, scheduler: SchedulerProcess) -> Client:
    return cluster.admin


@pytest.fixture
def namespace(admin: Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """Its pods and claims are gone at the end, so that the devices are free again."""
    name = str(request.node.name).replace("_", "-").removeprefix("test-")[:50].strip("-")
    admin.create_namespace(name)
    yield name
    for pod in admin.list(f"/api/v1/namespaces/{name}/pods"):
        admin.delete_pod(pod["metadata"]["name"], namespace=name)
    for claim in admin.list(devices.claims(name)):
        path = f"{devices.claims(name)}/{claim['metadata']['name']}"
        admin.patch(f"{path}/status", {"status": {"allocation": None, "reservedFor": None}})
        admin.patch(path, {"metadata": {"finalizers": None}})
        admin.delete(path)


def wait_bound(admin: Client, namespace: str, count: int) -> dict[str, str]:
    wait_for(lambda: len(admin.placements(namespace)) >= count, f"{count} pods to be bound")
    return admin.placements(namespace)


def test_each_device_is_given_to_one_pod_until_none_is_left(admin: Client, namespace: str) -> None:
    total = len(NODES) * DEVICES
    for number in range(total + 1):
        devices.create_claim(admin, namespace, f"c{number}")
        spec = devices.using(claim=f"c{number}")
        admin.create_pod(f"p{number}", namespace=namespace, scheduler_name="kpolicy", spec=spec)
    placed = wait_bound(admin, namespace, total)
    held = devices.devices_held(admin, namespace)
    assert len(held) == len(set(held)) == total
    by_name = {claim["metadata"]["name"]: claim for claim in admin.list(devices.claims(namespace))}
    for name, node in placed.items():
        status = by_name[name.replace("p", "c")]["status"]
        assert [user["name"] for user in status["reservedFor"]] == [name]
        assert {result["pool"] for result in status["allocation"]["devices"]["results"]} == {node}


def test_claims_are_made_from_a_template(admin: Client, namespace: str) -> None:
    devices.create_template(admin, namespace, "both", count=DEVICES)
    for number in range(2):
        spec = devices.using(template="both")
        admin.create_pod(f"p{number}", namespace=namespace, scheduler_name="kpolicy", spec=spec)
    placed = wait_bound(admin, namespace, 2)
    assert set(placed.values()) == set(NODES)
    assert len(set(devices.devices_held(admin, namespace))) == 2 * DEVICES


def test_an_extended_resource_gets_a_claim_of_its_own(admin: Client, namespace: str) -> None:
    amounts = {devices.EXTENDED: "2"}
    container = {
        "name": "c",
        "image": "i",
        "resources": {"requests": amounts, "limits": amounts},
    }
    admin.create_pod(
        "p", namespace=namespace, scheduler_name="kpolicy", spec={"containers": [container]}
    )
    wait_bound(admin, namespace, 1)
    (claim,) = admin.list(devices.claims(namespace))
    pod = admin.pod("p", namespace=namespace)
    status = pod["status"]["extendedResourceClaimStatus"]
    assert status["resourceClaimName"] == claim["metadata"]["name"]
    assert len(devices.devices_held(admin, namespace)) == 2


def test_nothing_is_written_but_what_may_be(cluster: ControlPlane, admin: Client) -> None:
    ours = [event for event in cluster.audit_events() if event.user == NORMAL and event.writes]
    written = {(event.verb, event.what) for event in ours}
    assert ("patch", "resourceclaims.resource.k8s.io/status") in written
    assert written <= DEVICE_WRITES_ALLOWED
