"""Connects the counts that parts of the scheduler keep to the metrics that are scraped.

Nothing is counted twice: each value is read at the scrape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.watch.informer import InformerStatistics
from kpolicy.cluster.writes.outbox import OutboxStatistics
from kpolicy.scheduler.binding.binds import Binds
from kpolicy.scheduler.binding.reservations import Reservations
from kpolicy.scheduler.extenders.extended_pods import ExtendedPods
from kpolicy.scheduler.extenders.in_force import ExtendersInForce
from kpolicy.scheduler.loop.engine_thread import EngineStatistics
from kpolicy.scheduler.loop.informers import Informers
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import EngineSink
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.scheduler.preemption.preemptions import Preemptions
from kpolicy.scheduler.serving.comparer import Comparer
from kpolicy.telemetry.metrics import Labels
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics

# Clause: client-go's words. A watch is a GET there.
_NO_ANSWER = "<error>"
_METHODS = {"WATCH": "GET"}


def request_timer(metrics: SchedulerMetrics, server: str) -> Callable[[str, float], None]:
    """Return what an `ApiClient` of this server calls with the duration of each request."""
    host = urlsplit(server).netloc
    seconds_of = metrics.request_seconds
    return lambda verb, seconds: seconds_of.observe(seconds, (_METHODS.get(verb, verb), host))


def observe_queue(metrics: SchedulerMetrics, queue: Queue) -> None:
    def waiting() -> dict[Labels, float]:
        now = queue.statistics()
        return {
            ("active",): now.active,
            ("backoff",): now.backoff,
            ("unschedulable",): now.parked,
            ("gated",): now.gated,
        }

    metrics.watch(
        "scheduler_pending_pods", "gauge", "Pending pods, by where they wait.", waiting, ("queue",)
    )
    metrics.watch(
        "scheduler_unschedulable_pods",
        "gauge",
        "Pods that a rule keeps from being placed; a pod counts for each of its rules.",
        lambda: queue.statistics().rejected,
        ("plugin", "profile"),
    )
    metrics.watch(
        "scheduler_queue_incoming_pods_total",
        "counter",
        "Pods that came into a lane of the queue, by what brought them.",
        lambda: queue.statistics().incoming,
        ("queue", "event"),
    )
    metrics.watch(
        "kpolicy_queue_flushed_pods_total",
        "counter",
        "Parked pods tried again for their age alone.",
        lambda: {(): queue.statistics().flushed},
    )
    metrics.watch(
        "kpolicy_queue_refused_pods_total",
        "counter",
        "Pods for which the queue had no room.",
        lambda: {(): queue.statistics().refused},
    )


def observe_informers(metrics: SchedulerMetrics, informers: Informers, sink: EngineSink) -> None:
    def each(read: Callable[[InformerStatistics], float]) -> Callable[[], dict[Labels, float]]:
        return lambda: {(now.resource,): read(now) for now in informers.statistics()}

    for name, kind, text, read in (
        ("synced", "gauge", "1 once the first list is whole.", lambda now: int(now.synced)),
        ("reachable", "gauge", "1 while it is answered.", lambda now: int(now.reachable)),
        ("bytes_total", "counter", "Bytes listed and watched.", lambda now: now.bytes_read),
        ("reconnects_total", "counter", "Watches after the first.", lambda now: now.reconnects),
        ("relists_total", "counter", "Lists after the first.", lambda now: now.relists),
        ("failures_total", "counter", "Lists and watches that failed.", lambda now: now.failures),
    ):
        metrics.watch(f"kpolicy_watch_{name}", kind, text, each(read), ("resource",))
    metrics.watch(
        "kpolicy_watch_silent_seconds",
        "gauge",
        "Since bytes last came.",
        informers.silent_s,
        ("resource",),
    )
    metrics.watch(
        "kpolicy_unreadable_objects_total",
        "counter",
        "Objects that could not be read.",
        lambda: {(resource,): count for resource, count in sink.unreadable.items()},
        ("resource",),
    )


def observe_writes(
    metrics: SchedulerMetrics,
    client: ApiClient,
    reservations: Reservations,
    binds: Binds,
    reporter: Reporter,
) -> None:
    def outbox(read: Callable[[OutboxStatistics], float]) -> Callable[[], dict[Labels, float]]:
        return lambda: {
            ("events",): read(reporter.events.statistics()),
            ("conditions",): read(reporter.status.statistics()),
        }

    for name, kind, text, read in (
        ("waiting", "gauge", "Writes that wait for their turn.", lambda now: now.waiting),
        ("written_total", "counter", "Writes that succeeded.", lambda now: now.written),
        ("dropped_total", "counter", "Writes that found no room.", lambda now: now.dropped),
        ("failed_total", "counter", "Writes that were given up.", lambda now: now.failed),
    ):
        metrics.watch(f"kpolicy_writes_{name}", kind, text, outbox(read), ("kind",))
    metrics.watch(
        "kpolicy_events_dropped_total",
        "counter",
        "Events that found no room.",
        lambda: {(): reporter.events.statistics().dropped},
    )
    metrics.watch(
        "kpolicy_binds_in_flight",
        "gauge",
        "Bind requests under way.",
        lambda: {(): reservations.in_flight},
    )
    metrics.watch(
        "kpolicy_reservations_open",
        "gauge",
        "Reservations whose bind has not been settled.",
        lambda: {(): reservations.under_way},
    )
    metrics.watch(
        "kpolicy_binds_in_doubt",
        "gauge",
        "Binds that were sent and may or may not be written.",
        lambda: {(): reservations.in_doubt},
    )
    metrics.watch(
        "kpolicy_pods_awaiting_volumes",
        "gauge",
        "Placed pods whose volumes are not bound yet.",
        lambda: {(): reservations.awaiting_volumes},
    )
    metrics.watch(
        "kpolicy_binds_total",
        "counter",
        "Binds, by what came of them.",
        lambda: {(outcome,): count for outcome, count in binds.outcomes.items()},
        ("outcome",),
    )
    host = urlsplit(client.connection.server).netloc

    def answered() -> dict[Labels, float]:
        counts: Counter[Labels] = Counter()
        for (verb, code), count in client.counts.items():
            counts[str(code) if code else _NO_ANSWER, _METHODS.get(verb, verb), host] += count
        return dict(counts)

    metrics.watch(
        "rest_client_requests_total",
        "counter",
        "Requests to the API server, by status code (<error>: there was no answer).",
        answered,
        ("code", "method", "host"),
    )


def observe_preemptions(metrics: SchedulerMetrics, preemptions: Preemptions) -> None:
    metrics.watch(
        "kpolicy_preemptions_under_way",
        "gauge",
        "Pods for which victims are being evicted.",
        lambda: {(): preemptions.under_way},
    )
    metrics.watch(
        "kpolicy_evictions_total",
        "counter",
        "Evictions of victims, by what came of them.",
        lambda: {(outcome,): count for outcome, count in preemptions.outcomes.items()},
        ("outcome",),
    )


def observe_comparer(metrics: SchedulerMetrics, comparer: Comparer) -> None:
    metrics.watch(
        "kpolicy_comparer_differences",
        "gauge",
        "What the last comparison with the API server found, of those asked for.",
        comparer.differences,
        ("what", "side"),
    )
    metrics.watch(
        "kpolicy_comparer_runs_total",
        "counter",
        "Comparisons, by whether they came to their end.",
        comparer.runs,
        ("result",),
    )
    metrics.watch(
        "kpolicy_comparer_last_timestamp_seconds",
        "gauge",
        "When the last comparison ended.",
        comparer.ended_seconds,
    )


def observe_engine(metrics: SchedulerMetrics, engine: EngineStatistics) -> None:
    metrics.extension_point_seconds.join(engine.stages)
    metrics.plugin_seconds.join(engine.plugins)
    metrics.watch(
        "scheduler_cache_size",
        "gauge",
        "Nodes and pods in the snapshot, and assumed pods.",
        engine.cache,
        ("type",),
    )
    metrics.watch(
        "kpolicy_engine_size", "gauge", "Sizes of what the engine holds.", engine.sizes, ("what",)
    )


def observe_extenders(
    metrics: SchedulerMetrics, in_force: ExtendersInForce, extended: ExtendedPods
) -> None:
    metrics.watch(
        "kpolicy_extender_calls_total",
        "counter",
        "Calls to extenders, by what came of them.",
        in_force.counts,
        ("extender", "verb", "result"),
    )
    metrics.watch(
        "kpolicy_pods_at_extenders",
        "gauge",
        "Pods that extenders are asked about, or will be.",
        lambda: {(): extended.under_way},
    )
