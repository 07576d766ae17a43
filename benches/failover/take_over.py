"""Kills the leader with SIGKILL while pods are created, and measures how long until the other
replica binds. It also counts pods that were bound twice.
"""

from __future__ import annotations

import time
from typing import Final

from benches.failover.figure import Figure
from benches.failover.scene import SPACE, WITHIN_S, Scene, leads
from benches.failover.stream import PODS_PER_SECOND, PodStream
from tests.cluster.client import wait_for
from tests.e2e.scheduler_process import SchedulerProcess
from tests.invariants.bound_once import bound_once
from tests.invariants.leader import leader

# Design: the lease lasts 15 s, and the other replica checks it again within 2 s.
ALLOWED_S: Final = 17.0
_SECOND_NS: Final = 1_000_000_000


def measure(scene: Scene, rounds: int) -> list[Figure]:
    with scene.recording() as recorded:
        first, second = scene.scheduler("first"), scene.scheduler("second")
        with first, second:
            seconds = tuple(_round(scene, (first, second), turn) for turn in range(rounds))
        history = recorded.history()
        bound = len(scene.binds())
        doubles, late = list(bound_once(history)), list(leader(history))
    scene.clear()
    return [
        Figure("SIGKILL of the leader: until the other binds", seconds, ALLOWED_S),
        Figure(f"pods bound twice, of {bound:,}", (float(len(doubles)),), 0, ""),
        Figure("binds by one whose lease was over", (float(len(late)),), 0, ""),
    ]


def _round(scene: Scene, both: tuple[SchedulerProcess, SchedulerProcess], turn: int) -> float:
    """One round. Each replica leads in turn: the killed one is restarted and waits."""
    wait_for(lambda: any(map(leads, both)), "one of them to lead", timeout_s=WITHIN_S)
    killed, other = both if leads(both[0]) else (both[1], both[0])
    with PodStream(scene.plane, SPACE, f"round-{turn}") as pods:
        scene.until_some_bound(lambda: pods.since(0), PODS_PER_SECOND)
        killed_ns = time.time_ns()
        killed.kill()
        wait_for(lambda: leads(other), "the other to lead", timeout_s=WITHIN_S)
        late = wait_for(lambda: pods.since(killed_ns), "pods that came after it")
        scene.until_bound(late)
    scene.until_bound(pods.since(0))
    killed.start()
    killed.wait_ready()
    answered = [bind.answered_ns for bind in scene.binds() if bind.name in pods.since(killed_ns)]
    return (min(answered) - killed_ns) / _SECOND_NS
