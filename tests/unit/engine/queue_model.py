"""A queue with an order and holds, worked out from nothing: what `next_pods` is compared to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Number = float | None


@dataclass(slots=True)
class ModelPod:
    """`state`: waiting, held (the model makes no difference), out (handed out), resting (tried and
    parked), running."""

    uid: str
    namespace: str
    cpu: int
    priority: int
    first_s: int = 0
    since_s: int = 0
    arrival: int = 0
    state: str = "waiting"


@dataclass(slots=True)
class Model:
    """`number` of a pod in the model, None: it errs. `holds`: whether a pod is held."""

    number: Callable[[Model, ModelPod], Number]
    holds: Callable[[Model, ModelPod], bool]
    tenant_of: dict[str, str]
    capacity: int
    overtakes_max: int = 1_000
    now_s: int = 0
    arrivals: int = 0
    pods: dict[str, ModelPod] = field(default_factory=dict)
    # By arrival: who was handed out.
    handed_out: list[int] = field(default_factory=list)

    def used(self, tenant: str) -> int:
        mine = (p for p in self.pods.values() if self.tenant_of[p.namespace] == tenant)
        return sum(pod.cpu for pod in mine if pod.state in ("out", "running"))

    def waits(self) -> list[ModelPod]:
        return [pod for pod in self.pods.values() if pod.state == "waiting"]

    def come(self, pod: ModelPod) -> None:
        self.arrivals += 1
        pod.state, pod.arrival = "waiting", self.arrivals
        self.pods[pod.uid] = pod

    def hold_resting(self) -> None:
        """Parked pods that a hold holds now wait with the others."""
        for pod in self.pods.values():
            if pod.state == "resting" and self.holds(self, pod):
                self.come(pod)

    def next(self) -> ModelPod | None:
        ready = [pod for pod in self.waits() if not self.holds(self, pod)]
        if not ready:
            return None

        def place(pod: ModelPod) -> tuple[object, ...]:
            number = self.number(self, pod)
            rank = (-pod.priority, pod.since_s, pod.arrival)
            return (number is None, number or 0.0, *rank)

        oldest = min(ready, key=lambda pod: pod.arrival)
        overtaken = sum(arrival > oldest.arrival for arrival in self.handed_out)
        chosen = oldest if overtaken >= self.overtakes_max else min(ready, key=place)
        chosen.state = "out"
        self.handed_out.append(chosen.arrival)
        return chosen
