"""The pods of simulated days that are there: pending, on a node, or leaving it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kpolicy.api_times import api_time
from kpolicy.offline.days.pod_texts import PodTexts
from kpolicy.offline.fragmentation import Vector


@dataclass(slots=True)
class Pod:
    """`vector` is what it requests. `incarnation` counts the pods that came in its place."""

    texts: PodTexts
    name: str
    uid: str
    vector: Vector
    came_ns: int
    lifetime_ns: int | None = None
    gone_ns: int | None = None
    node: str = ""
    is_leaving: bool = False
    words: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.words = {"name": self.name, "uid": self.uid, "created": api_time(self.came_ns)}

    def bind(self, node: str, now_ns: int) -> None:
        self.node = node
        self.words |= {"node": node, "started": api_time(now_ns)}


class PodsThere:
    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}
        # By node, in the order in which they were bound.
        self._on: dict[str, dict[str, Pod]] = {}
        self.pending = 0

    @property
    def running(self) -> int:
        return len(self._pods) - self.pending

    def get(self, uid: str) -> Pod | None:
        return self._pods.get(uid)

    def add(self, pod: Pod) -> None:
        self._pods[pod.uid] = pod
        if pod.node:
            self._on.setdefault(pod.node, {})[pod.uid] = pod
        else:
            self.pending += 1

    def bound(self, pod: Pod) -> None:
        """`pod` was pending, and has a node now."""
        self.pending -= 1
        self._on.setdefault(pod.node, {})[pod.uid] = pod

    def remove(self, pod: Pod) -> None:
        del self._pods[pod.uid]
        if pod.node:
            del self._on[pod.node][pod.uid]
        else:
            self.pending -= 1

    def on(self, node: str) -> list[Pod]:
        return list(self._on.get(node, {}).values())

    def waiting(self) -> Iterator[Pod]:
        return (pod for pod in self._pods.values() if not pod.node)
