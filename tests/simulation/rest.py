"""Compares what the leader holds at rest with what the API server holds.

A new engine with the same program gets lists of all objects; it must hold and decide the same. The
leader's engine is not changed.
"""

from __future__ import annotations

import json
from typing import Any, Final

from kpolicy.engine import Engine
from kpolicy.testing.objects.resource_types import BY_PATH
from tests.invariants.history import STATUS, AtRest
from tests.simulation.api_server import USER, SimulatedApi
from tests.simulation.held import held_by
from tests.simulation.instance import Instance

_SIZES: Final = (
    "nodes",
    "pods",
    "podsPending",
    "podsOnNodes",
    "podsOnUnknownNodes",
    "podsAssumed",
)
# Not compared: victims, because the engine remembers earlier attempts; and the choice among the
# best nodes for a pod that waits only because of an extender, because that is random.
_NOT_COMPARED: Final = {"preemption", "selected"}
_ALL_PENDING: Final = b'{"pods": null}'


def at_rest(instance: Instance, api: SimulatedApi, at_ns: int, broken: frozenset[str]) -> AtRest:
    assert instance.life is not None
    scheduler, engine = instance.life.scheduler, instance.life.engine
    parts = scheduler._parts
    assert parts is not None
    queue = scheduler.queue_statistics()
    assert queue is not None
    now_ns = instance.clock.now_ns()
    statistics = json.loads(engine.statistics())
    queued = {}
    for pod in engine.pending():
        held = parts.feed.queue.get(pod.uid)
        if held is not None:
            queued[pod.uid] = held.lane.name
    in_force = scheduler.policy
    return AtRest(
        at_ns=at_ns,
        pending=queue.active + queue.backoff + queue.parked + queue.gated,
        assumed=statistics["podsAssumed"],
        binds_in_flight=parts.reservations.under_way,
        attempts_under_way=queue.attempts_under_way,
        queued=queued,
        compared=compared(
            engine, fresh_engine(instance, api, now_ns), now_ns, nominations=STATUS not in broken
        ),
        policy_hash=in_force.hash if in_force is not None else "",
        instance=instance.life.machine.run_id,
        held=held_by(instance, broken),
    )


def fresh_engine(instance: Instance, api: SimulatedApi, now_ns: int) -> Engine:
    """A new engine with the same program, and with the objects that the API server lists now."""
    assert instance.life is not None
    in_force = instance.life.scheduler.policy
    assert in_force is not None
    engine = Engine(0)
    assert engine.load(in_force.program.bytes) == []
    for name in engine.resources():
        paths = [path for path in BY_PATH if path[2] == name]
        if not paths:
            continue
        group, version, plural = paths[0]
        prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
        answer = api.do(USER, "GET", f"{prefix}/{plural}")
        engine.list_begin(name)
        engine.list_page(name, answer.body, now_ns)
        engine.list_end(name, now_ns)
    return engine


def compared(held: Engine, fresh: Engine, now_ns: int, *, nominations: bool) -> tuple[str, ...]:
    """Differences in what they hold, then in how they explain each pending pod. Without
    `nominations`, what the fresh engine was told of those cannot be up to date, and with it no
    explanation."""
    differences: list[str] = []
    ours, theirs = json.loads(held.statistics()), json.loads(fresh.statistics())
    differences += [
        f"{size}: {ours[size]} held, {theirs[size]} there"
        for size in _SIZES
        if ours[size] != theirs[size]
    ]
    mine = {pod.uid: pod for pod in held.pending()}
    there = {pod.uid: pod for pod in fresh.pending()}
    differences += [f"pod {uid} is redundant" for uid in sorted(mine.keys() - there.keys())]
    differences += [f"pod {uid} is missed" for uid in sorted(there.keys() - mine.keys())]
    if nominations and not differences:
        lines = zip(_explained(held, now_ns), _explained(fresh, now_ns), strict=True)
        differences += [
            f"pod {line['pod']}: {key}: {line.get(key)} explained, and {other.get(key)} by "
            f"a fresh engine"
            for line, other in lines
            for key in sorted((line.keys() | other.keys()) - _NOT_COMPARED)
            if line.get(key) != other.get(key)
        ]
    return tuple(differences)


def _explained(engine: Engine, now_ns: int) -> list[dict[str, Any]]:
    lines = engine.explain(_ALL_PENDING, now_ns).splitlines()
    return sorted((json.loads(line) for line in lines), key=lambda line: str(line["pod"]))
