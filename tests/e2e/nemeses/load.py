"""Pods that come while something breaks, and what must have become of them afterwards.

Owns the numbers. What lives on (liveness): every pod that fits is bound, every other says why.
What never happens (safety) is the stage's `check`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tests.cluster.client import wait_for
from tests.e2e.stage import Stage

NODES, CPUS, PODS = 4, 4, 24
RECOVERS_WITHIN_S = 90


def survive(stage: Stage, nemesis: Callable[[], None]) -> None:
    """Half of the pods before, with binds under way; half after. One pod never fits."""
    for number in range(NODES):
        stage.node(f"n{number}", cpu=str(CPUS), pods=PODS)
    stage.admin.create_pods(
        PODS // 2, namespace=stage.namespace, prefix="before", cpu="500m",
        scheduler_name=stage.profile,
    )  # fmt: skip
    stage.pod("giant", cpu="64")
    nemesis()
    recover(stage)


def recover(stage: Stage) -> None:
    """After the nemesis: new pods are bound too, and all is at rest."""
    wait_for(
        lambda: stage.admin.request("GET", "/readyz").status == 200,
        "the API server", timeout_s=RECOVERS_WITHIN_S,
    )  # fmt: skip
    stage.admin.create_pods(
        PODS // 2, namespace=stage.namespace, prefix="after", cpu="500m",
        scheduler_name=stage.profile,
    )  # fmt: skip
    wanted = {f"{when}-{i}" for when in ("before", "after") for i in range(PODS // 2)}
    wait_for(
        lambda: wanted <= stage.placements().keys(), "every pod that fits to be bound",
        timeout_s=RECOVERS_WITHIN_S,
    )  # fmt: skip
    stage.parked("giant", "Insufficient cpu", timeout_s=RECOVERS_WITHIN_S)
    placed = stage.placements()
    assert max(Counter(placed.values()).values()) <= 2 * CPUS, "no node is over its allocatable"
    stage.settled(timeout_s=RECOVERS_WITHIN_S)
