"""Rules that taint devices, on a real API server that has them in an older version only. A driver
makes devices ready before the bind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e import devices
from tests.e2e.rights import DEVICE_RULES
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster

POLICY = Path(__file__).parent / "policies" / "devices.yaml"
GATE = "DRADeviceTaintRules=true"
OLDER = "v1beta2"
FIRST_MINOR_WITH_V1 = 37
FLAGS = (f"--feature-gates={GATE}", f"--runtime-config=resource.k8s.io/{OLDER}=true")
NAMESPACE = "tainted"


@pytest.fixture(scope="module")
def admin(
    control_plane_binary: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    with ControlPlane(api_server_flags=FLAGS) as control_plane:
        control_plane.grant(NORMAL, DEVICE_RULES)
        devices.create_class(control_plane.admin)
        control_plane.admin.create_nodes(1)
        control_plane.admin.create_namespace(NAMESPACE)
        log = tmp_path_factory.mktemp("scheduler") / "kpolicy.log"
        flags = ("--feature-gates", GATE)
        with SchedulerProcess(control_plane.kubeconfig(NORMAL), POLICY, log, flags):
            yield control_plane.admin


def claim_for_a_pod(admin: Client, name: str) -> None:
    devices.create_claim(admin, NAMESPACE, name)
    spec = devices.using(claim=name)
    admin.create_pod(name, namespace=NAMESPACE, scheduler_name="kpolicy", spec=spec)


def message_of(admin: Client, pod: str) -> str:
    conditions = admin.pod(pod, namespace=NAMESPACE).get("status", {}).get("conditions") or ()
    texts = (own.get("message", "") for own in conditions if own["type"] == "PodScheduled")
    return next(texts, "")


def test_a_rule_taints_devices_until_it_is_deleted(admin: Client) -> None:
    minor = int(str(admin.get("/version")["minor"]).rstrip("+"))
    version = OLDER if minor < FIRST_MINOR_WITH_V1 else "v1"
    rules = f"/apis/resource.k8s.io/{version}/devicetaintrules"
    taint = {"key": "broken", "effect": "NoSchedule"}
    spec = {"deviceSelector": {"driver": devices.DRIVER}, "taint": taint}
    admin.create(rules, {"metadata": {"name": "broken"}, "spec": spec})
    devices.publish(admin, "node-0", 1)
    claim_for_a_pod(admin, "waits")
    wait_for(lambda: "cannot allocate all claims" in message_of(admin, "waits"), "no device")
    admin.delete(f"{rules}/broken")
    wait_for(lambda: "waits" in admin.placements(NAMESPACE), "the pod to be bound")


def test_a_driver_makes_devices_ready_before_the_pod_is_bound(admin: Client) -> None:
    conditions = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
    spec = {
        "driver": devices.DRIVER,
        "nodeName": "node-0",
        "pool": {"name": "slow", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "slow", **conditions}],
    }
    admin.create(devices.SLICES, {"metadata": {"name": "slow"}, "spec": spec})
    claim_for_a_pod(admin, "slow")

    def is_told() -> bool:
        events = admin.list(f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events")
        reasons = {event["reason"] for event in events if event["regarding"]["name"] == "slow"}
        return "BindingConditionsPending" in reasons

    wait_for(is_told, "the event that devices are waited for")
    assert "slow" not in admin.placements(NAMESPACE)
    condition = {
        "type": "ready",
        "status": "True",
        "reason": "Attached",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    place = {"driver": devices.DRIVER, "pool": "slow", "device": "slow"}
    report = {"status": {"devices": [{**place, "conditions": [condition]}]}}
    admin.patch(f"{devices.claims(NAMESPACE)}/slow/status", report)
    wait_for(lambda: "slow" in admin.placements(NAMESPACE), "the pod to be bound")
