"""Turns attempts into exported spans: the only module that uses OpenTelemetry's SDK.

Imported only if there is an exporter. The caller has decided to keep the trace, so the SDK's
sampler keeps everything.
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
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
)

from kpolicy.telemetry import limits
from kpolicy.telemetry.attempt import ERROR, Attempt, Step, TraceContext

_KEPT = TraceFlags(TraceFlags.SAMPLED)


class PreparedIds(IdGenerator):
    """Ids that were chosen before their spans are made, as logs and the bind's `traceparent`
    need them."""

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
            shutdown_on_exit=False,  # otherwise it would wait 30 s for a collector that is gone
            id_generator=self._ids,
        )
        for exporter in exporters:
            self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("kpolicy")

    def emit(self, attempt: Attempt, context: TraceContext) -> None:
        self._ids.trace_id, self._ids.span_id = context.trace_id, context.root_id
        root = self._tracer.start_span(
            "schedule pod",
            Context(),
            links=_links(attempt),
            start_time=attempt.started_ns,
            attributes=attempt.attributes(),
        )
        inside = trace.set_span_in_context(root, Context())
        for step in attempt.steps:
            self._emit_step(step, inside)
        # A pod that fits on no node is a result. Only failures of ours or of the API server are
        # errors.
        root.set_status(_status(attempt.message if attempt.result == ERROR else ""))
        root.end(attempt.ended_ns)

    def add(self, step: Step, context: TraceContext) -> None:
        root = NonRecordingSpan(_place(context))
        self._emit_step(step, trace.set_span_in_context(root, Context()))

    def _emit_step(self, step: Step, inside: Context) -> None:
        self._ids.span_id = step.span_id
        span = self._tracer.start_span(
            step.name,
            inside,
            SpanKind.CLIENT if step.is_call else SpanKind.INTERNAL,
            step.attributes,
            start_time=step.started_ns,
        )
        if step.children:
            below = trace.set_span_in_context(span, inside)
            for child in step.children:
                self._emit_step(child, below)
        span.set_status(_status(step.failure))
        span.end(step.ended_ns)

    def shutdown(self) -> None:
        self._provider.shutdown()


def _links(attempt: Attempt) -> list[Link]:
    """Link to the previous attempt: between the two the pod waited in the queue."""
    if attempt.previous is None:
        return []
    waited = {"kpolicy.queue.wait_ms": attempt.wait_ns // 1_000_000}
    return [Link(_place(attempt.previous), waited)]


def _place(context: TraceContext) -> SpanContext:
    return SpanContext(context.trace_id, context.root_id, is_remote=False, trace_flags=_KEPT)


def _status(failure: str) -> Status:
    if not failure:
        return Status(StatusCode.UNSET)
    return Status(StatusCode.ERROR, failure[: limits.TRACE_MESSAGE_CHARACTERS_MAX])
