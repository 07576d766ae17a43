"""The kinds of pods that a trace asks for most, and what of a node they could not use.

The engine's `SharedGpus` has the same formula (`rules/shared_gpus/fragmentation.rs`): here it
measures a cluster, whatever the policy that filled it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from kpolicy.offline.fill.trace import TracePod
from kpolicy.quick_dataclass import dataclass

# The kinds that together make up this part of all pods.
POPULARITY_PERCENT: Final = 95


@dataclass(frozen=True, slots=True)
class TypicalPod:
    """`frequency`: its part of all typical pods."""

    cpu_milli: int
    gpus: int
    gpu_milli: int
    models: tuple[str, ...]
    weight: int
    frequency: float

    def argument(self) -> dict[str, Any]:
        """As `typicalPods` of `SharedGpus` has it."""
        return {
            "cpuMilli": self.cpu_milli,
            "gpus": self.gpus,
            "gpuMilli": self.gpu_milli,
            "models": list(self.models),
            "weight": self.weight,
        }


def typical_pods(
    pods: Sequence[TracePod], popularity_percent: int = POPULARITY_PERCENT
) -> tuple[TypicalPod, ...]:
    """The most frequent first, as many as make up the wanted part of all pods. Memory does not
    count: the kinds are of what fragments GPUs."""
    kinds = Counter((pod.cpu_milli, pod.gpu_milli, pod.gpus, pod.models) for pod in pods)
    ordered = sorted(kinds.items(), key=lambda item: (item[1], item[0]), reverse=True)
    wanted, chosen, covered = popularity_percent * len(pods) / 100, [], 0
    for kind, count in ordered:
        if covered >= wanted:
            break
        chosen.append((kind, count))
        covered += count
    return tuple(
        TypicalPod(cpu, gpus, milli, models, count, count / covered)
        for (cpu, milli, gpus, models), count in chosen
    )


def fragment(
    cpu_milli: int, free: Sequence[int], model: str, typical: Sequence[TypicalPod]
) -> float:
    """The expected part of what is idle on a node's GPUs that a typical pod cannot use."""
    total = sum(free)
    if total == 0:
        return 0.0
    amount = 0.0
    for pod in typical:
        milli = pod.gpu_milli
        if (
            milli == 0
            or cpu_milli < pod.cpu_milli
            or (pod.models and model not in pod.models)
            or sum(left >= milli for left in free) < pod.gpus
        ):
            amount += pod.frequency * total
        else:
            amount += pod.frequency * sum(left for left in free if left < milli)
    return amount
