"""A real API server and a live scheduler that may evict pods, with a stage of nodes and pods for
each test.

Reads from the audit log who was deleted. Plays the kubelet: pods with a grace period end when a
test says so. One test at a time uses it. It must not import kpolicy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.cluster.audit import AuditEvent
from tests.cluster.client import wait_for
from tests.cluster.connection import Json
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.judged import Judged, judged_run
from tests.e2e.scheduler_process import SchedulerProcess

POLICY = Path(__file__).parent / "policies" / "preemption.yaml"
PRIORITIES = {"low": 100, "medium": 200, "high": 300}
JUDGED = Judged(
    frozenset({"kpolicy", "one-each", "one-each-for-good", "never", "sparing"}),
    trouble_free=True,
    evicts=True,
    unjudged=frozenset({"one-each", "one-each-for-good"}),
)
GRACE_S = 600  # longer than any test: such pods end when the test says so
_PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_numbers = itertools.count(1)


def create_priorities(plane: ControlPlane) -> None:
    for name, value in PRIORITIES.items():
        plane.admin.create(_PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
        polite = {"metadata": {"name": f"{name}-never"}, "value": value}
        plane.admin.create(_PRIORITY_CLASSES, {**polite, "preemptionPolicy": "Never"})


def judged_stage(plane: ControlPlane, scheduler: SchedulerProcess) -> Iterator[Stage]:
    """A stage for one test, and at its end what must hold after every one."""
    stage = Stage(plane)
    stage.open()
    try:
        with judged_run(plane, scheduler, JUDGED):
            yield stage
    finally:
        stage.close()


@dataclass
class Stage:
    """Nodes and pods by short names of the test's own. Priority `high-never`: it evicts nobody."""

    plane: ControlPlane
    namespace: str = field(default_factory=lambda: f"stage-{next(_numbers)}")
    uids: dict[str, str] = field(default_factory=dict)
    _nodes: list[str] = field(default_factory=list)

    def open(self) -> None:
        self.plane.admin.create_namespace(self.namespace)

    def close(self) -> None:
        admin = self.plane.admin
        admin.delete(f"/api/v1/namespaces/{self.namespace}/pods")
        for kind in ("/api/v1/persistentvolumes", *self._paths("persistentvolumeclaims")):
            admin.delete(kind)
        admin.delete(self.budgets)
        for name in self._nodes:
            admin.delete(f"/api/v1/nodes/{name}", missing_ok=True)

    @property
    def budgets(self) -> str:
        return f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets"

    def _paths(self, *resources: str) -> list[str]:
        return [f"/api/v1/namespaces/{self.namespace}/{resource}" for resource in resources]

    def _pod(self, name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{name}"

    # --- what is there -------------------------------------------------------------------------

    def node(self, name: str = "node", cpu: str = "500m", **fields: Any) -> None:
        self._nodes.append(name)
        self.plane.admin.create_node(name, cpu=cpu, **fields)

    def delete_node(self, name: str = "node") -> None:
        self.plane.admin.delete(f"/api/v1/nodes/{name}")

    def pod(
        self,
        name: str,
        priority: str,
        cpu: str = "100m",
        *,
        on: str = "",
        scheduler: str = "kpolicy",
        labels: Mapping[str, str] | None = None,
        grace_s: int = 0,
        **spec: Any,
    ) -> None:
        """`on` places the pod on a node at once, as if it had been there for long."""
        spec |= {"priorityClassName": priority, "terminationGracePeriodSeconds": grace_s}
        if on:
            spec["nodeName"] = on
        created = self.plane.admin.create_pod(
            name,
            namespace=self.namespace,
            scheduler_name=scheduler,
            cpu=cpu,
            memory="1Mi",
            labels=labels,
            spec=spec,
        )
        self.uids[name] = created["metadata"]["uid"]

    def nominated_pod(self, name: str, priority: str, cpu: str, node: str) -> None:
        """A pod to which somebody else has nominated a node before it is looked at."""
        self.pod(name, priority, cpu, schedulingGates=[{"name": "wait"}])
        self.nominate(name, node)
        self.ungate(name)

    def nominate(self, name: str, node: str) -> None:
        body = {"status": {"nominatedNodeName": node}}
        self.plane.admin.patch(f"{self._pod(name)}/status", body, kind="strategic")

    def ungate(self, name: str) -> None:
        remove = [{"op": "remove", "path": "/spec/schedulingGates"}]
        self.plane.admin.patch(self._pod(name), remove, kind="json")

    def budget(self, name: str, labels: Mapping[str, str], allowed: int) -> None:
        spec = {"minAvailable": 2, "selector": {"matchLabels": dict(labels)}}
        self.plane.admin.create(self.budgets, {"metadata": {"name": name}, "spec": spec})
        status = {
            "disruptionsAllowed": allowed,
            "currentHealthy": 2,
            "desiredHealthy": 2,
            "expectedPods": 2,
            "observedGeneration": 1,
        }
        self.plane.admin.patch(f"{self.budgets}/{name}/status", {"status": status})

    def claim(self, name: str) -> None:
        """A claim of one pod at a time, bound to a volume of its own, as their controller would."""
        common: Json = {"accessModes": ["ReadWriteOncePod"]}
        volume_name = f"{self.namespace}-{name}"
        claim = self.plane.admin.create(
            self._paths("persistentvolumeclaims")[0],
            {
                "metadata": {
                    "name": name,
                    "annotations": {"pv.kubernetes.io/bind-completed": "true"},
                },
                "spec": {
                    **common,
                    "resources": {"requests": {"storage": "1Mi"}},
                    "volumeName": volume_name,
                    "storageClassName": "",
                },
            },
        )
        reference = {"namespace": self.namespace, "name": name, "uid": claim["metadata"]["uid"]}
        volume: Json = {
            "metadata": {"name": volume_name},
            "spec": {
                **common,
                "capacity": {"storage": "1Mi"},
                "hostPath": {"path": "/mnt"},
                "claimRef": reference,
            },
        }
        self.plane.admin.create("/api/v1/persistentvolumes", volume)

    # --- what became of it ---------------------------------------------------------------------

    def seen(self, name: str) -> Json | None:
        """The pod; None once it is gone."""
        pods = self.plane.admin.pods(self.namespace)
        return next((entry for entry in pods if entry["metadata"]["name"] == name), None)

    def node_of(self, name: str) -> str:
        pod = self.seen(name)
        return str(pod["spec"].get("nodeName", "")) if pod else ""

    def nomination(self, name: str) -> str:
        pod = self.seen(name)
        assert pod is not None, f"{name} is gone"
        return str(pod["status"].get("nominatedNodeName", ""))

    def condition(self, name: str, kind: str = "PodScheduled") -> Json:
        pod = self.seen(name)
        found = pod["status"].get("conditions", []) if pod else []
        return next((entry for entry in found if entry["type"] == kind), {})

    def wait_bound(self, name: str, to: str = "node") -> None:
        wait_for(lambda: self.node_of(name), f"{name} to be bound; {self.condition(name)}")
        assert self.node_of(name) == to

    def wait_nominated(self, name: str, to: str = "node") -> None:
        wait_for(lambda: self.nomination(name) == to, f"{name} to be nominated to {to!r}")

    def wait_unschedulable(self, name: str, saying: str = "") -> None:
        def is_unschedulable() -> bool:
            found = self.condition(name)
            return found.get("reason") == "Unschedulable" and saying in found.get("message", "")

        wait_for(
            is_unschedulable,
            f"{name} to be unschedulable, saying {saying!r}: {self.condition(name)}",
        )

    def wait_evicted(self, *names: str) -> None:
        """Gone, or ending."""

        def ends(name: str) -> bool:
            pod = self.seen(name)
            return pod is None or "deletionTimestamp" in pod["metadata"]

        wait_for(lambda: all(map(ends, names)), f"{names} to be evicted")

    def end(self, *names: str) -> None:
        """As their kubelets would, once they have stopped."""
        for name in names:
            self.plane.admin.delete(self._pod(name), missing_ok=True)

    # --- what the audit log says ---------------------------------------------------------------

    def _ours(self, verb: str, what: str) -> list[AuditEvent]:
        return [
            event
            for event in self.plane.audit_events()
            if (event.user, event.verb, event.what) == (NORMAL, verb, what)
            and event.namespace == self.namespace
        ]

    def deleted(self) -> list[str]:
        return [event.name for event in self._ours("delete", "pods")]

    def assert_deleted(self, *names: str) -> None:
        """The scheduler deleted only these pods, each once, by its uid, and after its condition
        DisruptionTarget was written."""
        deletes = self._ours("delete", "pods")
        assert sorted(event.name for event in deletes) == sorted(names)
        reason_written_at: dict[str, datetime] = {}
        for event in self._ours("patch", "pods/status"):
            for condition in ((event.request or {}).get("status") or {}).get("conditions") or ():
                if condition["type"] == "DisruptionTarget":
                    reason_written_at.setdefault(event.name, event.answered_at)
        for event in deletes:
            assert event.code in {200, 202}
            assert event.request is not None
            assert event.request["preconditions"] == {"uid": self.uids[event.name]}
            assert reason_written_at[event.name] <= event.received_at

    def written_conditions(self, name: str) -> Sequence[Json]:
        return [
            condition
            for event in self._ours("patch", "pods/status")
            if event.name == name and event.code == 200
            for condition in ((event.request or {}).get("status") or {}).get("conditions") or ()
        ]

    def events(self, reason: str) -> list[Json]:
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        return [event for event in self.plane.admin.list(path) if event["reason"] == reason]
