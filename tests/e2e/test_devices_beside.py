"""kube-scheduler and kpolicy, one after the other, on the same nodes, slices, claims and pods of a
real API server: the same pods on the same nodes, with the same devices and the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cluster.client import Client, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e import devices
from tests.e2e.rights import DEVICE_RULES
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster

Json = dict[str, Any]
POLICY: Final = Path(__file__).parent / "policies" / "devices.yaml"
LARGE, SMALL = "large", "small"
# The small one is chosen only where the large one is not possible, so that no tie is drawn.
PREFERS_LARGE: Final = {
    "weight": 100,
    "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [LARGE]}]},
}


def exactly(name: str = "gpus", **fields: Any) -> Json:
    return {"name": name, "exactly": {"deviceClassName": devices.CLASS, **fields}}


def selecting(expression: str) -> list[Json]:
    return [{"cel": {"expression": expression}}]


def model(name: str) -> list[Json]:
    return selecting(f"device.attributes['{devices.DRIVER}'].model == '{name}'")


def same(attribute: str) -> Json:
    return {"matchAttribute": f"{devices.DRIVER}/{attribute}"}


def first(name: str, *alternatives: Json) -> Json:
    named = [
        {"name": f"choice-{number}", "deviceClassName": devices.CLASS, **alternative}
        for number, alternative in enumerate(alternatives)
    ]
    return {"name": name, "firstAvailable": named}


@dataclass(frozen=True)
class Asked:
    """A pod, and what its claim asks for; without requests it asks for an extended resource."""

    pod: str
    requests: tuple[Json, ...] = ()
    constraints: tuple[Json, ...] = ()
    extended: int = 0


ASKED: Final = (
    Asked("any", (exactly(),)),
    Asked("two-of-a-numa-node", (exactly(count=2),), (same("numa"),)),
    Asked("by-model", (exactly(selectors=model("h100")),)),
    Asked("by-memory", (exactly(selectors=selecting(
        f"'memory' in device.capacity['{devices.DRIVER}'] && "
        f"device.capacity['{devices.DRIVER}'].memory.compareTo(quantity('60Gi')) >= 0"
    )),)),
    Asked("partition", (exactly(selectors=model("part")),)),
    Asked("shares", (exactly(
        selectors=model("shared"), capacity={"requests": {"memory": "10Gi"}}
    ),)),
    Asked("shares-too", (exactly(
        selectors=model("shared"), capacity={"requests": {"memory": "20Gi"}}
    ),)),
    Asked("second-best", (first(
        "either", {"selectors": model("b200")}, {"selectors": model("h100"), "count": 2}
    ),)),
    Asked("all-partitions", (exactly(selectors=model("part"), allocationMode="All"),)),
    Asked("extended", extended=1),
    Asked("two-requests", (exactly("one"), exactly("other", selectors=model("a100"))),
          (same("numa"),)),
    Asked("too-many", (exactly(count=30),)),
    Asked("no-such", (exactly(selectors=model("none")),)),
    Asked("wrong", (exactly(selectors=selecting("device.attributes['none'].x == 'y'")),)),
    Asked("rest", (exactly(selectors=model("a100")),)),
    Asked("last", (exactly(),)),
)  # fmt: skip


def attributes(kind: str, numa: int) -> Json:
    return {"model": {"string": kind}, "numa": {"int": numa}}


def whole_devices(count: int) -> list[Json]:
    return [
        {
            "name": f"gpu-{number}",
            "attributes": attributes("h100" if number % 3 else "a100", number // 2),
            "capacity": {"memory": {"value": f"{20 * (number + 1)}Gi"}},
        }
        for number in range(count)
    ]


def slices_of(node: str) -> Iterator[Json]:
    def of(pool: str, count: int, **fields: Any) -> Json:
        place = {"name": f"{node}-{pool}", "generation": 1, "resourceSliceCount": count}
        return {"driver": devices.DRIVER, "nodeName": node, "pool": place, **fields}

    yield of("whole", 1, devices=whole_devices(6 if node == LARGE else 4))
    counters = {"slots": {"value": "4"}}
    yield of("cut", 2, sharedCounters=[{"name": "card", "counters": counters}])
    yield of("cut", 2, devices=[
        {
            "name": f"part-{number}",
            "attributes": attributes("part", 0),
            "consumesCounters": [
                {"counterSet": "card", "counters": {"slots": {"value": str(slots)}}}
            ],
        }
        for number, slots in enumerate((3, 2, 1, 1))
    ])  # fmt: skip
    policy = {"default": "5Gi", "validRange": {"min": "5Gi", "step": "5Gi"}}
    yield of("shared", 1, devices=[{
        "name": "shared-0",
        "attributes": attributes("shared", 1),
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "40Gi", "requestPolicy": policy}},
    }])  # fmt: skip


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as control_plane:
        admin = control_plane.admin
        control_plane.grant(NORMAL, DEVICE_RULES)
        devices.create_class(admin)
        for node in (LARGE, SMALL):
            admin.create_node(node)
            for number, spec in enumerate(slices_of(node)):
                body = {"metadata": {"name": f"{node}-{number}"}, "spec": spec}
                admin.create(devices.SLICES, body)
        yield control_plane


def ask(admin: Client, namespace: str, scheduler: str, asked: Asked) -> None:
    container: Json = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [PREFERS_LARGE]}
    spec: Json = {"containers": [container], "affinity": {"nodeAffinity": preferred}}
    if asked.requests:
        body: Json = {"requests": list(asked.requests), "constraints": list(asked.constraints)}
        claim = {"metadata": {"name": asked.pod}, "spec": {"devices": body}}
        admin.create(devices.claims(namespace), claim)
        spec |= devices.using(claim=asked.pod)
    if asked.extended:
        amount = {devices.EXTENDED: str(asked.extended)}
        container["resources"]["requests"] |= amount
        container["resources"]["limits"] = amount
    admin.create_pod(asked.pod, namespace=namespace, scheduler_name=scheduler, spec=spec)


def condition(admin: Client, namespace: str, pod: str) -> Mapping[str, str]:
    found = admin.pod(pod, namespace=namespace).get("status", {}).get("conditions") or ()
    return next((own for own in found if own["type"] == "PodScheduled"), {})


@dataclass(frozen=True)
class Decided:
    """What became of the pods, and what was written to their claims."""

    nodes: Mapping[str, str]
    conditions: Mapping[str, tuple[str, str]]
    allocations: Mapping[str, Json] = field(default_factory=dict)


def without_chance(allocation: Json) -> Json:
    """Times and the identifiers of shares are drawn anew by each."""
    results = [
        {key: "*" if key == "shareID" else value for key, value in result.items()}
        for result in allocation["devices"]["results"]
    ]
    kept = {key: value for key, value in allocation.items() if key != "allocationTimestamp"}
    return {**kept, "devices": {**allocation["devices"], "results": results}}


def without_names(message: str, namespace: str) -> str:
    """From 1.37 on, an error of a selector names the device. kube-scheduler looks at nodes side by
    side, so that the first error may be of either."""
    named = message.replace(namespace, "NAMESPACE")
    for node in (LARGE, SMALL):
        named = named.replace(f"on device {devices.DRIVER}/{node}-", "on device ")
    return named


def decided(admin: Client, namespace: str, scheduler: str) -> Decided:
    """What the scheduler decides about all, one pod after the other."""
    admin.create_namespace(namespace)
    for asked in ASKED:
        ask(admin, namespace, scheduler, asked)
        decision = partial(condition, admin, namespace, asked.pod)
        wait_for(decision, f"pod {asked.pod} to be decided")
    found = {asked.pod: condition(admin, namespace, asked.pod) for asked in ASKED}
    allocations = {}
    for claim in admin.list(devices.claims(namespace)):
        # The claim of an extended resource has a generated name.
        name = claim["metadata"].get("generateName") or claim["metadata"]["name"]
        if allocation := claim.get("status", {}).get("allocation"):
            allocations[name] = without_chance(allocation)
    words = {
        pod: (own.get("reason", ""), without_names(own.get("message", ""), namespace))
        for pod, own in found.items()
    }
    return Decided(admin.placements(namespace), words, allocations)


def free_all(admin: Client, namespace: str) -> None:
    for pod in admin.pods(namespace):
        admin.delete_pod(pod["metadata"]["name"], namespace=namespace)
    for claim in admin.list(devices.claims(namespace)):
        path = f"{devices.claims(namespace)}/{claim['metadata']['name']}"
        admin.patch(f"{path}/status", {"status": {"allocation": None, "reservedFor": None}})
        admin.patch(path, {"metadata": {"finalizers": None}})
        admin.delete(path, missing_ok=True)
    wait_for(lambda: not admin.list(devices.claims(namespace)), "the claims to be gone")


@pytest.mark.timeout(240)
def test_both_choose_the_same_devices_on_the_same_nodes(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    admin = cluster.admin
    process = cluster.start_scheduler()
    theirs = decided(admin, "theirs", "default-scheduler")
    process.stop()
    free_all(admin, "theirs")
    kubeconfig = cluster.kubeconfig(NORMAL)
    with SchedulerProcess(kubeconfig, POLICY, tmp_path / "kpolicy.log"):
        ours = decided(admin, "ours", "kpolicy")
    assert len(theirs.nodes) >= 10, theirs
    assert set(theirs.nodes.values()) == {LARGE, SMALL}
    assert len(theirs.nodes) < len(ASKED), "some cannot be placed"
    assert ours.nodes == theirs.nodes
    assert ours.allocations == theirs.allocations
    assert ours.conditions == theirs.conditions
