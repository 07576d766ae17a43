"""The metrics whose values parts of the scheduler keep: their names, and where each is read.

Nothing is counted twice: each value is read at the scrape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.watch.informer import InformerStatistics
from kpolicy.cluster.writes.outbox import OutboxStatistics
from kpolicy.scheduler.long_tasks import Parts
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.scheduler.plugged.host import PluginHost
from kpolicy.scheduler.runtime import EngineStatistics, Runtime
from kpolicy.telemetry.metrics import Labels
from kpolicy.telemetry.rule_labels import RuleLabels
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics

# The verbs of client-go, where a watch is a GET.
_NO_ANSWER = "<error>"
_METHODS = {"WATCH": "GET"}

# Name, kind, help, the function that reads the values by their labels, and the names of the labels.
_Metric: TypeAlias = tuple[str, str, str, Callable[[], Mapping[Labels, float]], Labels]


def request_timer(metrics: SchedulerMetrics, server: str) -> Callable[[str, float], None]:
    """Returns what an `ApiClient` of this server calls with the duration of each request."""
    host = urlsplit(server).netloc
    seconds_of = metrics.request_seconds
    return lambda verb, seconds: seconds_of.observe(seconds, (_METHODS.get(verb, verb), host))


def observe(parts: Parts, client: ApiClient, runtime: Runtime) -> None:
    statistics = runtime.engine.statistics
    runtime.metrics.extension_point_seconds.join(statistics.stages)
    runtime.metrics.plugin_seconds.join(statistics.plugins)
    for name, kind, text, read, labels in (
        *_of_queue(parts.feed.queue, runtime.metrics.rule_labels),
        *_of_tenants(statistics),
        *_of_informers(parts),
        *_of_writes(parts.reporter),
        *_of_binds(parts),
        _of_requests(client),
        *_of_decisions(parts, statistics),
        *_of_comparer(parts),
        *_of_plugins(parts),
    ):
        runtime.metrics.watch(name, kind, text, read, labels)


# An entity is a pod, or a group of pods, which the default gates of no release queue as one.
_POD: Final = "pod"
# Metrics that not every release has: text and labels.
_ENTITIES: Final = {
    "scheduler_queued_entities": ("Entities in a queue; since Kubernetes 1.37.", ("queue",)),
    "scheduler_queue_incoming_entities_total": (
        "Entities added to a queue, by the event that added them; since Kubernetes 1.37.",
        ("queue", "event"),
    ),
}


def _of_queue(queue: Queue, labels: RuleLabels) -> tuple[_Metric, ...]:
    def waiting() -> dict[Labels, float]:
        now = queue.statistics()
        return {
            ("active",): now.active,
            ("backoff",): now.backoff,
            ("unschedulable",): now.parked,
            ("gated",): now.gated,
        }

    def of_release(name: str, read: Callable[[], Mapping[Labels, float]]) -> _Metric:
        """Without values where the release has no such metric."""
        text, labels = _ENTITIES[name]

        def values() -> dict[Labels, float]:
            found = read() if name in queue.names.metrics else {}
            return {(*of, _POD): number for of, number in found.items()}

        kind = "counter" if name.endswith("_total") else "gauge"
        return name, kind, text, values, (*labels, "type")

    return (
        of_release("scheduler_queued_entities", waiting),
        of_release("scheduler_queue_incoming_entities_total", lambda: queue.statistics().incoming),
        (
            "scheduler_pending_pods",
            "gauge",
            "Pending pods, by the queue in which they wait.",
            waiting,
            ("queue",),
        ),
        (
            "scheduler_unschedulable_pods",
            "gauge",
            "Unschedulable pods, by each rule that rejects them.",
            lambda: labels.added_up(queue.statistics().rejected),
            ("plugin", "profile"),
        ),
        (
            "kpolicy_held_pods",
            "gauge",
            "Pods that a hold of the policy keeps from being tried, by hold.",
            lambda: {(hold,): number for hold, number in queue.held_by.items()},
            ("hold",),
        ),
        (
            "scheduler_queue_incoming_pods_total",
            "counter",
            "Pods added to a queue, by the event that added them.",
            lambda: queue.statistics().incoming,
            ("queue", "event"),
        ),
        (
            "kpolicy_queue_flushed_pods_total",
            "counter",
            "Parked pods tried again only because of their age.",
            lambda: {(): queue.statistics().flushed},
            (),
        ),
        (
            "kpolicy_queue_refused_pods_total",
            "counter",
            "Pods not queued because the queue was full.",
            lambda: {(): queue.statistics().refused},
            (),
        ),
    )


def _of_tenants(statistics: EngineStatistics) -> tuple[_Metric, ...]:
    """Of the tenants with the largest shares, so that the number of labels is bounded."""

    def metric(name: str, text: str, field: str) -> _Metric:
        read = partial(statistics.tenants, field)
        return f"kpolicy_tenant_{name}", "gauge", text, read, ("tenant",)

    return (
        metric("share", "Dominant share of each tenant of the cluster, 0 to 1.", "share"),
        metric("pods", "Pods of each tenant on nodes or being placed.", "pods"),
        metric("waiting_pods", "Pods of each tenant that wait.", "waiting"),
    )


def _of_informers(parts: Parts) -> tuple[_Metric, ...]:
    informers, unreadable = parts.informers, parts.sink.unreadable

    def metric(
        name: str, kind: str, text: str, read: Callable[[InformerStatistics], float]
    ) -> _Metric:
        def values() -> dict[Labels, float]:
            return {(now.resource,): read(now) for now in informers.statistics()}

        return f"kpolicy_watch_{name}", kind, text, values, ("resource",)

    return (
        metric(
            "synced", "gauge", "1 when the first list is complete.", lambda now: int(now.synced)
        ),
        metric(
            "reachable", "gauge", "1 while the API server answers.", lambda now: int(now.reachable)
        ),
        metric(
            "bytes_total",
            "counter",
            "Bytes received by lists and watches.",
            lambda now: now.bytes_read,
        ),
        metric("reconnects_total", "counter", "Watches after the first.", lambda n: n.reconnects),
        metric("relists_total", "counter", "Lists after the first.", lambda now: now.relists),
        metric(
            "failures_total", "counter", "Lists and watches that failed.", lambda now: now.failures
        ),
        (
            "kpolicy_watch_silent_seconds",
            "gauge",
            "Time since the last bytes.",
            informers.silent_s,
            ("resource",),
        ),
        (
            "kpolicy_unreadable_objects_total",
            "counter",
            "Objects that could not be read.",
            lambda: {(resource,): count for resource, count in unreadable.items()},
            ("resource",),
        ),
    )


def _of_writes(reporter: Reporter) -> tuple[_Metric, ...]:
    def metric(
        name: str, kind: str, text: str, read: Callable[[OutboxStatistics], float]
    ) -> _Metric:
        def values() -> dict[Labels, float]:
            return {
                ("events",): read(reporter.events.outbox.statistics()),
                ("conditions",): read(reporter.status.outbox.statistics()),
            }

        return f"kpolicy_writes_{name}", kind, text, values, ("kind",)

    return (
        metric("waiting", "gauge", "Writes that wait to be sent.", lambda now: now.waiting),
        metric("written_total", "counter", "Writes that succeeded.", lambda now: now.written),
        metric(
            "dropped_total",
            "counter",
            "Writes dropped because their queue was full.",
            lambda now: now.dropped,
        ),
        metric("failed_total", "counter", "Writes that were given up.", lambda now: now.failed),
        (
            "kpolicy_events_dropped_total",
            "counter",
            "Events dropped because their queue was full.",
            lambda: {(): reporter.events.outbox.statistics().dropped},
            (),
        ),
    )


def _of_binds(parts: Parts) -> tuple[_Metric, ...]:
    reservations, binds, preemptions = parts.reservations, parts.binds, parts.preemptions
    return (
        (
            "kpolicy_binds_in_flight",
            "gauge",
            "Bind requests without an answer yet.",
            lambda: {(): reservations.in_flight},
            (),
        ),
        (
            "kpolicy_reservations_open",
            "gauge",
            "Reservations whose bind has no result yet.",
            lambda: {(): reservations.under_way},
            (),
        ),
        (
            "kpolicy_binds_in_doubt",
            "gauge",
            "Binds that were sent and whose result is not known.",
            lambda: {(): reservations.in_doubt},
            (),
        ),
        (
            "kpolicy_pods_awaiting_volumes",
            "gauge",
            "Placed pods whose volumes are not bound yet.",
            lambda: {(): reservations.awaiting_volumes},
            (),
        ),
        (
            "kpolicy_binds_total",
            "counter",
            "Binds, by outcome.",
            lambda: {(outcome,): count for outcome, count in binds.outcomes.items()},
            ("outcome",),
        ),
        (
            "kpolicy_preemptions_under_way",
            "gauge",
            "Pods for which victims are being evicted.",
            lambda: {(): preemptions.under_way},
            (),
        ),
        (
            "kpolicy_evictions_total",
            "counter",
            "Evictions of victims, by outcome.",
            lambda: {(outcome,): count for outcome, count in preemptions.outcomes.items()},
            ("outcome",),
        ),
    )


def _of_requests(client: ApiClient) -> _Metric:
    host = urlsplit(client.connection.server).netloc

    def answered() -> dict[Labels, float]:
        counts: Counter[Labels] = Counter()
        for (verb, code), count in client.counts.items():
            counts[str(code) if code else _NO_ANSWER, _METHODS.get(verb, verb), host] += count
        return dict(counts)

    return (
        "rest_client_requests_total",
        "counter",
        "Requests to the API server, by status code (<error>: there was no answer).",
        answered,
        ("code", "method", "host"),
    )


def _of_decisions(parts: Parts, statistics: EngineStatistics) -> tuple[_Metric, ...]:
    extended = parts.extended
    return (
        (
            "scheduler_cache_size",
            "gauge",
            "Nodes and pods in the snapshot, and assumed pods.",
            statistics.cache,
            ("type",),
        ),
        (
            "kpolicy_engine_size",
            "gauge",
            "Sizes of the engine's tables and caches.",
            statistics.sizes,
            ("what",),
        ),
        (
            "kpolicy_extender_calls_total",
            "counter",
            "Calls to extenders, by result.",
            extended.in_force.counts,
            ("extender", "verb", "result"),
        ),
        (
            "kpolicy_pods_at_extenders",
            "gauge",
            "Pods that extenders are being asked about, or will be.",
            lambda: {(): extended.under_way},
            (),
        ),
    )


def _of_plugins(parts: Parts) -> tuple[_Metric, ...]:
    """Without values where there are no plugins."""
    host = parts.plugged.host if parts.plugged is not None else None

    def metric(name: str, kind: str, text: str, read: Callable[[PluginHost], float]) -> _Metric:
        def values() -> dict[Labels, float]:
            return {(): read(host)} if host is not None else {}

        return f"kpolicy_{name}", kind, text, values, ()

    return (
        metric(
            "pods_waiting_on_permit",
            "gauge",
            "Placed pods that a plugin lets wait.",
            lambda host: len(host.waiting),
        ),
        metric(
            "plugin_threads_blocked",
            "gauge",
            "Threads that plugins block, which were replaced.",
            lambda host: host.runner.threads_blocked_now,
        ),
    )


def _of_comparer(parts: Parts) -> tuple[_Metric, ...]:
    comparer = parts.comparer
    return (
        (
            "kpolicy_comparer_differences",
            "gauge",
            "Differences found by the last comparison with the API server.",
            comparer.differences,
            ("what", "side"),
        ),
        (
            "kpolicy_comparer_runs_total",
            "counter",
            "Comparisons with the API server, by result.",
            comparer.runs,
            ("result",),
        ),
        (
            "kpolicy_comparer_last_timestamp_seconds",
            "gauge",
            "Time when the last comparison ended.",
            comparer.ended_seconds,
            (),
        ),
    )
