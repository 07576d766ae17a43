"""Runs one round: replaces nodes, creates pods of every kind, waits until they are placed, deletes
them.

A round ends when the scheduler has seen that everything is gone. The scheduler must be ready, and
the API server otherwise idle.
"""

from __future__ import annotations

import time
from typing import Final

from benches.churn import population
from benches.churn.population import HIGH, LOW, PRIORITIES, Size
from benches.churn.sample import left
from benches.cluster.policy_map import PROFILE, PolicyMap
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.e2e import volumes
from tests.e2e.scheduler_process import SchedulerProcess

POLICY_EVERY: Final = 5
_WITHIN_S: Final = 300.0
_LOOK_EVERY_S: Final = 0.2
_HIGH_PREFIX: Final = "high"
_PRIORITY_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"


class Churn:
    """Rounds over one cluster; the nodes of one are the nodes of the next, but for a tenth."""

    def __init__(self, plane: ControlPlane, size: Size) -> None:
        self._plane, self._admin, self._size = plane, plane.admin, size
        self._nodes = [f"node-0-{slot}" for slot in range(size.nodes)]
        self.policy = PolicyMap(plane)
        for name, value in PRIORITIES.items():
            self._admin.create(_PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
        volumes.create_classes(self._admin)
        self._admin.create_nodes(
            size.nodes, prefix="node-0", each=lambda slot: population.node(0, slot)
        )
        self._admin.create_nodes(population.SMALL_NODES, prefix="small", **population.small_node())

    def play(self, process: SchedulerProcess, turn: int) -> int:
        """Runs the round; returns how many pods were bound."""
        space = f"churn-{turn}"
        self._admin.create_namespace(space)
        self._replace_nodes(turn)
        if turn % POLICY_EVERY == 0:
            self._change_policy(process, turn)
        bound = self._place(space, turn)
        self._parked(process)
        self._lose_nodes(turn)
        self._remove(space)
        wait_for(
            lambda: not left(process),
            f"the end of round {turn}",
            timeout_s=_WITHIN_S,
            every_s=_LOOK_EVERY_S,
        )
        return bound

    # --- nodes and policy ------------------------------------------------------------------------

    def _replace_nodes(self, turn: int) -> None:
        """Replaces nodes by others with new names."""
        for slot in self._slots(turn):
            self._admin.delete(f"/api/v1/nodes/{self._nodes[slot]}")
            self._nodes[slot] = f"node-{turn}-{slot}"
            self._admin.create_node(self._nodes[slot], **population.node(turn, slot))

    def _lose_nodes(self, turn: int) -> None:
        """Deletes nodes with pods, and creates them again with the same names and other labels."""
        for slot in self._slots(turn + 1):
            self._admin.delete(f"/api/v1/nodes/{self._nodes[slot]}")
            self._admin.create_node(self._nodes[slot], **population.node(turn, slot))

    def _slots(self, turn: int) -> list[int]:
        count, nodes = self._size.replaced_nodes, self._size.nodes
        return [(turn * count + number) % nodes for number in range(count)]

    def _change_policy(self, process: SchedulerProcess, turn: int) -> None:
        before = process.metric("kpolicy_policy_reload_total", result="loaded")
        self.policy.write(turn)
        wait_for(
            lambda: process.metric("kpolicy_policy_reload_total", result="loaded") > before,
            "the changed policy to be in force",
            timeout_s=_WITHIN_S,
        )

    # --- pods ------------------------------------------------------------------------------------

    def _place(self, space: str, turn: int) -> int:
        size, create = self._size, self._admin.create_pods
        for index in range(size.claimed):
            volumes.create_volume(self._admin, f"disk-{turn}-{index}", self._nodes[index])
            volumes.create_claim(self._admin, space, population.claim(turn, index))
        common: population.Fields = {"namespace": space, "scheduler_name": PROFILE}
        create(size.pods, prefix="pod", each=population.pod(turn), **common)
        claiming = population.claiming(volumes.claimed, turn)
        create(size.claimed, prefix="claiming", each=claiming, **common)
        low, high = population.crowd(LOW, "100m"), population.crowd(HIGH, "500m")
        create(population.LOW_PODS, prefix="low", **common, **low)
        create(size.hopeless, prefix="hopeless", each=population.hopeless, **common)
        self._bound(space, size.placed)
        create(population.HIGH_PODS, prefix=_HIGH_PREFIX, **common, **high)
        count = population.HIGH_PODS
        self._bound(space, size.placed - (population.EVICTED_EACH - 1) * count, count)
        return size.placed + count

    def _bound(self, space: str, count: int, high: int = 0) -> None:
        """Waits until so many pods are bound, and so many of those that must evict others."""

        def bound() -> bool:
            placed = self._admin.placements(space)
            return len(placed) == count and sum(map(_is_high, placed)) == high

        wait_for(
            bound,
            f"{count} pods of {space} to be bound",
            timeout_s=_WITHIN_S,
            every_s=_LOOK_EVERY_S,
        )

    def _parked(self, process: SchedulerProcess) -> None:
        """Waits until the pods that fit nowhere have their condition."""

        def parked() -> bool:
            waiting = process.counts("scheduler_pending_pods", "queue")
            return waiting["unschedulable",] + waiting["backoff",] == self._size.hopeless

        wait_for(
            parked,
            "the pods that fit nowhere to be parked",
            timeout_s=_WITHIN_S,
            every_s=_LOOK_EVERY_S,
        )

    def _remove(self, space: str) -> None:
        """Deletes pods, then claims, then volumes, because used ones are kept."""
        self._empty(f"/api/v1/namespaces/{space}/pods")
        self._empty(volumes.claims(space))
        self._empty(volumes.VOLUMES)
        path = f"/api/v1/namespaces/{space}"
        self._admin.delete(path)
        wait_for(
            lambda: not self._admin.exists(path),
            f"{space} to be gone",
            timeout_s=_WITHIN_S,
            every_s=_LOOK_EVERY_S,
        )

    def _empty(self, path: str) -> None:
        def emptied() -> bool:
            self._admin.delete(path)
            return not self._admin.get(path, limit="1")["items"]

        wait_for(emptied, f"{path} to be empty", timeout_s=_WITHIN_S, every_s=_LOOK_EVERY_S)


def _is_high(pod: str) -> bool:
    return pod.startswith(_HIGH_PREFIX)


def timed(churn: Churn, process: SchedulerProcess, turn: int) -> tuple[int, float]:
    began = time.monotonic()
    bound = churn.play(process, turn)
    return bound, time.monotonic() - began
