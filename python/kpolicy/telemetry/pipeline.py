"""Turns attempts into exported spans: the only module that uses OpenTelemetry's SDK.

Imported only if there is an exporter. The caller has decided to keep the trace, so the SDK's
sampler keeps everything. When its queue is full, the SDK drops the oldest spans, of any traces:
the caller asks `has_room` before, so that no trace is exported in part.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
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
from opentelemetry.util.types import AttributeValue

from kpolicy.telemetry import limits
from kpolicy.telemetry.attempt import ERROR, Attempt, Step, TraceContext

_DIGITS_MAX: Final = 10
_QUEUE_SIZE: Final = "OTEL_BSP_MAX_QUEUE_SIZE"
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


class _Counted(SpanExporter):
    """Counts what the exporter was given, and the traces of which it could not deliver the root.
    Only the thread of its processor exports."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.exported = 0
        self.lost = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        roots = sum(span.parent is None for span in spans)
        result = SpanExportResult.FAILURE
        try:
            result = self._exporter.export(spans)
        finally:
            self.exported += len(spans)
            self.lost += roots if result is not SpanExportResult.SUCCESS else 0
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


class Pipeline:
    def __init__(self, exporters: tuple[SpanExporter, ...], resource: Mapping[str, str]) -> None:
        self._ids = PreparedIds()
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource.create(dict(resource)),
            shutdown_on_exit=False,  # otherwise it would wait 30 s for a collector that is gone
            id_generator=self._ids,
        )
        self._exporters = [_Counted(exporter) for exporter in exporters]
        self._spans = 0
        self._waiting_max = _spans_waiting_max()
        for exporter in self._exporters:
            self._provider.add_span_processor(
                BatchSpanProcessor(
                    exporter, max_queue_size=self._waiting_max + limits.SPANS_UNDER_WAY_MAX
                )
            )
        self._tracer = self._provider.get_tracer("kpolicy")

    @property
    def lost(self) -> int:
        """The traces that an exporter could not deliver; of several exporters, the most."""
        return max(exporter.lost for exporter in self._exporters)

    def has_room(self) -> bool:
        """Whether one more trace may be begun, or kept after all."""
        waiting = self._spans - min(exporter.exported for exporter in self._exporters)
        return waiting < self._waiting_max

    def emit(self, attempt: Attempt, context: TraceContext) -> None:
        self._spans += 1
        self._ids.trace_id, self._ids.span_id = context.trace_id, context.root_id
        root = self._tracer.start_span(
            "schedule pod",
            Context(),
            links=_links(attempt),
            start_time=attempt.started_ns,
            attributes=attempt.attributes(),
        )
        if attempt.previous is None:
            root.add_event("left the queue", _waited(attempt), attempt.started_ns)
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
        self._spans += 1
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


def _spans_waiting_max() -> int:
    """What the standard variable says."""
    text = os.environ.get(_QUEUE_SIZE, "")
    is_number = text.isascii() and text.isdigit() and len(text) < _DIGITS_MAX
    return int(text) if is_number else limits.SPANS_WAITING_MAX


def _links(attempt: Attempt) -> list[Link]:
    """Link to the previous attempt: between the two the pod waited in the queue."""
    if attempt.previous is None:
        return []
    return [Link(_place(attempt.previous), _waited(attempt))]


def _waited(attempt: Attempt) -> dict[str, AttributeValue]:
    return {"kpolicy.queue.wait_ms": attempt.wait_ns // 1_000_000}


def _place(context: TraceContext) -> SpanContext:
    return SpanContext(context.trace_id, context.root_id, is_remote=False, trace_flags=_KEPT)


def _status(failure: str) -> Status:
    if not failure:
        return Status(StatusCode.UNSET)
    return Status(StatusCode.ERROR, failure[: limits.TRACE_MESSAGE_CHARACTERS_MAX])
