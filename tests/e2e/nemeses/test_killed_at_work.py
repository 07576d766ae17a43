"""SIGKILL after the writes of a run in which everything is at work: a pod is evicted for another,
claims are bound, devices are allocated, a policy comes from a ConfigMap, and a lease is held.

As in `test_killed`: one clean run is recorded, then for each kind of write (`full`: for each write)
a run in which we die right after it, before its answer. The end must be that of the clean run, and
all runs together must hold every invariant.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cluster.audit import AuditEvent
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e import devices, volumes
from tests.e2e.judged import REST_BROKEN_S, REST_FULL_S, Judged, judge, recording
from tests.e2e.nemeses.faults import Call, LoseAnswer
from tests.e2e.nemeses.proxy import Proxy
from tests.e2e.policy_hash import policy_hash
from tests.e2e.preemption_stage import create_priorities
from tests.e2e.rights import DEVICE_RULES, VOLUME_RULES, of_config_maps
from tests.e2e.scheduler_process import SchedulerProcess
from tests.invariants.recording import Recording

pytestmark = pytest.mark.cluster

SPACE, NAME, STATUS = "policies", "policy", "policy-status"
HOME: Final = f"/api/v1/namespaces/{SPACE}/configmaps"
LEASES: Final = f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases"
ENDS_WITHIN_S = 90.0
PLACED: Final = frozenset({"preemptor", "local", "made", "devices"})
LEASE: Final = "lease"
KINDS: Final = frozenset(
    {
        "disruption target",
        "eviction",
        "nomination",
        "volume",
        "claim",
        "finalizer of a device claim",
        "allocation",
        "kept policy",
        "bind",
    }
)
# How many of these there are depends on which news came first.
UNSURE: Final = frozenset({"event", "condition", "kept policy"})
LATE_S: Final = 2.0
Json = dict[str, Any]


def kind_of(call: Call) -> str:
    """Which step of the work a write is; empty for a read."""
    if not call.writes:
        return ""
    if call.is_lease:
        return LEASE
    if call.is_bind:
        return "bind"
    if call.method == "DELETE":
        return "eviction"
    resource = call.path.partition("?")[0].split("/")
    if "resourceclaims" in resource:
        return "allocation" if resource[-1] == "status" else "finalizer of a device claim"
    for name, kind in (
        ("persistentvolumes", "volume"),
        ("persistentvolumeclaims", "claim"),
        ("configmaps", "kept policy"),
        ("events", "event"),
    ):
        if name in resource:
            return kind
    if b"DisruptionTarget" in call.body:
        return "disruption target"
    return "nomination" if b"nominatedNodeName" in call.body else "condition"


def policy(number: int) -> str:
    return f"""\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {{name: at-work}}
spec:
  profiles: [{{schedulerName: kpolicy}}]
  base: kube-scheduler-default
  priorities: [{{name: flat, weight: {number + 1}, expression: "1"}}]
"""


@pytest.fixture
def plane(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as running:
        running.admin.create_namespace(SPACE)
        running.grant(NORMAL, (*VOLUME_RULES, *DEVICE_RULES))
        running.grant(NORMAL, of_config_maps([NAME], [STATUS]), namespace=SPACE)
        controllers = (*volumes.CONTROLLERS, *devices.CONTROLLERS)
        running.start_controller_manager(controllers=controllers)
        devices.create_class(running.admin)
        volumes.create_classes(running.admin)
        create_priorities(running)
        yield running


class Work:
    """Runs of the same work, each in a namespace and on nodes of its own."""

    def __init__(self, plane: ControlPlane, proxy: Proxy, recorded: Recording, log: Path) -> None:
        self.plane, self.proxy, self.recorded = plane, proxy, recorded
        self.admin = plane.admin
        self.number = 0
        self.provisioner = threading.Thread(target=self._provision, daemon=True)
        named = f"--policy-configmap={SPACE}/{NAME}"
        flags = (named, "--scheduler-names=kpolicy", f"--lease-namespace={SPACE}")
        self.process = SchedulerProcess(proxy.kubeconfig(NORMAL), None, log, flags)

    @property
    def namespace(self) -> str:
        return f"run-{self.number}"

    def offer(self) -> None:
        text = policy(self.number)
        self.recorded.offer(policy_hash(text))
        body = {"metadata": {"name": NAME, "namespace": SPACE}, "data": {"policy.yaml": text}}
        if self.admin.exists(f"{HOME}/{NAME}"):
            self.admin.replace(f"{HOME}/{NAME}", body)
        else:
            self.admin.create(HOME, body)

    def begin(self) -> None:
        """Everything at once: nothing here waits for the scheduler."""
        full, disk = f"full-{self.number}", f"disk-{self.number}"
        self.admin.create_namespace(self.namespace)
        for node in (full, disk):
            self.admin.create_node(node, cpu="1")
        self._pod("victim", "low", full, nodeName=full)
        volumes.create_volume(self.admin, f"local-{self.number}", disk)
        volumes.wait_available(self.admin, f"local-{self.number}")
        for claim, storage in (("local", volumes.LOCAL), ("made", volumes.MADE)):
            volumes.create_claim(self.admin, self.namespace, claim, storage)
        devices.publish(self.admin, disk, 1)
        devices.create_claim(self.admin, self.namespace, "gpu")
        self.offer()
        self._pod("preemptor", "high", full)
        for claim in ("local", "made"):
            self._pod(claim, "low", disk, cpu="100m", **volumes.claimed(claim))
        self._pod("devices", "low", disk, cpu="100m", **devices.using("gpu"))
        self.provisioner = threading.Thread(target=self._provision, daemon=True)
        self.provisioner.start()

    def _provision(self) -> None:
        """As a provisioner does, whenever it is told for which node."""
        # Two deaths in a row cost two leases, before anybody can tell it.
        node = volumes.selected_node(self.admin, self.namespace, "made", timeout_s=ENDS_WITHIN_S)
        volumes.provision(self.admin, self.namespace, "made", node)

    def _pod(self, name: str, priority: str, node: str, cpu: str = "1", **spec: Any) -> None:
        spec |= {
            "priorityClassName": priority,
            "nodeSelector": {"kubernetes.io/hostname": node},
            "terminationGracePeriodSeconds": 0,
        }
        self.admin.create_pod(
            name,
            namespace=self.namespace,
            scheduler_name="kpolicy",
            cpu=cpu,
            memory=None,
            spec=spec,
        )

    def end(self) -> Json:
        """What it came to, once it has; numbers of the run taken out."""
        self.provisioner.join(ENDS_WITHIN_S)
        what = "the pods to be bound, and the policy to be reported"
        wait_for(self.is_over, what, timeout_s=ENDS_WITHIN_S)
        placed = self.admin.placements(self.namespace)
        return {
            "placed": {pod: node.partition("-")[0] for pod, node in placed.items()},
            "evicted": sorted(event.name for event in self.evictions()),
            "claims": volumes.phases(self.admin, self.namespace, ("local", "made")),
            "devices": [device for _, device in devices.devices_held(self.admin, self.namespace)],
        }

    def is_over(self) -> bool:
        return self.admin.placements(self.namespace).keys() >= PLACED and self.reported()

    def evictions(self) -> list[AuditEvent]:
        return [
            event
            for event in self.plane.audit_events()
            if (event.user, event.verb, event.what) == (NORMAL, "delete", "pods")
            and event.namespace == self.namespace
        ]

    def reported(self) -> bool:
        """The status names the policy of this run, and it is kept as the last good one."""
        wanted = policy_hash(policy(self.number))
        if not self.admin.exists(f"{HOME}/{STATUS}"):
            return False
        found = self.admin.get(f"{HOME}/{STATUS}")
        status = found.get("data", {}).get("status.json", "")
        return wanted in status and "last-good" in found.get("binaryData", {})

    def clear(self) -> None:
        space = f"/api/v1/namespaces/{self.namespace}"
        self.admin.delete(f"{space}/pods")
        self.admin.delete(f"{space}/persistentvolumeclaims")
        self.admin.delete("/api/v1/persistentvolumes")
        self.admin.delete("/api/v1/nodes")
        self.admin.delete(devices.SLICES)
        self.number += 1

    def die_after(self, kind: str, nth: int, *, frees_lease: bool) -> bool:
        """Begin, and SIGKILL between this write and its answer; then a restart. False: all came to
        its end without that write."""
        left = iter(range(nth + 1))
        died = threading.Event()

        def is_the_one(call: Call) -> bool:
            return kind_of(call) == kind and next(left, None) == nth

        def die(_: Call) -> None:
            self.process.kill()
            died.set()

        self.proxy.script(is_the_one, LoseAnswer(then=die))
        self.begin()
        wait_for(lambda: died.is_set() or self.is_over(), f"{kind} {nth}", timeout_s=ENDS_WITHIN_S)
        if not died.wait(LATE_S):
            self.proxy.heal()
            return False
        if frees_lease:  # who waits until it has run out is in test_replicas, and in the full set
            self.admin.delete(f"{LEASES}/kpolicy", missing_ok=True)
        self.process.start()
        self.process.wait_ready()
        return True


@pytest.fixture
def how(request: pytest.FixtureRequest) -> Judged:
    is_full = request.node.get_closest_marker("full") is not None
    return Judged(
        frozenset({"kpolicy"}),
        evicts=True,
        binds_volumes=True,
        allocates_devices=True,
        kept_in=f"{SPACE}/{STATUS}",
        rest_s=REST_FULL_S if is_full else REST_BROKEN_S,
    )


@pytest.mark.parametrize(
    "is_full",
    [False, pytest.param(True, marks=[pytest.mark.full, pytest.mark.timeout(3600)])],
    ids=["each-kind", "each-write"],
)
@pytest.mark.timeout(900)
def test_n_we_die_after_each_kind_of_write_and_the_end_is_the_same(
    plane: ControlPlane, proxy: Proxy, tmp_path: Path, how: Judged, *, is_full: bool
) -> None:
    with recording(plane, how) as recorded:
        work = Work(plane, proxy, recorded, tmp_path / "log")
        work.offer()
        with work.process:
            clean, writes = clean_run(work)
            wanted = [write for write in writes if is_full or write[1] == 0]
            deaths = set()
            for kind, nth in wanted:
                work.clear()
                if work.die_after(kind, nth, frees_lease=not is_full):
                    deaths.add((kind, nth))
                assert work.end() == clean, f"after a death at {kind} {nth}"
            assert {kind for kind, _ in set(wanted) - deaths} <= UNSURE
            assert {kind for kind, _ in deaths} >= KINDS | {LEASE}
            judge(work.process, recorded)
        work.clear()
    print(f"died after {len(deaths)} writes of {len(writes)}; the end was the same each time")


def clean_run(work: Work) -> tuple[Json, list[tuple[str, int]]]:
    """How it ends, and its writes by kind and number; of the lease the first."""
    work.number += 1
    before = len(work.proxy.calls())
    work.begin()
    clean = work.end()
    assert clean["evicted"] == ["victim"]
    assert clean["claims"] == ["Bound", "Bound"]
    assert clean["devices"] == ["gpu-0"]
    counted: dict[str, int] = {LEASE: 1}
    for call in work.proxy.calls()[before:]:
        kind = kind_of(call)
        if kind not in ("", LEASE):
            counted[kind] = counted.get(kind, 0) + 1
    assert counted.keys() >= KINDS, f"only {counted}"
    return clean, [(kind, nth) for kind, count in counted.items() for nth in range(count)]
