"""In which order pods arrive, and how many: a recipe for filling a cluster.

Specification: Weng et al., USENIX ATC 2023, and the simulator of its authors. All pods of the trace
arrive in random order. If they ask for less than the wanted share of all GPUs, random ones of them
arrive again, if they ask for more, random ones stay away. Nobody leaves.
"""

from __future__ import annotations

import random

from kpolicy.offline.fill.trace import Trace, TracePod
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    """`demand_percent`: how much all arrivals ask for, of all GPUs. `mixes_nodes`: nodes get names
    in an order that has nothing to do with their kind, for policies that break ties by name."""

    demand_percent: int = 130
    mixes_nodes: bool = True


def arrivals(trace: Trace, recipe: Recipe, seed: int) -> list[TracePod]:
    draws = random.Random(seed)
    pods = list(trace.pods)
    wanted = trace.capacity_milli * recipe.demand_percent / 100
    demand = sum(pod.demand_milli for pod in pods)
    if demand > 0:
        while demand < wanted:
            again = draws.choice(trace.pods)
            pods.append(again)
            demand += again.demand_milli
        while demand > wanted:
            away = pods.pop(draws.randrange(len(pods)))
            demand -= away.demand_milli
    draws.shuffle(pods)
    return pods
