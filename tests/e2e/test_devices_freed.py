"""A pod that needs a device which a pod of lower priority has, on a real API server: the victim is
evicted, the real controller of claims gives its claim up, and only then the pod is bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e import devices
from tests.e2e.fenced import OF_VOLUMES, fenced
from tests.e2e.preemption_stage import create_priorities
from tests.e2e.rights import DEVICE_RULES
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster

POLICY = Path(__file__).parent / "policies" / "devices-freed.yaml"
NODE = "node-0"
DEVICES = 2
HELD = "still have devices for pods that are gone"


@dataclass
class Stage:
    """One node with two devices."""

    plane: ControlPlane
    namespace: str

    @property
    def admin(self) -> Client:
        return self.plane.admin

    def pod(self, name: str, priority: str, **source: str) -> None:
        spec = devices.using(**source) | {
            "priorityClassName": priority,
            "terminationGracePeriodSeconds": 0,
        }
        self.admin.create_pod(name, namespace=self.namespace, scheduler_name="kpolicy", spec=spec)

    def bound(self) -> set[str]:
        return set(self.admin.placements(self.namespace))

    def wait_bound(self, *names: str) -> None:
        wait_for(lambda: set(names) <= self.bound(), f"{names} to be bound")

    def message_of(self, name: str) -> str:
        status = self.admin.pod(name, namespace=self.namespace)["status"]
        conditions = status.get("conditions") or ()
        return next((own["message"] for own in conditions if own["type"] == "PodScheduled"), "")

    def evicted(self) -> list[str]:
        return [
            event.name
            for event in self.plane.audit_events()
            if (event.user, event.verb, event.resource) == (NORMAL, "delete", "pods")
            and event.writes
            and event.namespace == self.namespace
        ]


@pytest.fixture(scope="module")
def plane(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as control_plane:
        control_plane.grant(NORMAL, DEVICE_RULES)
        control_plane.admin.create_nodes(1)
        create_priorities(control_plane)
        devices.create_class(control_plane.admin)
        devices.publish(control_plane.admin, NODE, DEVICES)
        with fenced(control_plane, NORMAL, (), without=OF_VOLUMES):
            yield control_plane


@pytest.fixture
def stage(plane: ControlPlane, tmp_path: Path) -> Iterator[Stage]:
    """No controller of claims runs yet."""
    namespace = "freed"
    plane.admin.create_namespace(namespace)
    with SchedulerProcess(plane.kubeconfig(NORMAL), POLICY, tmp_path / "kpolicy.log"):
        yield Stage(plane, namespace)


def test_one_pod_goes_for_a_device_and_nobody_else_before_its_claim_is_given_up(
    stage: Stage,
) -> None:
    for name in ("low-0", "low-1"):
        devices.create_claim(stage.admin, stage.namespace, name)
        stage.pod(name, "low", claim=name)
    stage.wait_bound("low-0", "low-1")
    devices.create_claim(stage.admin, stage.namespace, "high")
    stage.pod("high", "high", claim="high")
    wait_for(lambda: len(stage.evicted()) == 1, "a pod to be evicted")
    (first,) = stage.evicted()
    # Its claim still has the device: whatever wakes the pod, it evicts nobody else.
    stage.admin.patch(f"/api/v1/nodes/{NODE}", {"metadata": {"labels": {"touched": "yes"}}})
    wait_for(lambda: HELD in stage.message_of("high"), "the pod to say what it waits for")
    assert stage.evicted() == [first]
    stage.plane.start_controller_manager(controllers=devices.CONTROLLERS)
    stage.wait_bound("high")
    (left,) = {"low-0", "low-1"} - {first}
    assert stage.bound() == {left, "high"}

    # Claims that were made from a template are deleted with their pod.
    devices.create_template(stage.admin, stage.namespace, "one")
    stage.pod("medium", "medium", template="one")
    stage.wait_bound("medium")
    stage.pod("higher", "high", template="one")
    stage.wait_bound("higher")
    assert stage.bound() == {"high", "higher"}
    assert stage.evicted() == [first, left, "medium"]
    assert len(set(devices.devices_held(stage.admin, stage.namespace))) == DEVICES
