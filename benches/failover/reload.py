"""Changes the policy's ConfigMap while pods are created, and measures how long until decisions use
the new policy. The time begins before the change is sent to the API server.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from benches.failover.figure import Figure
from benches.failover.scene import SPACE, WITHIN_S, Scene, decision_of, leads, policy_of
from benches.failover.stream import PODS_PER_SECOND, PodStream
from tests.cluster.client import wait_for
from tests.e2e.scheduler_process import SchedulerProcess
from tests.invariants.history import Write

# Issue: within a second of the change, and from the next decision on.
ALLOWED_S: Final = 1.0
_SECOND_NS: Final = 1_000_000_000
_LOOK_EVERY_S: Final = 0.005
# Longer than the pause between two reloads, so that each change is reloaded at once.
_BETWEEN_S: Final = 1.5


@dataclass(frozen=True, slots=True)
class _Change:
    hash: str
    written_ns: int
    shown_ns: int  # when /configz showed it in force


def measure(scene: Scene, rounds: int) -> list[Figure]:
    with scene.scheduler("reloaded") as process:
        wait_for(lambda: leads(process), "it to lead", timeout_s=WITHIN_S)
        with PodStream(scene.plane, SPACE, "reload") as pods:
            scene.until_some_bound(lambda: pods.since(0), PODS_PER_SECOND)
            changes = [_change(scene, process, number) for number in range(1, rounds + 1)]
            last_ns = changes[-1].shown_ns
            scene.until_some_bound(lambda: pods.since(last_ns), PODS_PER_SECOND)
        scene.until_bound(pods.since(0))
    binds = [bind for bind in scene.binds() if bind.name in pods.asked_ns]
    scene.clear()
    return [
        Figure(
            "ConfigMap changed: until /configz shows it in force",
            tuple((change.shown_ns - change.written_ns) / _SECOND_NS for change in changes),
            ALLOWED_S,
        ),
        Figure(
            "ConfigMap changed: until a bind rests on it",
            tuple(_first_bind_s(change, binds) for change in changes),
            ALLOWED_S,
        ),
        Figure(
            f"of {len(binds):,} decisions, by an earlier policy after one by the new",
            (float(_backward(changes, binds)),),
            0,
            "",
        ),
        Figure(
            "pods that came when it was in force, decided by an earlier one",
            (float(_late(changes, binds, pods)),),
            0,
            "",
        ),
    ]


def _change(scene: Scene, process: SchedulerProcess, number: int) -> _Change:
    before = _in_force(process)
    written_ns = time.time_ns()
    scene.policy.write(number)
    after = wait_for(
        lambda: now if (now := _in_force(process)) != before else None,
        "the new policy",
        timeout_s=WITHIN_S,
        every_s=_LOOK_EVERY_S,
    )
    shown_ns = time.time_ns()
    time.sleep(_BETWEEN_S)
    return _Change(after, written_ns, shown_ns)


def _in_force(process: SchedulerProcess) -> str:
    return str(json.loads(process.get("/configz"))["policy"]["hash"])


def _first_bind_s(change: _Change, binds: list[Write]) -> float:
    answered = (bind.answered_ns for bind in binds if policy_of(bind) == change.hash)
    return (min(answered) - change.written_ns) / _SECOND_NS


def _backward(changes: list[_Change], binds: list[Write]) -> int:
    """Decisions by an earlier policy after one by a later policy, in the order of the instance's
    decisions."""
    order = {change.hash: position for position, change in enumerate(changes, 1)}
    by_instance: dict[str, list[Write]] = defaultdict(list)
    for bind in binds:
        by_instance[bind.instance].append(bind)
    count = 0
    for decided in by_instance.values():
        newest = 0
        for bind in sorted(decided, key=decision_of):
            position = order.get(policy_of(bind), 0)
            count += position < newest
            newest = max(newest, position)
    return count


def _late(changes: list[_Change], binds: list[Write], pods: PodStream) -> int:
    order = {change.hash: position for position, change in enumerate(changes, 1)}
    count = 0
    for position, change in enumerate(changes, 1):
        came = pods.since(change.shown_ns)
        count += sum(
            order.get(policy_of(bind), 0) < position for bind in binds if bind.name in came
        )
    return count
