"""Sizes of the scheduler's maps and queues, by name, with the limit of each at rest.

It reads private state on purpose, because leaks are in fields that no interface shows. It must not
change anything.
"""

from __future__ import annotations

from typing import Final

from kpolicy.cluster.limits import (
    CONDITION_CACHE_MAX,
    CONNECTIONS_MAX,
    EVENT_QUEUE_MAX,
    EVENT_SERIES_MAX,
    EVENT_WORKERS,
)
from kpolicy.scheduler import limits
from kpolicy.scheduler.limits import STALE_ENTRIES_MIN, UNREADABLE_NAMES_MAX
from tests.invariants.history import EVENT, STATUS, Held
from tests.simulation.instance import Instance

# A task for each watched resource and for each part; work under way would be more.
TASKS_MAX: Final = 90


def held_by(instance: Instance, broken: frozenset[str]) -> tuple[Held, ...]:
    """`broken` is what stays broken, as in `Write.what`; then one status for each waiting pod is
    kept, and as many events as there is room for."""
    assert instance.life is not None
    scheduler = instance.life.scheduler
    parts = scheduler._parts
    assert parts is not None
    queue, binds, status = parts.feed.queue, parts.binds, parts.reporter.status
    reservations = parts.reservations
    events, extended = parts.reporter.events, parts.extended
    waiting = len(queue)
    # If the nomination cannot be written, the preemptor is tried again and again.
    unwritten = waiting if STATUS in broken else 0
    lanes = queue._lanes
    about_gone = sum(queue.get(uid) is None for uid in status._last)
    stale = sum(
        len(heap._entries) - len(heap)
        for heap in (lanes.active, lanes.backoff, lanes.error_backoff)
    )
    shadowed, engine = instance.life.shadowed, instance.life.engine
    backlog = shadowed._shadow.statistics().backlog if shadowed is not None else 0
    named = len(shadowed._profiles) if shadowed is not None else 0
    pending = len(engine.pending())
    plugged = parts.plugged
    host = plugged.host if plugged is not None else None
    return (
        Held("pods that plugins are asked about", reservations.awaiting_plugins),
        Held("pods that wait on Permit", len(host.waiting) if host is not None else 0),
        Held("calls of plugins", len(host.runner._under_way) if host is not None else 0),
        Held("pods that plugins refused", len(lanes.refused)),
        Held("pods just bound, for plugins", len(host.store._just_bound) if host else 0),
        Held("pods in no lane of the queue", abs(waiting - sum(lanes.sizes()))),
        Held("stale entries of the queue's heaps", stale, 3 * STALE_ENTRIES_MIN),
        Held("pods held for room", sum(pod.held for pod in queue.entries()), unwritten),
        Held("binds not sent", len(reservations._unsent) + reservations.in_doubt),
        Held("ended binds not settled", len(binds._ended)),
        Held("binds waiting for volumes", reservations.awaiting_volumes),
        Held("binds being sent", reservations.in_flight),
        Held("volumes waited for", len(parts.pre_binds._waiting)),
        Held("evictions under way", len(parts.preemptions._evicting)),
        Held("preemptions under way", parts.preemptions.under_way, unwritten),
        Held("pods with extenders", extended.under_way),
        Held("binds expected of extenders", len(extended._binds._by_uid)),
        Held(
            "events not written",
            len(events.outbox._waiting) + len(events.outbox._under_way),
            EVENT_QUEUE_MAX + EVENT_WORKERS if EVENT in broken else 0,
        ),
        Held("series of events", len(events._memory), EVENT_SERIES_MAX),
        Held(
            "conditions not written",
            len(status.outbox._waiting) + len(status.outbox._under_way),
            unwritten,
        ),
        Held("conditions waited for", len(status.outbox._asked), unwritten),
        Held("nominations being released", len(status._releasing), unwritten),
        Held("conditions of pods that are gone", about_gone),
        Held("conditions remembered", len(status._last), CONDITION_CACHE_MAX),
        Held("unreadable names", len(parts.sink._named), UNREADABLE_NAMES_MAX),
        Held("calls for a dead shadow", backlog, limits.SHADOW_BACKLOG_MAX),
        Held("profiles of pods for a shadow", named, pending),
        Held("tasks", len(instance.life.main._tasks), TASKS_MAX),
        Held("connections", connections(instance), CONNECTIONS_MAX),
    )


def connections(instance: Instance) -> int:
    return len(instance.network.served(instance.host))
