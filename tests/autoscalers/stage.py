"""Lets the whole scheduler decide scenarios in the simulated world, one after the other, and reads
what the API server then has.

Several scenarios have one scheduler, so that it also takes policies and clusters that replace each
other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from kpolicy.scheduler.limits import MINUTE_S
from kpolicy.testing.objects.resource_types import BY_KIND
from tests.autoscalers.cluster import Cluster, Pod
from tests.autoscalers.rules import NAMESPACES, Policy, policy_of
from tests.autoscalers.scenarios import Scenario, scenario_of
from tests.invariants.history import SECOND_NS
from tests.simulation.api_server import USER
from tests.simulation.policies import hash_of, source_of
from tests.simulation.setting import Setting
from tests.simulation.world import Plan, World, world_of

POLICIES_OF_A_WORLD: Final = 5
SCENARIOS_OF_A_POLICY: Final = 5
# Once a minute pods are tried again that rules keep back by now. Five minutes later, all would be.
SETTLE_S: Final = MINUTE_S + 5
# Longer than a change takes to the scheduler.
HEARD_S: Final = 0.1
_LOOKS_MAX: Final = 50
_BEGIN_S_MAX: Final = 60.0
_PODS: Final = BY_KIND["v1", "Pod"]
_NODES: Final = BY_KIND["v1", "Node"]
_AT_ONCE: Final = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}


@dataclass(frozen=True, slots=True)
class Decided:
    """A scenario at its end. `pending`: the pods without a node, with what the API server has of
    each."""

    seed: int
    policy: Policy
    cluster: Cluster
    pending: Mapping[Pod, Mapping[str, Any]]


def decided_scenarios(seed: int) -> Iterator[Decided]:
    chance = Random(f"autoscalers {seed}")
    with world_of(Plan(seed, calm=True, setting=Setting())) as world:
        stage = Stage(world)
        for _ in range(POLICIES_OF_A_WORLD):
            policy = policy_of(chance)
            stage.put_in_force(policy)
            for _ in range(SCENARIOS_OF_A_POLICY):
                cluster, pending = stage.play(scenario_of(chance, policy))
                yield Decided(seed, policy, cluster, pending)
                stage.clear()


class Stage:
    def __init__(self, world: World) -> None:
        self._world = world
        self._instance = world.instances[0]
        world.people.begin_namespaces()
        for name in NAMESPACES:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self._ask("POST", "/api/v1/namespaces", body)

    def put_in_force(self, policy: Policy) -> None:
        text = policy.text()
        compiled_to = hash_of(source_of(text))
        assert compiled_to, text.text
        self._world.offered.put(text)
        if self._instance.life is None:
            self._instance.start()
        until_ns = self._world.time.now_ns + round(_BEGIN_S_MAX * SECOND_NS)
        is_in_force = self._world.time.run_until(
            lambda: self._instance.leads and self._hash() == compiled_to, until_ns=until_ns
        )
        assert is_in_force, text.text

    def play(self, scenario: Scenario) -> tuple[Cluster, dict[Pod, Mapping[str, Any]]]:
        """The cluster at the end, and the pods that wait."""
        for wave in scenario.waves:
            for node in wave.nodes:
                self._ask("POST", "/api/v1/nodes", node.body())
            for pod in wave.ended:
                self._delete(pod.namespace, pod.name)
            for pod in wave.pods:
                self._ask("POST", f"/api/v1/namespaces/{pod.namespace}/pods", pod.body())
            self._world.pass_time(wave.pause_s)
        self._world.pass_time(SETTLE_S)
        self._wait_for_rest()
        assert self._instance.leads
        return self._read(scenario)

    def clear(self) -> None:
        for record in self._world.api.store.records(_PODS):
            self._delete(record.object["metadata"]["namespace"], record.object["metadata"]["name"])
        for record in self._world.api.store.records(_NODES):
            self._ask("DELETE", f"/api/v1/nodes/{record.object['metadata']['name']}")
        self._world.pass_time(HEARD_S)

    def _wait_for_rest(self) -> None:
        """No attempt is under way. While pods of a tenant are being tried, a quota holds others."""
        for _ in range(_LOOKS_MAX):
            before = self._world.api.store.revision
            self._world.pass_time(HEARD_S)
            if self._world.api.store.revision == before:
                return
        raise AssertionError("the scheduler writes without end")

    def _read(self, scenario: Scenario) -> tuple[Cluster, dict[Pod, Mapping[str, Any]]]:
        made = {(pod.namespace, pod.name): pod for pod in scenario.pods}
        placed: dict[Pod, str] = {}
        nominated: dict[Pod, str] = {}
        pending: dict[Pod, Mapping[str, Any]] = {}
        for record in self._world.api.store.records(_PODS):
            stored = record.object
            pod = made[stored["metadata"]["namespace"], stored["metadata"]["name"]]
            if node := stored["spec"].get("nodeName"):
                placed[pod] = node
                continue
            pending[pod] = stored
            if node := stored["status"].get("nominatedNodeName"):
                nominated[pod] = node
        return Cluster(scenario.nodes, placed, nominated), pending

    def _hash(self) -> str:
        life = self._instance.life
        policy = life.scheduler.policy if life is not None else None
        return policy.hash if policy is not None else ""

    def _delete(self, namespace: str, name: str) -> None:
        self._ask("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}", _AT_ONCE)

    def _ask(self, method: str, path: str, body: object = None) -> None:
        answer = self._world.api.do(USER, method, path, body)
        assert answer.code < 300, (path, answer)
