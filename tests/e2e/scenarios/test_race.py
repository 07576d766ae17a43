"""S-07: two schedulers and one full node, again and again.

The API server refuses no bind for want of room, so that two schedulers can overcommit a node when
neither could have known of the other. That is the only excuse there is: the foreign bind was
written after the snapshot that our decision rests on.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Process
from tests.e2e.scenarios.watching import Watching
from tests.e2e.stage import Stage

pytestmark = pytest.mark.cluster

ROUNDS, ROUNDS_FULL = 25, 1000
SNAPSHOT = "kpolicy.dev/snapshot-rv"
CPU_M, POD_M = 1000, 600


@pytest.fixture
def other(scenario_plane: ControlPlane) -> Iterator[Process]:
    """kube-scheduler itself."""
    process = scenario_plane.start_scheduler()
    yield process
    process.kill()


@pytest.mark.parametrize(
    "rounds",
    [ROUNDS, pytest.param(ROUNDS_FULL, marks=[pytest.mark.full, pytest.mark.timeout(3600)])],
)
def test_s07_two_schedulers_overcommit_only_what_neither_could_know(
    stage: Stage, other: Process, rounds: int
) -> None:
    stage.node("only", cpu=f"{CPU_M}m")
    over = lost = 0
    with Watching(stage.plane, stage.namespace) as watching:
        for number in range(rounds):
            ours, theirs = f"ours-{number}", f"theirs-{number}"
            created = stage.pod(ours, cpu=f"{POD_M}m")
            stage.pod(theirs, cpu=f"{POD_M}m", scheduler_name="default-scheduler")
            wait_decided(stage, ours, theirs)
            placed = stage.placements()
            if ours in placed and theirs in placed:
                over += 1
                snapshot = int(stage.get(ours)["metadata"]["annotations"][SNAPSHOT])
                assert watching.bound_at(theirs) > snapshot, f"round {number}: the bind was known"
                assert int(created["metadata"]["resourceVersion"]) <= snapshot
            elif theirs in placed:
                lost += 1
            stage.delete_pod(ours)
            stage.delete_pod(theirs)
    other.raise_if_ended()
    print(f"{rounds} rounds: {over} overcommitted unknowingly, {lost} lost to the other")


def wait_decided(stage: Stage, *names: str) -> None:
    """Waits until each pod is bound or has a condition that says why not."""

    def decided(name: str) -> bool:
        bound = bool(stage.get(name)["spec"].get("nodeName"))
        return bound or stage.condition(name).get("reason") == "Unschedulable"

    wait_for(lambda: all(decided(name) for name in names), f"{names} to be decided")
