"""A quota of processors by namespace: pods beyond it are not queued, and use no room.

ELASTIC_QUOTA has the quotas: `team-a=4,team-b=0.5`. A namespace that it does not name has none.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar

from kpolicy.plugins import Handle, Pod, Refuse


def cores(text: str) -> float:
    """`500m` → 0.5"""
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def requested(pod: dict[str, Any]) -> float:
    containers = pod.get("spec", {}).get("containers", ())
    requests = (c.get("resources", {}).get("requests", {}).get("cpu", "0") for c in containers)
    return sum(cores(str(request)) for request in requests)


class ElasticQuota:
    reads_bound_pods: ClassVar[bool] = True

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        pairs = (pair.split("=") for pair in os.environ.get("ELASTIC_QUOTA", "").split(",") if pair)
        self._quotas = {namespace: cores(text) for namespace, text in pairs}
        # By uid, pods that have a place and are not bound yet, and those that are: namespace, cpu.
        self._reserved: dict[str, tuple[str, float]] = {}
        self._on_nodes: dict[str, tuple[str, float]] = {}

    async def pre_enqueue(self, pod: Pod) -> Refuse | None:
        return self._refusal(pod)

    async def reserve(self, pod: Pod, node: str) -> Refuse | None:
        """Many pods may have been let through at once."""
        refusal = self._refusal(pod)
        if refusal is None:
            self._reserved[pod.uid] = pod.namespace, requested(pod.object)
        return refusal

    async def unreserve(self, pod: Pod, node: str) -> None:
        self._reserved.pop(pod.uid, None)

    async def post_bind(self, pod: Pod, node: str) -> None:
        self._reserved.pop(pod.uid, None)

    def _refusal(self, pod: Pod) -> Refuse | None:
        quota = self._quotas.get(pod.namespace)
        if quota is None:
            return None
        used, asked = self._used(pod.namespace), requested(pod.object)
        if used + asked <= quota:
            return None
        return Refuse(f"{used:g} of {quota:g} cpu of {pod.namespace} are used, {asked:g} asked")

    def _used(self, namespace: str) -> float:
        self._look()
        both = {**self._reserved, **self._on_nodes}
        return sum(cpu for of, cpu in both.values() if of == namespace)

    def _look(self) -> None:
        """Reads each pod on a node once."""
        known, self._on_nodes = self._on_nodes, {}
        for pod in self._handle.pods_on_nodes():
            found = known.get(pod.uid) or (pod.namespace, requested(pod.object))
            self._on_nodes[pod.uid] = found
            self._reserved.pop(pod.uid, None)
