"""One trace for each attempt to place a pod, built when the attempt is over.

Owns which attempts are kept, and the ids that others hear of before. Assumes an attempt that is
measured elsewhere. Without an exporter no object of the SDK exists and `Traces.begin` is one
comparison. Must not know the shape of a trace: `pipeline` does.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING

from kpolicy.telemetry import limits
from kpolicy.telemetry.attempt import SCHEDULED, Attempt, TraceContext, is_slow
from kpolicy.telemetry.sampling import Judge, Sampling

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from kpolicy.telemetry.pipeline import Pipeline


class Traces:
    """Judges and builds traces. `stop` gives the exporter two seconds, whatever it does."""

    def __init__(
        self,
        exporters: tuple[SpanExporter, ...] = (),
        sampling: Sampling | None = None,
        random: Random | None = None,
        resource: Mapping[str, str] | None = None,
    ) -> None:
        self.enabled = bool(exporters)
        self._judge = Judge(sampling or Sampling())
        self._random = random or Random()
        self._pipeline: Pipeline | None = None
        if exporters:
            from kpolicy.telemetry import pipeline  # noqa: PLC0415  0.2 s of imports

            self._pipeline = pipeline.Pipeline(exporters, resource or {})

    @property
    def dropped(self) -> int:
        return self._judge.dropped

    def begin(self, now_ns: int) -> TraceContext | None:
        """Ids for an attempt that others will hear of before it ends; None when traces are off."""
        if self._pipeline is None:
            return None
        trace_id = self._random.getrandbits(128) or 1
        span_id = self._random.getrandbits(64) or 1
        return TraceContext(trace_id, span_id, self._judge.sampled(trace_id, now_ns))

    def record(self, attempt: Attempt, context: TraceContext | None = None) -> TraceContext | None:
        """The attempt is over: build its spans if they are to be kept."""
        if self._pipeline is None:
            return None
        context = context or self.begin(attempt.started_ns)
        assert context is not None
        if not context.sampled and not self._judge.kept_anyway(
            failed=attempt.result != SCHEDULED, slow=is_slow(attempt), now_ns=attempt.started_ns
        ):
            return None
        self._pipeline.emit(attempt, context)
        return context

    def stop(self, seconds_max: float = limits.TRACE_FLUSH_S) -> bool:
        """Export what waits; False when the collector did not take it in time."""
        if self._pipeline is None:
            return True
        thread = threading.Thread(
            target=self._pipeline.shutdown, name="kpolicy-trace-flush", daemon=True
        )
        thread.start()
        thread.join(seconds_max)
        return not thread.is_alive()
