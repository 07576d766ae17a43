"""A gang by label: no pod of a group is bound before enough of its pods have a place.

labels: {pod-group.example.com/name: training, pod-group.example.com/min-available: "3"}
"""

from __future__ import annotations

import os
from typing import ClassVar

from kpolicy.plugins import Handle, Pod, Wait

NAME = "pod-group.example.com/name"
MIN_AVAILABLE = "pod-group.example.com/min-available"


def group_of(pod: Pod) -> tuple[str, str] | None:
    name = pod.labels.get(NAME)
    return (pod.namespace, name) if name else None


class Coscheduling:
    """Waits for the other pods of the group, for COSCHEDULING_SECONDS (default: 60) at most."""

    reads_bound_pods: ClassVar[bool] = True

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._seconds = float(os.environ.get("COSCHEDULING_SECONDS", "60"))
        # By uid, pods that have a place and are not bound yet.
        self._placed: dict[str, tuple[str, str]] = {}

    async def reserve(self, pod: Pod, node: str) -> None:
        group = group_of(pod)
        if group is not None:
            self._placed[pod.uid] = group

    async def unreserve(self, pod: Pod, node: str) -> None:
        group = self._placed.pop(pod.uid, None)
        if group is None:
            return
        # The group cannot be complete now: its other pods need not keep their places.
        for waiting in self._handle.waiting_pods():
            if group_of(waiting.pod) == group:
                waiting.reject("Coscheduling", f"pod {pod.name} of its group lost its place")

    async def post_bind(self, pod: Pod, node: str) -> None:
        self._placed.pop(pod.uid, None)

    async def permit(self, pod: Pod, node: str) -> Wait | None:
        group = group_of(pod)
        if group is None or self._members(group) >= int(pod.labels.get(MIN_AVAILABLE, "1")):
            if group is not None:
                self._let_go(group)
            return None
        return Wait(self._seconds)

    def _members(self, group: tuple[str, str]) -> int:
        on_nodes = {pod.uid for pod in self._handle.pods_on_nodes() if group_of(pod) == group}
        for uid in on_nodes:
            self._placed.pop(uid, None)
        return len(on_nodes) + sum(other == group for other in self._placed.values())

    def _let_go(self, group: tuple[str, str]) -> None:
        for waiting in self._handle.waiting_pods():
            if group_of(waiting.pod) == group:
                waiting.allow("Coscheduling")
