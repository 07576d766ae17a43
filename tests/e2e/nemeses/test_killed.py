"""SIGKILL after every write, one after the other: what a restart finds must always do.

Sieve's intermediate states: one clean run is recorded, then for each of its writes a run in which
we die right after it, before its answer. The end must be that of the clean run.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.nemeses.conftest import POLICY
from tests.e2e.nemeses.faults import Call, LoseAnswer
from tests.e2e.nemeses.proxy import Proxy
from tests.e2e.scenarios.conftest import play
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import Stage

pytestmark = pytest.mark.cluster

FLAGS = ("--no-leader-elect",)  # a lease that nobody released would be waited for each time
PODS = 3


@pytest.fixture
def stage(
    plane: ControlPlane, proxy: Proxy, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Stage]:
    process = SchedulerProcess(proxy.kubeconfig(NORMAL), POLICY, tmp_path / "log", FLAGS)
    with process:
        yield from play(plane, process, request.node.name)


def write_everything(stage: Stage) -> None:
    """Nodes first: the writes that follow are those of the pods, and as many each time."""
    for number in range(PODS):
        stage.node(f"n{number}", cpu="1")
    wait_for(
        lambda: stage.scheduler.metric("scheduler_cache_size", type="nodes") == PODS, "the nodes"
    )
    for number in range(PODS):
        stage.pod(f"p{number}", cpu="1")
    stage.pod("giant", cpu="8")


def end_state(stage: Stage) -> tuple[Counter[str], str]:
    """How many pods each node has, and what the one that fits nowhere is told."""
    placed = stage.all_bound(PODS)
    message = stage.parked("giant", f"{PODS} Insufficient cpu")
    stage.settled()
    return Counter(placed.values()), message


@pytest.mark.timeout(600)
def test_n_we_die_after_every_write_and_the_end_is_the_same(stage: Stage, proxy: Proxy) -> None:
    before = len(proxy.calls(_writes))
    write_everything(stage)
    clean = end_state(stage)
    wait_for(lambda: len(stage.events("giant")) > 0, "the last event")
    for number in range(PODS):
        stage.the_event(f"p{number}", "Scheduled")
    writes = len(proxy.calls(_writes)) - before
    assert writes >= 2 * PODS + 2, "two writes for each pod, two for the parked one"
    for index in range(writes):
        stage.clear()
        die_after(stage, proxy, index)
        assert end_state(stage) == clean, f"after a death at write {index}"
        stage.check()
    print(f"died after each of {writes} writes; the end was the same each time")


def die_after(stage: Stage, proxy: Proxy, index: int) -> None:
    """A run that ends with SIGKILL between write `index` and its answer, and a restart."""
    passed = iter(range(index + 1))
    died = threading.Event()

    def is_the_one(call: Call) -> bool:
        return _writes(call) and next(passed, None) == index

    def die(_: Call) -> None:
        stage.scheduler.kill()
        died.set()

    proxy.script(is_the_one, LoseAnswer(then=die))
    write_everything(stage)
    assert died.wait(90), f"write {index} was not sent"
    stage.scheduler.start()
    stage.scheduler.wait_ready()


def _writes(call: Call) -> bool:
    return call.writes and not call.is_lease
