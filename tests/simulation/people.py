"""The others who change the cluster: users, an autoscaler, a kubelet, and another scheduler.

Each step is chosen by chance. Their requests go straight to the server: only the scheduler's
requests meet faults.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from kpolicy.testing.builders import node, pod
from kpolicy.testing.objects.resource_types import BY_KIND
from tests.simulation.api_server import KUBELET, OTHER_SCHEDULER, USER, SimulatedApi
from tests.simulation.policies import PROFILE

PODS: Final = BY_KIND["v1", "Pod"]
NODES: Final = BY_KIND["v1", "Node"]
MERGE: Final = "application/merge-patch+json"
NODES_MIN: Final = 2
NODES_MAX: Final = 7
PODS_MAX: Final = 45
# There are so few names that many pods get a name that was used before.
POD_NAMES: Final = 60
DRAIN_TAINT: Final = {"key": "drain", "value": "yes", "effect": "NoSchedule"}
TOLERATES_DRAIN: Final = ({"key": "drain", "operator": "Exists"},)


class People:
    def __init__(self, api: SimulatedApi, random: Random) -> None:
        self._api = api
        self._random = random
        self._nodes = 0
        self.counts: Counter[str] = Counter()
        self.calm = False  # pods do not end by themselves any more; deleted pods still do
        self._steps: dict[Callable[[], None], int] = {
            self.create_pods: 30,
            self.delete_pod: 8,
            self.recreate_pod: 4,
            self.open_gate: 6,
            self.add_node: 4,
            self.remove_node: 2,
            self.cordon: 5,
            self.taint: 4,
            self.relabel_node: 4,
            self.resize_node: 3,
            self.bind_elsewhere: 5,
            self.relabel_pod: 3,
        }

    def also(self, steps: Mapping[Callable[[], None], int]) -> None:
        """Steps of further actors."""
        self._steps |= steps

    def begin_namespaces(self) -> None:
        for name in ("default", "kube-system"):
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self._do("", USER, "POST", "/api/v1/namespaces", namespace)

    def begin(self) -> None:
        self.begin_namespaces()
        for _ in range(self._random.randint(NODES_MIN, NODES_MAX - 2)):
            self.add_node()
        for _ in range(self._random.randint(1, 4)):
            self.create_pods()

    async def live(self, steps: int, pause_s: float) -> None:
        """Makes so many steps, in bursts and with pauses."""
        for _ in range(steps):
            if self._random.random() > 0.4:
                await asyncio.sleep(self._random.expovariate(1 / pause_s))
            (step,) = self._random.choices(list(self._steps), list(self._steps.values()))
            step()

    async def run_kubelets(self) -> None:
        while True:
            await asyncio.sleep(0.5 + self._random.random() * 3)
            self.kubelet_step()

    # --- steps -----------------------------------------------------------------------------------

    def create_pods(self) -> None:
        for _ in range(self._random.choice((1, 1, 2, 5))):
            if self._api.store.count(PODS) < PODS_MAX:
                self.create_pod(f"pod-{self._random.randrange(POD_NAMES)}")

    def create_pod(self, name: str) -> None:
        self.submit(self.pod_body(name), "create pod")

    def submit(self, body: dict[str, Any], what: str) -> None:
        if self._api.store.count(PODS) < PODS_MAX:
            self._do(what, USER, "POST", _pods(), body)

    def pod_body(self, name: str) -> dict[str, Any]:
        chance = self._random
        body = pod(
            name,
            cpu=chance.choice(("100m", "250m", "500m", "1", "2", "3")),
            memory=chance.choice(("64Mi", "256Mi", "1Gi")),
            scheduler_name=PROFILE if chance.random() < 0.85 else "another",
            labels={"app": chance.choice(("web", "batch"))},
            priority=chance.choice((0, 0, 0, 100, 1000)),
            tolerations=TOLERATES_DRAIN if chance.random() < 0.1 else (),
            node_selector={"disk": "ssd"} if chance.random() < 0.15 else None,
            scheduling_gates=("wait",) if chance.random() < 0.15 else (),
        )
        if chance.random() < 0.1:
            body["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
        return body

    def delete_pod(self) -> None:
        if (name := self._a_pod()) is not None:
            seconds = self._random.choice((0, 0, 5))
            body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": seconds}
            self._do("delete pod", USER, "DELETE", f"{_pods()}/{name}", body)

    def recreate_pod(self) -> None:
        """Creates a pod again with the same name at once, as a StatefulSet does."""
        if (name := self._a_pod()) is not None:
            body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
            self._do("delete pod", USER, "DELETE", f"{_pods()}/{name}", body)
            self.create_pod(name)
            self.counts["recreate pod"] += 1

    def open_gate(self) -> None:
        gated = [pod for pod in self.pods() if pod["spec"].get("schedulingGates")]
        if gated:
            name = self._random.choice(gated)["metadata"]["name"]
            patch = {"spec": {"schedulingGates": None}}
            self._do("open gate", USER, "PATCH", f"{_pods()}/{name}", patch, merge=True)

    def add_node(self) -> None:
        if self._api.store.count(NODES) >= NODES_MAX:
            return
        chance = self._random
        # Names of nodes return too, like repaired machines.
        name = f"node-{self._nodes if chance.random() < 0.7 else chance.randrange(1 + self._nodes)}"
        self._nodes += 1
        body = node(
            name,
            cpu=chance.choice(("1", "2", "4")),
            memory=chance.choice(("2Gi", "4Gi")),
            pods=chance.choice((4, 20)),
            labels={
                "tier": chance.choice(("spot", "steady")),
                "disk": chance.choice(("ssd", "hdd")),
                "topology.kubernetes.io/zone": chance.choice(("a", "b")),
            },
        )
        self._do("add node", USER, "POST", "/api/v1/nodes", body)

    def remove_node(self) -> None:
        """Also deletes its pods, as the garbage collector does."""
        if self._api.store.count(NODES) <= NODES_MIN or (name := self._a_node()) is None:
            return
        self._do("remove node", USER, "DELETE", f"/api/v1/nodes/{name}", None)
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        for bound in self.pods():
            if bound["spec"].get("nodeName") == name:
                self._do("", USER, "DELETE", f"{_pods()}/{bound['metadata']['name']}", body)

    def cordon(self) -> None:
        if (name := self._a_node()) is not None:
            patch = {"spec": {"unschedulable": self._random.choice((True, None, None))}}
            self._do("cordon", USER, "PATCH", f"/api/v1/nodes/{name}", patch, merge=True)

    def taint(self) -> None:
        if (name := self._a_node()) is not None:
            patch = {"spec": {"taints": self._random.choice(([DRAIN_TAINT], None, None))}}
            self._do("taint", USER, "PATCH", f"/api/v1/nodes/{name}", patch, merge=True)

    def relabel_node(self) -> None:
        if (name := self._a_node()) is not None:
            labels = {
                "tier": self._random.choice(("spot", "steady")),
                "disk": self._random.choice(("ssd", "hdd")),
            }
            patch = {"metadata": {"labels": labels}}
            self._do("relabel node", USER, "PATCH", f"/api/v1/nodes/{name}", patch, merge=True)

    def touch_node(self) -> None:
        """A change that makes no pod fit: only rules of extenders may depend on it."""
        if (name := self._a_node()) is not None:
            patch = {"metadata": {"labels": {"touched": "yes"}}}
            self._do("touch node", USER, "PATCH", f"/api/v1/nodes/{name}", patch, merge=True)

    def resize_node(self) -> None:
        if (name := self._a_node()) is not None:
            patch = {"status": {"allocatable": {"cpu": self._random.choice(("1", "2", "4", "6"))}}}
            path = f"/api/v1/nodes/{name}/status"
            self._do("resize node", USER, "PATCH", path, patch, merge=True)

    def relabel_pod(self) -> None:
        if (name := self._a_pod()) is not None:
            patch = {"metadata": {"labels": {"app": self._random.choice(("web", "batch"))}}}
            self._do("relabel pod", USER, "PATCH", f"{_pods()}/{name}", patch, merge=True)

    def bind_elsewhere(self) -> None:
        """Another scheduler binds its pods, and sometimes one of kpolicy's, as a person might."""
        waiting = [pod for pod in self.pods() if not pod["spec"].get("nodeName")]
        others = [pod for pod in waiting if pod["spec"]["schedulerName"] != PROFILE]
        if self._random.random() < 0.2:
            others = waiting
        if not others or (target := self._a_node()) is None:
            return
        metadata = self._random.choice(others)["metadata"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": metadata["name"], "uid": metadata["uid"]},
            "target": {"kind": "Node", "name": target},
        }
        path = f"{_pods()}/{metadata['name']}/binding"
        self._do("foreign bind", OTHER_SCHEDULER, "POST", path, binding)

    def kubelet_step(self) -> None:
        """One pod of each node advances: it runs, ends, or is removed."""
        for bound in self.pods():
            metadata, phase = bound["metadata"], bound.get("status", {}).get("phase")
            if not bound["spec"].get("nodeName") or self._random.random() < 0.6:
                continue
            path = f"{_pods()}/{metadata['name']}"
            if metadata.get("deletionTimestamp"):
                body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
                self._do("", KUBELET, "DELETE", path, body)
            elif phase in (None, "Pending"):
                self._phase(path, "Running")
            elif phase == "Running" and not self.calm and self._random.random() < 0.03:
                self._phase(path, "Succeeded")
                self.counts["pod ended"] += 1

    def pods(self) -> list[dict[str, Any]]:
        return [dict(record.object) for record in self._api.store.records(PODS)]

    # --- inside ----------------------------------------------------------------------------------

    def _phase(self, path: str, phase: str) -> None:
        self._do("", KUBELET, "PATCH", f"{path}/status", {"status": {"phase": phase}}, merge=True)

    def _a_pod(self) -> str | None:
        names = [record.name for record in self._api.store.records(PODS)]
        return self._random.choice(names) if names else None

    def _a_node(self) -> str | None:
        names = [record.name for record in self._api.store.records(NODES)]
        return self._random.choice(names) if names else None

    def _do(
        self, what: str, user: str, method: str, path: str, body: object, *, merge: bool = False
    ) -> None:
        answer = self._api.do(user, method, path, body, MERGE if merge else "")
        if what and answer.code < 300:
            self.counts[what] += 1
        assert answer.code in (200, 201, 202, 404, 409), json.loads(answer.body)


def _pods() -> str:
    return "/api/v1/namespaces/default/pods"
