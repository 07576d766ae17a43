"""From an attempt to exported spans: the only module that holds objects of the OpenTelemetry SDK.

Owns the provider, its batching and the making of spans after the fact. Imported only when there is
an exporter. Assumes that whoever calls has decided to keep the trace: the SDK's sampler keeps all.
"""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import SpanKind, Status, StatusCode

from kpolicy.telemetry import limits
from kpolicy.telemetry.attempt import ERROR, Attempt, TraceContext


class PreparedIds(IdGenerator):
    """Ids that were given out before their spans are made: in the bind request's `traceparent`."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()
        self.trace_id = 0
        self.span_id = 0

    def generate_trace_id(self) -> int:
        return self.trace_id or self._random.generate_trace_id()

    def generate_span_id(self) -> int:
        span_id, self.span_id = self.span_id, 0
        return span_id or self._random.generate_span_id()


class Pipeline:
    def __init__(self, exporters: tuple[SpanExporter, ...], resource: Mapping[str, str]) -> None:
        self._ids = PreparedIds()
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource.create(dict(resource)),
            shutdown_on_exit=False,  # it would wait 30 s for a collector that is gone
            id_generator=self._ids,
        )
        for exporter in exporters:
            self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("kpolicy")

    def emit(self, attempt: Attempt, context: TraceContext) -> None:
        self._ids.trace_id = context.trace_id
        root = self._tracer.start_span(
            "schedule pod",
            Context(),
            start_time=attempt.started_ns,
            attributes=attempt.attributes(),
        )
        inside = trace.set_span_in_context(root, Context())
        cursor_ns = attempt.started_ns
        for name, duration_ns in (
            ("filter", attempt.filter_ns),
            ("score", attempt.score_ns),
            ("post_filter", attempt.post_filter_ns),
        ):
            if duration_ns:
                child = self._tracer.start_span(name, inside, start_time=cursor_ns)
                cursor_ns += duration_ns
                child.end(cursor_ns)
        # A pod that fits nowhere is an answer; only what went wrong with us or the API is an error.
        status = Status(StatusCode.UNSET)
        if attempt.result == ERROR:
            text = attempt.message[: limits.TRACE_MESSAGE_CHARACTERS_MAX]
            status = Status(StatusCode.ERROR, text)
        if attempt.bind_started_ns:
            self._ids.span_id = context.span_id
            bind = self._tracer.start_span(
                "bind",
                inside,
                SpanKind.CLIENT,
                {"k8s.node.name": attempt.node},
                start_time=attempt.bind_started_ns,
            )
            bind.set_status(status)
            bind.end(attempt.ended_ns)
        root.set_status(status)
        root.end(attempt.ended_ns)

    def shutdown(self) -> None:
        self._provider.shutdown()
